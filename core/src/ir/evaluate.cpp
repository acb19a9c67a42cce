// SPDX-License-Identifier: Apache-2.0
#include "ir/evaluate.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <initializer_list>
#include <limits>
#include <type_traits>
#include <weir/element.hpp>

namespace weir::ir {

namespace {

template <class T>
using Bits =
    std::conditional_t<sizeof(T) == 1, std::uint8_t,
                       std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                          std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

template <class T>
T from_bits(std::uint64_t bits) {
  return std::bit_cast<T>(static_cast<Bits<T>>(bits));
}

template <class T>
std::uint64_t to_bits(T value) {
  return std::bit_cast<Bits<T>>(value);
}

// Calls `f` with a value of the C++ type of an arithmetic `type`; returns 0 for others, which the verifier
// rejects.
template <class F>
std::uint64_t with_type(ScalarType type, F f) {
  switch (type) {
    case ScalarType::i8:
      return f(std::int8_t{});
    case ScalarType::i16:
      return f(std::int16_t{});
    case ScalarType::i32:
      return f(std::int32_t{});
    case ScalarType::i64:
      return f(std::int64_t{});
    case ScalarType::u8:
      return f(std::uint8_t{});
    case ScalarType::u16:
      return f(std::uint16_t{});
    case ScalarType::u32:
      return f(std::uint32_t{});
    case ScalarType::u64:
      return f(std::uint64_t{});
    case ScalarType::f32:
      return f(float{});
    case ScalarType::f64:
      return f(double{});
    default:
      return 0;
  }
}

// ---- integers: computed in unsigned 64 bits, truncated to the type's width

template <std::integral T>
std::uint64_t cut(std::uint64_t value) {
  return static_cast<Bits<T>>(value);
}

template <std::integral T>
std::uint64_t widened(T value) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
}

template <std::integral T>
std::uint64_t divided(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return cut<T>(0 - widened(a));
  }
  return to_bits(static_cast<T>(a / b));
}

template <std::integral T>
std::uint64_t remainder(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
  }
  return to_bits(static_cast<T>(a % b));
}

template <std::integral T>
std::uint64_t upper_half(T a, T b) {
  if constexpr (sizeof(T) < 8) {
    return cut<T>((widened(a) * widened(b)) >> (8 * sizeof(T)));
  } else {
    // Schoolbook product of 32-bit halves, then corrected for negative operands.
    const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    const std::uint64_t x0 = x & 0xffffffff, x1 = x >> 32, y0 = y & 0xffffffff, y1 = y >> 32;
    const std::uint64_t middle = x1 * y0 + ((x0 * y0) >> 32);
    const std::uint64_t other = x0 * y1 + (middle & 0xffffffff);
    std::uint64_t high = x1 * y1 + (middle >> 32) + (other >> 32);
    if (std::is_signed_v<T>) {
      if (static_cast<std::int64_t>(x) < 0) high -= y;
      if (static_cast<std::int64_t>(y) < 0) high -= x;
    }
    return high;
  }
}

template <std::integral T>
std::uint64_t integer(Op op, T a, T b) {
  using U = Bits<T>;
  constexpr unsigned width = 8 * sizeof(T);
  const auto u = static_cast<U>(a);
  const unsigned amount = static_cast<U>(b) % width;
  switch (op) {
    case Op::add:
      return cut<T>(widened(a) + widened(b));
    case Op::sub:
      return cut<T>(widened(a) - widened(b));
    case Op::mul:
      return cut<T>(widened(a) * widened(b));
    case Op::div:
      return divided(a, b);
    case Op::rem:
      return remainder(a, b);
    case Op::neg:
      return cut<T>(0 - widened(a));
    case Op::abs:
      return cut<T>(std::is_signed_v<T> && a < T{0} ? 0 - widened(a) : widened(a));
    case Op::min:
      return to_bits(b < a ? b : a);
    case Op::max:
      return to_bits(a < b ? b : a);
    case Op::mul_hi:
      return upper_half(a, b);
    case Op::bit_and:
      return to_bits(static_cast<T>(a & b));
    case Op::bit_or:
      return to_bits(static_cast<T>(a | b));
    case Op::bit_xor:
      return to_bits(static_cast<T>(a ^ b));
    case Op::bit_not:
      return to_bits(static_cast<T>(~a));
    case Op::shl:
      return cut<T>(widened(a) << amount);
    case Op::shr:
      return to_bits(static_cast<T>(a >> amount));
    case Op::popcount:
      return static_cast<std::uint64_t>(std::popcount(u));
    case Op::clz:
      return static_cast<std::uint64_t>(std::countl_zero(u));
    case Op::ctz:
      return static_cast<std::uint64_t>(std::countr_zero(u));
    default:
      return 0;
  }
}

// ---- floats

