// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weir::hipsim::test {

/// Initializes LLVM's AMDGPU and host targets. Idempotent and thread-safe.
void initialize_llvm();

}  // namespace weir::hipsim::test
