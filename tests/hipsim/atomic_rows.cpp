// SPDX-License-Identifier: Apache-2.0
// Atomics of global, flat and LDS memory, with and without returning the previous value.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "rows.hpp"
#include "values.hpp"

namespace weir::hipsim::test {
namespace atomic_table {

using Update = u64 (*)(u64 before, u64 data, u64 compared);

/// An update with its names in global and flat memory, and in LDS ("add_u32" for ds_add_u32 and
/// ds_add_rtn_u32).
struct Atomic {
  const char *global, *lds;
  unsigned bytes;
  const std::vector<u64>& (*edges)();
  Update update;
  bool compares = false;
};

template <class T>
u64 smaller(u64 a, u64 b, u64) {
  return raw(std::min(from_bits<T>(a), from_bits<T>(b)));
}
template <class T>
u64 larger(u64 a, u64 b, u64) {
  return raw(std::max(from_bits<T>(a), from_bits<T>(b)));
}
/// Floating-point minima and maxima: a number takes precedence over NaN. The order of two zeros and the
/// choice between two NaNs are unspecified; those results are not compared.
template <class T, bool larger>
u64 float_order(u64 a, u64 b, u64) {
  const T x = from_bits<T>(a), y = from_bits<T>(b);
  if (is_nan(x)) return b;
  if (is_nan(y)) return a;
  return (x < y) == larger ? b : a;
}
template <class T>
u64 float_sum(u64 a, u64 b, u64) {
  return raw(T(from_bits<T>(a) + from_bits<T>(b)));
}
u64 half_sums(u64 a, u64 b, u64) {
  const auto one = [&](unsigned n) {
    return raw(f16(f64(from_bits<f16>(a >> n)) + f64(from_bits<f16>(b >> n))));
  };
  return one(0) | u64(one(16)) << 16;
}
u64 bfloat_sums(u64 a, u64 b, u64) {
  const auto one = [&](unsigned n) -> u64 {
    const f32 sum = from_bits<f32>((a >> n & 0xffff) << 16) + from_bits<f32>((b >> n & 0xffff) << 16);
    const u32 bits = raw(sum), rest = bits & 0xffff;
    return ((bits >> 16) + (rest > 0x8000 || (rest == 0x8000 && (bits >> 16 & 1)))) & 0xffff;
  };
  return one(0) | one(16) << 16;
}
template <class T>
u64 up(u64 a, u64 b, u64) {
  return T(a) >= T(b) ? 0 : T(a + 1);
}
template <class T>
u64 down(u64 a, u64 b, u64) {
  return T(a) == 0 || T(a) > T(b) ? T(b) : T(a - 1);
}

const std::vector<u64>& words() {
  return edges_of<u32>();
}
const std::vector<u64>& doubles() {
  return edges_of<u64>();
}
/// Numbers whose sums and order involve neither NaN nor a pair of zeros.
template <class T>
const std::vector<u64>& numbers() {
  static const std::vector<u64> kept = [] {
    std::vector<u64> all;
    for (u64 bits : edges_of<T>()) {
      const T x = from_bits<T>(bits);
      if (!is_nan(x) && std::isfinite(f64(x)) && bits != sign_mask<T>) all.push_back(bits);
    }
    return all;
  }();
  return kept;
}
const std::vector<u64>& pairs() {
  static const std::vector<u64> some{0x3c003c00, 0x40004200, 0xc4003800, 0x00010001, 0x3c01bc00, 0x44000000};
  return some;
}

template <class T>
u64 sum(u64 a, u64 b, u64) {
  return T(a + b);
}
template <class T>
u64 difference(u64 a, u64 b, u64) {
  return T(a - b);
}
template <class T>
u64 difference_from(u64 a, u64 b, u64) {
  return T(b - a);
}
u64 difference_or_zero(u64 a, u64 b, u64) {
  return a < b ? 0 : a - b;
}
u64 difference_or_old(u64 a, u64 b, u64) {
  return a < b ? a : a - b;
}
u64 conjunction(u64 a, u64 b, u64) {
  return a & b;
}
u64 disjunction(u64 a, u64 b, u64) {
  return a | b;
}
u64 exclusion(u64 a, u64 b, u64) {
  return a ^ b;
}
u64 exchanged(u64, u64 b, u64) {
  return b;
}
u64 exchanged_if_equal(u64 a, u64 b, u64 c) {
  return a == c ? b : a;
}

const Atomic atomics[] = {
    {"add add_u32", "add_u32", 4, words, sum<u32>},
    {"sub sub_u32", "sub_u32", 4, words, difference<u32>},
    {"", "rsub_u32", 4, words, difference_from<u32>},
    {"smin min_i32", "min_i32", 4, words, smaller<i32>},
    {"umin min_u32", "min_u32", 4, words, smaller<u32>},
    {"smax max_i32", "max_i32", 4, words, larger<i32>},
    {"umax max_u32", "max_u32", 4, words, larger<u32>},
    {"and and_b32", "and_b32", 4, words, conjunction},
    {"or or_b32", "or_b32", 4, words, disjunction},
    {"xor xor_b32", "xor_b32", 4, words, exclusion},
    {"inc inc_u32", "inc_u32", 4, words, up<u32>},
    {"dec dec_u32", "dec_u32", 4, words, down<u32>},
    {"csub csub_u32 csub_clamp sub_clamp_u32", "sub_clamp_u32", 4, words, difference_or_zero},
    {"cond_sub_u32", "cond_sub_u32", 4, words, difference_or_old},
    {"swap swap_b32", "wrxchg_b32 storexchg_b32", 4, words, exchanged},
    {"cmpswap cmpswap_b32", "cmpst_b32 cmpstore_b32", 4, words, exchanged_if_equal, true},
    {"add_f32", "add_f32", 4, numbers<f32>, float_sum<f32>},
    {"fmin min_f32 min_num_f32", "min_f32 min_num_f32", 4, numbers<f32>, float_order<f32, false>},
    {"fmax max_f32 max_num_f32", "max_f32 max_num_f32", 4, numbers<f32>, float_order<f32, true>},
    {"pk_add_f16", "pk_add_f16", 4, pairs, half_sums},
    {"pk_add_bf16", "pk_add_bf16", 4, pairs, bfloat_sums},
    {"add_x2 add_u64", "add_u64", 8, doubles, sum<u64>},
    {"sub_x2 sub_u64", "sub_u64", 8, doubles, difference<u64>},
    {"", "rsub_u64", 8, doubles, difference_from<u64>},
    {"smin_x2 min_i64", "min_i64", 8, doubles, smaller<i64>},
    {"umin_x2 min_u64", "min_u64", 8, doubles, smaller<u64>},
    {"smax_x2 max_i64", "max_i64", 8, doubles, larger<i64>},
    {"umax_x2 max_u64", "max_u64", 8, doubles, larger<u64>},
    {"and_x2 and_b64", "and_b64", 8, doubles, conjunction},
    {"or_x2 or_b64", "or_b64", 8, doubles, disjunction},
    {"xor_x2 xor_b64", "xor_b64", 8, doubles, exclusion},
    {"inc_x2 inc_u64", "inc_u64", 8, doubles, up<u64>},
    {"dec_x2 dec_u64", "dec_u64", 8, doubles, down<u64>},
    {"swap_x2 swap_b64", "wrxchg_b64 storexchg_b64", 8, doubles, exchanged},
    {"cmpswap_x2 cmpswap_b64", "cmpst_b64 cmpstore_b64", 8, doubles, exchanged_if_equal, true},
    {"add_f64", "add_f64", 8, numbers<f64>, float_sum<f64>},
    {"min_f64 fmin_x2 min_num_f64", "min_f64 min_num_f64", 8, numbers<f64>, float_order<f64, false>},
    {"max_f64 fmax_x2 max_num_f64", "max_f64 max_num_f64", 8, numbers<f64>, float_order<f64, true>},
};

/// gfx908 and gfx90a treat subnormal inputs of additions in memory as zero, and store no subnormal results.
u64 flushed_sum(u64 a, u64 b, u64) {
  const auto flushed = [](f32 x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; };
  return raw(flushed(flushed(from_bits<f32>(a)) + flushed(from_bits<f32>(b))));
}
const Atomic flushing_add{"add_f32", "", 4, numbers<f32>, flushed_sum};

// v[0:1] addresses, v4 and up data with the compared value before or after it, v[10:11] the previous value.
constexpr unsigned data = 4, result = 10, offset = 8;

/// Order of an instruction's values: one value, value before compared value, or compared value before value.
enum class Order { one, value_first, compared_first };

struct Placement {
  bool lds, returns;
  Order order;
};

void check_atomic(Machine& m, unsigned index, const Atomic& atomic, const Placement& p) {
  const std::vector<u64>& edges = atomic.edges();
  const unsigned bytes = atomic.bytes;
  m.set_exec(m.wave.full & 0x7777777777777777ull);
  const u64 exec = m.wave.exec();
  const u64 block = m.memory(64 * 8 + offset);
  m.lds.assign(64 * 8 + offset, 0), m.group.lds = m.lds.data(), m.group.lds_bytes = u32(m.lds.size());
  const auto memory = [&](unsigned l) {
    return (p.lds ? m.lds.data() : reinterpret_cast<std::uint8_t*>(block)) + offset + l * 8;
  };
  const auto put = [&](unsigned at, unsigned l, u64 value) {
    m.v(at, l) = u32(value);
    if (bytes == 8) m.v(at + 1, l) = u32(value >> 32);
  };
  for (unsigned round = 0; round < 4; ++round) {
    u64 before[64], given[64], compared[64];
    for (unsigned l = 0; l < m.wave.lanes; ++l) {
      const unsigned n = round * m.wave.lanes + l;
      before[l] = edges[n % edges.size()], given[l] = edges[random_bits(n) % edges.size()];
      compared[l] = n % 2 ? before[l] : edges[random_bits(n + 7) % edges.size()];
      const u64 address = (p.lds ? 0 : block) + l * 8;
      m.v(0, l) = u32(address), m.v(1, l) = u32(address >> 32);
      const bool turned = p.order == Order::compared_first;
      put(data, l, turned ? compared[l] : given[l]);
      if (p.order != Order::one) put(data + bytes / 4, l, turned ? given[l] : compared[l]);
      m.set_v(result, 0x77777777), m.set_v(result + 1, 0x77777777);
      std::memcpy(memory(l), &before[l], bytes);
    }
    m.step(index);
    for (unsigned l = 0; l < m.wave.lanes; ++l) {
      u64 now = 0;
      std::memcpy(&now, memory(l), bytes);
      const bool runs = exec >> l & 1;
      const u64 expected = runs ? atomic.update(before[l], given[l], compared[l]) : before[l];
      ASSERT_EQ(expected, now) << "of " << before[l] << " and " << given[l] << ", lane " << l;
      const u64 old = bytes == 8 ? m.v64(result, l) : m.v(result, l);
      const u64 none = bytes == 8 ? 0x7777777777777777ull : 0x77777777;
      ASSERT_EQ(p.returns && runs ? before[l] : none, old) << "the value before, lane " << l;
    }
  }
}

void add(std::vector<Case>& cases, const std::string& name, const std::string& operands, const Atomic& atomic,
         const Placement& p) {
  cases.push_back({name, name + " " + operands,
                   [&atomic, p](Machine& m, unsigned index) { check_atomic(m, index, atomic, p); }});
}

}  // namespace atomic_table

std::vector<Case> atomic_rows(const Target& t) {
  using namespace atomic_table;
  std::vector<Case> cases;
  const std::string returning = t.generation >= 12                 ? " th:TH_ATOMIC_RETURN"
                                : t.is("gfx942") || t.is("gfx950") ? " sc0"
                                                                   : " glc";
  const bool flushes = t.is("gfx908") || t.is("gfx90a");
  for (const Atomic& named : atomics)
    for (const std::string& stem : words_of(named.global)) {
      const Atomic& a = flushes && stem == "add_f32" ? flushing_add : named;
      const unsigned words = a.bytes / 4;
      const Order order = a.compares ? Order::value_first : Order::one;
      const std::string given = registers('v', data, a.compares ? 2 * words : words);
      for (const char* space : {"global", "flat"}) {
        const std::string name = std::string(space) + "_atomic_" + stem;
        const std::string rest = "v[0:1], " + given + (name[0] == 'g' ? ", off" : "") + " offset:8";
        // Saturating operations always return the previous value.
        if (!stem.starts_with("csub")) add(cases, name, rest, a, {false, false, order});
        if (t.is("gfx908") && (stem == "add_f32" || stem == "pk_add_f16")) continue;  // no return value there
        add(cases, name, registers('v', result, words) + ", " + rest + returning, a, {false, true, order});
      }
    }
  return cases;
}

std::vector<Case> lds_atomic_rows(const Target&) {
  using namespace atomic_table;
  std::vector<Case> cases;
  for (const Atomic& a : atomics)
    for (const std::string& stem : words_of(a.lds)) {
      const unsigned words = a.bytes / 4;
      const Order order = !a.compares                    ? Order::one
                          : stem.starts_with("cmpstore") ? Order::value_first
                                                         : Order::compared_first;
      std::string given = registers('v', data, words);
      if (a.compares) given += ", " + registers('v', data + words, words);
      const std::size_t type = stem.rfind('_');
      const std::string returning = "ds_" + stem.substr(0, type) + "_rtn" + stem.substr(type);
      if (stem.find("xchg") == stem.npos)
        add(cases, "ds_" + stem, "v0, " + given + " offset:8", a, {true, false, order});
      add(cases, returning, registers('v', result, words) + ", v0, " + given + " offset:8", a,
          {true, true, order});
    }
  return cases;
}

TEST(Rows, Atomics) {
  check_table(atomic_rows);
}
TEST(Rows, LdsAtomics) {
  check_table(lds_atomic_rows);
}

}  // namespace weir::hipsim::test
