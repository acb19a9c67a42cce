// SPDX-License-Identifier: Apache-2.0
// The process that loads the driver. The supervising process survives its crashes.
#pragma once

namespace weir::conformance {

/// Runs the tests that standard input names, one per line. Writes a JSON object per line to `output`: the
/// start and end of each test, and finally the call counts. Returns the exit status.
int run_worker(int output);

/// Writes one JSON object to `output`: the descriptions of the driver and its device.
int describe_driver(int output);

}  // namespace weir::conformance
