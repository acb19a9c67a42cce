// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weir::hipsim::test {

/// Makes LLVM's AMDGPU and host targets known; any number of times, any thread.
void initialize_llvm();

}  // namespace weir::hipsim::test
