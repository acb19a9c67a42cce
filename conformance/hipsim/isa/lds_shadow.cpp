// SPDX-License-Identifier: Apache-2.0
#include "isa/lds_shadow.hpp"

namespace weir::hipsim {

std::optional<LdsRace> LdsShadow::touch(std::uint32_t address, std::uint32_t size, unsigned wave,
                                        unsigned lane, LdsAccess access) {
  std::optional<LdsRace> race;
  const auto found = [&](std::uint32_t at, unsigned other, LdsAccess other_access) {
    if (!race) race = LdsRace{at, wave, lane, other, access, other_access};
  };
  for (std::uint32_t at = address; at < address + size; ++at) {
    Byte& b = bytes_[at];
    const bool both_atomic = b.atomic && access == LdsAccess::atomic;
    if (b.write_epoch == epoch_ && b.writer != wave && !both_atomic)
      found(at, b.writer, b.atomic ? LdsAccess::atomic : LdsAccess::write);
    if (access == LdsAccess::read) {
      if (b.read_epoch != epoch_) {
        b.read_epoch = epoch_, b.reader = std::uint16_t(wave), b.several_readers = false;
      } else if (b.reader != wave && !b.several_readers) {
        b.several_readers = true, b.other_reader = std::uint16_t(wave);
      }
      continue;
    }
    if (b.read_epoch == epoch_) {
      if (b.reader != wave)
        found(at, b.reader, LdsAccess::read);
      else if (b.several_readers)
        found(at, b.other_reader, LdsAccess::read);
    }
    b.write_epoch = epoch_, b.writer = std::uint16_t(wave), b.atomic = access == LdsAccess::atomic;
  }
  return race;
}

}  // namespace weir::hipsim
