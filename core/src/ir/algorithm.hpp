// SPDX-License-Identifier: Apache-2.0
// The statement `algorithm`: a function of <weir/algorithms.hpp> that processes whole arrays in the middle of
// a kernel. It is not a task: a launch submits the algorithm between the tasks before it and those after it,
// see passes/split_algorithms.hpp.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "ir/ir.hpp"

namespace weir::ir {

class TokenStream;
struct Token;

/// One array of an algorithm.
struct AlgorithmArray {
  enum class Type : std::uint8_t {
    any,      ///< elements of any type
    scalar,   ///< no Vec or Mat
    number,   ///< a scalar of arithmetic: an integer, f32 or f64
    numbers,  ///< numbers, or Vecs or Mats of them
    index,    ///< integers of 4 or 8 bytes
    flag,     ///< bool
    count     ///< i64
  };
  std::string_view name;  ///< as in <weir/algorithms.hpp>
  Type type = Type::any;
  bool read = false;
  bool written = false;
  std::int8_t like = -1;  ///< the earlier array whose element type it has
};

enum class AlgorithmChoice : std::uint8_t {
  none,
  combine,  ///< Algorithm::combine: sum, min, max, and, or, xor
  order,    ///< Algorithm::descending
  range     ///< Algorithm::low and high
};

struct AlgorithmInfo {
  std::string_view name;
  AlgorithmChoice choice = AlgorithmChoice::none;
  std::span<const AlgorithmArray> arrays;
};
const AlgorithmInfo& info(AlgorithmKind kind) noexcept;

/// Whether an algorithm can fail a launch: gather and scatter, by an index outside its array.
constexpr bool can_fail(AlgorithmKind kind) noexcept {
  return kind == AlgorithmKind::gather || kind == AlgorithmKind::scatter;
}

/// The algorithm of a valid statement.
inline const Algorithm& algorithm_of(const Kernel& kernel, const Statement& statement) noexcept {
  return kernel.algorithms[statement.index];
}

/// The fault of an `algorithm` as a sentence, or "".
std::string check_algorithm(const Kernel& kernel, const Statement& statement);

/// The statement without its location: `algorithm.sort.ascending @keys size @n`.
std::string print_algorithm(const Kernel& kernel, const Statement& statement);
std::string print_algorithm(const Kernel& kernel, const Algorithm& algorithm);

/// Reads an algorithm whose first token, `algorithm.sort.ascending`, was `mnemonic`. `parameter` reads one
/// array.
Algorithm read_algorithm(TokenStream& in, const Token& mnemonic,
                         const std::function<std::uint32_t()>& parameter);

}  // namespace weir::ir
