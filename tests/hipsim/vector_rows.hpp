// SPDX-License-Identifier: Apache-2.0
// Rows of tables for lane-wise vector instructions: VOP1, VOP2, VOP3, VOPC and VOP3P.
#pragma once
#include <array>
#include <memory>

#include "rows.hpp"
#include "values.hpp"

namespace weir::hipsim::test {

/// Inputs of a reference besides its sources, and outputs besides its result.
struct Lane {
  unsigned generation;
  bool ieee;          ///< signalling NaNs take precedence in minima and maxima
  bool clamp;         ///< of an integer operation
  bool carry;         ///< the lane's bit of the mask that is read
  bool flag = false;  ///< the lane's bit of the mask that is written
  u64 before = 0;     ///< previous value of the result's registers
};

/// Destination of the lanes' flags.
enum class FlagsTo { nowhere, scalars, vcc, exec, vcc_and_exec };

/// Syntax and checks of a row.
struct Form {
  std::string prefix = "";  ///< prefix of the name
  /// The operands: %d result, %a %b %c sources, %m mask that is written, %n mask that is read, %v VCC. Empty
  /// means the result and all sources.
  std::string text = "";
  bool modifiers = false;    ///< try negated and absolute sources, and a clamped result
  bool modes = false;        ///< try all roundings, flushed denormals, and output modifiers
  bool clamps = false;       ///< an integer operation: try clamp too
  bool accumulates = false;  ///< the last source is the register of the result
  FlagsTo flags = FlagsTo::nowhere;
  unsigned from = 9, to = 99;  ///< generations
  unsigned ulps = 0;           ///< tolerance, if the documents allow one
  bool any_nan = false;        ///< the documents leave the choice of NaN open
  bool whole =
      false;  ///< written with whole registers on GFX11 too, whose assembler otherwise names halves
  bool clears_high = true;  ///< before GFX10, the upper half of a 16-bit result becomes zero
  bool high_open = false;   ///< before GFX10, the documents do not specify the upper half
};

/// An operand's type.
struct Shape {
  unsigned bytes;
  bool floating;
};

/// The computation of one instruction for a lane, type-erased.
struct Operation {
  Shape result{};
  std::vector<Shape> sources;
  std::vector<const std::vector<u64>*> edges;
  void (*function)() = nullptr;
  u64 (*call)(void (*function)(), Lane& lane, const u64* sources) = nullptr;
};

class VectorTable {
 public:
  explicit VectorTable(const Target& target) : target_(target) {}

  /// An instruction under its names in all generations: add<f32, f32, f32>("v_add_f32", f). f takes the
  /// sources, and optionally a Lane& before them. A result of type bool is the lane's flag.
  template <class D, class... S>
  void add(const std::string& names, std::type_identity_t<D (*)(S...)> f, const Form& form = {}) {
    add_names(names, make<D, D(S...), S...>(reinterpret_cast<void (*)()>(f)), form);
  }
  template <class D, class... S>
  void add(const std::string& names, std::type_identity_t<D (*)(Lane&, S...)> f, const Form& form = {}) {
    add_names(names, make<D, D(Lane&, S...), S...>(reinterpret_cast<void (*)()>(f)), form);
  }

  std::vector<Case> take() { return std::move(cases_); }
  const Target& target() const { return target_; }

 private:
  template <class D, class F, class... S>
  static u64 call(void (*function)(), Lane& lane, const u64* bits) {
    const auto f = reinterpret_cast<F*>(function);
    const auto result = [&]<std::size_t... K>(std::index_sequence<K...>) {
      if constexpr (std::is_invocable_v<F*, Lane&, S...>)
        return f(lane, from_bits<S>(bits[K])...);
      else
        return f(from_bits<S>(bits[K])...);
    }(std::index_sequence_for<S...>{});
    if constexpr (std::is_same_v<D, bool>)
      return lane.flag = result, 0;
    else
      return u64(raw(result));
  }
  template <class D, class F, class... S>
  static Operation make(void (*function)()) {
    Operation o;
    if constexpr (!std::is_same_v<D, bool>) o.result = {sizeof(D), is_float<D>};
    o.sources = {Shape{sizeof(S), is_float<S>}...};
    o.edges = {&edges_of<S>()...};
    o.function = function;
    o.call = call<D, F, S...>;
    return o;
  }
  void add_names(const std::string& names, Operation operation, const Form& form);
  const Target& target_;
  std::vector<Case> cases_;
};

}  // namespace weir::hipsim::test
