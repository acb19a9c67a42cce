// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weir::hipsim::test {

/// LLVM IR of the kernels that the tests launch; each is described where it stands.
extern const char* const kernels_ir;

}  // namespace weir::hipsim::test
