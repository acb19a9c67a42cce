// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <weir/distributed.hpp>
#include <weir/distributed_profile.hpp>

namespace weir {
namespace {

/// The texts of all ranks, one after the other, on rank 0; empty on the others.
std::string gather_text(const Communicator& world, const StreamRef& stream, std::string_view mine) {
  const Device device = stream.device();
  const Array<std::int64_t> size = device.array<std::int64_t>(stream, 1);
  const Array<std::int64_t> sizes = device.array<std::int64_t>(stream, world.size());
  size.fill(stream, static_cast<std::int64_t>(mine.size()));
  world.all_gather(stream, sizes, size);
  world.synchronize(stream);

  Cut cut;
  cut.rows = sizes.to_host(stream);
  std::int64_t total = 0;
  for (const std::int64_t rows : cut.rows) total += rows;
  const Distributed<std::uint8_t> text(world, stream, {total}, cut);
  text.own().copy_from_bytes(stream, std::as_bytes(std::span(mine)));
  const bool first = world.rank() == 0;
  const Array<std::uint8_t> whole = device.array<std::uint8_t>(stream, first ? total : 0);
  text.gather(stream, whole, 0);
  world.synchronize(stream);
  std::string all(whole.size(), '\0');
  whole.copy_to_bytes(stream, std::as_writable_bytes(std::span(all)));
  return all;
}

}  // namespace

void write_trace(const Communicator& world, const StreamRef& stream, const std::filesystem::path& path,
                 std::span<const TaskTime> times, std::string_view title) try {
  const std::uint32_t rank = world.rank();
  const std::string mine =
      (rank == 0 ? "" : ",") + detail::trace_events(times, fmt::format("rank {}: {}", rank, title), rank + 1);
  const std::string all = gather_text(world, stream, mine);
  if (rank == 0) {
    try {
      detail::write_trace_file(path, all);
    } catch (const std::exception& error) {
      world.abort(error.what());
      throw;
    }
  }
  world.barrier();
} catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir
