// SPDX-License-Identifier: Apache-2.0
// Parts of the kernels for GPUs, which consist of groups of threads. A group processes a range of tiles. Its
// threads load a tile with adjacent addresses, and exchange it in shared memory, after which each thread has
// consecutive elements.
#pragma once

#include <deque>
#include <vector>

#include "algorithms/chunks.hpp"
#include "algorithms/kernels.hpp"

namespace weir::algorithms {

/// Whether algorithms use their kernels of groups: on devices that are not CPUs and run groups of this size,
/// and everywhere if WEIR_ALGORITHM_GROUPS is set. Throws Error{invalid} if its value is not a number.
bool uses_groups(const Device& device);
/// Whether a group may wait for a group that began before it. That requires that groups run until they end,
/// as on CUDA, HIP and the CPU driver; Vulkan does not guarantee it. The device must also have the shared
/// memory of such kernels, max_waiting_group_bytes. False if WEIR_ALGORITHM_GROUPS is a number above 0.
bool groups_may_wait(const Device& device);

/// Consecutive elements for each group, a multiple of a tile. The number of ranges keeps the device busy; it
/// is at most max_ranges, and at most WEIR_ALGORITHM_GROUPS unless that is 0.
Chunks group_ranges(const Device& device, std::uint64_t elements, std::int64_t tile);
inline constexpr std::uint64_t max_ranges = 2048;

/// Threads of a group.
inline constexpr std::int64_t group_size = 256;
/// Shared memory that each kernel of groups takes at most.
inline constexpr std::uint32_t max_group_bytes = 32 * 1024;
inline constexpr std::uint32_t max_waiting_group_bytes = 48 * 1024;

/// Integers that are computed with in place of T: shared memory of 8 and 16 bits is not available everywhere.
template <class T>
using Word = std::conditional_t<(sizeof(T) >= 4), T,
                                std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>>;

/// Elements of a tile for each thread. A tile of 4,096 elements of 4 bytes, or 2,048 of 8, takes 17 KiB, so
/// that a multiprocessor with 64 KiB holds several groups. One element in 17 is unused, so that neither
/// adjacent elements nor the first elements of all threads are in one bank.
template <class W>
inline constexpr std::int64_t per_thread = sizeof(W) > 4 ? 8 : 16;
template <class W>
inline constexpr std::int64_t tile_size = per_thread<W>* group_size;

/// A tile in shared memory, of which each thread has `Each` elements. Declare it directly in the body of a
/// group loop.
template <class W, std::int64_t Each = per_thread<W>>
class Tile {
 public:
  explicit Tile(const Index& thread)
      : row_(thread + thread / spacing), own_(thread * Each + thread * Each / spacing) {}

  /// Element k * group_size + thread: the k-th that the thread loads.
  Element<W> loaded(const Index& k) const { return memory_[row_ + k * (group_size + group_size / spacing)]; }
  void load(const std::vector<Value<W>>& values) const {
    for (std::size_t k = 0; k < values.size(); ++k) loaded(std::int64_t(k)) = values[k];
  }
  /// Element thread * per_thread + k: the k-th of the thread's consecutive ones.
  Element<W> own(std::int64_t k) const { return memory_[own_ + k]; }
  Element<W> operator[](const Index& i) const { return memory_[i + i / spacing]; }

 private:
  static constexpr std::int64_t elements = Each * group_size, spacing = 16;
  static_assert(spacing % Each == 0 && group_size % spacing == 0);
  Shared<W, std::size_t(elements + elements / spacing)> memory_;
  Index row_, own_;
};

/// Threads of a sub-group.
inline constexpr std::uint32_t row = 32;
inline constexpr std::int64_t rows = group_size / row;

/// Combines one value of each thread of a group. Declare it directly in the body of a group loop. All threads
/// must call it together; calls may follow one another without a barrier.
template <class W>
class GroupScan {
 public:
  struct Result {
    Value<W> before;  ///< of the threads with lower numbers
    Value<W> total;
  };
  template <class F>
  Result operator()(const Index& thread, const Value<W>& value, W identity, const F& combine) const {
    const Value<W> up_to_here = subgroup_scan<row>(value, combine);
    const auto [above, total] = of_rows(thread, shuffle<row>(up_to_here, int(row) - 1), identity, combine);
    barrier();  // before the next call
    const Value<W> of_row = shuffle_up<row>(up_to_here, 1);
    return {combine(above, select(lane<row>() == 0, Value<W>(identity), of_row)), total};
  }
  Result sum(const Index& thread, const Value<W>& value) const {
    return (*this)(thread, value, W(0), [](const Value<W>& a, const Value<W>& b) { return a + b; });
  }

