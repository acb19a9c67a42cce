// SPDX-License-Identifier: Apache-2.0
// A requirement of communicators is a function that each rank runs:
//
//   WEIR_RANK_REQUIREMENT(2, 07, Operations, BroadcastReplacesTheOthersMemory,
//                         "broadcast replaces the memory of all ranks by that of the root.", {}) {
//     ... self.rank ...
//   }
//
// Ranks are threads of this process if the communicator allows it. Otherwise the launcher starts this program
// once for each rank, and each reports in a line of its output.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "communicator/communicator_under_test.hpp"
#include "requirement.hpp"

namespace weir::conformance {

/// A rank found that the requirement is not met.
struct Unmet : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class T>
weir_memory host_memory(const std::vector<T>& values) {
  return {nullptr, nullptr, 0, const_cast<T*>(values.data())};
}

class Rank {
 public:
  using Clock = std::chrono::steady_clock;

  Rank(std::uint32_t rank, std::uint32_t size, const RankSetting& setting, std::string address)
      : rank(rank), size(size), setting(setting), address(std::move(address)) {}

  const weir_communicator_table& table = communicator_table();
  const std::uint32_t rank, size;
  const RankSetting& setting;
  const std::string address;  ///< equal on the ranks of the requirement
  weir_group group = nullptr;
  weir_status status = new_status();

  /// Options of a group of all ranks. `name` distinguishes the groups of one requirement.
  weir_group_options options(const std::string& name = "");
  weir_group join(const std::string& name = "");
  void leave(weir_group joined);

  /// Throws Unmet with `words` unless the condition holds.
  void expect(bool condition, const std::string& words) const;
  void expect_ok(weir_result result, const char* call) const;
  /// The call failed, and its message is not empty.
  void expect_result(weir_result result, int wanted, const char* call) const;
  /// The call failed with WEIR_ERROR_RANK and a message that names the rank.
  void expect_rank_error(weir_result result, const char* call, std::uint32_t culprit) const;
  std::string message() const { return status.message; }

  // Operations of the group; Unmet unless they return WEIR_OK.
  template <class T>
  void all_reduce(std::vector<T>& values, std::uint32_t type, std::uint32_t reduction) {
    const weir_memory memory = host_memory(values);
    expect_ok(table.all_reduce(group, &memory, &memory, values.size(), type, reduction, nullptr, &status),
              "all_reduce");
  }
  template <class T>
  std::vector<T> all_gather(const std::vector<T>& mine) {
    std::vector<T> all(mine.size() * size);
    const weir_memory to = host_memory(all), from = host_memory(mine);
    expect_ok(table.all_gather(group, &to, &from, mine.size() * sizeof(T), nullptr, &status), "all_gather");
    return all;
  }
  void barrier() { expect_ok(table.barrier(group, nullptr, &status), "barrier"); }
  /// The group still works.
  void expect_group_works();

  std::uint32_t right() const { return (rank + 1) % size; }
  std::uint32_t left() const { return (rank + size - 1) % size; }

 private:
  std::string kept_;  ///< the address in options()
};

/// Runs the requirement on all ranks; throws Unmet with the findings of each, Unsupported or Skipped.
void run_on_ranks(const std::string& id);
/// As one rank, in a process that the launcher started. Returns the exit status.
int run_rank(const std::string& id);

#define WEIR_RANK_REQUIREMENT(level, number, group, name, sentence, ...)                       \
  static void group##_##name##_on_rank(::weir::conformance::Rank& self);                       \
  class group##_##name : public ::weir::conformance::Test {                                    \
    void requirement() override { ::weir::conformance::run_on_ranks("K" #level "." #number); } \
  };                                                                                           \
  [[maybe_unused]] static const bool group##_##name##_declared = ::weir::conformance::declare( \
      ::weir::conformance::Subject::communicator,                                              \
      {level, "K" #level "." #number, #group, #name, sentence, __FILE__, __LINE__, nullptr,    \
       ::weir::conformance::RankSetting __VA_ARGS__, group##_##name##_on_rank},                \
      []() -> ::testing::Test* { return new group##_##name; });                                \
  static void group##_##name##_on_rank([[maybe_unused]] ::weir::conformance::Rank& self)

/// A requirement without ranks.
#define WEIR_COMMUNICATOR_REQUIREMENT(level, number, group, name, sentence)                    \
  class group##_##name : public ::weir::conformance::Test {                                    \
    void requirement() override;                                                               \
  };                                                                                           \
  [[maybe_unused]] static const bool group##_##name##_declared = ::weir::conformance::declare( \
      ::weir::conformance::Subject::communicator,                                              \
      {level, "K" #level "." #number, #group, #name, sentence, __FILE__, __LINE__},            \
      []() -> ::testing::Test* { return new group##_##name; });                                \
  void group##_##name::requirement()

}  // namespace weir::conformance
