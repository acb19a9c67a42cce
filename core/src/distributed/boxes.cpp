// SPDX-License-Identifier: Apache-2.0
#include "distributed/boxes.hpp"

#include <algorithm>

#include "algorithms/kernels.hpp"
#include "algorithms/workspace.hpp"

namespace weir::distributed {
namespace {

/// Gives access to the protected parts of a view.
struct Open : AnyArrayView {
  explicit Open(const AnyArrayView& view) : AnyArrayView(view) {}
  using AnyArrayView::flattened;
  using AnyArrayView::sliced;
};

/// Distance in elements between neighbours along each dimension of `view`.
Indices strides_of(const AnyArrayView& view) {
  Indices strides{};
  std::int64_t stride = 1;
  for (std::size_t d = max_rank; d-- > 0;) {
    strides[d] = stride;
    if (d < view.rank()) stride *= view.extent(d);
  }
  return strides;
}

std::int64_t offset_of(const Box& at, const Indices& strides) {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < max_rank; ++d) offset += at[d].begin * strides[d];
  return offset;
}

/// Loops over words, of which the last runs fastest.
struct Loop {
  std::int64_t count, from_stride, to_stride;
};

/// The fewest loops that copy a box.
std::vector<Loop> loops_of(const Box& box, std::int64_t words_per_element, const Indices& from,
                           const Indices& to) {
  std::vector<Loop> loops{{words_per_element, 1, 1}};  // the innermost first
  for (std::size_t d = max_rank; d-- > 0;) {
    const Loop next{box[d].size(), from[d] * words_per_element, to[d] * words_per_element};
    Loop& last = loops.back();
    if (next.count == 1) continue;
    if (last.count == 1)
      last = next;
    else if (next.from_stride == last.from_stride * last.count &&
             next.to_stride == last.to_stride * last.count)
      last.count *= next.count;
    else
      loops.push_back(next);
  }
  std::ranges::reverse(loops);
  return loops;
}

template <class W>
using CopyKernel = void(View<const W>, View<W>, Value<std::int64_t>, Value<std::int64_t>, Value<std::int64_t>,
                        Value<std::int64_t>, Value<std::int64_t>, Value<std::int64_t>, Value<std::int64_t>,
                        Value<std::int64_t>, Value<std::int64_t>, Value<std::int64_t>, Value<std::int64_t>,
                        Value<std::int64_t>);

/// Copies words in 1 to 4 loops, given as four counts, strides of `from` and strides of `to`. With `adjacent`
/// the innermost strides are 1, a constant that lets CPUs copy several words with one instruction.
template <class W>
const Kernel<CopyKernel<W>>& copy_kernel(std::size_t loops, bool adjacent) {
  static auto& cache = *new algorithms::KernelCache<CopyKernel<W>>;
  return cache.get(static_cast<std::uint32_t>(loops) * 2 + adjacent, [&] {
    return Kernel<CopyKernel<W>>(
        "distributed_copy_box",
        with_constants([=](View<const W> from, View<W> to, Index n0, Index n1, Index n2, Index n3, Index f0,
                           Index f1, Index f2, Index f3, Index t0, Index t1, Index t2, Index t3) {
          const auto copy = [&](const Index& f, const Index& t, const Index& last) {
            if (adjacent)
              to[t + last] = from[f + last];
            else
              to[t + last * t3] = from[f + last * f3];
          };
          if (loops == 1)
            range_for(n3, [&](Index i) { copy(0, 0, i); });
          else if (loops == 2)
            range_for(n2, n3, [&](Index i, Index j) { copy(i * f2, i * t2, j); });
          else if (loops == 3)
            range_for(n1, n2, n3,
                      [&](Index i, Index j, Index k) { copy(i * f1 + j * f2, i * t1 + j * t2, k); });
          else
            range_for(n0, n1, n2, n3, [&](Index i, Index j, Index k, Index l) {
              copy(i * f0 + j * f1 + k * f2, i * t0 + j * t1 + k * t2, l);
            });
        }));
  });
}

}  // namespace

Box common(const Box& a, const Box& b) {
  Box both;
  for (std::size_t d = 0; d < max_rank; ++d)
    both[d] = {std::max(a[d].begin, b[d].begin), std::min(a[d].end, b[d].end)};
  return both;
}

Box relative_to(const Indices& origin, const Box& box) {
  Box moved;
  for (std::size_t d = 0; d < max_rank; ++d) moved[d] = {box[d].begin - origin[d], box[d].end - origin[d]};
  return moved;
}

Box all_of(const AnyArrayView& view) {
  Box all;
  for (std::size_t d = 0; d < view.rank(); ++d) all[d] = {0, view.extent(d)};
  return all;
}

AnyArrayView rows_of(const AnyArrayView& view, const Rows& rows) {
  return Open(view).sliced(0, rows.begin, rows.end, 1);
}

AnyArrayView flat(const AnyArrayView& view) {
  return Open(view).flattened();
}

std::vector<std::int64_t> extents_of(const Box& box, std::size_t dimensions) {
  std::vector<std::int64_t> extents;
  for (std::size_t d = 0; d < dimensions; ++d) extents.push_back(box[d].size());
  return extents;
}

