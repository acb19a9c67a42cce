// SPDX-License-Identifier: Apache-2.0
// The reductions of MessageGroup. Each element is combined on one rank in a fixed order and then sent to the
// others, so all ranks hold the same bits.
#pragma once

#include "../reduction.hpp"
#include "message_group.hpp"

namespace weir::sdk {
namespace detail {

constexpr std::uint64_t small_message = 1 << 16;  // bytes of an array that travels whole, in fewer messages

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
    if (bytes != 0 && mine != source) std::memmove(mine, source, bytes);
    reduce_to_first(mine, count, how);
    return broadcast_bytes(mine, bytes, 0);
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