template <std::floating_point T>
T smaller(T a, T b) {
  if (a != a) return b;
  if (b != b) return a;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

template <std::floating_point T>
T larger(T a, T b) {
  if (a != a) return b;
  if (b != b) return a;
  if (a == b) return std::signbit(a) ? b : a;
  return a < b ? b : a;
}

template <std::floating_point T>
std::uint64_t real(Op op, T a, T b) {
  switch (op) {
    case Op::add:
      return to_bits(a + b);
    case Op::sub:
      return to_bits(a - b);
    case Op::mul:
      return to_bits(a * b);
    case Op::div:
      return to_bits(a / b);
    case Op::rem:
      return to_bits(std::fmod(a, b));
    case Op::neg:
      return to_bits(-a);
    case Op::abs:
      return to_bits(std::fabs(a));
    case Op::min:
      return to_bits(smaller(a, b));
    case Op::max:
      return to_bits(larger(a, b));
    default:
      return 0;
  }
}

template <class T>
bool compare(Op op, T a, T b) {
  switch (op) {
    case Op::eq:
      return a == b;
    case Op::ne:
      return a != b;
    case Op::lt:
      return a < b;
    case Op::le:
      return a <= b;
    case Op::gt:
      return a > b;
    default:
      return a >= b;
  }
}

/// IEEE 754's remainder. For divisors up to a few times the least normal number, glibc 2.36's std::remainder
/// of doubles returns zeros of the wrong sign and a few wrong values.
template <std::floating_point T>
T nearest_remainder(T x, T y) {
  if (std::isnan(x) || std::isnan(y) || std::isinf(x) || y == T{0})
    return std::numeric_limits<T>::quiet_NaN();
  const T size = std::fabs(y);
  if (std::isinf(size)) return x;
  // Less than two divisors, which keeps the parity of the quotient. Each difference below is exact.
  T rest = std::fabs(size <= std::numeric_limits<T>::max() / 2 ? std::fmod(x, 2 * size) : x);
  // Where the doubled rest could overflow, half the divisor is exact, and the reverse.
  const bool large = size >= 2 * std::numeric_limits<T>::min();
  const auto past_half = [&] { return large ? rest > size / 2 : 2 * rest > size; };
  const auto at_half = [&] { return large ? rest == size / 2 : 2 * rest == size; };
  if (past_half()) {
    rest -= size;
    if (past_half() || at_half()) rest -= size;
  }
  return std::signbit(x) ? -rest : rest;
}

template <std::floating_point T>
std::uint64_t math(MathFunction function, T a, std::span<const std::uint64_t> bits) {
  const T b = bits.size() > 1 ? from_bits<T>(bits[1]) : T{};
  switch (function) {
    case MathFunction::ceil:
      return to_bits(std::ceil(a));
    case MathFunction::floor:
      return to_bits(std::floor(a));
    case MathFunction::trunc:
      return to_bits(std::trunc(a));
    case MathFunction::rint:
      return to_bits(std::nearbyint(a));
    case MathFunction::round:
      return to_bits(std::round(a));
    case MathFunction::sqrt:
      return to_bits(std::sqrt(a));
    case MathFunction::copysign:
      return to_bits(std::copysign(a, b));
    case MathFunction::fdim:
      return to_bits(std::fdim(a, b));
    case MathFunction::fmod:
      return to_bits(std::fmod(a, b));
    case MathFunction::remainder:
      return to_bits(nearest_remainder(a, b));
    case MathFunction::fma:
      return to_bits(std::fma(a, b, from_bits<T>(bits[2])));
    case MathFunction::isnan:
      return std::isnan(a);
    case MathFunction::isinf:
      return std::isinf(a);
    case MathFunction::isfinite:
      return std::isfinite(a);
    default:
      return 0;
  }
}

// ---- casts

template <std::integral To, std::floating_point From>
To saturated(From value) {
  if (value != value) return 0;
  // Both limits are exact in From or round away from the range, where the comparison saturates.
  constexpr From low = static_cast<From>(std::numeric_limits<To>::min());
  const From high = std::ldexp(From{1}, std::numeric_limits<To>::digits);
  if (value <= low) return std::numeric_limits<To>::min();
  if (value >= high) return std::numeric_limits<To>::max();
  return static_cast<To>(value);
}

template <class From>
std::uint64_t cast_from(From value, ScalarType to) {
  if (to == ScalarType::boolean) return value != From{0};
  if (to == ScalarType::f16) return half(value).bits();
  return with_type(to, [value]<class To>(To) -> std::uint64_t {
    if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
      return to_bits(saturated<To>(value));
    } else {
      return to_bits(static_cast<To>(value));
    }
  });
}

