// SPDX-License-Identifier: Apache-2.0
#include "requirement.hpp"

#include <algorithm>
#include <array>

#include "recorded_table.hpp"

namespace weir::conformance {

std::string Requirement::test_name() const {
  std::string number = id;
  std::ranges::replace(number, '.', '_');
  return group + "." + number + "_" + name;
}

std::vector<Requirement>& requirements() {
  static std::vector<Requirement> all;
  return all;
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
  static constexpr std::array<std::string_view, levels> titles = {
      "load and negotiate",
      "memory, copies, fills",
      "streams and events",
      "modules, launch, arguments",
      "stream-ordered allocation, pinned memory, host callbacks, priorities",
      "graphs",
      "kernel language, math and atomics",
      "regions",
      "stress"};
  return titles.at(static_cast<std::size_t>(level));
}

void Test::TestBody() {
  struct Report {
    ~Report() {
      for (const std::string& breach : take_status_breaches()) ADD_FAILURE() << breach;
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

bool declare(Requirement requirement, testing::Test* (*make)()) {
  requirement.make = make;
  requirements().push_back(std::move(requirement));
  return true;
}

}  // namespace weir::conformance
