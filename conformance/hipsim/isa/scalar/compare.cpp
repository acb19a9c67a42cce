// SPDX-License-Identifier: Apache-2.0
// Scalar comparisons, which set SCC: SOPC and the comparing part of SOPK.
#include "isa/scalar/forms.hpp"

namespace weir::hipsim {
namespace {

template <class T, class F>
void add(OperationTable& t, const std::string& name, F) {
  t.add(name, scalar(2, [](Wave& w, const Instruction& i) {
          w.scc = F{}(read_scalar<T>(w, i.src[0]), read_scalar<T>(w, i.src[1]));
        }));
}

/// Compares with an immediate of 16 bits, extended according to the type.
template <class T, class F>
void add_immediate(OperationTable& t, const std::string& name, F) {
  t.add(name, scalar(2, [](Wave& w, const Instruction& i) {
          const u32 k = scalar32(w, i.src[1]);
          const T b = std::is_signed_v<T> ? T(i32(i16(k))) : T(k & 0xffff);
          w.scc = F{}(read_scalar<T>(w, i.src[0]), b);
        }));
}

template <class T>
void define_type(OperationTable& t, const std::string& s, bool order) {
  const auto both = [&](const std::string& name, auto f) {
    add<T>(t, "s_cmp_" + name + s, f);
    if (sizeof(T) == 4) add_immediate<T>(t, "s_cmpk_" + name + s, f);
  };
  both("eq_", [](T a, T b) { return a == b; });
  both("lg_", [](T a, T b) { return a != b; });
  if (!order) return;
  both("gt_", [](T a, T b) { return a > b; });
  both("ge_", [](T a, T b) { return a >= b; });
  both("lt_", [](T a, T b) { return a < b; });
  both("le_", [](T a, T b) { return a <= b; });
}

}  // namespace

void define_scalar_compare(OperationTable& t) {
  define_type<u32>(t, "u32", true);
  define_type<i32>(t, "i32", true);
  define_type<u64>(t, "u64", false);
  add<u32>(t, "s_bitcmp0_b32", [](u32 a, u32 n) { return !(a >> (n & 31) & 1); });
  add<u32>(t, "s_bitcmp1_b32", [](u32 a, u32 n) { return (a >> (n & 31) & 1) != 0; });
  t.add("s_bitcmp0_b64", scalar(2, [](Wave& w, const Instruction& i) {
          w.scc = !(scalar64(w, i.src[0]) >> (scalar32(w, i.src[1]) & 63) & 1);
        }));
  t.add("s_bitcmp1_b64", scalar(2, [](Wave& w, const Instruction& i) {
          w.scc = scalar64(w, i.src[0]) >> (scalar32(w, i.src[1]) & 63) & 1;
        }));
}

}  // namespace weir::hipsim
