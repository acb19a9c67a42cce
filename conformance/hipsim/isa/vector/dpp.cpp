// SPDX-License-Identifier: Apache-2.0
// Data-parallel primitives: chapter "Data Parallel Processing" of AMD's "Vega" and "RDNA3 Instruction Set
// Architecture".
#include "isa/vector/lanes.hpp"

namespace weir::hipsim {
namespace {

/// The lane that lane `l` reads; -1 if there is none.
int source_lane(const Instruction& i, unsigned l, unsigned lanes) {
  const unsigned row = l & ~15u, in_row = l & 15, n = i.dpp_argument;
  switch (i.dpp) {
    case Dpp::none:
      return int(l);
    case Dpp::quad_perm:
      return int((l & ~3u) | (n >> 2 * (l & 3) & 3));
    case Dpp::dpp8:
      return int((l & ~7u) | (i.dpp8 >> 3 * (l & 7) & 7));
    case Dpp::row_shl:
      return in_row + n < 16 ? int(l + n) : -1;
    case Dpp::row_shr:
      return in_row >= n ? int(l - n) : -1;
    case Dpp::row_ror:
      return int(row | ((in_row + 16 - n) & 15));
    case Dpp::wave_shl:
      return l + 1 < lanes ? int(l + 1) : -1;
    case Dpp::wave_rol:
      return int((l + 1) % lanes);
    case Dpp::wave_shr:
      return l > 0 ? int(l - 1) : -1;
    case Dpp::wave_ror:
      return int((l + lanes - 1) % lanes);
    case Dpp::row_mirror:
      return int(row | (15 - in_row));
    case Dpp::row_half_mirror:
      return int((l & ~7u) | (7 - (l & 7)));
    case Dpp::row_bcast15:
      return l >= 16 ? int(row - 1) : -1;
    case Dpp::row_bcast31:
      return l >= 32 ? 31 : -1;
    case Dpp::row_newbcast:
    case Dpp::row_share:
      return int(row | (n & 15));
    case Dpp::row_xmask:
      return int(row | (in_row ^ n));
  }
  return -1;
}

}  // namespace

std::uint64_t move_lanes(const Wave& w, const Instruction& i, const std::uint32_t* row, std::uint32_t* out) {
  const std::uint64_t exec = w.exec();
  std::uint64_t writes = 0;
  for (unsigned l = 0; l < w.lanes; ++l) {
    const int from = source_lane(i, l, w.lanes);
    const bool exists = from >= 0 && (i.fetch_inactive || (exec >> from & 1));
    out[l] = exists ? row[from] : 0;
    const bool masked =
        i.dpp != Dpp::dpp8 && (!(i.row_mask >> (l / 16) & 1) || !(i.bank_mask >> (l / 4 % 4) & 1));
    // An eight-lane permutation reads zero from a lane that is not active.
    if ((exists || i.bound_control || i.dpp == Dpp::dpp8) && !masked) writes |= 1ull << l;
  }
  for (unsigned l = w.lanes; l < 64; ++l) out[l] = 0;
  return writes;
}

}  // namespace weir::hipsim
