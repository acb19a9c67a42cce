// SPDX-License-Identifier: Apache-2.0
// A workgroup: the floating-point mode of its waves, and the races in its LDS.
#include "isa/state/workgroup.hpp"

namespace weir::hipsim {

void Wave::set_mode(std::uint32_t bits) {
  mode = bits;
  // The host's control word (MXCSR): all exceptions masked; rounding in bits 13 and 14; denormals-are-zero in
  // bit 6 for inputs, bit 15 for results.
  constexpr std::uint32_t rounding[4] = {0u << 13, 2u << 13, 1u << 13, 3u << 13};
  const auto control = [&](std::uint32_t round, std::uint32_t denormals) {
    return 0x1f80u | rounding[round & 3] | (denormals & 1 ? 0 : 1u << 6) | (denormals & 2 ? 0 : 1u << 15);
  };
  float_control[unsigned(FloatGroup::none)] = 0x1f80u;
  float_control[unsigned(FloatGroup::single)] = control(bits, bits >> 4);
  float_control[unsigned(FloatGroup::half_and_double)] = control(bits >> 2, bits >> 6);
}

void LdsShadow::note(Users& users, unsigned wave) const {
  if (users.epoch != epoch_)
    users.epoch = epoch_, users.wave = users.other = std::uint8_t(wave);
  else if (users.wave != wave)
    users.other = std::uint8_t(wave);
}

/// A user other than `wave`.
std::optional<unsigned> LdsShadow::another(const Users& users, unsigned wave) const {
  if (users.epoch != epoch_) return std::nullopt;
  if (users.wave != wave) return unsigned(users.wave);
  if (users.other != wave) return unsigned(users.other);
  return std::nullopt;
}

std::optional<LdsRace> LdsShadow::touch(std::uint32_t address, std::uint32_t size, unsigned wave,
                                        unsigned lane, LdsAccess access) {
  std::optional<LdsRace> race;
  for (std::uint32_t at = address; at < address + size; ++at) {
    Byte& b = bytes_[at];
    const auto against = [&](const Users& users, LdsAccess other_access) {
      if (race) return;
      if (const auto other = another(users, wave))
        race = LdsRace{at, wave, lane, *other, access, other_access};
    };
    against(b.writes, LdsAccess::write);
    if (access != LdsAccess::atomic) against(b.atomics, LdsAccess::atomic);
    if (access != LdsAccess::read) against(b.reads, LdsAccess::read);
    note(access == LdsAccess::read ? b.reads : access == LdsAccess::write ? b.writes : b.atomics, wave);
  }
  return race;
}

}  // namespace weir::hipsim
