// SPDX-License-Identifier: Apache-2.0
#include "vector_rows.hpp"

#include <gtest/gtest.h>

#include <cfenv>
#include <cstdio>

namespace weir::hipsim::test {
namespace {

// Registers used by rows.
constexpr unsigned source_at[] = {2, 4, 6}, result_at = 10, mask_out = 20, mask_in = 24;

/// A variant of an instruction: signs of sources, and modifiers of the result.
struct Variant {
  unsigned negated = 0, absolute = 0;  // a bit for each source
  bool clamp = false, twice = false;
};

struct Mode {
  u32 bits;
  int rounding;
};
constexpr u32 usual_bits = mode::denormal_single | mode::denormal_double | mode::ieee | mode::dx10_clamp;
constexpr Mode usual{usual_bits, FE_TONEAREST}, flushing{mode::dx10_clamp, FE_TONEAREST},
    upward{usual_bits | 5, FE_UPWARD}, downward{usual_bits | 10, FE_DOWNWARD},
    towards_zero{usual_bits | 15, FE_TOWARDZERO};

struct Spec {
  Operation operation;
  Form form;
  Variant variant;
  Target target;
  std::vector<Mode> modes;
};

u64 flush_bits(u64 bits, Shape shape) {
  if (!shape.floating) return bits;
  if (shape.bytes == 2) return raw(without_denormal(from_bits<f16>(bits)));
  if (shape.bytes == 4) return raw(without_denormal(from_bits<f32>(bits)));
  return raw(without_denormal(from_bits<f64>(bits)));
}

template <class T>
u64 modified(u64 bits, const Variant& variant, bool doubles) {
  T x = from_bits<T>(bits);
  if (variant.twice && doubles) {
    // Denormal results are flushed, and the sign of a zero is lost.
    x = without_denormal(is_nan(x) ? quiet(x) : T(x * T(2)));
    if (x == T(0)) x = T(0);
  }
  if (variant.clamp) x = !(x > T(0)) ? T(0) : x > T(1) ? T(1) : x;
  return raw(x);
}

u64 modified(u64 bits, Shape shape, const Variant& variant, bool doubles) {
  if (!shape.floating) return bits;
  return shape.bytes == 2   ? modified<f16>(bits, variant, doubles)
         : shape.bytes == 4 ? modified<f32>(bits, variant, doubles)
                            : modified<f64>(bits, variant, doubles);
}

/// Whether two numbers differ by at most so many units in the last place, or are both NaN.
bool near(u64 a, u64 b, Shape shape, unsigned ulps) {
  const u64 sign = 1ull << (shape.bytes * 8 - 1);
  const auto place = [&](u64 x) { return x & sign ? -std::int64_t(x & ~sign) : std::int64_t(x); };
  const std::int64_t distance = place(a) - place(b);
  return distance <= std::int64_t(ulps) && -distance <= std::int64_t(ulps);
}

/// The bits of source k in a lane: first all pairs of edge values, then random edge values, then random bits.
u64 input(const Operation& o, unsigned k, unsigned round, unsigned n) {
  const std::vector<u64>& edges = *o.edges[k];
  const u64 random = random_bits(n * 4 + k);
  const std::size_t first = o.edges[0]->size();
  if (round < 8 && k == 0) return edges[n % first];
  if (round < 8 && k == 1) return edges[n / first % edges.size()];
  if (round < 12) return edges[random % edges.size()];
  return o.sources[k].bytes == 8 ? random : random & ((1ull << o.sources[k].bytes * 8) - 1);
}

class Run {
 public:
  Run(Machine& m, unsigned index, const Spec& s, const Mode& mode)
      : m_(m), index_(index), s_(s), mode_(mode) {}

  /// Returns false if a lane was wrong.
  bool round(unsigned number) {
    fill(number);
    m_.wave.set_mode(mode_.bits);
    m_.step(index_);
    const int before = std::fegetround();
    std::fesetround(mode_.rounding);
    bool right = true;
    for (unsigned l = 0; l < s_.target.lanes && right; ++l) right = lane(l);
    std::fesetround(before);
    right = right && flags();
    m_.wave.set_mode(usual_bits);
    m_.set_exec(m_.wave.full);
    return right;
  }

