// SPDX-License-Identifier: Apache-2.0
// The process that loads the driver. Whatever the driver does to it, the process that reports lives on.
#pragma once

namespace weir::conformance {

/// Runs the tests whose names stand in standard input, one a line, and writes a JSON object per line to
/// `output`: when a test begins and ends, and at last the calls that were counted. Returns the exit status.
int run_worker(int output);

/// Writes one JSON object to `output`: what the driver and its device say of themselves.
int describe_driver(int output);

}  // namespace weir::conformance
