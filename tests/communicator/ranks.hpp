// SPDX-License-Identifier: Apache-2.0
// Groups of the communicator under test, one thread per rank.
#pragma once

#include <gtest/gtest.h>
#include <weir/communicator.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "driver/probe/prober.hpp"
#include "driver/registry.hpp"
#include "places.hpp"

namespace weir::test {

/// The table of the built communicator `local`.
inline const weir_communicator_table& local_table() {
  static const std::vector<Candidate> found = [] {
    const std::array folders{built("lib/weir/communicators")};
    return find_drivers(folders, ProbePolicy{}, PluginKind::communicator);
  }();
  for (const Candidate& candidate : found)
    if (candidate.name == "local" && candidate.communicator) return candidate.communicator->table();
  throw std::runtime_error("the communicator local is not usable");
}

inline weir_memory host(const void* address) {
  return {nullptr, nullptr, 0, const_cast<void*>(address)};
}

/// What one rank does in its group; throws nothing.
struct Rank {
  const weir_communicator_table& table;
  weir_group group;
  std::uint32_t rank, size;
  Status status{};

  weir_result sum(std::vector<int>& values) {
    const weir_memory memory = host(values.data());
    return table.all_reduce(group, &memory, &memory, values.size(), WEIR_I32, WEIR_SUM, nullptr, &status);
  }
  weir_result barrier() { return table.barrier(group, nullptr, &status); }
  std::string message() const { return status.message; }
};

/// Runs `body` as each of `size` ranks of a new group, which all leave at its end.
inline void on_ranks(std::uint32_t size, const std::function<void(Rank&)>& body,
                     std::chrono::nanoseconds limit = std::chrono::seconds(60)) {
  static std::atomic<int> groups{0};
  const std::string address = "test " + std::to_string(groups++);
  const weir_communicator_table& table = local_table();
  std::vector<std::jthread> threads;
  for (std::uint32_t rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      const weir_group_options options{
          sizeof options, rank, size, 0, static_cast<std::uint64_t>(limit.count()), address.c_str(), nullptr};
      Rank self{table, nullptr, rank, size};
      ASSERT_EQ(table.group_join(&options, &self.group, &self.status), WEIR_OK) << self.message();
      body(self);
      ASSERT_EQ(table.group_leave(self.group, &self.status), WEIR_OK) << self.message();
    });
}

}  // namespace weir::test