std::uint64_t cast(std::uint64_t bits, ScalarType from, ScalarType to) {
  if (from == to) return bits;
  if (from == ScalarType::boolean) return cast_from(static_cast<std::uint8_t>(bits), to);
  if (from == ScalarType::f16) {
    return cast_from(static_cast<float>(half::from_bits(static_cast<std::uint16_t>(bits))), to);
  }
  return with_type(from, [bits, to]<class From>(From) { return cast_from(from_bits<From>(bits), to); });
}

std::uint64_t on_booleans(Op op, std::uint64_t a, std::uint64_t b) {
  switch (op) {
    case Op::bit_and:
      return a & b;
    case Op::bit_or:
      return a | b;
    case Op::bit_xor:
    case Op::ne:
      return a ^ b;
    case Op::bit_not:
      return a ^ 1;
    default:
      return a == b;
  }
}

}  // namespace

bool is_host_evaluable(const Statement& s) noexcept {
  if (s.op <= Op::extent || s.op == Op::repetition) return true;
  if (s.op >= Op::add && s.op <= Op::bitcast) return true;
  if (s.op != Op::math) return false;
  switch (static_cast<MathFunction>(s.index)) {
    case MathFunction::ceil:
    case MathFunction::floor:
    case MathFunction::trunc:
    case MathFunction::rint:
    case MathFunction::round:
    case MathFunction::sqrt:
    case MathFunction::copysign:
    case MathFunction::fdim:
    case MathFunction::fmod:
    case MathFunction::remainder:
    case MathFunction::fma:
    case MathFunction::isnan:
    case MathFunction::isinf:
    case MathFunction::isfinite:
      return true;
    default:
      return false;
  }
}

std::uint64_t evaluate_operation(const Statement& s, std::span<const ScalarType> types,
                                 std::span<const std::uint64_t> bits) noexcept {
  const std::uint64_t b = bits.size() > 1 ? bits[1] : 0;
  switch (s.op) {
    case Op::select:
      return bits[0] != 0 ? bits[1] : bits[2];
    case Op::bitcast:
      return bits[0];
    case Op::cast:
      return cast(bits[0], types[0], s.type);
    case Op::math:
      return types[0] == ScalarType::f64
                 ? math(static_cast<MathFunction>(s.index), from_bits<double>(bits[0]), bits)
                 : math(static_cast<MathFunction>(s.index), from_bits<float>(bits[0]), bits);
    default:
      break;
  }
  if (types[0] == ScalarType::boolean) return on_booleans(s.op, bits[0], b);
  return with_type(types[0], [&]<class T>(T) -> std::uint64_t {
    const T x = from_bits<T>(bits[0]), y = from_bits<T>(b);
    if (s.op >= Op::eq && s.op <= Op::ge) return compare(s.op, x, y);
    if constexpr (std::is_integral_v<T>) {
      return integer(s.op, x, y);
    } else {
      return real(s.op, x, y);
    }
  });
}

std::uint64_t combine_values(Op op, ScalarType type, std::uint64_t a, std::uint64_t b) noexcept {
  const auto apply = [](Op what, ScalarType from, ScalarType to, std::initializer_list<std::uint64_t> bits) {
    Statement s{};
    s.op = what;
    s.type = to;
    const ScalarType types[] = {from, from};
    return evaluate_operation(s, {types, bits.size()}, {bits.begin(), bits.size()});
  };
  if (type != ScalarType::f16) return apply(op, type, type, {a, b});
  const ScalarType wide = ScalarType::f32;
  return apply(Op::cast, wide, type,
               {apply(op, wide, wide, {apply(Op::cast, type, wide, {a}), apply(Op::cast, type, wide, {b})})});
}

std::uint64_t evaluate(std::span<const Statement> statements, ValueId result,
                       const HostValues& values) noexcept {
  std::array<std::uint64_t, max_expression_statements> known;
  if (statements.size() > known.size() || result >= statements.size()) return 0;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    const Statement& s = statements[i];
    switch (s.op) {
      case Op::constant:
        known[i] = s.immediate;
        break;
      case Op::argument:
        known[i] = values.scalar(s.index, s.component);
        break;
      case Op::extent:
        known[i] = static_cast<std::uint64_t>(values.extent(s.index, s.component));
        break;
      case Op::repetition:
        known[i] = static_cast<std::uint64_t>(values.repetition(s.index));
        break;
      default: {
        std::array<ScalarType, 3> types{};
        std::array<std::uint64_t, 3> bits{};
        const std::size_t count = std::min(s.operands.size(), bits.size());
        for (std::size_t o = 0; o < count; ++o) {
          types[o] = statements[s.operands[o]].type;
          bits[o] = known[s.operands[o]];
        }
        known[i] = evaluate_operation(s, std::span(types).first(count), std::span(bits).first(count));
        break;
      }
    }
  }
  return known[result];
}

}  // namespace weir::ir
