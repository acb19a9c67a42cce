// SPDX-License-Identifier: Apache-2.0
// Parameters, and the values used by statements.
#include <algorithm>
#include <bit>

#include "statements.hpp"

namespace weir::test {

namespace {

constexpr std::uint64_t edges_f64[] = {0,
                                       0x8000000000000000u,
                                       0x3ff0000000000000u,
                                       0xbff8000000000000u,
                                       0x7ff0000000000000u,
                                       0xfff0000000000000u,
                                       0x7ff8000000000000u,
                                       1,
                                       0x000fffffffffffffu,
                                       0x7fefffffffffffffu,
                                       0x43e0000000000000u,
                                       0xc3e0000000000000u,
                                       0x41e0000000000000u,
                                       0x406fe00000000000u,
                                       0x40effe0000000000u,
                                       0x3e60000000000000u};
constexpr std::uint64_t edges_f32[] = {
    0,           0x80000000u, 0x3f800000u, 0xbfc00000u, 0x7f800000u, 0xff800000u, 0x7fc00000u, 1,
    0x007fffffu, 0x7f7fffffu, 0x5f000000u, 0xdf000000u, 0x4f000000u, 0x437f0000u, 0x477ff000u, 0x33000000u};
constexpr std::uint64_t edges_f16[] = {0,      0x8000, 0x3c00, 0xbe00, 0x7c00, 0xfc00,
                                       0x7e00, 1,      0x03ff, 0x7bff, 0x5bf8, 0x7801};

}  // namespace

void RandomStatements::arrays() {
  const std::size_t count = c_.chance(40) ? 60 + c_.below(190) : 2 + c_.below(7);
  for (std::size_t i = 0; i < count; ++i) {
    ir::Parameter p;
    p.name = "p" + std::to_string(i);
    p.kind = i > 0 && c_.chance(4) ? ir::Parameter::Kind::scalar : ir::Parameter::Kind::array;
    p.element.scalar = any_type();
    p.element.shape = static_cast<ElementType::Shape>(c_.chance(2) ? 0 : c_.below(3));
    if (p.element.shape != ElementType::Shape::scalar)
      p.element.rows = static_cast<std::uint8_t>(1 + c_.below(4));
    if (p.element.shape == ElementType::Shape::matrix)
      p.element.cols = static_cast<std::uint8_t>(1 + c_.below(4));
    p.location = somewhere();
    auto& extents = extents_.emplace_back();
    if (p.kind == ir::Parameter::Kind::array) {
      Array a{};
      a.parameter = static_cast<std::uint32_t>(i);
      a.role = i == 0 ? Role::output : static_cast<Role>(c_.below(3));
      if (a.role == Role::counter) {
        p.element.scalar = atomic_types[c_.below(atomic_integer_count)];
        static constexpr ir::AtomicKind kinds[] = {
            ir::AtomicKind::add,     ir::AtomicKind::mul,    ir::AtomicKind::min,    ir::AtomicKind::max,
            ir::AtomicKind::bit_and, ir::AtomicKind::bit_or, ir::AtomicKind::bit_xor};
        a.kind = kinds[c_.below(std::size(kinds))];
      }
      p.rank = static_cast<std::uint8_t>(c_.chance(8) ? 0 : 1 + (c_.chance(2) ? c_.below(4) : 0));
      static constexpr std::uint64_t most[] = {200, 20, 8, 6};
      for (std::size_t d = 0; d < p.rank; ++d) {
        const bool none = a.role == Role::output && c_.chance(30);
        const bool many = p.rank == 1 && c_.chance(3);
        extents.push_back(none ? 0 : 1 + static_cast<std::int64_t>(c_.below(many ? 3000 : most[p.rank - 1])));
      }
      arrays_.push_back(a);
    }
    k_.parameters.push_back(p);
  }
}

ValueId RandomStatements::number(Block& out, std::int64_t value) {
  Statement s = make(Op::constant, ScalarType::i64);
  s.immediate = static_cast<std::uint64_t>(value);
  return emit(out, std::move(s));
}

ValueId RandomStatements::edge_constant(Block& out, ScalarType type) {
  Statement s = make(Op::constant, type);
  const std::size_t width = 8 * size_of(type);
  if (type == ScalarType::f64) {
    s.immediate = edges_f64[c_.below(std::size(edges_f64))];
  } else if (type == ScalarType::f32) {
    s.immediate = edges_f32[c_.below(std::size(edges_f32))];
  } else if (type == ScalarType::f16) {
    s.immediate = edges_f16[c_.below(std::size(edges_f16))];
  } else if (type == ScalarType::boolean) {
    s.immediate = c_.below(2);
  } else {
    const std::uint64_t all = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
    const std::uint64_t top = std::uint64_t{1} << (width - 1);
    const std::uint64_t edges[] = {0,     1,       all, top,  top - 1, width - 1,
                                   width, all - 1, 2,   0xff, 0xffff,  0xff'ffff};
    s.immediate = edges[c_.below(std::size(edges))] & all;
  }
  return emit(out, std::move(s));
}

// Sums of products whose factors have few bits, and counts of bits of shifted narrow numbers. GPUs have
// instructions for them, which LLVM also chose for others (tests/evidence/amdgpu-compiler.md).
ValueId RandomStatements::narrow_arithmetic(Block& out, ScalarType type) {
  static constexpr ScalarType narrow[] = {ScalarType::i8, ScalarType::u8, ScalarType::i16, ScalarType::u16};
  static constexpr std::uint64_t masks[] = {7, 0xff, 0xffff, 0x7f'ffff, 0xff'ffff, 0xffff'ffff};
  static constexpr std::uint64_t others[] = {1, 4, 8, 16, 24, 31, 77, 0xff};
  static constexpr Op counts[] = {Op::clz, Op::ctz, Op::popcount};
  static constexpr Op joins[] = {Op::bit_and, Op::bit_or, Op::bit_xor, Op::shr, Op::shl, Op::sub};
  const std::size_t visible = values_.size();
  const auto constant = [&](ScalarType of, std::uint64_t bits) {
    Statement s = make(Op::constant, of);
    s.immediate = bits & (~std::uint64_t{0} >> (64 - 8 * size_of(of)));
    return emit(out, std::move(s));
  };
  const auto cast = [&](ScalarType to, ValueId id) {
    with_result(out, Op::cast, to, {id});
    return values_.back().id;
  };
  const bool masked = c_.chance(2);
  const ScalarType small = narrow[c_.below(std::size(narrow))];
  const auto factor = [&] {
    const ValueId any = value(out, type);
    if (!masked) return cast(type, cast(small, any));
    return binary(out, Op::bit_and, type, any, constant(type, masks[c_.below(std::size(masks))]));
  };
  const auto product = [&] {
    const ValueId a = factor(), b = factor();
    return binary(out, Op::mul, type, a, b);
  };
  ValueId result = ir::no_value;
  if (c_.chance(4)) {
    const ValueId number = cast(small, value(out, type));
    const ValueId shifted = binary(out, Op::shr, small, number, constant(small, c_.chance(2) ? 8 : 4));
    with_result(out, counts[c_.below(std::size(counts))], small, {shifted});
    result = cast(type, values_.back().id);
  } else {
    const ValueId left = c_.chance(2) ? product() : value(out, type);
    result = product();
    if (c_.chance(2))
      result = binary(out, joins[c_.below(std::size(joins))], type, result,
                      constant(type, others[c_.below(std::size(others))]));
    result = binary(out, Op::add, type, left, result);
  }
  values_.resize(visible);
  return result;
}

ValueId RandomStatements::operand(Block& out, ScalarType type) {
  if (is_integer(type) && c_.chance(16)) return narrow_arithmetic(out, type);
  return c_.chance(8) ? edge_constant(out, type) : value(out, type);
}

ValueId RandomStatements::binary(Block& out, Op op, ScalarType type, ValueId a, ValueId b) {
  with_result(out, op, type, {a, b});
  return values_.back().id;
}

// 0 to count - 1.
ValueId RandomStatements::modulo(Block& out, ValueId a, std::uint64_t count) {
  return within(out, a, number(out, static_cast<std::int64_t>(count)));
}

ValueId RandomStatements::within(Block& out, ValueId a, ValueId count) {
  const std::size_t visible = values_.size();
  const ValueId rest = binary(out, Op::rem, ScalarType::i64, a, count);
  const ValueId positive = binary(out, Op::add, ScalarType::i64, rest, count);
  const ValueId result = binary(out, Op::rem, ScalarType::i64, positive, count);
  values_.resize(visible);  // operands are drawn from more varied values
  return result;
}

ValueId RandomStatements::extent(Block& out, std::uint32_t p, std::size_t dimension) {
  Statement s = make(Op::extent, ScalarType::i64);
  s.index = p;
  s.component = static_cast<std::uint8_t>(dimension);
  return emit(out, std::move(s));
}

// Replaces every NaN with a number, since the NaN that an operation returns is unspecified.
ValueId RandomStatements::without_nan(Block& out, ValueId id, ScalarType type) {
  if (!is_float(type)) return id;
  ValueId tested = id;
  if (type == ScalarType::f16) {
    with_result(out, Op::cast, ScalarType::f32, {id});
    tested = values_.back().id;
  }
  const ValueId is_number = binary(out, Op::eq, ScalarType::boolean, tested, tested);
  Statement zero = make(Op::constant, type);
  const ValueId otherwise = emit(out, std::move(zero));
  with_result(out, Op::select, type, {is_number, id, otherwise});
  return values_.back().id;
}

// Computes one number of `type` from every bit of the newest values, so that differences become visible in
// memory.
ValueId RandomStatements::digest(Block& out, ScalarType type) {
  static constexpr ScalarType unsigned_types[] = {ScalarType::u8, ScalarType::u16, ScalarType::u32,
                                                  ScalarType::u64};
  constexpr std::size_t most = 12;
  const std::vector<Value> seen(values_.end() - static_cast<std::ptrdiff_t>(std::min(values_.size(), most)),
                                values_.end());
  const auto constant64 = [&](std::uint64_t bits) {
    Statement s = make(Op::constant, ScalarType::u64);
    s.immediate = bits;
    return emit(out, std::move(s));
  };
  const auto convert = [&](Op op, ScalarType to, ValueId id) {
    with_result(out, op, to, {id});
    return values_.back().id;
  };
  const std::size_t visible = values_.size();
  const ValueId odd = constant64(0x9e3779b97f4a7c15u);
  ValueId sum = constant64(c_.bits());
  for (const Value& v : seen) {
    ValueId bits = without_nan(out, v.id, v.type);
    if (is_float(v.type))
      bits = convert(Op::bitcast, unsigned_types[std::countr_zero(size_of(v.type))], bits);
    if (v.type != ScalarType::u64) bits = convert(Op::cast, ScalarType::u64, bits);
    sum = binary(out, Op::mul, ScalarType::u64, binary(out, Op::bit_xor, ScalarType::u64, sum, bits), odd);
  }
  const ValueId high =
      binary(out, Op::shr, ScalarType::u64, sum, constant64(type == ScalarType::boolean ? 63 : 40));
  ValueId result = type == ScalarType::f16 ? convert(Op::cast, ScalarType::u8, high) : high;
  if (type != ScalarType::u64) result = convert(Op::cast, type, result);
  values_.resize(visible);
  return result;
}

// ---- elements

RandomStatements::Array* RandomStatements::array(Role role) {
  const std::size_t start = c_.below(arrays_.size());
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    Array& a = arrays_[(start + i) % arrays_.size()];
    if (a.role == role && (role == Role::input || block_ < 0 || a.owner == block_)) return &a;
  }
  return nullptr;
}

// A quotient or a remainder that is the same in every iteration. LLVM's vectoriser treats such a division in
// its own way if iterations may not reach it (tests/evidence/llvm-division.md).
ValueId RandomStatements::invariant_division(Block& out) {
  static constexpr ScalarType types[] = {ScalarType::u64, ScalarType::u64, ScalarType::u64,
                                         ScalarType::i64, ScalarType::u32, ScalarType::i32};
  const ScalarType type = types[c_.below(std::size(types))];
  const std::size_t visible = values_.size();
  Statement dividend = make(Op::constant, type);
  dividend.immediate = c_.bits() & (c_.chance(2) ? 0x7fff : size_of(type) == 4 ? 0xffff'ffff : ~0ull);
  ValueId divided = emit(out, std::move(dividend));
  std::uint32_t p = 0;
  const ir::Parameter* const scalar = parameter(ir::Parameter::Kind::scalar, p);
  ValueId divisor = ir::no_value;
  if (!loop_.ends.empty() && !c_.chance(4)) {
    divisor =
        loop_.ends[c_.below(loop_.ends.size())];  // not 0 in an iteration, so that no test for 0 remains
  } else if (scalar != nullptr && is_integer(scalar->element.scalar) && c_.chance(2)) {
    Statement argument = make(Op::argument, scalar->element.scalar);
    argument.index = p;
    divisor = emit(out, std::move(argument));
  } else {
    const Array& a = arrays_[c_.below(arrays_.size())];
    const std::size_t rank = k_.parameters[a.parameter].rank;
    divisor = rank == 0 ? number(out, 7) : extent(out, a.parameter, c_.below(rank));
  }
  with_result(out, Op::cast, type, {divisor});
  divided = binary(out, c_.chance(2) ? Op::div : Op::rem, type, divided, values_.back().id);
  with_result(out, Op::cast, ScalarType::i64, {divided});
  const ValueId result = values_.back().id;
  values_.resize(visible);
  return result;
}

std::vector<ValueId> RandomStatements::inside(Block& out, std::uint32_t p) {
  std::vector<ValueId> indices;
  for (std::size_t d = 0; d < k_.parameters[p].rank; ++d) {
    const ValueId any = c_.chance(6) ? invariant_division(out) : operand(out, ScalarType::i64);
    indices.push_back(c_.chance(2) ? within(out, any, extent(out, p, d))
                                   : modulo(out, any, static_cast<std::uint64_t>(extents_[p][d])));
  }
  return indices;
}

const RandomStatements::Ownership& RandomStatements::ownership(std::uint32_t p) {
  for (const Ownership& o : loop_.owned) {
    if (o.parameter == p) return o;
  }
  Ownership o{p, {}, {}};
  std::vector<std::size_t> dimensions;
  for (std::size_t d = 0; d < std::max<std::size_t>(loop_.indices.size(), k_.parameters[p].rank); ++d)
    dimensions.push_back(d < loop_.indices.size() ? d : none);
  if (c_.chance(3)) {
    for (std::size_t i = dimensions.size(); i > 1; --i) std::swap(dimensions[i - 1], dimensions[c_.below(i)]);
  }
  dimensions.resize(k_.parameters[p].rank);
  for (const std::size_t d : dimensions) {
    o.dimension.push_back(d);
    o.shift.push_back(c_.chance(4) ? static_cast<std::int64_t>(c_.below(5)) - 2 : 0);
  }
  loop_.owned.push_back(o);
  return loop_.owned.back();
}

// Fills `indices` with those of an element that belongs to the current iteration only, and returns its
// condition: indices without a dimension of the array must be the first ones.
ValueId RandomStatements::own_element(Block& out, std::uint32_t p, std::vector<ValueId>& indices) {
  const Ownership o = ownership(p);
  const std::size_t visible = values_.size();
  for (std::size_t d = 0; d < o.dimension.size(); ++d) {
    if (o.dimension[d] == none) {
      indices.push_back(operand(out, ScalarType::i64));
      continue;
    }
    const ValueId i = loop_.indices[o.dimension[d]];
    indices.push_back(o.shift[d] == 0 ? i
                                      : binary(out, Op::add, ScalarType::i64, i, number(out, o.shift[d])));
  }
  ValueId condition = guard(out, p, indices);
  for (std::size_t d = 0; d < loop_.indices.size(); ++d) {
    if (std::find(o.dimension.begin(), o.dimension.end(), d) != o.dimension.end()) continue;
    const ValueId first = binary(out, Op::eq, ScalarType::boolean, loop_.indices[d], loop_.lows[d]);
    condition = binary(out, Op::bit_and, ScalarType::boolean, condition, first);
  }
  values_.resize(visible);
  return condition;
}

ValueId RandomStatements::guard(Block& out, std::uint32_t p, const std::vector<ValueId>& indices) {
  ValueId condition = ir::no_value;
  if (indices.empty()) {  // an array of rank 0 has its element
    Statement yes = make(Op::constant, ScalarType::boolean);
    yes.immediate = 1;
    return emit(out, std::move(yes));
  }
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const ValueId zero = number(out, 0);
    const ValueId low = binary(out, Op::ge, ScalarType::boolean, indices[d], zero);
    const ValueId end = extent(out, p, d);
    const ValueId high = binary(out, Op::lt, ScalarType::boolean, indices[d], end);
    const ValueId both = binary(out, Op::bit_and, ScalarType::boolean, low, high);
    condition =
        condition == ir::no_value ? both : binary(out, Op::bit_and, ScalarType::boolean, condition, both);
  }
  return condition;
}

}  // namespace weir::test
