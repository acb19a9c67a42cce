// SPDX-License-Identifier: Apache-2.0
// Levels 1 and 5: offsets and sizes of more than 32 bits. Without --thorough, only a few pages of an
// allocation are written.
#include <sys/mman.h>
#include <unistd.h>

#include <functional>

#include "kernels/graph_nodes.hpp"
#include "kernels/held_kernel.hpp"

namespace weir::conformance {
namespace {

constexpr std::uint64_t far = std::uint64_t{1} << 32;
constexpr std::uint64_t piece = 64;

/// Memory of more than 4 GiB with one value at its begin, one at 2^32 and one at its end. It is so long that
/// a part of a copy begins above 2^32.
class LongMemory {
 public:
  static constexpr std::uint64_t size = far + (256u << 20), end = size - piece;

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
    fill<std::uint8_t>(stream_, memory_, end, piece, 3);
    stream_.synchronize();
  }
  weir_allocation get() const { return memory_; }
  const Stream& stream() const { return stream_; }
  void expect(std::uint8_t at_begin, std::uint8_t at_far, const char* what) const {
    for (const auto& [offset, value] :
         {std::pair{std::uint64_t{0}, at_begin}, {far, at_far}, {end, std::uint8_t{3}}})
      EXPECT_TRUE(same_bytes(memory_.read(offset, piece), Bytes(piece, value)))
          << "at offset " << offset << " after " << what << ". Look first for offsets of 32 bits";
  }

 private:
  Memory memory_{weir_allocation{}};
  const Stream stream_;
};

/// Host memory as long as LongMemory. Only its first and last 2 MiB and those at 2^32 have memory of their
/// own; all other parts are the same 2 MiB.
class LongHostMemory {
 public:
  static constexpr std::uint64_t part = 2u << 20, size = LongMemory::size;

  LongHostMemory() {
    const int file = memfd_create("weir-conformance", MFD_CLOEXEC);
    void* const reserved = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    bool done = file >= 0 && reserved != MAP_FAILED && ftruncate(file, 4 * part) == 0;
    for (std::uint64_t at = 0; done && at < size; at += part) {
      const std::uint64_t from = at == 0 ? 0 : at == far ? part : at == size - part ? 2 * part : 3 * part;
      done = mmap(static_cast<std::uint8_t*>(reserved) + at, part, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_FIXED, file, static_cast<off_t>(from)) != MAP_FAILED;
    }
    if (file >= 0) close(file);
    if (done) {
      begin_ = static_cast<std::uint8_t*>(reserved);
      return;
    }
    if (reserved != MAP_FAILED) munmap(reserved, size);
    throw Skipped("this process cannot map 4 GiB of host memory");
  }
  LongHostMemory(const LongHostMemory&) = delete;
  LongHostMemory& operator=(const LongHostMemory&) = delete;
  ~LongHostMemory() { munmap(begin_, size); }

  std::uint8_t* begin() const { return begin_; }
  void fill(std::uint64_t offset, std::uint8_t value) const { std::fill_n(begin_ + offset, piece, value); }
  Bytes read(std::uint64_t offset) const { return {begin_ + offset, begin_ + offset + piece}; }

 private:
  std::uint8_t* begin_ = nullptr;
};

/// After a copy of all of a LongMemory to the host.
void expect_whole_copy(const LongHostMemory& host, const char* what) {
  for (const auto& [offset, value] : {std::pair{std::uint64_t{0}, std::uint8_t{1}},
                                      {far, std::uint8_t{2}},
                                      {LongMemory::end, std::uint8_t{3}}})
    EXPECT_TRUE(same_bytes(host.read(offset), Bytes(piece, value)))
        << "at offset " << offset << " of the host after " << what << " of " << host.size
        << " bytes. Look first for sizes and positions of 32 bits";
}

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

WEIR_REQUIREMENT(1, 98, Edges, SizesAbove2To32,
                 "With --thorough: fills, and copies in every direction, of more than 2^32 bytes reach all "
                 "of them, each in "
                 "its place.") {
  if (!judged().thorough) throw Skipped("4 GiB are filled and copied with --thorough only");
  const LongMemory memory;
  const Stream& stream = memory.stream();
  const LongHostMemory host;
  call(table().copy_to_host, weir_stream(stream), static_cast<void*>(host.begin()), memory.get(),
       std::uint64_t{0}, memory.size);
  stream.synchronize();
  expect_whole_copy(host, "copy_to_host");
  if (HasFailure()) return;
  constexpr std::uint64_t gib = std::uint64_t{1} << 30;
  constexpr std::uint64_t places[] = {0, 4096, gib, 2 * gib, 3 * gib, far - piece, far, memory.end};
  /// Expects `first` at the first place, and at each further place `step` more.
  const auto expect = [&](weir_allocation of, std::uint8_t first, std::uint8_t step, const char* what) {
    std::uint8_t value = first;
    for (const std::uint64_t offset : places) {
      EXPECT_TRUE(same_bytes(read_piece(stream, of, offset), Bytes(piece, value)))
          << "at offset " << offset << " after " << what << " of " << memory.size
          << " bytes. Look first for sizes and positions of 32 bits";
      value = static_cast<std::uint8_t>(value + step);
    }
  };
  fill<std::uint8_t>(stream, memory.get(), 0, memory.size, 7);
  stream.synchronize();
  expect(memory.get(), 7, 0, "a fill");
  std::uint8_t mark = 10;
  for (const std::uint64_t offset : places) fill<std::uint8_t>(stream, memory.get(), offset, piece, mark++);
  {
    const LongMemory second;  // skipped without room for it
    call(table().copy_on_device, weir_stream(stream), second.get(), std::uint64_t{0}, memory.get(),
         std::uint64_t{0}, memory.size);
    stream.synchronize();
    expect(second.get(), 10, 1, "copy_on_device");
  }
  host.fill(0, 1);
  host.fill(far, 2);
  host.fill(memory.end, 3);
  call(table().copy_to_device, weir_stream(stream), memory.get(), std::uint64_t{0},
       static_cast<const void*>(host.begin()), memory.size);
  stream.synchronize();
  memory.expect(1, 2, "copy_to_device of more than 2^32 bytes");
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
  if (!judged().thorough) return;
  memory.begin();
  const LongHostMemory whole;
  run(
      "a copy node to the host of all",
      [&](GraphNodes& n) { n.copy_to_host(whole.begin(), memory.get(), memory.size); }, 2);
  expect_whole_copy(whole, "a copy node to the host");
}

}  // namespace
}  // namespace weir::conformance
