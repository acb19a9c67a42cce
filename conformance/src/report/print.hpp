// SPDX-License-Identifier: Apache-2.0
// The output of a run on standard output.
#pragma once

#include "report/result.hpp"

namespace weir::conformance {

/// One line for the result, and the reasons of a failure. `quiet`: failures only.
void print(const Result& result, bool quiet);
void print_summary(const Run& run);

}  // namespace weir::conformance
