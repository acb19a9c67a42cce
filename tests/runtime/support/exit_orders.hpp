// SPDX-License-Identifier: Apache-2.0
// The arguments of exit_program.cpp, for tests that run it.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace weir::test {

inline const auto exit_orders =
    ::testing::Values("early", "late", "local", "leaked", "thread", "exit", "unused", "forked", "fork_first",
                      "callback", "two_devices", "found", "opened");

inline std::string name_of_order(const ::testing::TestParamInfo<const char*>& info) {
  return info.param;
}

}  // namespace weir::test
