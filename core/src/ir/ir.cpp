// SPDX-License-Identifier: Apache-2.0
// Tables generated from ops.def and math.def.
#include "ir/ir.hpp"

#include <array>

namespace weir::ir {

namespace {

constexpr OpInfo ops[] = {
#define WEIR_OP(name, mnemonic, operands, bodies, result) {mnemonic, operands, bodies, ResultRule::result},
#include "ir/ops.def"
#undef WEIR_OP
};

constexpr MathInfo functions[] = {
#define WEIR_MATH(name, operands) {#name, operands},
#include "ir/math.def"
#undef WEIR_MATH
};

constexpr std::array<std::string_view, atomic_kind_count> atomic_kinds = {
    "add", "sub", "mul", "min", "max", "and", "or", "xor", "exchange", "compare_exchange"};
constexpr std::array<std::string_view, reduce_kind_count> reduce_kinds = {"sum", "min", "max", "and",
                                                                          "or",  "xor", "any", "all"};

}  // namespace

const OpInfo& info(Op op) noexcept {
  return ops[static_cast<std::size_t>(op)];
}

std::string quoted_name(Op op) {
  return "'" + std::string(info(op).mnemonic) + "'";
}

const MathInfo& info(MathFunction function) noexcept {
  return functions[static_cast<std::size_t>(function)];
}

std::string_view to_string(AtomicKind kind) noexcept {
  return atomic_kinds[static_cast<std::size_t>(kind)];
}

std::string_view to_string(ReduceKind kind) noexcept {
  return reduce_kinds[static_cast<std::size_t>(kind)];
}

bool reduces(ReduceKind kind, ScalarType type) noexcept {
  switch (kind) {
    case ReduceKind::bit_and:
    case ReduceKind::bit_or:
    case ReduceKind::bit_xor:
      return is_integer(type);
    case ReduceKind::any:
    case ReduceKind::all:
      return type == ScalarType::boolean;
    default:
      return is_integer(type) || type == ScalarType::f32 || type == ScalarType::f64;
  }
}

Op combining(ReduceKind kind) noexcept {
  switch (kind) {
    case ReduceKind::min:
      return Op::min;
    case ReduceKind::max:
      return Op::max;
    case ReduceKind::bit_and:
    case ReduceKind::all:
      return Op::bit_and;
    case ReduceKind::bit_or:
    case ReduceKind::any:
      return Op::bit_or;
    case ReduceKind::bit_xor:
      return Op::bit_xor;
    default:
      return Op::add;
  }
}

}  // namespace weir::ir
