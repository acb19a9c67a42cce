// SPDX-License-Identifier: Apache-2.0
// The state that the waves of a workgroup share, with the users of its LDS, which find races.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "isa/state/wave.hpp"
#include "runtime/fault.hpp"
#include "runtime/memory_table.hpp"

namespace weir::hipsim {

enum class LdsAccess : std::uint8_t { read, write, atomic };

/// Two waves that accessed one byte between the same two barriers, at least one of them writing.
struct LdsRace {
  std::uint32_t address;
  unsigned wave, lane, other_wave;
  LdsAccess access, other_access;
};

/// Records, for each byte of LDS, its users since the last barrier. Waves run in lockstep, so lanes of one
/// wave never race. One shadow serves many workgroups in turn: an epoch is the time between two barriers, and
/// epoch numbers are never reused.
class LdsShadow {
 public:
  /// Begins the epoch after a barrier, or a new workgroup with `bytes` of LDS.
  void next_epoch() { ++epoch_; }
  void begin(std::uint32_t bytes) {
    if (bytes_.size() < bytes) bytes_.resize(bytes);
    ++epoch_;
  }
  /// Records an access, and returns the race that it is part of, if any.
  std::optional<LdsRace> touch(std::uint32_t address, std::uint32_t size, unsigned wave, unsigned lane,
                               LdsAccess access);

 private:
  /// Up to two waves that accessed the byte in this way since the last barrier.
  struct Users {
    std::uint64_t epoch : 48 = 0;
    std::uint64_t wave : 8 = 0;
    std::uint64_t other : 8 = 0;
  };
  /// Separate for each kind of access: an atomic of a wave must not hide its plain write from another wave's
  /// atomic.
  struct Byte {
    Users reads, writes, atomics;
  };
  void note(Users& users, unsigned wave) const;
  std::optional<unsigned> another(const Users& users, unsigned wave) const;

  std::vector<Byte> bytes_;
  std::uint64_t epoch_ = 0;
};

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
