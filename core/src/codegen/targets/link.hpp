// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/ADT/SmallVector.h>

#include <cstddef>
#include <initializer_list>
#include <vector>

namespace weir::codegen {

/// Links one relocatable ELF object into a shared object with lld, with `options` in addition to the default
/// ones. Uses no disk. Thread-safe; links one object at a time, because lld keeps its state in globals.
/// Throws Error{compile, system}.
std::vector<std::byte> link_shared_object(const llvm::SmallVectorImpl<char>& object,
                                          std::initializer_list<const char*> options = {});

}  // namespace weir::codegen