 private:
  void fill(unsigned number) {
    const unsigned lanes = s_.target.lanes;
    exec_ = number % 4 == 3 ? random_bits(number) : ~0ull;
    exec_ &= m_.wave.full;
    m_.set_exec(exec_);
    carries_ = random_bits(number + 1000) & m_.wave.full;
    for (unsigned at : {mask_in, slot::vcc}) m_.wave.set64(at, carries_);
    m_.wave.set64(mask_out, ~0ull);
    const Operation& o = s_.operation;
    for (unsigned l = 0; l < lanes; ++l) {
      before_[l] = random_bits(l + number);
      const unsigned n = number * lanes + l;
      for (unsigned k = 0; k < o.sources.size(); ++k) {
        u64 bits = input(o, k, number * lanes / 64, n);
        in_[l][k] = bits;
        if (s_.form.accumulates && k + 1 == o.sources.size()) {
          before_[l] = o.sources[k].bytes == 2 ? (before_[l] & ~0xffffull) | bits : bits;
          continue;
        }
        // The bits above a small source must have no effect.
        if (o.sources[k].bytes == 2) bits |= random_bits(n) << 16;
        m_.v(source_at[k], l) = u32(bits);
        m_.v(source_at[k] + 1, l) = u32(bits >> 32);
      }
      m_.v(result_at, l) = u32(before_[l]), m_.v(result_at + 1, l) = u32(before_[l] >> 32);
    }
  }

  bool lane(unsigned l) {
    const Operation& o = s_.operation;
    const u64 whole = m_.v64(result_at, l);
    if (!(exec_ >> l & 1)) {
      EXPECT_EQ(before_[l], whole) << "lane " << l << ", which is not active";
      return before_[l] == whole;
    }
    u64 sources[3] = {};
    const bool flush = !(mode_.bits & mode::denormal_single);
    for (unsigned k = 0; k < o.sources.size(); ++k) {
      const u64 sign = 1ull << (o.sources[k].bytes * 8 - 1);
      sources[k] = in_[l][k];
      if (s_.variant.absolute >> k & 1) sources[k] &= ~sign;
      if (s_.variant.negated >> k & 1) sources[k] ^= sign;
      if (flush) sources[k] = flush_bits(sources[k], o.sources[k]);
    }
    const unsigned generation = s_.target.generation;
    const bool ieee = (mode_.bits & mode::ieee) || generation >= 12;
    Lane lane{generation, ieee, s_.variant.clamp, (carries_ >> l & 1) != 0};
    lane.before = before_[l];
    u64 result = o.call(o.function, lane, sources);
    flags_ |= u64(lane.flag) << l;
    if (o.result.bytes == 0) return true;
    if (flush) result = flush_bits(result, o.result);
    // Output modifiers apply only if denormal results are flushed and MODE's IEEE bit is off.
    result = modified(result, o.result, s_.variant, flush);
    return compare(l, whole, result);
  }

  bool compare(unsigned l, u64 whole, u64 expected) {
    const Operation& o = s_.operation;
    u64 got = whole;
    if (o.result.bytes == 4) got = u32(whole);
    if (o.result.bytes == 2) {
      got = whole & 0xffff;
      const bool clears = s_.target.generation <= 9 && s_.form.clears_high;
      const u32 high = clears ? 0 : u32(before_[l]) >> 16;
      const bool open = s_.form.high_open && s_.target.generation <= 9;
      if (!open && high != u32(whole) >> 16) {
        ADD_FAILURE() << "the upper half is " << (whole >> 16 & 0xffff) << ", expected " << high;
        return false;
      }
    }
    const u64 sign = 1ull << (o.result.bytes * 8 - 1);
    const bool zeros = s_.variant.clamp && o.result.floating && !((got | expected) & ~sign);
    if (got == expected || zeros) return true;
    if (s_.form.any_nan && is_nan(from_bits<f32>(got)) && is_nan(from_bits<f32>(expected))) return true;
    // The documents do not specify whether a number that rounding made normal is flushed.
    const bool flush = !(mode_.bits & mode::denormal_single) && o.result.floating;
    const u64 smallest = 1ull << (o.result.bytes == 2 ? 10 : o.result.bytes == 4 ? 23 : 52);
    const u64 borderline = s_.variant.twice ? 2 * smallest : smallest;
    if (flush && !(got & ~sign) && (expected & ~sign) <= borderline) return true;
    if (s_.form.ulps && near(got, expected, o.result, s_.form.ulps)) return true;
    char text[200];
    std::snprintf(text, sizeof(text),
                  "of %#llx, %#llx, %#llx in lane %u, mode %#x: got %#llx, expected %#llx", in_[l][0],
                  in_[l][1], in_[l][2], l, mode_.bits, static_cast<unsigned long long>(got),
                  static_cast<unsigned long long>(expected));
    ADD_FAILURE() << text;
    return false;
  }

