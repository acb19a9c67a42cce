// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weir::hipsim::test {

/// LLVM IR of the kernels that the tests launch; comments in the text describe each.
extern const char* const kernels_ir;

}  // namespace weir::hipsim::test
