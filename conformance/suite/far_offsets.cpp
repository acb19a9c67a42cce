// SPDX-License-Identifier: Apache-2.0
// Levels 1 and 5: offsets of more than 32 bits. Only a few pages of the allocation are written.
#include <functional>

#include "kernels/graph_nodes.hpp"
#include "kernels/held_kernel.hpp"

namespace weir::conformance {
namespace {

constexpr std::uint64_t far = std::uint64_t{1} << 32;
constexpr std::uint64_t piece = 64;

/// Memory of more than 4 GiB with one value at its begin and one at 2^32.
class LongMemory {
 public:
  static constexpr std::uint64_t size = far + 4096;

  LongMemory() {
    std::uint64_t free = 0, total = 0;
    call(table().device_get_memory, device(), &free, &total);
    if (free / 4 * 3 < size) throw Skipped("less than 6 GiB of memory are free");
    const weir_memory_options options = memory_options(size);
    weir_allocation out = nullptr;
    weir_status status = new_status();
    if (table().memory_allocate(device(), &options, &out, &status) != WEIR_OK)
      throw Skipped(std::string("the device allocates no 4 GiB at once: ") + status.message);
    memory_ = Memory(out);
    begin();
  }
  void begin() const {
    fill<std::uint8_t>(stream_, memory_, 0, piece, 1);
    fill<std::uint8_t>(stream_, memory_, far, piece, 2);
    stream_.synchronize();
  }
  weir_allocation get() const { return memory_; }
  const Stream& stream() const { return stream_; }
  void expect(std::uint8_t at_begin, std::uint8_t at_far, const char* what) const {
    for (const auto& [offset, value] : {std::pair{std::uint64_t{0}, at_begin}, std::pair{far, at_far}})
      EXPECT_TRUE(same_bytes(memory_.read(offset, piece), Bytes(piece, value)))
          << "at offset " << offset << " after " << what << ". Look first for offsets of 32 bits";
  }

