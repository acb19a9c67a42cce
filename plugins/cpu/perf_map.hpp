// SPDX-License-Identifier: Apache-2.0
// The file in which Linux perf looks for names of code that is in no file: /tmp/perf-PID.map.
#pragma once

#include <cstddef>
#include <string>

#include "elf_file.hpp"

namespace weir::cpu {

/// Adds the image's functions to the file when the environment asks for it (WEIR_CPU_PERF_MAP=1); `bias` is
/// what is added to an address of the file. perf reads it after the process has ended, so that it stays.
/// Thread-safe.
void write_perf_map(const ElfFile& file, const std::byte* bias, const std::string& name) noexcept;

}  // namespace weir::cpu
