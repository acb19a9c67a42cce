// SPDX-License-Identifier: Apache-2.0
// Plans of kernels whose loops may be merged, and the parts of such kernels.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "plans.hpp"

namespace weir::test {

inline constexpr passes::FusionAssumptions usual{.no_alias = true, .index32 = true};

inline passes::Plan fused(const std::string& body, passes::FusionAssumptions known = usual,
                          const std::string& options = "", passes::Fusion how = passes::Fusion::same_space) {
  return verified_plan(kernel(body, options), {how, known});
}

inline passes::Plan shared(const std::string& body, passes::FusionAssumptions known = usual) {
  return fused(body, known, "", passes::Fusion::shared_index);
}

/// The reason why the first two loops stay apart, or "".
inline std::string reason(const passes::Plan& plan) {
  return plan.fusion.at(0).reason;
}

/// A loop over @x's extent with index %iTAG and the given statements.
inline std::string loop(const std::string& tag, const std::string& statements,
                        const std::string& bounds = "%zero to %len") {
  return "parallel (%i" + tag + ") in (" + bounds + ") {\n" + statements + "\n}\n";
}

/// Stores a constant to an element.
inline std::string put(const std::string& place, const std::string& tag) {
  return "%p" + tag + " = const 2 : f32\nstore @" + place + ", %p" + tag + "\n";
}
/// Loads an element and stores it to @z[%iTAG].
inline std::string take(const std::string& place, const std::string& tag) {
  return "%t" + tag + " = load @" + place + " : f32\nstore @z[%i" + tag + "], %t" + tag + "\n";
}

/// The only task of the merged kernel, as text.
inline std::string merged_text(const std::string& body, passes::Fusion how = passes::Fusion::same_space,
                               passes::FusionAssumptions known = usual) {
  const ir::Kernel whole = kernel(body);
  const passes::Plan p = verified_plan(whole, {how, known});
  EXPECT_EQ(p.tasks.size(), 1u);
  return task_text(whole, p.tasks.at(0));
}

/// A loop over two indices, %iTAG and %jTAG.
inline std::string rows(const std::string& tag, const std::string& statements, const std::string& first,
                        const std::string& second) {
  return "parallel (%i" + tag + ", %j" + tag + ") in (" + first + ", " + second + ") {\n" + statements +
         "\n}\n";
}

}  // namespace weir::test
