// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/grid_barriers.hpp"

#include <bit>

#include "ir/task.hpp"
#include "runtime/devices/device_state.hpp"
#include "runtime/streams/submission.hpp"

namespace weir::detail {
namespace {

void free_barriers(DeviceState& device, const GridBarriers& barriers) noexcept {
  device.call_no_throw(
      [&](weir_status* status) { return device.table().memory_free(barriers.allocation, status); });
}

/// The words are zeroed in the order of the stream.
std::unique_ptr<GridBarriers> make_barriers(StreamState& stream, std::uint32_t words) {
  DeviceState& device = stream.device;
  const weir_driver_table& table = device.table();
  const weir_device handle = device.handle();
  auto barriers = std::make_unique<GridBarriers>();
  barriers->words = words;
  weir_memory_options options{};
  options.struct_size = sizeof options;
  options.kind = WEIR_MEMORY_DEVICE;
  options.size = std::uint64_t{words} * ir::grid_barrier_bytes;
  device.call("allocate a stream's barriers between blocks", [&](weir_status* status) {
    return table.memory_allocate(handle, &options, &barriers->allocation, status);
  });
  try {
    weir_memory_info info{};
    info.struct_size = sizeof info;
    device.call("query the location of memory", [&](weir_status* status) {
      return table.memory_get_info(barriers->allocation, &info, status);
    });
    barriers->address = info.device_address;
    const Submission submission(stream);
    const std::uint32_t zero = 0;
    device.call("clear a stream's barriers between blocks", [&](weir_status* status) {
      return table.fill(stream.stream, barriers->allocation, 0, options.size, &zero, sizeof zero, status);
    });
    stream.note_submission();
  } catch (...) {
    free_barriers(device, *barriers);
    throw;
  }
  return barriers;
}

}  // namespace

const GridBarriers& grid_barriers(StreamState& stream, std::uint32_t words) {
  GridBarriers* known = stream.barriers.load(std::memory_order_acquire);
  if (known && known->words >= words) [[likely]]
    return *known;
  std::unique_ptr<GridBarriers> made = make_barriers(stream, std::bit_ceil(words));
  while (!known || known->words < words) {
    made->fewer.reset(known);
    if (stream.barriers.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel))
      return *made.release();
    (void)made->fewer.release();
  }
  stream.device.streams.synchronize(stream);  // the fill above still uses the memory
  free_barriers(stream.device, *made);
  return *known;
}

}  // namespace weir::detail
