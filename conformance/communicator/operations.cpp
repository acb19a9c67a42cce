// SPDX-License-Identifier: Apache-2.0
// Level 2: what broadcasts, gathers, scatters and exchanges do to memory.
#include <cstring>

#include "communicator/ranks.hpp"

namespace weir::conformance {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// Bytes that differ between ranks and positions.
Bytes rank_bytes(std::uint32_t rank, std::size_t size, std::size_t from = 0) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::uint8_t>((from + i) * 7 + rank * 31 + (from + i) / 256 * 13);
  return bytes;
}

constexpr std::size_t sizes[] = {0, 1, 13, 4096, 100'003, 3'000'001};
constexpr std::size_t guard = 64;

/// Memory between guard bytes.
struct Guarded {
  Bytes bytes;
  explicit Guarded(std::size_t size) : bytes(size + 2 * guard, 0xa5) {}
  std::uint8_t* data() { return bytes.data() + guard; }
  std::size_t size() const { return bytes.size() - 2 * guard; }
  weir_memory memory() { return {nullptr, nullptr, 0, data()}; }
  bool holds(const Bytes& wanted) { return std::memcmp(data(), wanted.data(), wanted.size()) == 0; }
  bool intact() const {
    for (std::size_t i = 0; i < guard; ++i)
      if (bytes[i] != 0xa5 || bytes[bytes.size() - 1 - i] != 0xa5) return false;
    return true;
  }
};

void check(Rank& self, Guarded& memory, const Bytes& wanted, const std::string& call) {
  self.expect(memory.holds(wanted),
              call + " of " + std::to_string(memory.size()) + " bytes gave wrong bytes");
  self.expect(memory.intact(),
              call + " of " + std::to_string(memory.size()) + " bytes wrote outside of its memory");
}

WEIR_RANK_REQUIREMENT(
    2, 01, Operations, BroadcastGivesTheRootsMemory,
    "broadcast replaces the memory of all ranks by that of the root, for each root and size.", {}) {
  for (const std::size_t size : sizes)
    for (std::uint32_t root = 0; root < self.size; ++root) {
      Guarded memory(size);
      if (size) std::memcpy(memory.data(), rank_bytes(self.rank, size).data(), size);
      const weir_memory named = memory.memory();
      self.expect_ok(self.table.broadcast(self.group, &named, size, root, nullptr, &self.status),
                     "broadcast");
      check(self, memory, rank_bytes(root, size), "broadcast from rank " + std::to_string(root));
    }
}

WEIR_RANK_REQUIREMENT(2, 02, Operations, AllGatherIsInTheOrderOfRanks,
                      "all_gather gives all ranks the parts of all ranks in their order.", {}) {
  for (const std::size_t size : sizes) {
    Guarded all(size * self.size);
    const Bytes mine = rank_bytes(self.rank, size);
    const weir_memory to = all.memory(), from = host_memory(mine);
    self.expect_ok(self.table.all_gather(self.group, &to, &from, size, nullptr, &self.status), "all_gather");
    Bytes wanted;
    for (std::uint32_t rank = 0; rank < self.size; ++rank) {
      const Bytes part = rank_bytes(rank, size);
      wanted.insert(wanted.end(), part.begin(), part.end());
    }
    check(self, all, wanted, "all_gather");
    self.expect(mine == rank_bytes(self.rank, size), "all_gather changed its source");
  }
}

WEIR_RANK_REQUIREMENT(2, 03, Operations, AllGatherInPlace,
                      "The source of all_gather may be this rank's part of the destination.", {}) {
  for (const std::size_t size : sizes) {
    Bytes all(size * self.size), wanted;
    const Bytes mine = rank_bytes(self.rank, size);
    if (size) std::memcpy(all.data() + self.rank * size, mine.data(), size);
    for (std::uint32_t rank = 0; rank < self.size; ++rank) {
      const Bytes part = rank_bytes(rank, size);
      wanted.insert(wanted.end(), part.begin(), part.end());
    }
    const weir_memory to = host_memory(all), from{nullptr, nullptr, 0, all.data() + self.rank * size};
    self.expect_ok(self.table.all_gather(self.group, &to, &from, size, nullptr, &self.status), "all_gather");
    self.expect(all == wanted, "all_gather in place gave wrong bytes");
  }
}

WEIR_RANK_REQUIREMENT(2, 04, Operations, AllToAllTransposes,
                      "all_to_all puts part p of rank r's source into part r of rank p's destination.", {}) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{5}, std::size_t{100'003}}) {
    Guarded mixed(size * self.size);
    Bytes source, wanted;
    for (std::uint32_t peer = 0; peer < self.size; ++peer) {
      const Bytes out = rank_bytes(self.rank, size, peer * 1000),
                  in = rank_bytes(peer, size, self.rank * 1000);
      source.insert(source.end(), out.begin(), out.end());
      wanted.insert(wanted.end(), in.begin(), in.end());
    }
    const weir_memory to = mixed.memory(), from = host_memory(source);
    self.expect_ok(self.table.all_to_all(self.group, &to, &from, size, nullptr, &self.status), "all_to_all");
    check(self, mixed, wanted, "all_to_all");
  }
}