  /// For a value that all threads of a row have: of the rows with lower numbers, and of all. The next call
  /// must have the other `turn`, 0 or 1, or follow a barrier.
  template <class F>
  Result of_rows(const Index& thread, const Value<W>& value, W identity, const F& combine,
                 const Index& turn = 0) const {
    const Index own_row = thread / row, first = turn * rows;
    if_(lane<row>() == 0, [&] { sums_[first + own_row] = value; });
    barrier();
    Var<W> before = identity, total = identity;
    for (std::int64_t r = 0; r < rows; ++r) {
      const Value<W> next = sums_[first + r], so_far = total;
      before = select(own_row == r, so_far, Value<W>(before));
      total = combine(so_far, next);
    }
    return {Value<W>(before), Value<W>(total)};
  }

 private:
  Shared<W, std::size_t(2 * rows)> sums_;
};

/// Calls body(base) for the first element of each tile of `tile_elements` in the group's range of `size`
/// elements. `base` is a product with the size of a tile, so that the compiler knows the alignment of
/// elements.
template <class Body>
void for_tiles_of(std::int64_t tile_elements, const Index& group, const Index& size, const Index& n,
                  const Body& body) {
  const Index tiles = size / tile_elements, begin = group * tiles;
  for_(begin, min(begin + tiles, (n + (tile_elements - 1)) / tile_elements),
       [&](Index tile) { body(tile * tile_elements); });
}
template <class W, class Body>
void for_tiles(const Index& group, const Index& size, const Index& n, const Body& body) {
  for_tiles_of(tile_size<W>, group, size, n, body);
}

/// The elements of a tile that a thread loads: element k is at first + place(k).
struct Elements {
  Index base, first;  ///< of the tile, and of the thread
  std::int64_t each;
  std::int64_t (*place)(std::int64_t k);
};
/// The threads of the group load adjacent elements.
inline Elements strided(const Index& thread, const Index& base, std::int64_t each) {
  return {base, base + thread, each, [](std::int64_t k) { return k * group_size; }};
}
/// Each sub-group of `Width` threads has consecutive elements, and its threads load adjacent ones: element k
/// is in row k.
template <std::uint32_t Width = row>
Elements in_rows(const Index& thread, const Index& base, std::int64_t each) {
  return {base, base + (thread / Width * (each * Width) + thread % Width), each,
          [](std::int64_t k) { return k * std::int64_t(Width); }};
}
/// Each sub-group has consecutive elements. Its threads load adjacent fours, each with one instruction.
inline constexpr std::int64_t four = 4, fours_of_row = four * row;
inline Elements in_fours(const Index& thread, const Index& base, std::int64_t each) {
  return {base, base + (thread / row * (each / four) * row + thread % row) * four, each,
          [](std::int64_t k) { return k / four * fours_of_row + k % four; }};
}

/// Calls body(k, i) for each element i, unless it is past the end. The body is traced twice, because whole
/// tiles need no comparisons and have constant distances between addresses.
template <class Body>
void for_each_of(const Elements& own, const Index& n, const Body& body) {
  if_(own.base + own.each * group_size <= n, [&] {
    for (std::int64_t k = 0; k < own.each; ++k) body(k, own.first + own.place(k));
  }).else_([&] {
    for (std::int64_t k = 0; k < own.each; ++k) {
      if_(own.first + own.place(k) < n, [&] { body(k, own.first + own.place(k)); });
    }
  });
}

/// The values of element(i) for these elements, and `neutral` in place of those past the end.
template <class V, class Element>
std::vector<Value<V>> loaded(const Elements& own, const Index& n, V neutral, const Element& element) {
  std::deque<Var<V>> values;
  for (std::int64_t k = 0; k < own.each; ++k) values.emplace_back(neutral);
  for_each_of(own, n, [&](std::int64_t k, const Index& i) { values[std::size_t(k)] = Value<V>(element(i)); });
  return {values.begin(), values.end()};
}

}  // namespace weir::algorithms
