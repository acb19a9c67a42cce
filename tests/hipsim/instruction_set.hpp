// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>

namespace weir::hipsim::test {

/// The processors whose instructions are executed: all that Weir makes code for.
inline constexpr const char* processors[] = {"gfx906", "gfx908",  "gfx90a",  "gfx942",
                                             "gfx950", "gfx1030", "gfx1100", "gfx1201"};

/// The instructions that LLVM's disassembler knows of a processor, each by its name, with an example.
std::map<std::string, std::string> instructions_of(const std::string& processor, unsigned lanes);

}  // namespace weir::hipsim::test
