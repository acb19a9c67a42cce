// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "isa/state/lds_shadow.hpp"
#include "isa/state/wave.hpp"
#include "runtime/fault.hpp"
#include "runtime/memory_table.hpp"

namespace weir::hipsim {

/// The shared state of a workgroup's waves, all of which run on one host thread.
struct Workgroup {
  std::uint32_t id[3] = {};
  std::uint8_t* lds = nullptr;
  std::uint32_t lds_bytes = 0;
  LdsShadow* shadow = nullptr;  ///< null: races are not checked
  MemoryView* memory = nullptr;
  /// Called for each race; throws if races are errors.
  void (*report_race)(const Wave& wave, const LdsRace& race) = nullptr;
  const void* launch = nullptr;  ///< for report_race
  bool cooperative = false;      ///< it takes turns with all other workgroups of its launch
};

namespace aperture {
/// The upper halves of flat addresses of LDS and private memory.
inline constexpr std::uint32_t shared_high = 0x00010000, private_high = 0x00020000;
}  // namespace aperture

}  // namespace weir::hipsim
