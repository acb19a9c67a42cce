// SPDX-License-Identifier: Apache-2.0
// Memory of the values that launches return. A launch takes a piece of its stream; the last future gives it
// back. Later launches on the stream reuse the piece at once, because they run after the one that wrote it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <utility>
#include <vector>
#include <weir/array.hpp>
#include <weir/program.hpp>

#include "ir/error_record.hpp"
#include "runtime/memory/memory_pool.hpp"
#include "runtime/streams/stream_state.hpp"

namespace weir::detail {

struct ValuePieces;

/// The values of one launch, and afterwards of later ones. Never freed.
struct ReturnedValues {
  ReturnedValues(ValuePieces& owner_, std::uint32_t size_class_);

  ValuePieces& owner;
  const std::uint32_t size_class;
  MemoryBlock block;  ///< pinned memory that kernels store to; without an allocation if the driver has none
  std::uint64_t offset = 0;            ///< of the piece in the memory block
  std::byte* host = nullptr;           ///< the values, as the host reads them
  ir::ErrorRecord* failure = nullptr;  ///< a copy of the stream's record after the launch
  std::atomic<std::uint32_t> shares{0};
  EventState* event = nullptr;  ///< recorded after the launch and its copies; kept with the piece

  // Of the launch.
  std::uint64_t stream_generation = 0;
  const KernelOrigin* kernel = nullptr;
  std::uint64_t submitted = 0;     ///< submissions to the stream that `event` covers
  StreamRecord* record = nullptr;  ///< that the launch reports failures to; null if it cannot fail
  std::atomic<bool> done{false};   ///< the host has found the event reached
};

/// The pieces of one stream state; created by the first launch that returns values.
struct ValuePieces {
  explicit ValuePieces(StreamState& stream_) : stream(stream_) {}

  static constexpr std::uint32_t classes = 2;
  StreamState& stream;
  std::mutex mutex;  // guards the members below; never held during a driver call
  std::array<std::vector<ReturnedValues*>, classes> free;  // taken from the back; has room for all pieces
  std::deque<ReturnedValues> all;
};

/// The memory for the values of one launch, until the launch is submitted.
class ReturnTarget {
 public:
  /// Takes a piece of the stream, and device memory if kernels cannot store to it. Fills `to` with an array
  /// of rank 0 for each of `arguments`, which give the elements. Must not be called with the submission lock
  /// held, because it may block.
  ReturnTarget(const StreamRef& on, StreamState& stream, std::span<const LaunchArgument> arguments,
               std::span<AnyArrayView> to);
  ~ReturnTarget();
  ReturnTarget(const ReturnTarget&) = delete;
  ReturnTarget& operator=(const ReturnTarget&) = delete;

  /// Called after the launch, before other threads may submit to the stream: submits the copies to the host
  /// and the event. `record` is the launch's, or null.
  void submit(StreamState& stream, const StreamRecord* record, const KernelOrigin* kernel);
  /// The values, with one share for the caller.
  ReturnedValues* take() noexcept { return std::exchange(values_, nullptr); }

 private:
  ReturnedValues* values_;
  AnyArray memory_;  // empty if kernels store to the piece
  std::size_t bytes_;
};

}  // namespace weir::detail
