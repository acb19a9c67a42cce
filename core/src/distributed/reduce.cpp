// SPDX-License-Identifier: Apache-2.0
// Reductions over all ranks in the order of the language (sdk/docs/ir.md, "The order of a reduction"). The
// elements of the whole array are cut into chunks of a size that depends on their number only. A chunk and
// the results of all chunks are combined in a fixed order. The rank that holds the first element of a chunk
// computes it.
#include <fmt/format.h>

#include <algorithm>

#include "algorithms/check_arrays.hpp"
#include "algorithms/chunks.hpp"
#include "algorithms/kernels.hpp"
#include "algorithms/steps.hpp"
#include "algorithms/unchecked.hpp"
#include "algorithms/workspace.hpp"
#include "distributed/whole_rows.hpp"
#include "ir/task.hpp"

namespace weir::distributed {
namespace {

using algorithms::Chunks;
using algorithms::combined;
using algorithms::identity;
using algorithms::KernelCache;

constexpr auto chunk_lanes = static_cast<std::int64_t>(ir::reduce_lanes);
constexpr auto smallest_chunk = static_cast<std::int64_t>(ir::reduce_chunk(1));
constexpr auto final_lanes = static_cast<std::int64_t>(ir::reduce_final_lanes);

/// The unsigned integer whose sum over ranks, of which all but one give 0, has the bits of a T.
template <class T>
using BitsOf =
    std::conditional_t<sizeof(T) == 1, std::uint8_t,
                       std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                          std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

template <class To, class From>
Value<To> with_bits(const Value<From>& value) {
  if constexpr (std::floating_point<From> || std::floating_point<To>) {
    return bit_cast<To>(value);
  } else {
    return cast<To>(value);
  }
}

/// Lane l takes lane l + by for l below by, for by = lanes / 2 to 1, in each of `groups` groups of `lanes`;
/// then write(group, value) for the first lane. A thread folds up to 64 lanes in registers, since a loop for
/// each step of the fold would cost a launch on GPUs.
template <class T, class Write>
void fold_lanes(Combine combine, const View<T>& values, const Index& groups, std::int64_t lanes,
                const Write& write) {
  const std::int64_t stride = lanes;
  while (lanes > 1) {
    const std::int64_t taken = std::min<std::int64_t>(lanes, 64), left = lanes / taken;
    range_for(groups, left, [&](Index group, Index lane) {
      std::vector<Value<T>> held;
      for (std::int64_t k = 0; k < taken; ++k) held.emplace_back(values[group * stride + (lane + k * left)]);
      while (held.size() > 1) {
        std::vector<Value<T>> folded;
        const std::size_t by = held.size() / 2;
        for (std::size_t k = 0; k < by; ++k) folded.push_back(combined<T>(combine, held[k], held[k + by]));
        held.swap(folded);
      }
      if (left == 1)
        write(group, held[0]);
      else
        values[group * stride + lane] = held[0];
    });
    lanes = left;
  }
}

/// values[group * lanes + lane]: the elements `lane`, `lane` + lanes, ... of the group, in order.
template <class T, class At>
void fill_lanes(Combine combine, const View<T>& values, const Index& groups, std::int64_t lanes,
                const Index& size, const Index& end, const At& at) {
  range_for(groups, lanes, [&](Index group, Index lane) {
    Var<T> value = identity<T>(combine);
    for_(group * size + lane, min((group + 1) * size, end), lanes, [&](Index i) {
      const Value<T> next = at(i);
      value = combined<T>(combine, value, next);
    });
    values[group * lanes + lane] = value;
  });
}

/// As fill_lanes() for whole groups of the smallest chunk. Without an inner loop, CPUs compute several lanes
/// with one instruction.
template <class T>
void fill_lanes_of_smallest(Combine combine, const View<const T>& x, const View<T>& values) {
  range_for(x.size() / smallest_chunk, chunk_lanes, [&](Index group, Index lane) {
    Var<T> value = identity<T>(combine);
    for (std::int64_t strip = 0; strip < smallest_chunk; strip += chunk_lanes) {
      const Value<T> next = x[group * smallest_chunk + (lane + strip)];
      value = combined<T>(combine, value, next);
    }
    values[group * chunk_lanes + lane] = value;
  });
}

/// Variants of the kernels for one Combine.
enum class ChunkSize : std::uint32_t { any, smallest };

template <class T>
using ChunkKernel = void(View<const T>, View<T>, View<BitsOf<T>>, Value<std::int64_t>);

/// The results of consecutive chunks, of which only the last may be shorter than `size`. With
/// ChunkSize::smallest, all have the smallest size.
template <class T>
const Kernel<ChunkKernel<T>>& chunk_kernel(Combine combine, ChunkSize sizes) {
  static auto& cache = *new KernelCache<ChunkKernel<T>>;
  return cache.get(static_cast<std::uint32_t>(combine) * 2 + static_cast<std::uint32_t>(sizes), [&] {
    return Kernel<ChunkKernel<T>>(
        "distributed_chunks",
        with_constants([=](View<const T> x, View<T> lanes, View<BitsOf<T>> results, Index size) {
          if (sizes == ChunkSize::smallest)
            fill_lanes_of_smallest<T>(combine, x, lanes);
          else
            fill_lanes<T>(combine, lanes, results.size(), chunk_lanes, size, x.size(),
                          [&](Index i) { return Value<T>(x[i]); });
          fold_lanes<T>(combine, lanes, results.size(), chunk_lanes, [&](Index chunk, const Value<T>& value) {
            results[chunk] = with_bits<BitsOf<T>>(value);
          });
        }));
  });
}

template <class T>
using FinalKernel = void(View<const BitsOf<T>>, View<T>, View<T>);

/// The results of all chunks, combined as the elements of one chunk with 1024 lanes.
template <class T>
const Kernel<FinalKernel<T>>& final_kernel(Combine combine) {
  static auto& cache = *new KernelCache<FinalKernel<T>>;
  return cache.get(static_cast<std::uint32_t>(combine), [&] {
    return Kernel<FinalKernel<T>>(
        "distributed_final",
        with_constants([combine](View<const BitsOf<T>> results, View<T> lanes, View<T> result) {
          fill_lanes<T>(combine, lanes, 1, final_lanes, results.size(), results.size(), [&](Index i) {
            const Value<BitsOf<T>> bits = results[i];
            return with_bits<T>(bits);
          });
          fold_lanes<T>(combine, lanes, 1, final_lanes,
                        [&](Index at, const Value<T>& value) { result[at] = value; });
        }));
  });
}

Reduction reduction_of(Combine combine) {
  return combine == Combine::sum   ? Reduction::sum
         : combine == Combine::min ? Reduction::minimum
                                   : Reduction::maximum;
}

/// Elements and chunks of a rank, in the numbers of the whole array.
struct Part {
  Rows owned;   ///< elements
  Rows chunks;  ///< that begin in them
  Rows tail;    ///< the elements of the last of them, if it ends on another rank
};

Part part_of(const Rows& owned, const Chunks& chunks, std::int64_t elements) {
  Part part;
  part.owned = owned;
  const auto first_from = [&](std::int64_t element) { return (element + chunks.size - 1) / chunks.size; };
  part.chunks = {first_from(part.owned.begin), first_from(part.owned.end)};
  const std::int64_t end = std::min(part.chunks.end * chunks.size, elements);
  if (!part.chunks.empty() && end > part.owned.end) part.tail = {(part.chunks.end - 1) * chunks.size, end};
  return part;
}

template <class T>
void submit_chunks(const StreamRef& stream, Combine combine, ChunkSize sizes, const AnyArrayView& x,
                   const AnyArrayView& results, const Chunks& chunks) {
  if (results.empty()) return;
  const AnyArray lanes =
      algorithms::scratch(stream, element_type<T>, static_cast<std::int64_t>(results.size()) * chunk_lanes);
  chunk_kernel<T>(combine, sizes)(stream, x, lanes, results, chunks.size);
}

/// The results of the consecutive chunks in `x`, of which only the last may be shorter than others.
template <class T>
void submit_chunks(const StreamRef& stream, Combine combine, const AnyArrayView& x,
                   const AnyArrayView& results, const Chunks& chunks) {
  const std::int64_t smallest = chunks.size == smallest_chunk ? x.extent(0) / smallest_chunk : 0;
  const std::int64_t split = smallest * smallest_chunk;
  submit_chunks<T>(stream, combine, ChunkSize::smallest, rows_of(x, {0, split}),
                   rows_of(results, {0, smallest}), chunks);
  submit_chunks<T>(stream, combine, ChunkSize::any, rows_of(x, {split, x.extent(0)}),
                   rows_of(results, {smallest, results.extent(0)}), chunks);
}

Box of_one_dimension(const Rows& rows) {
  Box box;
  box[0] = rows;
  return box;
}

/// This rank and those with elements at most `distance` before or after those of its line. The time to find
/// them does not grow with the number of ranks. Lines are in the order of their elements.
RankRange ranks_near(const AnyDistributed& x, std::int64_t distance) {
  std::int64_t row = 1;
  std::uint32_t line = 1;
  for (std::size_t d = 1; d < x.dimensions(); ++d) {
    row *= x.extent(d);
    line *= x.ranks(d);
  }
  const std::uint32_t ranks = x.world().size(), me = x.world().rank();
  const Rows mine = x.rows();
  RankRange near{me - me % line, me - me % line + line};
  while (near.begin > 0 && x.rows(near.begin - 1).end * row + distance > mine.begin * row) near.begin -= line;
  while (near.end < ranks && x.rows(near.end).begin * row < mine.end * row + distance) near.end += line;
  return near;
}

/// The results of the chunks that begin on this rank; the other elements of `results` become 0.
template <class T>
void reduce_chunks(const StreamRef& stream, const AnyDistributed& x, Combine combine, const Chunks& chunks,
                   const AnyArrayView& results) {
  const Elements held = consecutive_elements(stream, x);
  const AnyArrayView& mine = held.mine;
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < x.dimensions(); ++d) elements *= x.extent(d);
  const Part part = part_of(held.owned(x.world().rank()), chunks, elements);
  const AnyArray tail = algorithms::scratch(stream, element_type<T>, part.tail.size());
  const auto owned = [&](std::uint32_t rank) { return of_one_dimension(held.owned(rank)); };
  const auto tails = [&](std::uint32_t rank) {
    return of_one_dimension(part_of(held.owned(rank), chunks, elements).tail);
  };
  transfer(x.world(), stream, {mine, {part.owned.begin}, owned}, {tail, {part.tail.begin}, tails},
           ranks_near(x, chunks.size));