  bool flags() {
    const auto mask_is = [&](const char* name, unsigned at, u64 expected) {
      const u64 got = m_.s64(at) & m_.wave.full;
      EXPECT_EQ(expected, got) << name << " in mode " << mode_.bits << ", EXEC " << exec_;
      return expected == got;
    };
    const FlagsTo to = s_.form.flags;
    bool right = true;
    if (to == FlagsTo::scalars) right = mask_is("the mask", mask_out, flags_);
    const bool exec = to == FlagsTo::exec || to == FlagsTo::vcc_and_exec;
    const bool vcc = to == FlagsTo::vcc || to == FlagsTo::vcc_and_exec;
    right = right && mask_is("EXEC", slot::exec, exec ? flags_ : exec_);
    return right && mask_is("VCC", slot::vcc, vcc ? flags_ : carries_);
  }

  Machine& m_;
  unsigned index_;
  const Spec& s_;
  const Mode& mode_;
  u64 exec_ = 0, carries_ = 0, flags_ = 0;
  unsigned long long in_[64][3] = {};
  u64 before_[64] = {};
};

void check_spec(Machine& m, unsigned index, const Spec& s) {
  const unsigned rounds = s.operation.sources.empty() ? 1 : 16 * 64 / s.target.lanes;
  for (const Mode& mode : s.modes)
    for (unsigned n = 0; n < rounds; ++n)
      if (!Run(m, index, s, mode).round(n)) return;
}

/// The operands of a row in a variant.
std::string operands_of(const Spec& s) {
  const Operation& o = s.operation;
  std::string form = s.form.text;
  if (form.empty()) {
    if (o.result.bytes) form = "%d, ";
    const std::size_t written = o.sources.size() - (s.form.accumulates ? 1 : 0);
    for (std::size_t k = 0; k < written; ++k) form += std::string(k ? ", %" : "%") + char('a' + k);
  }
  const auto name = [&](unsigned at, unsigned bytes) {
    const bool half = bytes == 2 && s.target.generation == 11 && !s.form.whole;
    return registers('v', at, bytes == 8 ? 2 : 1) + (half ? ".l" : "");
  };
  std::string text;
  for (std::size_t n = 0; n < form.size(); ++n) {
    if (form[n] != '%') {
      text += form[n];
      continue;
    }
    const char what = form[++n];
    if (what == 'd') text += name(result_at, o.result.bytes);
    if (what == 'm') text += s.target.mask(mask_out);
    if (what == 'n') text += s.target.mask(mask_in);
    if (what == 'v') text += s.target.vcc();
    if (what < 'a' || what > 'c') continue;
    const unsigned k = unsigned(what - 'a');
    const std::string bare = name(source_at[k], o.sources[k].bytes);
    const std::string sized = s.variant.absolute >> k & 1 ? "|" + bare + "|" : bare;
    text += s.variant.negated >> k & 1 ? "-" + sized : sized;
  }
  if (s.variant.twice) text += " mul:2";
  if (s.variant.clamp) text += " clamp";
  return text;
}

}  // namespace

void VectorTable::add_names(const std::string& names, Operation operation, const Form& form) {
  if (target_.generation < form.from || target_.generation > form.to) return;
  std::vector<Variant> variants{{}};
  if (form.modifiers) {
    variants.push_back({.negated = 1, .absolute = operation.sources.size() > 1 ? 2u : 1u});
    if (operation.result.floating) variants.push_back({.clamp = true});
  }
  if (form.clamps) variants.push_back({.clamp = true});
  if (form.modes && form.modifiers) variants.push_back({.twice = true});
  for (const Variant& variant : variants) {
    std::vector<Mode> modes{usual};
    if (form.modes) modes.push_back(flushing);
    if (form.modes && !variant.negated && !variant.clamp && !variant.twice)
      modes.insert(modes.end(), {upward, downward, towards_zero});
    const auto spec = std::make_shared<Spec>(Spec{operation, form, variant, target_, modes});
    for (const std::string& name : words_of(names)) {
      cases_.push_back({name, form.prefix + name + " " + operands_of(*spec),
                        [spec](Machine& m, unsigned index) { check_spec(m, index, *spec); }});
    }
  }
}

}  // namespace weir::hipsim::test