 private:
  Memory memory_{weir_allocation{}};
  const Stream stream_;
};

Bytes read_piece(const Stream& stream, weir_allocation memory, std::uint64_t offset) {
  Bytes bytes(piece);
  call(table().copy_to_host, weir_stream(stream), static_cast<void*>(bytes.data()), memory, offset, piece);
  stream.synchronize();
  return bytes;
}

WEIR_REQUIREMENT(
    1, 39, Edges, OffsetsAbove2To32,
    "Copies and fills at an offset of 2^32 reach that place and not the begin of the allocation.") {
  const LongMemory memory;
  const Stream& stream = memory.stream();
  memory.expect(1, 2, "fills of both");
  const Memory small(piece);
  fill<std::uint8_t>(stream, small, 0, piece, 3);
  call(table().copy_on_device, weir_stream(stream), memory.get(), far, weir_allocation(small),
       std::uint64_t{0}, piece);
  stream.synchronize();
  memory.expect(1, 3, "copy_on_device to offset 2^32");
  const Bytes four(piece, 4);
  call(table().copy_to_device, weir_stream(stream), memory.get(), far, static_cast<const void*>(four.data()),
       piece);
  stream.synchronize();
  memory.expect(1, 4, "copy_to_device to offset 2^32");
  call(table().copy_on_device, weir_stream(stream), weir_allocation(small), std::uint64_t{0}, memory.get(),
       far, piece);
  stream.synchronize();
  EXPECT_TRUE(same_bytes(small.read(0, piece), four))
      << "copy_on_device from offset 2^32. Look first for offsets of 32 bits";
}

WEIR_REQUIREMENT(1, 67, Edges, LargeCopiesAreWhole,
                 "Copies of 160 MiB and one byte in every direction copy all of it.") {
  constexpr std::uint64_t size = (160u << 20) + 1, step = 16u << 20, mark = 64;
  std::uint64_t free = 0, total = 0;
  call(table().device_get_memory, device(), &free, &total);
  if (free < 4 * size) throw Skipped("less than 640 MiB of memory are free");
  const Memory from(size), to(size);
  const Stream stream;
  std::vector<std::uint8_t> host(size);
  // Marks at the begin of each 16 MiB and at the end.
  std::vector<std::uint64_t> places;
  for (std::uint64_t at = 0; at + 2 * mark < size; at += step) places.push_back(at);
  places.push_back(size - mark);
  const auto expect = [&](const char* slot, std::uint8_t seed, const auto& found_at) {
    for (std::size_t i = 0; i < places.size(); ++i)
      ASSERT_TRUE(same_bytes(found_at(places[i]), Bytes(mark, static_cast<std::uint8_t>(seed + i))))
          << "at offset " << places[i] << " after " << slot << " of " << size
          << " bytes. Look first at where it splits large copies";
  };
  const auto in_host = [&](std::uint64_t at) {
    return Bytes(host.begin() + static_cast<std::ptrdiff_t>(at),
                 host.begin() + static_cast<std::ptrdiff_t>(at + mark));
  };
  for (std::size_t i = 0; i < places.size(); ++i)
    std::fill_n(host.begin() + static_cast<std::ptrdiff_t>(places[i]), mark,
                static_cast<std::uint8_t>(1 + i));
  call(table().copy_to_device, weir_stream(stream), weir_allocation(from), std::uint64_t{0},
       static_cast<const void*>(host.data()), size);
  expect("copy_to_device", 1, [&](std::uint64_t at) { return read_through(stream, from, at, mark); });
  if (HasFatalFailure()) return;
  call(table().copy_on_device, weir_stream(stream), weir_allocation(to), std::uint64_t{0},
       weir_allocation(from), std::uint64_t{0}, size);
  expect("copy_on_device", 1, [&](std::uint64_t at) { return read_through(stream, to, at, mark); });
  if (HasFatalFailure()) return;
  for (std::size_t i = 0; i < places.size(); ++i)
    fill<std::uint8_t>(stream, to, places[i], mark, static_cast<std::uint8_t>(101 + i));
  call(table().copy_to_host, weir_stream(stream), static_cast<void*>(host.data()), weir_allocation(to),
       std::uint64_t{0}, size);
  stream.synchronize();
  expect("copy_to_host", 101, in_host);
}

WEIR_REQUIREMENT(
    1, 98, Edges, SizesAbove2To32,
    "With --thorough: fills and copies on the device of more than 2^32 bytes reach all of them.") {
  if (!judged().thorough) throw Skipped("memory of 4 GiB is filled with --thorough only");
  const LongMemory memory;
  const Stream& stream = memory.stream();
  const auto expect = [&](weir_allocation of, std::uint8_t value, const char* what) {
    const std::uint64_t gib = std::uint64_t{1} << 30;
    for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{4096}, gib, 2 * gib, 3 * gib,
                                       far - piece, far, memory.size - piece})
      EXPECT_TRUE(same_bytes(read_piece(stream, of, offset), Bytes(piece, value)))
          << "at offset " << offset << " after " << what << " of " << memory.size
          << " bytes. Look first for sizes of 32 bits";
  };
  fill<std::uint8_t>(stream, memory.get(), 0, memory.size, 7);
  stream.synchronize();
  expect(memory.get(), 7, "a fill");
  const LongMemory second;  // skipped without room for it
  call(table().copy_on_device, weir_stream(stream), second.get(), std::uint64_t{0}, memory.get(),
       std::uint64_t{0}, memory.size);
  stream.synchronize();
  expect(second.get(), 7, "copy_on_device");
}

WEIR_REQUIREMENT(5, 58, Graphs, OffsetsAbove2To32,
                 "Copies and fills of a graph at an offset of 2^32 reach that place and not the begin of the "
                 "allocation.") {
  needs(WEIR_CAP_GRAPHS);
  const LongMemory memory;
  const Stream& stream = memory.stream();
  const Memory small(piece);
  Bytes host(piece, 9), back(piece, 0);
  const auto run = [&](const char* what, const std::function<void(GraphNodes&)>& add, std::uint8_t at_far) {
    GraphNodes nodes;
    add(nodes);
    const Graph graph = nodes.make();
    launch(graph, stream);
    stream.synchronize();
    memory.expect(1, at_far, what);
  };
  run(
      "a fill node at offset 2^32", [&](GraphNodes& n) { n.fill<std::uint8_t>(memory.get(), far, piece, 5); },
      5);
  run(
      "a copy node to the device at offset 2^32",
      [&](GraphNodes& n) {
        n.copy_to_device(memory.get(), host.data(), piece);
        n[0].destination_offset = far;
      },
      9);
  run(
      "a copy node from offset 2^32",
      [&](GraphNodes& n) { n.copy_on_device(small, 0, memory.get(), far, piece); }, 9);
  EXPECT_TRUE(same_bytes(small.read(), Bytes(piece, 9)))
      << "read at offset 2^32 by a copy node on the device. Look first for offsets of 32 bits";
  run(
      "a copy node to the host from offset 2^32",
      [&](GraphNodes& n) {
        n.copy_to_host(back.data(), memory.get(), piece);
        n[0].source_offset = far;
      },
      9);
  EXPECT_TRUE(same_bytes(back, Bytes(piece, 9)))
      << "read at offset 2^32 by a copy node to the host. Look first for offsets of 32 bits";
}

}  // namespace
}  // namespace weir::conformance
