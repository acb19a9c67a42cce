// SPDX-License-Identifier: Apache-2.0
// The kernel IR: small, typed, structured. One statement type represents everything, so that the printer, the
// parser, the verifier and each pass are a single walk. Values are SSA and scalar: the front end splits
// vectors and matrices into components, and an array element's components are loaded and stored one by one.
// Mutable state is in locals (`local`, `get`, `set`), which LLVM converts to SSA later.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include <weir/types.hpp>

namespace weir::ir {

using ValueId = std::uint32_t;
inline constexpr ValueId no_value = 0xffffffffu;

// The semantics of the operations, the same on every target:
//  - Integers wrap. x / 0 is 0 and x % 0 is 0; the smallest value / -1 wraps to itself. Division truncates.
//  - Shift amounts are taken modulo the width; shr is arithmetic on signed types, logical on unsigned ones.
//  - clz and ctz of 0 are the width. mul_hi is the upper half of the double-width product.
//  - Floats are IEEE 754 with denormals, rounded to nearest even. min and max return the other operand when
//    one is NaN, and order -0 below +0. rem is fmod. Comparisons with NaN are false, except that ne is true.
//  - cast rounds to nearest even towards floats, truncates and saturates towards integers (NaN becomes 0),
//    wraps between integers, and is `!= 0` towards boolean. f16 only supports moves (const, arg, load, store,
//    local, get, set, select), conversions (cast, bitcast) and atomics.
//  - Only and, or, xor, not, eq, ne and select also take booleans.
//  - Loads and stores outside an array are undefined unless the kernel checks bounds.
enum class Op : std::uint8_t {
#define WEIR_OP(name, mnemonic, operands, bodies, result) name,
#include "ir/ops.def"
#undef WEIR_OP
};

enum class MathFunction : std::uint8_t {
#define WEIR_MATH(name, operands) name,
#include "ir/math.def"
#undef WEIR_MATH
};

/// On every type but bool (and, or, xor on integers); relaxed order, device scope. f16 is computed as f32 and
/// rounded once.
enum class AtomicKind : std::uint8_t {
  add,
  sub,
  mul,
  min,
  max,
  bit_and,
  bit_or,
  bit_xor,
  exchange,
  compare_exchange
};

/// sum, min, max on every arithmetic type but f16; bit_and, bit_or, bit_xor on integers; any, all on boolean.
/// See sdk/docs/ir.md for the order.
enum class ReduceKind : std::uint8_t { sum, min, max, bit_and, bit_or, bit_xor, any, all };

/// The rule for an operation's result type; see ops.def.
enum class ResultRule : std::uint8_t { none, same, boolean, type };

struct OpInfo {
  std::string_view mnemonic;
  std::int8_t operands;
  std::int8_t bodies;
  ResultRule result;
};
const OpInfo& info(Op op) noexcept;
/// The mnemonic in single quotes, for messages.
std::string quoted_name(Op op);
struct MathInfo {
  std::string_view name;
  std::uint8_t operands;
};
const MathInfo& info(MathFunction function) noexcept;
inline constexpr std::uint32_t math_function_count = 0
#define WEIR_MATH(name, operands) +1
#include "ir/math.def"
#undef WEIR_MATH
    ;
/// Whether the results are boolean.
constexpr bool is_test(MathFunction function) noexcept {
  return function == MathFunction::isnan || function == MathFunction::isinf ||
         function == MathFunction::isfinite;
}
inline constexpr std::uint32_t atomic_kind_count =
    static_cast<std::uint32_t>(AtomicKind::compare_exchange) + 1;
inline constexpr std::uint32_t reduce_kind_count = static_cast<std::uint32_t>(ReduceKind::all) + 1;
std::string_view to_string(AtomicKind kind) noexcept;
std::string_view to_string(ReduceKind kind) noexcept;
/// Whether reductions of this kind work on values of `type`.
bool reduces(ReduceKind kind, ScalarType type) noexcept;
/// The operation that combines two values.
Op combining(ReduceKind kind) noexcept;

/// The source position of a statement. Metadata: printed on request, never part of a hash or of equality.
struct Location {
  std::uint32_t file = 0;  ///< in Kernel::files
  std::uint32_t line = 0;  ///< from 1; 0 when not known
  std::uint32_t column = 0;

