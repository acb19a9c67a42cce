// SPDX-License-Identifier: Apache-2.0
// LLVM's names for this processor and its features.
#pragma once

#include <string>
#include <string_view>

namespace weir::cpu {

/// The best -mcpu of LLVM for this processor: a processor's name, or host_level().
const std::string& host_target();
/// "x86-64", "x86-64-v2", "x86-64-v3" or "x86-64-v4": the highest that this processor and system execute.
const std::string& host_level();
/// LLVM's -mattr for the processor's features beyond host_level(), or "".
const std::string& host_features();
/// Whether code compiled for LLVM's -mcpu `target` runs here.
bool executes(std::string_view target);
/// The targets that `executes` accepts, separated by ", ".
std::string executed_targets();

}  // namespace weir::cpu