std::optional<AnyArrayView> contiguous(const AnyArrayView& view, const Box& at) {
  bool several = false;  // more than one index of an outer dimension
  for (std::size_t d = 0; d < view.rank(); ++d) {
    if (several && at[d] != Rows{0, view.extent(d)}) return std::nullopt;
    several = several || at[d].size() != 1;
  }
  const auto offset = static_cast<std::uint64_t>(offset_of(at, strides_of(view)));
  return view.reinterpreted(offset * view.element().size(), view.element(), extents_of(at, view.rank()));
}

OwnElements own_elements(const StreamRef& stream, const AnyDistributed& x) {
  const Box own = x.owned_box();
  if (own.empty()) return {{}, rows_of(flat(x.local()), {0, 0})};
  if (const auto elements = contiguous(x.local(), own)) return {{}, flat(*elements)};
  OwnElements elements{algorithms::scratch(stream, x.element(), own.size()), {}};
  x.copy_own_to(stream, elements.packed);
  elements.mine = elements.packed;
  return elements;
}

void copy_box(const StreamRef& stream, const AnyArrayView& to, const Box& to_at, const AnyArrayView& from,
              const Box& from_at) {
  if (to_at.empty()) return;
  const auto target = contiguous(to, to_at), source = contiguous(from, from_at);
  if (target && source) return target->copy_from_array(stream, *source);
  const AnyArrayView from_words = algorithms::as_words(from), to_words = algorithms::as_words(to);
  const auto words_per_element =
      static_cast<std::int64_t>(from.element().size() / from_words.element().size());
  const Indices from_strides = strides_of(from), to_strides = strides_of(to);
  const std::vector<Loop> loops = loops_of(to_at, words_per_element, from_strides, to_strides);
  std::array<Loop, max_rank> all{};
  std::ranges::copy_backward(loops, all.end());
  const auto since = [&](const AnyArrayView& words, const Box& at, const Indices& strides) {
    return rows_of(words, {offset_of(at, strides) * words_per_element, words.extent(0)});
  };
  const bool adjacent = all[3].from_stride == 1 && all[3].to_stride == 1;
  algorithms::for_word_type(from_words, [&]<class W>(W) {
    copy_kernel<W>(loops.size(), adjacent)(
        stream, since(from_words, from_at, from_strides), since(to_words, to_at, to_strides), all[0].count,
        all[1].count, all[2].count, all[3].count, all[0].from_stride, all[1].from_stride, all[2].from_stride,
        all[3].from_stride, all[0].to_stride, all[1].to_stride, all[2].to_stride, all[3].to_stride);
  });
}

AnyArray array_for(const StreamRef& stream, const AnyArrayView& view, const Box& box) {
  return AnyArray(stream, view.element(), extents_of(box, view.rank()));
}

void BoxMessages::send(const AnyArrayView& from, const Box& at, std::uint32_t rank) {
  if (at.empty()) return;
  if (const auto part = contiguous(from, at)) return sends_.push_back({*part, rank});
  const AnyArray& packed = packed_.emplace_back(array_for(stream_, from, at));
  copy_box(stream_, packed, all_of(packed), from, at);
  sends_.push_back({packed, rank});
}

void BoxMessages::receive(const AnyArrayView& to, const Box& at, std::uint32_t rank) {
  if (at.empty()) return;
  if (const auto part = contiguous(to, at)) return receives_.push_back({*part, rank});
  const AnyArray& packed = unpackings_.emplace_back(to, at, array_for(stream_, to, at)).packed;
  receives_.push_back({packed, rank});
}

void BoxMessages::exchange(const Communicator& world) {
  if (sends_.empty() && receives_.empty()) return;
  world.exchange(stream_, sends_, receives_);
  for (const Unpacking& next : unpackings_)
    copy_box(stream_, next.to, next.at, next.packed, all_of(next.packed));
}

Pieces pieces_of(const AnyDistributed& x) {
  Pieces pieces{x.local(), {}, [&x](std::uint32_t rank) { return x.box(rank); }};
  for (std::size_t d = 0; d < x.dimensions(); ++d) pieces.origin[d] = x.origin(d);
  return pieces;
}

Pieces pieces_on(std::uint32_t root, const AnyArrayView& whole, const AnyDistributed& like) {
  Box all;
  for (std::size_t d = 0; d < like.dimensions(); ++d) all[d] = {0, like.extent(d)};
  return {whole, {}, [=](std::uint32_t rank) {
            Box box = all;
            if (rank != root) box[0].end = 0;
            return box;
          }};
}

void transfer(const Communicator& world, const StreamRef& stream, const Pieces& from, const Pieces& to,
              const RankRange& among) {
  const std::uint32_t me = world.rank();
  const Box held = from.box(me), wanted = to.box(me);
  if (const Box kept = common(held, wanted); !kept.empty())
    copy_box(stream, to.memory, relative_to(to.origin, kept), from.memory, relative_to(from.origin, kept));
  BoxMessages messages(stream);
  for (std::uint32_t rank = among.begin; rank < among.end; ++rank) {
    if (rank == me) continue;
    const Box out = common(held, to.box(rank)), in = common(wanted, from.box(rank));
    if (!out.empty()) messages.send(from.memory, relative_to(from.origin, out), rank);
    if (!in.empty()) messages.receive(to.memory, relative_to(to.origin, in), rank);
  }
  messages.exchange(world);
}

}  // namespace weir::distributed
