// SPDX-License-Identifier: Apache-2.0
// The operations of a group on host memory, made of messages between pairs of ranks.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../communicator.hpp"
#include "messages.hpp"

namespace weir::sdk {

class MessageGroup : public GroupBase {
 public:
  using Stream = const weir_communicator_stream*;

  MessageGroup(std::shared_ptr<Messages> messages, bool validate)
      : GroupBase(messages->rank(), messages->size()), messages_(std::move(messages)), validate_(validate) {}

  void abort(const char* reason) { messages_->abort(reason); }
  int failed_rank() const { return messages_->failed_rank(); }

  void exchange(std::span<const weir_transfer> transfers, Stream stream);
  void broadcast(const weir_memory& memory, std::uint64_t size, std::uint32_t root, Stream stream);
  void all_gather(const weir_memory& to, const weir_memory& from, std::uint64_t size, Stream stream);
  void reduce_scatter(const weir_memory& to, const weir_memory& from, std::uint64_t count, std::uint32_t type,
                      std::uint32_t reduction, Stream stream);
  void all_reduce(const weir_memory& to, const weir_memory& from, std::uint64_t count, std::uint32_t type,
                  std::uint32_t reduction, Stream stream);
  void all_to_all(const weir_memory& to, const weir_memory& from, std::uint64_t size, Stream stream);
  void barrier(Stream stream);

 protected:
  /// The parts of a call that are equal on all ranks.
  struct Call {
    char name[16];
    std::uint64_t size;  ///< bytes, or elements of a reduction
    std::uint32_t type, reduction, root, validate;
  };

  /// Begins a collective operation. In a validating group, compares it over all ranks.
  void begin(const char* name, std::uint64_t size, std::uint32_t type = 0, std::uint32_t reduction = 0,
             std::uint32_t root = 0);
  void gather_bytes(std::byte* all, std::uint64_t size);
  void broadcast_bytes(std::byte* memory, std::uint64_t size, std::uint32_t root);
  bool validates() const noexcept { return validate_; }

 private:
  struct Reduction {
    std::uint32_t type, kind;
    std::uint64_t element;
  };

  static std::byte* host_bytes(const weir_memory& memory, const char* what) {
    return static_cast<std::byte*>(host_address(memory, what));
  }
  static void copy_bytes(void* to, const void* from, std::uint64_t size) {
    if (size != 0 && to != from) std::memmove(to, from, size);
  }

  void compare(const Call& mine);
  void reduce_to_first(std::byte* values, std::uint64_t count, const Reduction& reduction);
  void reduce_by_halves(std::byte* values, std::uint64_t count, const Reduction& reduction);
  void reduce_part(std::byte* to, const std::byte* from, std::span<const std::uint64_t> begins,
                   const Reduction& reduction);

