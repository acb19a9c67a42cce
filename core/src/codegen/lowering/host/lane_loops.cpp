// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "codegen/lowering/loop_kinds.hpp"

namespace weir::codegen {
namespace {

using ir::Op;

/// How a value differs between consecutive iterations.
enum class Spread { same, consecutive, any };

class Analysis {
 public:
  explicit Analysis(const ir::Kernel& kernel) : kernel_(kernel) {}

  std::size_t widest(const ir::Statement& loop) {
    const ir::Block& body = loop.bodies.at(0);
    spread_[body.arguments.back()] = Spread::consecutive;
    return visit(body, false) && has_loop_ ? widest_ : 0;
  }

 private:
  // Values defined outside the loop are not in the map: they are the same in all iterations.
  Spread of(ir::ValueId id) const {
    const auto found = spread_.find(id);
    return found == spread_.end() ? Spread::same : found->second;
  }

  bool visit(const ir::Block& block, bool inside) {
    return std::all_of(block.statements.begin(), block.statements.end(),
                       [&](const ir::Statement& s) { return visit(s, inside); });
  }

  bool visit(const ir::Statement& s, bool inside) {
    switch (s.op) {
      case Op::for_:
        has_loop_ = true;
        return std::all_of(s.operands.begin(), s.operands.end(),
                           [&](ir::ValueId v) { return of(v) == Spread::same; }) &&
               visit(s.bodies.at(0), true);
      case Op::load:
      case Op::store:
        if (inside && !regular(s)) return false;
        widen(s.type);
        break;
      case Op::local:
        if (s.immediate != 1) return false;
        widen(s.type);
        break;
      case Op::get:
        spread_[s.result] = Spread::any;
        return true;
      case Op::set:
        return true;
      case Op::math: {
        // Functions with loops or long branches do not benefit from lanes.
        const auto f = static_cast<ir::MathFunction>(s.index);
        using F = ir::MathFunction;
        for (F simple : {F::sqrt, F::fma, F::floor, F::ceil, F::trunc, F::rint, F::copysign, F::exp, F::exp2,
                         F::exp10, F::isnan, F::isinf, F::isfinite})
          if (f == simple) return define(s);
        return false;
      }
      case Op::rem:
      case Op::div:
        break;
      case Op::if_:
      case Op::while_:
      case Op::break_:
      case Op::continue_:
      case Op::assert_:
      case Op::print:
      case Op::atomic:
      case Op::scratch_load:
      case Op::scratch_store:
      case Op::philox:
        return false;
      default:
        break;
    }
    return define(s);
  }

  bool define(const ir::Statement& s) {
    if (s.result == ir::no_value) return true;
    Spread spread = Spread::same;
    for (ir::ValueId v : s.operands)
      if (of(v) != Spread::same) spread = Spread::any;
    if ((s.op == Op::add || s.op == Op::sub) && of(s.operands[0]) == Spread::consecutive &&
        of(s.operands[1]) == Spread::same)
      spread = Spread::consecutive;
    if (s.op == Op::add && of(s.operands[0]) == Spread::same && of(s.operands[1]) == Spread::consecutive)
      spread = Spread::consecutive;
    spread_[s.result] = spread;
    return true;
  }

  bool regular(const ir::Statement& s) const {
    const ir::Parameter& array = kernel_.parameters.at(s.index);
    for (std::size_t d = 0; d < array.rank; ++d) {
      const Spread spread = of(s.operands.at(d));
      if (spread == Spread::any) return false;
      if (spread == Spread::consecutive && (d + 1 < array.rank || array.element.components() != 1))
        return false;
    }
    // A store to one address by all lanes has an order that only separate iterations preserve.
    return s.op == Op::load || (array.rank != 0 && of(s.operands.at(array.rank - 1u)) == Spread::consecutive);
  }

  void widen(ScalarType type) { widest_ = std::max(widest_, size_of(type)); }

  const ir::Kernel& kernel_;
  std::map<ir::ValueId, Spread> spread_;
  std::size_t widest_ = 0;
  bool has_loop_ = false;
};

}  // namespace

std::size_t widest_scalar_of_lane_loop(const ir::Kernel& kernel, const ir::Statement& loop) {
  if (kernel.options.check_bounds) return 0;
  const std::size_t widest = Analysis(kernel).widest(loop);
  return widest >= 4 ? widest : 0;
}

}  // namespace weir::codegen
