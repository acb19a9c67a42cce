// SPDX-License-Identifier: Apache-2.0
// The reductions of MessageGroup. Each element is combined on one rank in a fixed order and then sent to the
// others, so all ranks hold the same bits.
#pragma once

#include <bit>

#include "../reduction.hpp"
#include "message_group.hpp"

namespace weir::sdk {
namespace detail {

constexpr std::uint64_t small_message = 1 << 16;  // bytes of an array that travels whole, in fewer messages
constexpr std::uint32_t many_ranks = 8;           // that do not each exchange a part with all others

}  // namespace detail

// Along a binomial tree: rank r takes the values of r + 1, r + 2, r + 4, ..., then sends to the rank without
// r's lowest bit.
inline void MessageGroup::reduce_to_first(std::byte* values, std::uint64_t count,
                                          const Reduction& reduction) {
  const std::uint64_t bytes = count * reduction.element;
  std::vector<std::byte> other(bytes);
  for (std::uint32_t bit = 1; bit < size(); bit <<= 1) {
    if (rank() & bit) {
      const Part part{rank() - bit, values, bytes, false};
      return messages_->transfer({&part, 1});
    }
    if (rank() + bit >= size()) continue;
    const Part part{rank() + bit, other.data(), bytes, true};
    messages_->transfer({&part, 1});
    reduce(reduction.type, reduction.kind, values, other.data(), count);
  }
}

// Every rank sends each other rank its part of `from` and combines its own part in the order of ranks.
// Part p has the elements from begins[p] to begins[p + 1].
inline void MessageGroup::reduce_part(std::byte* to, const std::byte* from,
                                      std::span<const std::uint64_t> begins, const Reduction& reduction) {
  const std::uint64_t element = reduction.element, count = begins[rank() + 1] - begins[rank()];
  const std::uint64_t bytes = count * element;
  std::vector<std::byte> others(size() * bytes);
  std::vector<Part> parts;
  for (std::uint32_t step = 1; step < size(); ++step) {
    const std::uint32_t peer = (rank() + step) % size(), source = (rank() + size() - step) % size();
    // The memory of a send is only read.
    parts.push_back({peer, const_cast<std::byte*>(from) + begins[peer] * element,
                     (begins[peer + 1] - begins[peer]) * element, false});
    parts.push_back({source, others.data() + source * bytes, bytes, true});
  }
  if (bytes != 0) std::memcpy(others.data() + rank() * bytes, from + begins[rank()] * element, bytes);
  messages_->transfer(parts);
  for (std::uint32_t other = 1; other < size(); ++other)
    reduce(reduction.type, reduction.kind, others.data(), others.data() + other * bytes, count);
  if (bytes != 0) std::memcpy(to, others.data(), bytes);
}

// Recursive halving (Rabenseifner): in each step pairs of ranks at half the previous distance split their
// common elements. Each rank keeps one half and adds the partner's values of it. The same steps in reverse
// order then exchange the other halves. This takes 2 log2 of the number of ranks in messages, which together
// have twice the array's bytes. Ranks from the largest power of two on send their values to the rank that
// many before them, and get the result from it.
inline void MessageGroup::reduce_by_halves(std::byte* values, std::uint64_t count,
                                           const Reduction& reduction) {
  const std::uint32_t paired = std::bit_floor(size());
  const std::uint64_t element = reduction.element;
  const auto part = [&](std::uint32_t peer, void* address, std::uint64_t elements, bool receive) {
    return Part{peer, address, elements * element, receive};
  };
  if (rank() >= paired) {
    const Part out = part(rank() - paired, values, count, false),
               in = part(rank() - paired, values, count, true);
    messages_->transfer({&out, 1});
    return messages_->transfer({&in, 1});
  }
  const bool has_extra = rank() + paired < size();
  std::vector<std::byte> other((has_extra ? count : count - count / 2) * element);
  if (has_extra) {
    const Part in = part(rank() + paired, other.data(), count, true);
    messages_->transfer({&in, 1});
    reduce(reduction.type, reduction.kind, values, other.data(), count);
  }
  struct Half {
    std::uint32_t peer;
    std::uint64_t kept, kept_count, given, given_count;
  };
  std::vector<Half> halves;
  std::uint64_t begin = 0, left = count;  // elements that this rank still reduces
  for (std::uint32_t distance = paired / 2; distance != 0; distance /= 2) {
    const std::uint64_t low = left / 2, high = left - low;
    const bool upper = (rank() & distance) != 0;
    const Half half = upper ? Half{rank() - distance, begin + low, high, begin, low}
                            : Half{rank() + distance, begin, low, begin + low, high};
    const Part parts[] = {part(half.peer, values + half.given * element, half.given_count, false),
                          part(half.peer, other.data(), half.kept_count, true)};
    messages_->transfer(parts);
    reduce(reduction.type, reduction.kind, values + half.kept * element, other.data(), half.kept_count);
    halves.push_back(half);
    begin = half.kept;
    left = half.kept_count;
  }
  for (; !halves.empty(); halves.pop_back()) {
    const Half& half = halves.back();
    const Part parts[] = {part(half.peer, values + half.kept * element, half.kept_count, false),
                          part(half.peer, values + half.given * element, half.given_count, true)};
    messages_->transfer(parts);
  }
  if (has_extra) {
    const Part out = part(rank() + paired, values, count, false);
    messages_->transfer({&out, 1});
  }
}

inline void MessageGroup::reduce_scatter(const weir_memory& to, const weir_memory& from, std::uint64_t count,
                                         std::uint32_t type, std::uint32_t reduction, Stream stream) {
  std::byte* const mine = host_bytes(to, "destination");
  const std::byte* const source = host_bytes(from, "source");
  refuse_stream(stream);
  begin("reduce_scatter", count, type, reduction);
  std::vector<std::uint64_t> begins(size() + 1);
  for (std::uint32_t part = 0; part <= size(); ++part) begins[part] = part * count;
  reduce_part(mine, source, begins, {type, reduction, scalar_size(type)});
}

inline void MessageGroup::all_reduce(const weir_memory& to, const weir_memory& from, std::uint64_t count,
                                     std::uint32_t type, std::uint32_t reduction, Stream stream) {
  std::byte* const mine = host_bytes(to, "destination");
  const std::byte* const source = host_bytes(from, "source");
  refuse_stream(stream);
  begin("all_reduce", count, type, reduction);
  const Reduction how{type, reduction, scalar_size(type)};
  const std::uint64_t bytes = count * how.element;
  if (bytes <= detail::small_message) {
    copy_bytes(mine, source, bytes);
    reduce_to_first(mine, count, how);
    return broadcast_bytes(mine, bytes, 0);
  }
  if (size() >= detail::many_ranks && bytes / size() <= detail::small_message) {
    copy_bytes(mine, source, bytes);
    return reduce_by_halves(mine, count, how);
  }
  std::vector<std::uint64_t> begins(size() + 1);
  for (std::uint32_t part = 0; part <= size(); ++part)
    begins[part] = count / size() * part + std::min<std::uint64_t>(part, count % size());
  reduce_part(mine + begins[rank()] * how.element, source, begins, how);
  std::vector<Part> parts;
  for (std::uint32_t step = 1; step < size(); ++step) {
    const std::uint32_t peer = (rank() + step) % size(), other = (rank() + size() - step) % size();
    const auto part = [&](std::uint32_t of) { return (begins[of + 1] - begins[of]) * how.element; };
    parts.push_back({peer, mine + begins[rank()] * how.element, part(rank()), false});
    parts.push_back({other, mine + begins[other] * how.element, part(other), true});
  }
  messages_->transfer(parts);
}

}  // namespace weir::sdk