WEIR_RANK_REQUIREMENT(
    2, 05, Exchange, TransfersDoNotWaitForEachOther,
    "exchange makes its sends and receives as one step, whatever their order in the list and size.", {}) {
  for (const std::size_t size : sizes) {
    Guarded in(size);
    const Bytes out = rank_bytes(self.rank, size);
    const weir_transfer transfers[] = {{self.left(), 1, size, in.memory()},
                                       {self.right(), 0, size, host_memory(out)}};
    self.expect_ok(self.table.exchange(self.group, 2, transfers, nullptr, &self.status), "exchange");
    check(self, in, rank_bytes(self.left(), size), "exchange");
  }
}

WEIR_RANK_REQUIREMENT(2, 06, Exchange, ARankMaySendToItself, "A rank may send to itself.", {}) {
  Bytes in(1000), second(10);
  const Bytes out = rank_bytes(self.rank, 1000), other = rank_bytes(self.rank, 10, 500);
  const weir_transfer transfers[] = {{self.rank, 1, 1000, host_memory(in)},
                                     {self.rank, 0, 1000, host_memory(out)},
                                     {self.rank, 0, 10, host_memory(other)},
                                     {self.rank, 1, 10, host_memory(second)}};
  self.expect_ok(self.table.exchange(self.group, 4, transfers, nullptr, &self.status), "exchange");
  self.expect(in == out && second == other, "a rank received wrong bytes from itself");
}

WEIR_RANK_REQUIREMENT(
    2, 07, Exchange, MessagesOfAPairKeepTheirOrder,
    "The n-th send from rank a to rank b meets the n-th receive of b from a, in one call and over "
    "several.",
    {.min_ranks = 2}) {
  constexpr std::size_t lengths[] = {100, 3, 70'000, 0, 50};
  const bool together = true;
  for (const bool in_one_call : {together, !together}) {
    std::vector<Bytes> out, in;
    std::vector<weir_transfer> transfers;
    for (const std::size_t length : lengths) {
      out.push_back(rank_bytes(self.rank, length, out.size() * 100));
      in.emplace_back(length);
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      transfers.push_back({self.right(), 0, out[i].size(), host_memory(out[i])});
      transfers.push_back({self.left(), 1, in[i].size(), host_memory(in[i])});
    }
    const std::uint32_t step = in_one_call ? static_cast<std::uint32_t>(transfers.size()) : 2;
    for (std::uint32_t begin = 0; begin < transfers.size(); begin += step)
      self.expect_ok(self.table.exchange(self.group, step, &transfers[begin], nullptr, &self.status),
                     "exchange");
    for (std::size_t i = 0; i < in.size(); ++i)
      self.expect(in[i] == rank_bytes(self.left(), lengths[i], i * 100),
                  "message " + std::to_string(i) + " of a pair of ranks holds wrong bytes");
  }
}

WEIR_RANK_REQUIREMENT(
    2, 08, Exchange, InvolvesOnlyTheRanksThatItNames,
    "exchange involves only the ranks that its transfers name; the others need not call it.",
    {.min_ranks = 3}) {
  if (self.rank < 2) {
    const std::uint32_t peer = 1 - self.rank;
    Bytes in(100);
    const Bytes out = rank_bytes(self.rank, 100);
    const weir_transfer transfers[] = {{peer, 0, 100, host_memory(out)}, {peer, 1, 100, host_memory(in)}};
    self.expect_ok(self.table.exchange(self.group, 2, transfers, nullptr, &self.status), "exchange");
    self.expect(in == rank_bytes(peer, 100), "exchange between two of the ranks gave wrong bytes");
  }
  self.expect_ok(self.table.exchange(self.group, 0, nullptr, nullptr, &self.status),
                 "exchange without transfers");
  self.expect_group_works();
}

}  // namespace
}  // namespace weir::conformance