  std::shared_ptr<Messages> messages_;
  bool validate_;
};

inline void MessageGroup::begin(const char* name, std::uint64_t size, std::uint32_t type,
                                std::uint32_t reduction, std::uint32_t root) {
  messages_->begin(name, Channel::collective);
  if (!validate_) return;
  Call mine{"", size, type, reduction, root, 1};
  std::snprintf(mine.name, sizeof mine.name, "%s", name);
  compare(mine);
}

inline void MessageGroup::compare(const Call& mine) {
  std::vector<Call> calls(size());
  calls[rank()] = mine;
  gather_bytes(reinterpret_cast<std::byte*>(calls.data()), sizeof(Call));
  const auto call_text = [&](std::uint32_t of) {
    const Call& call = calls[of];
    return describe_call(of, {call.name, strnlen(call.name, sizeof call.name)}, call.size, call.type,
                         call.reduction, call.root);
  };
  for (std::uint32_t other = 1; other < size(); ++other)
    if (std::memcmp(&calls[other], &calls[0], sizeof(Call)) != 0)
      messages_->fail(static_cast<int>(other), "calls differ: " + call_text(0) + "; " + call_text(other) +
                                                   "; all ranks must make the same call");
}

inline void MessageGroup::exchange(std::span<const weir_transfer> transfers, Stream stream) {
  refuse_stream(stream);
  std::vector<Part> parts;
  std::deque<Part> to_self;
  for (const weir_transfer& transfer : transfers) {
    const Part part{transfer.peer, host_bytes(transfer.memory, "the memory of a transfer"), transfer.size,
                    transfer.receive != 0};
    if (transfer.peer != rank())
      parts.push_back(part);
    else if (!part.receive)
      to_self.push_back(part);
  }
  messages_->begin("exchange", Channel::exchange);
  for (const weir_transfer& transfer : transfers) {
    if (transfer.peer != rank() || !transfer.receive) continue;
    const std::uint64_t sent = to_self.empty() ? 0 : to_self.front().size;
    if (to_self.empty() || sent != transfer.size)
      messages_->fail(
          static_cast<int>(rank()),
          format_text("rank %u receives %llu bytes from itself, which sent %llu; both must be equal", rank(),
                      static_cast<unsigned long long>(transfer.size), static_cast<unsigned long long>(sent)));
    copy_bytes(transfer.memory.address, to_self.front().address, sent);
    to_self.pop_front();
  }
  if (!to_self.empty())
    messages_->fail(
        static_cast<int>(rank()),
        format_text("rank %u sends to itself without a receive; pass both to one exchange", rank()));
  messages_->transfer(parts);
}

inline void MessageGroup::broadcast(const weir_memory& memory, std::uint64_t size, std::uint32_t root,
                                    Stream stream) {
  std::byte* const mine = host_bytes(memory, "memory");
  refuse_stream(stream);
  begin("broadcast", size, 0, 0, root);
  broadcast_bytes(mine, size, root);
}

// Along a binomial tree: a rank receives from the one without its lowest bit, and sends to those with lower
// bits.
inline void MessageGroup::broadcast_bytes(std::byte* memory, std::uint64_t size, std::uint32_t root) {
  const std::uint32_t n = this->size(), place = (rank() + n - root) % n;
  std::uint32_t bit = 1;
  for (; bit < n && !(place & bit); bit <<= 1) {
  }
  if (place != 0) {
    const Part from{(place - bit + root) % n, memory, size, true};
    messages_->transfer({&from, 1});
  }
  std::vector<Part> parts;
  for (bit >>= 1; bit; bit >>= 1)
    if (place + bit < n) parts.push_back({(place + bit + root) % n, memory, size, false});
  messages_->transfer(parts);
}

inline void MessageGroup::all_gather(const weir_memory& to, const weir_memory& from, std::uint64_t size,
                                     Stream stream) {
  std::byte* const all = host_bytes(to, "destination");
  const std::byte* const mine = host_bytes(from, "source");
  refuse_stream(stream);
  begin("all_gather", size);
  if (size != 0) copy_bytes(all + rank() * size, mine, size);
  gather_bytes(all, size);
}

// Small parts in about log2 of the number of ranks in steps (Bruck), large ones in one step.
inline void MessageGroup::gather_bytes(std::byte* all, std::uint64_t size) {
  constexpr std::uint64_t small = 1 << 18;
  const std::uint32_t n = this->size();
  if (size > small / n) {
    std::vector<Part> parts;
    for (std::uint32_t step = 1; step < n; ++step) {
      const std::uint32_t to = (rank() + step) % n, from = (rank() + n - step) % n;
      parts.push_back({to, all + rank() * size, size, false});
      parts.push_back({from, all + from * size, size, true});
    }
    return messages_->transfer(parts);
  }
  std::vector<std::byte> turned(n * size);  // part i is that of rank + i
  if (size != 0) std::memcpy(turned.data(), all + rank() * size, size);
  for (std::uint32_t have = 1; have < n; have *= 2) {
    const std::uint64_t bytes = std::min(have, n - have) * size;
    const Part parts[] = {{(rank() + n - have) % n, turned.data(), bytes, false},
                          {(rank() + have) % n, turned.data() + have * size, bytes, true}};
    messages_->transfer(parts);
  }
  for (std::uint32_t i = 0; i < n && size != 0; ++i)
    std::memcpy(all + (rank() + i) % n * size, turned.data() + i * size, size);
}

inline void MessageGroup::all_to_all(const weir_memory& to, const weir_memory& from, std::uint64_t size,
                                     Stream stream) {
  std::byte* const mixed = host_bytes(to, "destination");
  std::byte* const mine = host_bytes(from, "source");
  refuse_stream(stream);
  begin("all_to_all", size);
  const std::uint32_t n = this->size();
  if (size != 0) copy_bytes(mixed + rank() * size, mine + rank() * size, size);
  std::vector<Part> parts;
  for (std::uint32_t step = 1; step < n; ++step) {
    const std::uint32_t peer = (rank() + step) % n, source = (rank() + n - step) % n;
    parts.push_back({peer, mine + peer * size, size, false});
    parts.push_back({source, mixed + source * size, size, true});
  }
  messages_->transfer(parts);
}

// Dissemination: after step k each rank has messages from 2^k others.
inline void MessageGroup::barrier(Stream stream) {
  refuse_stream(stream);
  begin("barrier", 0);
  const std::uint32_t n = this->size();
  for (std::uint32_t distance = 1; distance < n; distance *= 2) {
    const Part parts[] = {{(rank() + distance) % n, nullptr, 0, false},
                          {(rank() + n - distance) % n, nullptr, 0, true}};
    messages_->transfer(parts);
  }
}

}  // namespace weir::sdk

#include "message_reductions.hpp"
