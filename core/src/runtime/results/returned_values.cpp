// SPDX-License-Identifier: Apache-2.0
#include "runtime/results/returned_values.hpp"

#include <memory>
#include <new>
#include <utility>
#include <weir/returned_values.hpp>

#include "runtime/devices/device_state.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/memory/report_memory.hpp"
#include "runtime/prints/print_buffer.hpp"
#include "runtime/streams/submission.hpp"

namespace weir::detail {
namespace {

constexpr std::size_t record_bytes = sizeof(ir::ErrorRecord);
constexpr std::array<std::size_t, ValuePieces::classes> class_bytes{128, max_returned_bytes};
constexpr std::array<std::size_t, ValuePieces::classes> pieces_at_once{64, 4};

/// An array of no dimensions in memory that is not of the pool.
struct PieceView : AnyArrayView {
  PieceView(MemoryBlock& block, std::uint64_t offset, ElementType element) noexcept {
    block_ = &block;
    generation_ = block.generation.load(std::memory_order_relaxed);
    offset_ = offset;
    element_ = element;
    size_ = 1;
  }
};

ValuePieces& pieces_of(StreamState& stream) {
  if (ValuePieces* pieces = stream.pieces.load(std::memory_order_acquire)) return *pieces;
  auto fresh = std::make_unique<ValuePieces>(stream);
  ValuePieces* expected = nullptr;
  if (stream.pieces.compare_exchange_strong(expected, fresh.get(), std::memory_order_acq_rel))
    return *fresh.release();
  return *expected;
}

/// Memory that the host reads, and that kernels write if the driver has pinned memory.
ReportMemory allocate_slab(DeviceState& device, std::size_t bytes) {
  if (device.has(Capability::pinned_memory))
    return allocate_report_memory(device, "memory for returned values", bytes);
  return {.host = ::operator new (bytes, std::align_val_t{64})};
}

void free_slab(DeviceState& device, const ReportMemory& slab) noexcept {
  if (slab.allocation) return free_report_memory(device, slab);
  ::operator delete (slab.host, std::align_val_t{64});
}

void add_pieces(ValuePieces& pieces, std::uint32_t size_class) {
  const std::size_t stride = class_bytes[size_class] + record_bytes, count = pieces_at_once[size_class];
  DeviceState& device = pieces.stream.device;
  const ReportMemory slab = allocate_slab(device, stride * count);
  try {
    const std::lock_guard lock(pieces.mutex);
    std::vector<ReturnedValues*>& free = pieces.free[size_class];
    free.reserve(pieces.all.size() + count);  // so that release() cannot fail
    const std::size_t first = pieces.all.size();
    for (std::size_t i = 0; i < count; ++i) {
      ReturnedValues& piece = pieces.all.emplace_back(pieces, size_class);
      piece.block.allocation = slab.allocation;
      piece.block.address = slab.address;
      piece.offset = stride * i;
      piece.host = static_cast<std::byte*>(slab.host) + piece.offset;
      piece.failure = new (piece.host + class_bytes[size_class]) ir::ErrorRecord{};
    }
    for (std::size_t i = 0; i < count; ++i) free.push_back(&pieces.all[first + i]);
  } catch (...) {  // without host memory; pieces that were added are never taken
    free_slab(device, slab);
    throw;
  }
}

// The stream runs its work in order, so a launch may overwrite values of an earlier one that were not read.
// The state of a destroyed stream serves another one only after that stream's work has ended.
ReturnedValues* take_free(ValuePieces& pieces, std::uint32_t size_class) {
  const std::lock_guard lock(pieces.mutex);
  std::vector<ReturnedValues*>& free = pieces.free[size_class];
  if (free.empty()) return nullptr;
  ReturnedValues* const piece = free.back();
  free.pop_back();
  return piece;
}

ReturnedValues& take_piece(StreamState& stream, std::size_t bytes) {
  ValuePieces& pieces = pieces_of(stream);
  const std::uint32_t size_class = bytes <= class_bytes[0] ? 0 : 1;
  ReturnedValues* piece = take_free(pieces, size_class);
  while (!piece) {
    add_pieces(pieces, size_class);
    piece = take_free(pieces, size_class);
  }
  piece->stream_generation = stream.generation.load(std::memory_order_acquire);
  piece->record = nullptr;
  piece->done.store(false, std::memory_order_relaxed);
  piece->shares.store(1, std::memory_order_relaxed);
  return *piece;
}

// Calls no driver. In a child of a fork, a thread of the parent may hold the mutex.
void release(ReturnedValues& values) noexcept {
  if (values.shares.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (values.owner.stream.device.forked()) return;
  const std::lock_guard lock(values.owner.mutex);
  values.owner.free[values.size_class].push_back(&values);
}

const ReturnedValues& readable(const ReturnedValues* values) {
  if (!values)
    throw Error(
        ErrorCode::invalid,
        "the future has no value: it was moved from, or made without a launch; use the future that the "
        "launch returned");
  values->owner.stream.device.check_not_forked();
  return *values;
}

void wait_for_event(ReturnedValues& values) {
  if (values.done.load(std::memory_order_acquire)) return;
  StreamState& stream = values.owner.stream;
  DeviceState& device = stream.device;
  device.streams.flush_all();
  device.call_for(values.kernel, "wait for the values of a launch", [&](weir_status* status) {
    return device.table().event_synchronize(values.event->event, status);
  });
  stream.note_completion(values.submitted);
  values.done.store(true, std::memory_order_release);
  // Reading lines waits for all work of the stream: here only if that is done, but for the event itself.
  if (stream.submitted.load(std::memory_order_acquire) <= values.submitted + 1 && !show_printed_lines(stream))
    throw std::bad_alloc();
}

}  // namespace

ReturnedValues::ReturnedValues(ValuePieces& owner_, std::uint32_t size_class_)
    : owner(owner_), size_class(size_class_), block(owner_.stream.device) {
  block.generation = 1;
  block.ready = true;  // later launches on the stream are ordered, and no other stream uses it
  block.home = &owner_.stream;
}

ReturnTarget::ReturnTarget(const StreamRef& on, StreamState& stream,
                           std::span<const LaunchArgument> arguments, std::span<AnyArrayView> to)
    : bytes_(0) {
  for (const LaunchArgument& argument : arguments) bytes_ += returned_stride(argument.element.size());
  values_ = &take_piece(stream, bytes_);
  try {
    if (!values_->event) values_->event = stream.device.events.acquire(false);
    if (!values_->block.allocation) {
      const std::int64_t extent = static_cast<std::int64_t>(bytes_);
      memory_ = AnyArray(on, {ScalarType::u8}, std::span(&extent, 1));
    }
  } catch (...) {
    release(*values_);
    throw;
  }
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const ElementType element = arguments[i].element;
    to[i] = memory_.block() ? memory_.reinterpreted(at, element, {})
                            : PieceView(values_->block, values_->offset + at, element);
    at += returned_stride(element.size());
  }
}

ReturnTarget::~ReturnTarget() {
  if (values_) release(*values_);
}

void ReturnTarget::submit(StreamState& stream, const StreamRecord* record, const KernelOrigin* kernel) {
  DeviceState& device = stream.device;
  const auto copy = [&](void* host, weir_allocation from, std::uint64_t offset, std::size_t bytes) {
    device.call_for(kernel, "copy the values of a launch to the host", [&](weir_status* status) {
      return device.table().copy_to_host(stream.stream, host, from, offset, bytes, status);
    });
    stream.note_submission();
  };
  const Submission submission(stream);
  if (memory_.block()) copy(values_->host, memory_.block()->allocation, memory_.offset(), bytes_);
  if (record) copy(values_->failure, record->memory.allocation, record->offset, record_bytes);
  values_->record = const_cast<StreamRecord*>(record);
  values_->kernel = kernel;
  values_->submitted = stream.submitted.load(std::memory_order_acquire);
  device.call_for(kernel, "record an event", [&](weir_status* status) {
    return device.table().event_record(values_->event->event, stream.stream, status);
  });
  values_->event->recorded.store(true, std::memory_order_relaxed);
  stream.note_submission();
}

ReturnedShare::~ReturnedShare() {
  if (values_) release(*values_);
}

ReturnedShare ReturnedShare::another() const noexcept {
  values_->shares.fetch_add(1, std::memory_order_relaxed);
  return ReturnedShare(values_);
}

bool ReturnedShare::ready() const try {
  const ReturnedValues& values = readable(values_);
  if (values.done.load(std::memory_order_acquire)) return true;
  DeviceState& device = values.owner.stream.device;
  device.streams.flush_all();
  const bool reached = device.query(values.kernel, "query the values of a launch", [&](weir_status* status) {
    return device.table().event_query(values.event->event, status);
  });
  if (reached) wait_for_event(*values_);
  return reached;
} catch (...) {
  rethrow_as_error();
}

void ReturnedShare::wait() const try {
  readable(values_);
  wait_for_event(*values_);
} catch (...) {
  rethrow_as_error();
}

void ReturnedShare::read(std::size_t offset, void* to, std::size_t bytes) const try {
  const ReturnedValues& values = readable(values_);
  wait_for_event(*values_);
  if (values.record && values.failure->state != ir::ErrorRecord::free) [[unlikely]]
    throw_copied_failure(values.owner.stream, values.stream_generation, *values.record, *values.failure);
  std::memcpy(to, values.host + offset, bytes);
} catch (...) {
  rethrow_as_error();
}

}  // namespace weir::detail