  bool operator==(const Location&) const = default;
};

struct Statement;

/// A sequence of statements; `arguments` are the values defined on entry: loop indices, i64.
struct Block {
  std::vector<ValueId> arguments;
  std::vector<Statement> statements;
};

struct Statement {
  Op op;
  ScalarType type = ScalarType::boolean;  ///< of the result, or of the stored value, the atomic, the local
  std::uint8_t component = 0;             ///< of an element; the dimension of `extent`; the word of `philox`
  ValueId result = no_value;
  std::uint32_t index = 0;      ///< parameter, local, string, algorithm, or an enumerator; see ops.def
  std::uint64_t immediate = 0;  ///< see ops.def
  std::vector<ValueId> operands{};
  std::vector<Block> bodies{};
  Location location{};
};

/// The functions of <weir/algorithms.hpp> that a kernel may contain; see algorithm.hpp.
enum class AlgorithmKind : std::uint8_t {
  reduce,
  arg_min,
  arg_max,
  inclusive_scan,
  exclusive_scan,
  sort,
  sort_by_key,
  compact,
  partition,
  unique,
  reduce_by_key,
  histogram,
  gather,
  scatter
};
inline constexpr std::uint32_t algorithm_kind_count = static_cast<std::uint32_t>(AlgorithmKind::scatter) + 1;

/// What a statement `algorithm` does.
struct Algorithm {
  AlgorithmKind kind = AlgorithmKind::reduce;
  ReduceKind combine = ReduceKind::sum;  ///< of kinds that combine elements
  bool descending = false;               ///< of sorts
  double low = 0, high = 0;              ///< of `histogram`
  std::vector<std::uint32_t> arrays;     ///< parameters, in the order of the function's arguments
  std::optional<std::uint32_t> size;  ///< the parameter with the number of elements; else all are processed
};

struct Parameter {
  enum class Kind : std::uint8_t { array, scalar };

  std::string name;  ///< [A-Za-z_][A-Za-z0-9_]*, unique in the kernel
  Kind kind = Kind::scalar;
  ElementType element;
  std::uint8_t rank = 0;  ///< 0 to 4 for arrays, 0 for scalars
  Location location;
};

/// The largest number of threads of a multiprocessor of any supported GPU.
inline constexpr std::uint32_t max_resident_threads = 2048;

/// Settings that change the generated code in addition to the statements. Part of the text form and of the
/// hash.
struct Options {
  bool fast_math = false;       ///< faster; results may differ between devices
  bool check_bounds = false;    ///< an index outside its array fails the launch like an assert
  bool no_fusion = false;       ///< each loop stays a separate task
  bool no_phases = false;       ///< short loops stay separate tasks, unless only the device can repeat them
  bool no_concurrency = false;  ///< only the stream blocks of a `region` run at the same time
  bool deterministic = false;   ///< atomics have equal results in every order; see determinism.cpp
  std::uint32_t min_resident_threads = 0;  ///< that a multiprocessor's registers hold; 0: no bound
  friend bool operator==(const Options&, const Options&) = default;
};

/// The bodies of a `repeat`: with a condition, the first one computes it before each repetition.
inline bool has_condition(const Statement& repeat) noexcept {
  return repeat.bodies.size() == 2;
}

/// A kernel as written: parameters and a body. Each `parallel` and `reduce` in the body, in a stream block of
/// a region or in a block of `repeat` becomes a task. The statements between them become serial tasks.
/// `parallel`, `reduce`, `repeat` and `region` are allowed nowhere else, a `region` only in the kernel's
/// body, and an `algorithm` only there or in a stream block.
struct Kernel {
  std::string name;  ///< any text without control characters, not empty
  Options options;
  std::vector<Parameter> parameters;
  Block body;
  std::vector<std::string> strings;   ///< messages of asserts, formats of prints
  std::vector<Algorithm> algorithms;  ///< named by statements `algorithm`
  std::vector<std::string> files;     ///< of locations
  std::uint32_t part = 0;             ///< of a kernel with algorithms: its number among the steps, from 1
  std::uint32_t value_count = 0;      ///< value ids are below this
  std::uint32_t local_count = 0;      ///< local ids are below this

  /// Whether `location` names a line of one of the files.
  bool knows(const Location& location) const noexcept {
    return location.line != 0 && location.file < files.size();
  }
};

}  // namespace weir::ir
