// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm_options.hpp"

#include <llvm/Support/CommandLine.h>

namespace weir::codegen {
namespace {

std::shared_mutex& mutex() {
  static std::shared_mutex mutex;
  return mutex;
}

template <class T>
void set_option(llvm::StringRef name, T value) {
  auto& options = llvm::cl::getRegisteredOptions();
  if (const auto found = options.find(name); found != options.end())
    static_cast<llvm::cl::opt<T>*>(found->second)->setValue(value);
}

void set_options() {
  // Outer loops are vectorised only where their metadata requests it and this option allows it.
  set_option("enable-vplan-native-path", true);
  // By default LLVM assumes that strides which are set at the launch are 1. It checks this at run time, and
  // runs one iteration at a time where it is wrong. Strides of arrays are extents, so it nearly always is.
  set_option("laa-speculate-unit-stride", false);
  // The scheduler compares each access of a block with all others, up to this number, from which on it takes
  // the older ones for one. LLVM's 1000 takes 1.19 times the time to generate code for the 31 loops of the
  // river, which is the same code (tests/evidence/cold-start.md).
  set_option("dag-maps-huge-region", 50u);
  set_option("dag-maps-reduction-size", 25u);
  // Both make wrong code for AMD GPUs in LLVM 22.1.8 (tests/evidence/amdgpu-compiler.md). The first takes a
  // product of 24 bits for one of all bits in 64-bit multiply-adds. The second drops the extension of a value
  // of 16 bits to 32.
  set_option("amdgpu-codegenprepare-mul24", false);
  set_option("amdgpu-sdwa-peephole", false);
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
