// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>

namespace weir::hipsim::test {

/// The processors whose instructions are executed: all targets of Weir.
inline constexpr const char* processors[] = {"gfx906", "gfx908",  "gfx90a",  "gfx942",
                                             "gfx950", "gfx1030", "gfx1100", "gfx1201"};

/// A processor's instructions in LLVM's disassembler, by name, with an example each.
std::map<std::string, std::string> instructions_of(const std::string& processor, unsigned lanes);

}  // namespace weir::hipsim::test
