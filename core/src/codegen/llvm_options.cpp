// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm_options.hpp"

#include <llvm/Support/CommandLine.h>

namespace weir::codegen {
namespace {

std::shared_mutex& mutex() {
  static std::shared_mutex mutex;
  return mutex;
}

/// Outer loops are vectorised only where their metadata requests it and this option allows it.
void set_options() {
  auto& options = llvm::cl::getRegisteredOptions();
  if (const auto found = options.find("enable-vplan-native-path"); found != options.end())
    static_cast<llvm::cl::opt<bool>*>(found->second)->setValue(true);
}

}  // namespace

OptionsInUse::OptionsInUse() {
  static std::once_flag once;
  std::call_once(once, [] {
    const std::unique_lock lock(mutex());
    set_options();
  });
  lock_ = std::shared_lock(mutex());
}

OptionsLost::OptionsLost() : lock_(mutex()) {}
OptionsLost::~OptionsLost() {
  set_options();
}

}  // namespace weir::codegen
