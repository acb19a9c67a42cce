// SPDX-License-Identifier: Apache-2.0
#include "isa/vector/lanes.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "isa/memory/lane_memory.hpp"

namespace weir::hipsim {
namespace {

std::uint32_t extract(std::uint32_t value, Part part, bool sign_extend) {
  switch (part) {
    case Part::all:
      return value;
    case Part::word0:
      value &= 0xffff;
      return sign_extend ? u32(i32(i16(value))) : value;
    case Part::word1:
      value >>= 16;
      return sign_extend ? u32(i32(i16(value))) : value;
    default:
      break;
  }
  value = value >> 8 * (unsigned(part) - unsigned(Part::byte0)) & 0xff;
  return sign_extend ? u32(i32(std::int8_t(value))) : value;
}

/// The lanes of a register, moved according to DPP if the instruction applies it to this source.
const std::uint32_t* row_of(Wave& w, const Instruction& i, unsigned k, unsigned index, std::uint32_t* moved) {
  if (k != 0 || i.dpp == Dpp::none) return w.v[index];
  w.dpp_valid = move_lanes(w, i, w.v[index], moved);
  return moved;
}

}  // namespace

void read32(Wave& w, const Instruction& i, unsigned k, std::uint32_t* out) {
  const Operand& o = i.src[k];
  if (o.kind == OperandKind::vgpr) {
    std::uint32_t moved[64];
    const std::uint32_t* row = row_of(w, i, k, o.index, moved);
    for (unsigned l = 0; l < 64; ++l) out[l] = extract(row[l], o.part, o.sign_extend);
  } else {
    const std::uint32_t value = extract(scalar32(w, o), o.part, o.sign_extend);
    for (unsigned l = 0; l < 64; ++l) out[l] = value;
  }
  const std::uint32_t keep = o.absolute ? 0x7fffffffu : ~0u, flip = o.negate ? 0x80000000u : 0;
  if (o.absolute || o.negate)
    for (unsigned l = 0; l < 64; ++l) out[l] = (out[l] & keep) ^ flip;
}

void read64(Wave& w, const Instruction& i, unsigned k, bool floating, std::uint64_t* out) {
  const Operand& o = i.src[k];
  if (o.kind == OperandKind::vgpr) {
    std::uint32_t moved_low[64], moved_high[64];
    const std::uint32_t* low = row_of(w, i, k, o.index, moved_low);
    const std::uint32_t* high = row_of(w, i, k, o.index + 1u, moved_high);
    for (unsigned l = 0; l < 64; ++l) out[l] = low[l] | std::uint64_t(high[l]) << 32;
  } else {
    std::uint64_t value = scalar32(w, o);
    if (o.kind == OperandKind::constant) value = floating ? o.kf64 : o.k64;
    if (o.kind == OperandKind::sgpr) value = w.mask_at(o.index);
    for (unsigned l = 0; l < 64; ++l) out[l] = value;
  }
  const std::uint64_t keep = o.absolute ? ~(1ull << 63) : ~0ull, flip = o.negate ? 1ull << 63 : 0;
  if (o.absolute || o.negate)
    for (unsigned l = 0; l < 64; ++l) out[l] = (out[l] & keep) ^ flip;
}

void read16(Wave& w, const Instruction& i, unsigned k, std::uint32_t* out) {
  const Operand& o = i.src[k];
  if (o.kind == OperandKind::vgpr) {
    std::uint32_t moved[64];
    const std::uint32_t* row = row_of(w, i, k, o.index, moved);
    for (unsigned l = 0; l < 64; ++l) out[l] = extract(row[l], o.part, o.sign_extend) & 0xffff;
  } else {
    const std::uint32_t value =
        o.kind == OperandKind::constant ? o.k16 : extract(scalar32(w, o), o.part, o.sign_extend) & 0xffff;
    for (unsigned l = 0; l < 64; ++l) out[l] = value;
  }
  const std::uint32_t keep = o.absolute ? 0x7fffu : 0xffffu, flip = o.negate ? 0x8000u : 0;
  if (o.absolute || o.negate)
    for (unsigned l = 0; l < 64; ++l) out[l] = (out[l] & keep) ^ flip;
}

void commit_part(Wave& w, const Instruction& i, const std::uint32_t* out, std::uint64_t mask) {
  std::uint32_t* d = w.v[i.dst[0].index];
  unsigned shift = 0, bits = 32;
  switch (i.dst_part) {
    case Part::all:
      break;
    case Part::word0:
      bits = 16;
      break;
    case Part::word1:
      bits = 16, shift = 16;
      break;
    default:
      bits = 8, shift = 8 * (unsigned(i.dst_part) - unsigned(Part::byte0));
  }
  const std::uint32_t field = bits == 32 ? ~0u : ((1u << bits) - 1) << shift;
  for (unsigned l = 0; l < w.lanes; ++l) {
    if (!(mask >> l & 1)) continue;
    const std::uint32_t placed = out[l] << shift & field;
    switch (i.dst_unused) {
      case DstUnused::pad:
        d[l] = placed;
        break;
      case DstUnused::sign_extend:
        d[l] = u32(i32(placed << (32 - bits - shift)) >> (32 - bits - shift));
        break;
      case DstUnused::preserve:
        d[l] = (d[l] & ~field) | placed;
        break;
    }
  }
}

void commit16(Wave& w, const Instruction& i, const std::uint32_t* out, std::uint64_t mask) {
  if (i.dst_part != Part::all) return commit_part(w, i, out, mask);
  std::uint32_t* d = w.v[i.dst[0].index];
  const std::uint32_t kept = i.zero_high ? 0 : 0xffff0000u;
  for (unsigned l = 0; l < w.lanes; ++l)
    if (mask >> l & 1) d[l] = (d[l] & kept) | (out[l] & 0xffff);
}

namespace {

/// The factor of an output modifier. Modifiers are ignored if MODE.IEEE is set (before GFX12) or denormal
/// results are enabled (`denormals`: MODE's two bits). See "Output Modifiers" in the ISA documents.
double factor_of(const Wave& w, const Instruction& i, std::uint32_t denormals) {
  constexpr double factors[] = {1, 2, 4, 0.5};
  const bool ieee = w.mode & mode::ieee && w.generation < 12;
  return ieee || denormals & 2 ? 1 : factors[i.output_modifier];
}

/// Multiplies, flushing denormals and dropping the sign of a zero.
template <class T>
T scaled(T x, double factor) {
  if (factor == 1) return x;
  const T r = T(x * T(factor));
  return std::fabs(r) < std::numeric_limits<T>::min() ? T(0) : r;
}

/// Applies the clamp modifier. In the DX10_CLAMP mode, NaN becomes 0.
template <class T>
T clamped(T x, bool dx10) {
  if (x != x) return dx10 ? T(0) : x;
  return x < T(0) ? T(0) : x > T(1) ? T(1) : x;
}

bool clamps_nan(const Wave& w) {
  return w.mode & mode::dx10_clamp || w.generation >= 12;
}

}  // namespace

void modify_f32(const Wave& w, const Instruction& i, std::uint32_t* out) {
  const double factor = factor_of(w, i, w.mode >> 4 & 3);
  for (unsigned l = 0; l < w.lanes; ++l) {
    float x = scaled(std::bit_cast<float>(out[l]), factor);
    if (i.clamp) x = clamped(x, clamps_nan(w));
    out[l] = std::bit_cast<std::uint32_t>(x);
  }
}

void modify_f64(const Wave& w, const Instruction& i, std::uint64_t* out) {
  const double factor = factor_of(w, i, w.mode >> 6 & 3);
  for (unsigned l = 0; l < w.lanes; ++l) {
    double x = scaled(std::bit_cast<double>(out[l]), factor);
    if (i.clamp) x = clamped(x, clamps_nan(w));
    out[l] = std::bit_cast<std::uint64_t>(x);
  }
}

void modify_f16(const Wave& w, const Instruction& i, std::uint32_t* out) {
  const double factor = factor_of(w, i, w.mode >> 6 & 3);
  for (unsigned l = 0; l < w.lanes; ++l) {
    double x = to_double({u16(out[l])}) * factor;
    if (factor != 1 && std::fabs(x) < 0x1p-14) x = 0;
    if (i.clamp) x = clamped(x, clamps_nan(w));
    out[l] = round_to_half(x, w.mode >> 2 & 3).bits;
  }
}

}  // namespace weir::hipsim
