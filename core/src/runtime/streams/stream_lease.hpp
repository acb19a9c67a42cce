// SPDX-License-Identifier: Apache-2.0
// The part of a stream's state that only leased streams and their callers use; see leased_streams.cpp.
#pragma once

#include <atomic>
#include <cstdint>

namespace weir::detail {

struct StreamState;

/// `joined_into` is the caller that leased the stream last. Once that caller has passed `joined_at`, the
/// leased stream is idle too.
struct StreamLease {
  std::int32_t slot = -1;  ///< position among the device's leased streams
  std::atomic<StreamState*> joined_into{nullptr};
  std::atomic<std::uint64_t> joined_at{0};
  std::atomic<std::uint64_t> leased_at{0};  ///< reading of the manager's clock at the last lease
  std::atomic<bool> failed{false};          ///< possibly broken; replaced on the next lease
  /// Of a caller: the slots of leased streams that were joined into it since the host last waited, as bits.
  std::atomic<std::uint64_t> joined_streams{0};
};

}  // namespace weir::detail
