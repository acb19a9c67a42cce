// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <weir/error.hpp>

namespace weir::test {

/// Returns the Error that `action` throws; fails if it throws none.
template <class Action>
Error thrown_by(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error(ErrorCode::unknown, "");
}

}  // namespace weir::test
