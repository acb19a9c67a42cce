// SPDX-License-Identifier: Apache-2.0
#include "isa/state/lds_shadow.hpp"

namespace weir::hipsim {

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
