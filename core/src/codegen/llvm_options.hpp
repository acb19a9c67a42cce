// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <shared_mutex>

namespace weir::codegen {

/// A shared lock, held while optimising. LLVM keeps options in globals, and each run of lld resets them.
/// While it is held, the options have the values that code generation needs.
class OptionsInUse {
 public:
  OptionsInUse();

 private:
  std::shared_lock<std::shared_mutex> lock_;
};

/// An exclusive lock, held while linking.
class OptionsLost {
 public:
  OptionsLost();
  ~OptionsLost();

 private:
  std::unique_lock<std::shared_mutex> lock_;
};

}  // namespace weir::codegen
