// SPDX-License-Identifier: Apache-2.0
// Reads of sources and writes of results of vector instructions, for all lanes at once. Files that include
// this are compiled for every x86-64 and again for AVX2 with FMA, each in a namespace of its own
// (HIPSIM_SIMD).
#pragma once
#include <bit>
#include <type_traits>
#include <utility>

#include "isa/code/instruction.hpp"
#include "isa/code/operations.hpp"
#include "isa/numbers/half.hpp"
#include "isa/numbers/numbers.hpp"
#include "isa/state/wave.hpp"

namespace weir::hipsim {
// Slow paths, compiled once (lanes.cpp).
void read32(Wave& w, const Instruction& i, unsigned k, std::uint32_t* out);
void read64(Wave& w, const Instruction& i, unsigned k, bool floating, std::uint64_t* out);
void read16(Wave& w, const Instruction& i, unsigned k, std::uint32_t* out);
void commit_part(Wave& w, const Instruction& i, const std::uint32_t* out, std::uint64_t mask);
void commit16(Wave& w, const Instruction& i, const std::uint32_t* out, std::uint64_t mask);
void modify_f32(const Wave& w, const Instruction& i, std::uint32_t* out);
void modify_f64(const Wave& w, const Instruction& i, std::uint64_t* out);
void modify_f16(const Wave& w, const Instruction& i, std::uint32_t* out);

/// Moves the lanes of `row` to `out` (64 lanes) according to the instruction's DPP fields. Returns the lanes
/// that the instruction may write: those that the row and bank masks name, and whose source exists or reads
/// as zero.
std::uint64_t move_lanes(const Wave& wave, const Instruction& instruction, const std::uint32_t* row,
                         std::uint32_t* out);

namespace HIPSIM_SIMD {

alignas(64) inline constexpr std::uint32_t lane_bits[32] = {
    1u << 0,  1u << 1,  1u << 2,  1u << 3,  1u << 4,  1u << 5,  1u << 6,  1u << 7,
    1u << 8,  1u << 9,  1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15,
    1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21, 1u << 22, 1u << 23,
    1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31};

/// Writes the lanes of `mask` of a register.
inline void commit_row(Wave& w, unsigned index, const std::uint32_t* __restrict out, std::uint64_t mask) {
  std::uint32_t* __restrict d = w.v[index];
  if (mask == w.full) {  // copies of constant size are inlined
    if (w.lanes == 64)
      std::memcpy(d, out, 64 * 4);
    else
      std::memcpy(d, out, 32 * 4);
    return;
  }
  for (unsigned half = 0; half < w.lanes; half += 32) {
    const std::uint32_t m = std::uint32_t(mask >> half);
    for (unsigned l = 0; l < 32; ++l) d[half + l] = (m & lane_bits[l]) ? out[half + l] : d[half + l];
  }
}

/// The lanes that the instruction writes.
inline std::uint64_t write_mask(const Wave& w, const Instruction& i) {
  return i.dpp == Dpp::none ? w.exec() : w.exec() & w.dpp_valid;
}

template <class T>
inline constexpr unsigned bits_of = sizeof(T) * 8;
template <class T>
using Raw = std::conditional_t<(sizeof(T) == 8), std::uint64_t, std::uint32_t>;

template <class T>
T from_raw(Raw<T> bits) {
  if constexpr (sizeof(T) == 2)
    return std::bit_cast<T>(std::uint16_t(bits));
  else
    return std::bit_cast<T>(bits);
}
template <class T>
Raw<T> to_raw(T value) {
  if constexpr (sizeof(T) == 2)
    return std::bit_cast<std::uint16_t>(value);
  else
    return std::bit_cast<Raw<T>>(value);
}

/// A source of 64 lanes: the register itself if it can be read in place, else a copy.
template <class T>
class Source {
 public:
  Source(Wave& w, const Instruction& i, unsigned k) : lanes_(copy_) {
    const Operand& o = i.src[k];
    if constexpr (sizeof(T) == 8) {
      if (o.plain) {
        const std::uint32_t *low = w.v[o.index], *high = w.v[o.index + 1];
        for (unsigned l = 0; l < 64; ++l) copy_[l] = low[l] | std::uint64_t(high[l]) << 32;
      } else {
        read64(w, i, k, std::is_floating_point_v<T>, copy_);
      }
    } else if constexpr (sizeof(T) == 4) {
      if (o.plain)
        lanes_ = w.v[o.index];
      else
        read32(w, i, k, copy_);
    } else {
      read16(w, i, k, copy_);
    }
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  const Raw<T>* lanes() const { return lanes_; }

 private:
  alignas(64) Raw<T> copy_[64];
  const Raw<T>* lanes_;
};

template <class D>
void commit(Wave& w, const Instruction& i, Raw<D>* out) {
  const std::uint64_t mask = write_mask(w, i);
  if constexpr (sizeof(D) == 8) {
    if constexpr (std::is_floating_point_v<D>)
      if (i.clamp | i.output_modifier) modify_f64(w, i, out);
    alignas(64) std::uint32_t low[64], high[64];
    for (unsigned half = 0; half < w.lanes; half += 32)
      for (unsigned l = half; l < half + 32; ++l)
        low[l] = std::uint32_t(out[l]), high[l] = std::uint32_t(out[l] >> 32);
    commit_row(w, i.dst[0].index, low, mask);
    commit_row(w, i.dst[0].index + 1u, high, mask);
  } else if constexpr (sizeof(D) == 4) {
    if constexpr (std::is_floating_point_v<D>)
      if (i.clamp | i.output_modifier) modify_f32(w, i, out);
    if (i.dst_part != Part::all)
      commit_part(w, i, out, mask);
    else
      commit_row(w, i.dst[0].index, out, mask);
  } else {
    if constexpr (std::is_same_v<D, Half>)
      if (i.clamp | i.output_modifier) modify_f16(w, i, out);
    commit16(w, i, out, mask);
  }
}

/// Inputs of an operation in addition to its sources.
struct Context {
  const Wave& wave;
  const Instruction& instruction;
};

template <class D, class F, class... S>
void compute(Wave& w, const Instruction& i, Raw<D>* __restrict out, const Raw<S>*... in) {
  constexpr bool contextual = std::is_invocable_v<F, const Context&, S...>;
  const Context context{w, i};
  if (w.lanes == 64) {
    for (unsigned l = 0; l < 64; ++l) {
      if constexpr (contextual)
        out[l] = to_raw<D>(F{}(context, from_raw<S>(in[l])...));
      else
        out[l] = to_raw<D>(F{}(from_raw<S>(in[l])...));
    }
  } else {
    for (unsigned l = 0; l < 32; ++l) {
      if constexpr (contextual)
        out[l] = to_raw<D>(F{}(context, from_raw<S>(in[l])...));
      else
        out[l] = to_raw<D>(F{}(from_raw<S>(in[l])...));
    }
  }
}

// Takes the loop over the lanes as an argument, so it is compiled once and not once per operation.
template <class D, class... S>
[[gnu::noinline]] void map_lanes(Wave& w, const Instruction& i,
                                 void (*map)(Wave&, const Instruction&, Raw<D>*, const Raw<S>*...)) {
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    alignas(64) Raw<D> out[64];
    [&](const auto&... source) { map(w, i, out, source.lanes()...); }(Source<S>(w, i, K)...);
    commit<D>(w, i, out);
  }
  (std::index_sequence_for<S...>{});
}

/// The handler of an operation that maps lanes of sources S to lanes of D: valu<float, float, float>(lambda).
template <class D, class... S, class F>
Handler valu(F) {
  return [](Wave& w, const Instruction& i) { map_lanes<D, S...>(w, i, compute<D, F, S...>); };
}

/// An integer or bitwise operation.
template <class D, class... S, class F>
Operation plain(F f) {
  return Operation{valu<D, S...>(f), int(sizeof...(S)), FloatGroup::none, sizeof(D) == 2};
}
/// An operation whose arithmetic obeys the mode bits of single precision.
template <class D, class... S, class F>
Operation single(F f) {
  return Operation{valu<D, S...>(f), int(sizeof...(S)), FloatGroup::single, sizeof(D) == 2};
}
/// An operation whose arithmetic obeys the mode bits of half and double precision.
template <class D, class... S, class F>
Operation wide(F f) {
  return Operation{valu<D, S...>(f), int(sizeof...(S)), FloatGroup::half_and_double, sizeof(D) == 2};
}

}  // namespace HIPSIM_SIMD
}  // namespace weir::hipsim
