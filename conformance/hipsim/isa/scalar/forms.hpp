// SPDX-License-Identifier: Apache-2.0
// Builds scalar operations from lambdas.
#pragma once
#include "isa/code/operations.hpp"
#include "isa/memory/lane_memory.hpp"

namespace weir::hipsim {

template <class T>
T read_scalar(const Wave& w, const Operand& o) {
  if constexpr (sizeof(T) == 8)
    return T(scalar64(w, o));
  else
    return T(scalar32(w, o));
}
template <class T>
void write_scalar(Wave& w, const Operand& o, T value) {
  if constexpr (sizeof(T) == 8)
    w.set64(o.index, u64(value));
  else
    w.s[o.index] = u32(value);
}

/// Writes a result, and SCC = (result != 0).
template <class D, class... S, class F>
Operation scalar_test(F) {
  return scalar(int(sizeof...(S)), [](Wave& w, const Instruction& i) {
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      const D d = F{}(read_scalar<S>(w, i.src[K])...);
      write_scalar<D>(w, i.dst[0], d);
      w.scc = d != 0;
    }
    (std::index_sequence_for<S...>{});
  });
}
/// Writes a result and leaves SCC unchanged.
template <class D, class... S, class F>
Operation scalar_keep(F) {
  return scalar(int(sizeof...(S)), [](Wave& w, const Instruction& i) {
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      write_scalar<D>(w, i.dst[0], D(F{}(read_scalar<S>(w, i.src[K])...)));
    }
    (std::index_sequence_for<S...>{});
  });
}
/// Writes a result and SCC; the lambda takes SCC by reference as its last argument.
template <class D, class... S, class F>
Operation scalar_carry(F) {
  return scalar(int(sizeof...(S)), [](Wave& w, const Instruction& i) {
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      bool scc = w.scc;
      write_scalar<D>(w, i.dst[0], D(F{}(read_scalar<S>(w, i.src[K])..., scc)));
      w.scc = scc;
    }
    (std::index_sequence_for<S...>{});
  });
}

/// The comparisons of scalar floating point: compare(name, f) defines one.
template <class Compare>
void define_float_comparisons(Compare&& compare) {
  compare("lt", [](auto a, auto b) { return a < b; });
  compare("eq", [](auto a, auto b) { return a == b; });
  compare("le", [](auto a, auto b) { return a <= b; });
  compare("gt", [](auto a, auto b) { return a > b; });
  compare("lg", [](auto a, auto b) { return a < b || a > b; });
  compare("ge", [](auto a, auto b) { return a >= b; });
  compare("o", [](auto a, auto b) { return a == a && b == b; });
  compare("u", [](auto a, auto b) { return a != a || b != b; });
  compare("nge", [](auto a, auto b) { return !(a >= b); });
  compare("nlg", [](auto a, auto b) { return !(a < b || a > b); });
  compare("ngt", [](auto a, auto b) { return !(a > b); });
  compare("nle", [](auto a, auto b) { return !(a <= b); });
  compare("neq", [](auto a, auto b) { return !(a == b); });
  compare("nlt", [](auto a, auto b) { return !(a < b); });
}

}  // namespace weir::hipsim
