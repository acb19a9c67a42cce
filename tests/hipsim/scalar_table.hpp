// SPDX-License-Identifier: Apache-2.0
// Rows of tables for scalar instructions: two sources, a result, and SCC.
#pragma once
#include "rows.hpp"
#include "values.hpp"

namespace weir::hipsim::test {

/// A row's operands: the sources are in s[2:3] and s[4:5], the result in s[20:21]. The text refers to them as
/// %d, %a and %b. A source of 0 bytes is absent.
struct ScalarRow {
  std::string text;
  unsigned result, first, second;  ///< bytes
  const std::vector<u64>*first_edges, *second_edges;
  void (*function)();
  u64 (*call)(void (*function)(), u64 a, u64 b, u64 before, bool& scc);
  /// Whether results are numbers, for which any NaN is accepted, or raw bits.
  bool number;
};

class ScalarTable {
 public:
  /// f takes the sources and SCC, which it may change: add<u32, u32, u32>("s_add_u32", f).
  template <class D, class A, class B>
  void add(const std::string& names, std::type_identity_t<D (*)(A, B, bool&)> f,
           const std::string& text = "%d, %a, %b") {
    const auto call = [](void (*function)(), u64 a, u64 b, u64, bool& scc) {
      return u64(raw(reinterpret_cast<D (*)(A, B, bool&)>(function)(from_bits<A>(a), from_bits<B>(b), scc)));
    };
    add_row(names, {text, sizeof(D), sizeof(A), sizeof(B), &edges_of<A>(), &edges_of<B>(),
                    reinterpret_cast<void (*)()>(f), call, is_float<D>});
  }
  template <class D, class A>
  void add(const std::string& names, std::type_identity_t<D (*)(A, bool&)> f,
           const std::string& text = "%d, %a") {
    const auto call = [](void (*function)(), u64 a, u64, u64, bool& scc) {
      return u64(raw(reinterpret_cast<D (*)(A, bool&)>(function)(from_bits<A>(a), scc)));
    };
    add_row(names, {text, sizeof(D), sizeof(A), 0, &edges_of<A>(), nullptr, reinterpret_cast<void (*)()>(f),
                    call, is_float<D>});
  }
  /// An instruction that modifies its result register: f takes the register's old value and the source.
  template <class D, class A>
  void add_update(const std::string& names, std::type_identity_t<D (*)(D, A, bool&)> f,
                  const std::string& text = "%d, %a") {
    const auto call = [](void (*function)(), u64 a, u64, u64 before, bool& scc) {
      return u64(
          raw(reinterpret_cast<D (*)(D, A, bool&)>(function)(from_bits<D>(before), from_bits<A>(a), scc)));
    };
    add_row(names, {text, sizeof(D), sizeof(A), 0, &edges_of<A>(), nullptr, reinterpret_cast<void (*)()>(f),
                    call, is_float<D>});
  }
  /// A comparison, whose only result is SCC.
  template <class A, class B>
  void compare(const std::string& names, std::type_identity_t<bool (*)(A, B)> f,
               const std::string& text = "%a, %b") {
    const auto call = [](void (*function)(), u64 a, u64 b, u64, bool& scc) {
      scc = reinterpret_cast<bool (*)(A, B)>(function)(from_bits<A>(a), from_bits<B>(b));
      return u64(0);
    };
    add_row(names, {text, 0, sizeof(A), sizeof(B), &edges_of<A>(), &edges_of<B>(),
                    reinterpret_cast<void (*)()>(f), call, false});
  }
  std::vector<Case> take() { return std::move(cases_); }

 private:
  void add_row(const std::string& names, const ScalarRow& row);
  std::vector<Case> cases_;
};

}  // namespace weir::hipsim::test
