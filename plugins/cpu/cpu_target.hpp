// SPDX-License-Identifier: Apache-2.0
// The words that LLVM uses for what this processor executes.
#pragma once

#include <string>
#include <string_view>

namespace weir::cpu {

/// LLVM's -mcpu that code for this processor is best compiled for: a processor's name, or host_level().
const std::string& host_target();
/// "x86-64", "x86-64-v2", "x86-64-v3" or "x86-64-v4": the highest that this processor and system execute.
const std::string& host_level();
/// LLVM's -mattr for what the processor has beyond host_level(), or "".
const std::string& host_features();
/// Whether code compiled for LLVM's -mcpu `target` runs here.
bool executes(std::string_view target);
/// The targets that `executes` accepts, separated by ", ".
std::string executed_targets();

}  // namespace weir::cpu
