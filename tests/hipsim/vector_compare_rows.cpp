// SPDX-License-Identifier: Apache-2.0
// Comparisons: every type with every condition, into a mask and into EXEC.
#include <gtest/gtest.h>

#include "vector_rows.hpp"

namespace weir::hipsim::test {
namespace vector_compare_table {

/// A condition as a set of the four orders of two values: less, equal, greater, unordered.
enum : unsigned { less = 1, equal = 2, greater = 4, unordered = 8 };

template <class T, unsigned condition>
bool holds(T a, T b) {
  const unsigned order = a < b ? less : a == b ? equal : a > b ? greater : unordered;
  return condition & order;
}

/// Writes VCC or a mask, and EXEC. GFX9 writes EXEC in addition to the mask, later generations EXEC alone.
template <class A, class B>
void add_both(VectorTable& t, const std::string& name, bool f(A, B)) {
  t.add<bool, A, B>("v_cmp_" + name, f, {.text = "%m, %a, %b", .flags = FlagsTo::scalars});
  t.add<bool, A, B>("v_cmp_" + name, f, {.text = "%v, %a, %b", .flags = FlagsTo::vcc});
  t.add<bool, A, B>("v_cmpx_" + name, f, {.text = "%v, %a, %b", .flags = FlagsTo::vcc_and_exec, .to = 9});
  t.add<bool, A, B>("v_cmpx_" + name, f, {.text = "%a, %b", .flags = FlagsTo::exec, .from = 10});
}

template <class T>
void add_orders(VectorTable& t, const std::string& type) {
  add_both<T, T>(t, "f_" + type, holds<T, 0>);
  add_both<T, T>(t, "lt_" + type, holds<T, less>);
  add_both<T, T>(t, "eq_" + type, holds<T, equal>);
  add_both<T, T>(t, "le_" + type, holds<T, less | equal>);
  add_both<T, T>(t, "gt_" + type, holds<T, greater>);
  add_both<T, T>(t, "ge_" + type, holds<T, greater | equal>);
}

template <class T>
void add_integers(VectorTable& t, const std::string& type) {
  add_orders<T>(t, type);
  add_both<T, T>(t, "ne_" + type, holds<T, less | greater>);
  add_both<T, T>(t, "t_" + type, holds<T, 15>);
}

/// The class of a number by the bits of the ISA documents' V_CMP_CLASS table.
template <class T, class M>
bool in_class(T a, M mask) {
  const auto magnitude = raw(a) & ~sign_mask<T>;
  const bool minus = negative(a);
  unsigned bit = 0;
  if (is_nan(a))
    bit = signals(a) ? 0 : 1;
  else if (magnitude == infinity_mask<T>)
    bit = minus ? 2 : 9;
  else if (magnitude == 0)
    bit = minus ? 5 : 6;
  else if (magnitude >> fraction_bits<T> == 0)
    bit = minus ? 4 : 7;
  else
    bit = minus ? 3 : 8;
  return mask >> bit & 1;
}

template <class T, class M>
void add_floats(VectorTable& t, const std::string& type) {
  add_orders<T>(t, type);
  add_both<T, T>(t, "lg_" + type, holds<T, less | greater>);
  add_both<T, T>(t, "o_" + type, holds<T, less | equal | greater>);
  add_both<T, T>(t, "u_" + type, holds<T, unordered>);
  add_both<T, T>(t, "nge_" + type, holds<T, unordered | less>);
  add_both<T, T>(t, "nlg_" + type, holds<T, unordered | equal>);
  add_both<T, T>(t, "ngt_" + type, holds<T, unordered | less | equal>);
  add_both<T, T>(t, "nle_" + type, holds<T, unordered | greater>);
  add_both<T, T>(t, "neq_" + type, holds<T, unordered | less | greater>);
  add_both<T, T>(t, "nlt_" + type, holds<T, unordered | equal | greater>);
  add_both<T, T>(t, t.target().generation >= 11 ? "t_" + type : "tru_" + type, holds<T, 15>);
  add_both<T, M>(t, "class_" + type, in_class<T, M>);
}

}  // namespace vector_compare_table

std::vector<Case> compare_rows(const Target& target) {
  using namespace vector_compare_table;
  VectorTable t(target);
  add_integers<i32>(t, "i32");
  add_integers<u32>(t, "u32");
  add_integers<i64>(t, "i64");
  add_integers<u64>(t, "u64");
  add_integers<i16>(t, "i16");
  add_integers<u16>(t, "u16");
  add_floats<f32, u32>(t, "f32");
  add_floats<f64, u32>(t, "f64");
  add_floats<f16, u16>(t, "f16");
  return t.take();
}

TEST(Rows, Comparisons) {
  check_table(compare_rows);
}

}  // namespace weir::hipsim::test
