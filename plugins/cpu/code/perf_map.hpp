// SPDX-License-Identifier: Apache-2.0
// The file in which Linux perf finds names of code without a file: /tmp/perf-PID.map.
#pragma once

#include <cstddef>
#include <string>

#include "code/elf_file.hpp"

namespace weir::cpu {

/// Adds the image's functions to the file when the environment requests it (WEIR_CPU_PERF_MAP=1). Adds `bias`
/// to the addresses of the file. The map is never removed, because perf reads it after the process has ended.
/// Thread-safe.
void write_perf_map(const ElfFile& file, const std::byte* bias, const std::string& name) noexcept;

}  // namespace weir::cpu
