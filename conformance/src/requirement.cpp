// SPDX-License-Identifier: Apache-2.0
#include "requirement.hpp"

#include <algorithm>
#include <array>

#include "driver/driver_under_test.hpp"
#include "driver/recorded_table.hpp"
#include "process/diverted.hpp"

namespace weir::conformance {

std::string Requirement::test_name() const {
  std::string number = id;
  std::ranges::replace(number, '.', '_');
  return group + "." + number + "_" + name;
}

namespace {

std::vector<Requirement>& requirements_of(Subject of) {
  static std::array<std::vector<Requirement>, 2> all;
  return all[static_cast<std::size_t>(of)];
}

constexpr std::array<std::string_view, 9> driver_levels = {
    "load and negotiate",
    "memory, copies, fills",
    "streams and events",
    "modules, launch, arguments",
    "stream-ordered allocation, pinned memory, host callbacks, priorities",
    "graphs",
    "kernel language, math and atomics",
    "regions",
    "stress"};
constexpr std::array<std::string_view, 5> communicator_levels = {"load and negotiate", "groups", "operations",
                                                                 "order", "failure"};

}  // namespace

Subject& subject() {
  static Subject chosen = Subject::driver;
  return chosen;
}

std::vector<Requirement>& requirements() {
  return requirements_of(subject());
}

int level_count() {
  return static_cast<int>(subject() == Subject::driver ? driver_levels.size() : communicator_levels.size());
}

void sort_requirements() {
  auto& all = requirements();
  std::ranges::sort(all, {}, &Requirement::id);
  const auto twice = std::ranges::adjacent_find(all, {}, &Requirement::id);
  if (twice != all.end())
    throw std::logic_error("requirement " + twice->id + " is declared twice: as " + twice->name + " and as " +
                           std::next(twice)->name);
  for (const Requirement& one : all) {
    const std::string full = one.test_name();
    const std::size_t dot = full.find('.');
    testing::RegisterTest(full.substr(0, dot).c_str(), full.substr(dot + 1).c_str(), nullptr, nullptr,
                          one.file, one.line, [make = one.make]() -> testing::Test* { return make(); });
  }
}

std::string_view level_title(int level) {
  const auto index = static_cast<std::size_t>(level);
  return subject() == Subject::driver ? driver_levels.at(index) : communicator_levels.at(index);
}

namespace {

/// Whether all that is printed comes from the driver: not from a layer, and not from libweir.
bool may_not_print() {
  if (subject() != Subject::driver || !judged().layer.library.empty()) return false;
  const testing::TestInfo* const test = testing::UnitTest::GetInstance()->current_test_info();
  for (const Requirement& one : requirements())
    if (one.test_name() == std::string(test->test_suite_name()) + "." + test->name())
      return one.level <= 5 || one.level == 8;
  return false;
}

}  // namespace

void Test::TestBody() {
  struct Report {
    ~Report() {
      for (const std::string& breach : take_breaches()) ADD_FAILURE() << breach;
      const std::string printed = take_printed();
      if (!printed.empty() && may_not_print())
        ADD_FAILURE() << "during this test, this was printed to standard output or standard error: \""
                      << printed.substr(0, 400) << "\". driver.h: no function prints. Look first at the "
                      << "functions that the test calls, and at the driver's threads";
    }
  } const report;
  run_requirement();
}

void Test::run_requirement() {
  try {
    requirement();
  } catch (const Unsupported& lacking) {
    GTEST_SKIP() << unsupported_mark << lacking.what();
  } catch (const Skipped& reason) {
    GTEST_SKIP() << reason.what();
  }
}

bool declare(Subject of, Requirement requirement, testing::Test* (*make)()) {
  requirement.make = make;
  requirements_of(of).push_back(std::move(requirement));
  return true;
}

}  // namespace weir::conformance
