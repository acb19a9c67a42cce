// SPDX-License-Identifier: Apache-2.0
// Comparisons, which write a lane mask. Inactive lanes write 0.
#include "isa/code/operations.hpp"
#include "isa/numbers/floating.hpp"
#include "isa/vector/lanes.hpp"

namespace weir::hipsim::HIPSIM_SIMD {
namespace {

void store_mask(Wave& w, const Instruction& i, u64 mask, bool to_exec) {
  mask &= write_mask(w, i);
  if (i.dst[0]) w.set_mask(i.dst[0].index, mask);
  if (to_exec) w.set_mask(slot::exec, mask);
}

/// Compares 32 lanes.
template <class A, class B>
using CompareRow = u32 (*)(const Raw<A>*, const Raw<B>*);

template <class A, class B, class F>
u32 compare_row(const Raw<A>* a, const Raw<B>* b) {
  u32 mask = 0;
  for (unsigned l = 0; l < 32; ++l) mask |= F{}(from_raw<A>(a[l]), from_raw<B>(b[l])) ? lane_bits[l] : 0;
  return mask;
}

// Takes the comparison as an argument, so it is compiled once and not once per comparison.
template <class A, class B>
[[gnu::noinline]] void compare(Wave& w, const Instruction& i, CompareRow<A, B> row, bool to_exec) {
  const Source<A> first(w, i, 0);
  const Source<B> second(w, i, 1);
  const Raw<A>* a = first.lanes();
  const Raw<B>* b = second.lanes();
  const u32 low = row(a, b);
  const u32 high = w.lanes == 64 ? row(a + 32, b + 32) : 0;
  store_mask(w, i, low | u64(high) << 32, to_exec);
}

template <class A, class B, class F>
void add(OperationTable& t, const std::string& name, F) {
  constexpr FloatGroup group = std::is_same_v<A, f32> ? FloatGroup::single
                               : std::is_same_v<A, f64> || std::is_same_v<A, Half>
                                   ? FloatGroup::half_and_double
                                   : FloatGroup::none;
  Operation to_mask{[](Wave& w, const Instruction& i) { compare<A, B>(w, i, compare_row<A, B, F>, false); },
                    2, group};
  Operation to_exec{[](Wave& w, const Instruction& i) { compare<A, B>(w, i, compare_row<A, B, F>, true); }, 2,
                    group};
  t.add("v_cmp_" + name, to_mask);
  t.add("v_cmpx_" + name, to_exec);
}

/// Without a branch, so that the loops over lanes vectorise.
bool either(bool a, bool b) {
  return (int(a) | int(b)) != 0;
}

template <class T>
void define_float_compare(OperationTable& t, const std::string& s) {
  // 32-bit numbers are compared directly, so that the host's denormal mode applies.
  const auto value = [](T x) {
    if constexpr (std::is_same_v<T, Half>)
      return to_double(x);
    else
      return x;
  };
  using V = decltype(value);
  add<T, T>(t, "f_" + s, [](T, T) { return false; });
  add<T, T>(t, "lt_" + s, [](T a, T b) { return V{}(a) < V{}(b); });
  add<T, T>(t, "eq_" + s, [](T a, T b) { return V{}(a) == V{}(b); });
  add<T, T>(t, "le_" + s, [](T a, T b) { return V{}(a) <= V{}(b); });
  add<T, T>(t, "gt_" + s, [](T a, T b) { return V{}(a) > V{}(b); });
  add<T, T>(t, "lg_" + s, [](T a, T b) { return either(V{}(a) < V{}(b), V{}(a) > V{}(b)); });
  add<T, T>(t, "ge_" + s, [](T a, T b) { return V{}(a) >= V{}(b); });
  add<T, T>(t, "o_" + s, [](T a, T b) { return !either(V{}(a) != V{}(a), V{}(b) != V{}(b)); });
  add<T, T>(t, "u_" + s, [](T a, T b) { return either(V{}(a) != V{}(a), V{}(b) != V{}(b)); });
  add<T, T>(t, "nge_" + s, [](T a, T b) { return !(V{}(a) >= V{}(b)); });
  add<T, T>(t, "nlg_" + s, [](T a, T b) { return !(either(V{}(a) < V{}(b), V{}(a) > V{}(b))); });
  add<T, T>(t, "ngt_" + s, [](T a, T b) { return !(V{}(a) > V{}(b)); });
  add<T, T>(t, "nle_" + s, [](T a, T b) { return !(V{}(a) <= V{}(b)); });
  add<T, T>(t, "neq_" + s, [](T a, T b) { return V{}(a) != V{}(b); });
  add<T, T>(t, "nlt_" + s, [](T a, T b) { return !(V{}(a) < V{}(b)); });
  for (const char* always : {"tru_", "t_"}) add<T, T>(t, always + s, [](T, T) { return true; });
}

template <class T>
void define_integer_compare(OperationTable& t, const std::string& s) {
  add<T, T>(t, "f_" + s, [](T, T) { return false; });
  add<T, T>(t, "lt_" + s, [](T a, T b) { return a < b; });
  add<T, T>(t, "eq_" + s, [](T a, T b) { return a == b; });
  add<T, T>(t, "le_" + s, [](T a, T b) { return a <= b; });
  add<T, T>(t, "gt_" + s, [](T a, T b) { return a > b; });
  add<T, T>(t, "ne_" + s, [](T a, T b) { return a != b; });
  add<T, T>(t, "ge_" + s, [](T a, T b) { return a >= b; });
  add<T, T>(t, "t_" + s, [](T, T) { return true; });
}

/// The class of a number, one of ten, as a bit mask in the documents' order.
template <class B, unsigned fraction_bits, unsigned top = sizeof(B) * 8 - 1>
u32 class_of(B bits) {
  const bool negative = bits >> top & 1;
  const B fraction = bits & ((B(1) << fraction_bits) - 1);
  const B all_ones = (B(1) << (top - fraction_bits)) - 1;
  const B exponent = bits >> fraction_bits & all_ones;
  if (exponent == all_ones && fraction) return fraction >> (fraction_bits - 1) & 1 ? 2 : 1;
  if (exponent == all_ones) return negative ? 4 : 512;
  if (exponent) return negative ? 8 : 256;
  if (fraction) return negative ? 16 : 128;
  return negative ? 32 : 64;
}

}  // namespace

void define_compare(OperationTable& t) {
  define_float_compare<f32>(t, "f32");
  define_float_compare<f64>(t, "f64");
  define_float_compare<Half>(t, "f16");
  define_integer_compare<i32>(t, "i32");
  define_integer_compare<u32>(t, "u32");
  define_integer_compare<i64>(t, "i64");
  define_integer_compare<u64>(t, "u64");
  define_integer_compare<i16>(t, "i16");
  define_integer_compare<u16>(t, "u16");
  add<f32, u32>(t, "class_f32",
                [](f32 a, u32 m) { return (class_of<u32, 23>(std::bit_cast<u32>(a)) & m) != 0; });
  add<f64, u32>(t, "class_f64",
                [](f64 a, u32 m) { return (class_of<u64, 52>(std::bit_cast<u64>(a)) & m) != 0; });
  add<Half, u16>(t, "class_f16", [](Half a, u16 m) { return (class_of<u32, 10, 15>(a.bits) & m) != 0; });
}

}  // namespace weir::hipsim::HIPSIM_SIMD
