// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <shared_mutex>

namespace weir::codegen {

/// LLVM keeps options in globals, and each run of lld sets them all back. Whoever optimises holds this,
/// together with others; the options are as code generation wants them.
class OptionsInUse {
 public:
  OptionsInUse();

 private:
  std::shared_lock<std::shared_mutex> lock_;
};

/// Whoever links holds this, alone.
class OptionsLost {
 public:
  OptionsLost();
  ~OptionsLost();

 private:
  std::unique_lock<std::shared_mutex> lock_;
};

}  // namespace weir::codegen
