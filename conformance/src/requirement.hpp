// SPDX-License-Identifier: Apache-2.0
// One requirement has one number and one test:
//
//   WEIR_REQUIREMENT(2, 07, Events, WaitForAnEventNeverRecordedHasNoEffect,
//                    "An event that was never recorded has no effect on a stream that waits for it.") { ... }
//
// is the test Events.C2_07_WaitForAnEventNeverRecordedHasNoEffect of requirement C2.07.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace weir::conformance {

/// The subject of the tests of this process. Set before the first use of the requirements.
enum class Subject { driver, communicator };
Subject& subject();

class Rank;
/// How the ranks of a requirement of communicators meet; see ranks.hpp.
struct RankSetting {
  int limit_ms = 20'000;
  bool joins = true;       ///< false: the requirement joins groups itself
  bool validate = false;   ///< of the group
  bool dies = false;       ///< rank 1 ends without a report; needs ranks that are processes
  unsigned min_ranks = 1;  ///< number of ranks that it needs
};

struct Requirement {
  int level;
  std::string id;        ///< "C2.07"; "K2.07" of communicators
  std::string group;     ///< the group of behaviour: "Events"
  std::string name;      ///< of the test, without group and number
  std::string sentence;  ///< the behaviour that a driver must have
  const char* file;
  int line;
  testing::Test* (*make)() = nullptr;
  RankSetting setting{};
  std::function<void(Rank&)> on_rank{};  ///< what each rank does

  std::string test_name() const;  ///< the test's name in GoogleTest
};

/// All requirements of the subject, ordered by number after sort_requirements().
std::vector<Requirement>& requirements();
/// Registers the tests with GoogleTest in that order, so that failures of basic requirements come first.
/// Throws std::logic_error if two requirements have one number.
void sort_requirements();
/// A short title of a level: "memory, copies, fills".
std::string_view level_title(int level);
int level_count();

/// Thrown by a test that needs a feature which the driver does not offer.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// Thrown by a test that cannot run on this machine, regardless of the driver.
struct Skipped : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// Distinguishes Unsupported from Skipped in GoogleTest's skip message.
inline constexpr std::string_view unsupported_mark = "[unsupported] ";

class Test : public testing::Test {
 protected:
  virtual void requirement() = 0;

 private:
  void TestBody() final;
  void run_requirement();
};

bool declare(Subject subject, Requirement requirement, testing::Test* (*make)());

#define WEIR_REQUIREMENT(level, number, group, name, sentence)                                 \
  class group##_##name : public ::weir::conformance::Test {                                    \
    void requirement() override;                                                               \
  };                                                                                           \
  [[maybe_unused]] static const bool group##_##name##_declared = ::weir::conformance::declare( \
      ::weir::conformance::Subject::driver,                                                    \
      {level, "C" #level "." #number, #group, #name, sentence, __FILE__, __LINE__},            \
      []() -> ::testing::Test* { return new group##_##name; });                                \
  void group##_##name::requirement()

}  // namespace weir::conformance
