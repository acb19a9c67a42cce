// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <weir/error.hpp>

namespace weir::test {

/// Runs `action`, which must throw an Error with that code; returns its message.
template <class Action>
std::string error_of(ErrorCode code, Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "expected an error: " << to_string(code);
  return {};
}

}  // namespace weir::test