  results.fill_zero(stream);
  const std::int64_t whole_end = part.chunks.end - (part.tail.empty() ? 0 : 1);
  const std::int64_t begin = std::min(part.chunks.begin * chunks.size, part.owned.end) - part.owned.begin;
  const std::int64_t end = part.tail.empty() ? part.owned.end : part.tail.begin;
  submit_chunks<T>(stream, combine, rows_of(mine, {begin, end - part.owned.begin}),
                   rows_of(results, {part.chunks.begin, whole_end}), chunks);
  if (!part.tail.empty())
    submit_chunks<T>(stream, combine, tail, rows_of(results, {whole_end, part.chunks.end}), chunks);
}

template <class T>
void reduce_as_prescribed(const StreamRef& stream, const AnyDistributed& x, const AnyArrayView& result,
                          Combine combine) {
  std::uint64_t elements = 1;
  for (std::size_t d = 0; d < x.dimensions(); ++d) elements *= static_cast<std::uint64_t>(x.extent(d));
  const Chunks chunks = algorithms::fixed_chunks(elements);
  const AnyArray results = algorithms::scratch(stream, element_type<BitsOf<T>>, chunks.count);
  reduce_chunks<T>(stream, x, combine, chunks, results);
  if (x.world().size() > 1 && !results.empty()) x.world().all_reduce(stream, results, Reduction::sum);
  const AnyArray lanes = algorithms::scratch(stream, element_type<T>, final_lanes);
  final_kernel<T>(combine)(stream, results, lanes, result);
}

template <class T>
void reduce_fast(const StreamRef& stream, const AnyDistributed& x, const AnyArrayView& result,
                 Combine combine) {
  const auto own = own_elements(stream, x);
  algorithms::submit_reduce(algorithms::Steps(stream), own.mine, result, combine,
                            algorithms::no_elements(own.mine));
  x.world().all_reduce(stream, result, reduction_of(combine));
}

}  // namespace
}  // namespace weir::distributed

void weir::detail::reduce(const StreamRef& stream, const AnyDistributed& x, const AnyArrayView& result,
                          Combine combine, ReduceOrder order) try {
  algorithms::expect_usable("reduce", stream, {{"x", x.local()}, {"result", result}});
  algorithms::expect_one_element("reduce", {"result", result});
  algorithms::expect_combinable("reduce", {"x", x.local()}, combine);
  algorithms::for_number_type(x.element().scalar, [&]<class T>(T) {
    // Communicators combine no bits; the order does not matter then.
    if (order == ReduceOrder::prescribed || combine > Combine::max)
      distributed::reduce_as_prescribed<T>(stream, x, result, combine);
    else
      distributed::reduce_fast<T>(stream, x, result, combine);
  });
} catch (...) {
  rethrow_as_error();
}
