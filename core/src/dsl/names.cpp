// SPDX-License-Identifier: Apache-2.0
#include "dsl/names.hpp"

#include <array>
#include <mutex>
#include <stdexcept>
#include <unordered_map>

#include "dsl/trace.hpp"
#include "ir/algorithm.hpp"
#include "process_tables.hpp"

namespace weir::detail {

namespace {

using Words = std::unordered_map<std::string_view, std::uint32_t>;

Words make_op_words() {
  Words words;
#define WEIR_OP(name, mnemonic, operands, bodies, result) \
  words.emplace(mnemonic, static_cast<std::uint32_t>(ir::Op::name));
#include "ir/ops.def"
#undef WEIR_OP
  return words;
}

Words make_math_words() {
  Words words;
#define WEIR_MATH(name, operands) words.emplace(#name, static_cast<std::uint32_t>(ir::MathFunction::name));
#include "ir/math.def"
#undef WEIR_MATH
  return words;
}

std::uint32_t look_up(const Words& words, std::string_view word) {
  const auto found = words.find(word);
  if (found == words.end()) throw std::logic_error("the IR has no word '" + std::string(word) + "'");
  return found->second;
}

template <class Kind>
Kind kind_named(std::string_view word, std::uint8_t count) {
  for (std::uint8_t k = 0; k < count; ++k) {
    if (ir::to_string(static_cast<Kind>(k)) == word) return static_cast<Kind>(k);
  }
  throw std::logic_error("the IR has no word '" + std::string(word) + "'");
}

// The most recent kernels, for messages about values used outside their kernel.
class Register {
 public:
  std::uint32_t add(std::string_view name, const Where& where) {
    const std::lock_guard lock(mutex_of(ProcessTable::traced_kernels));
    if (++last_ == 0) ++last_;  // 0 names no trace
    kernels_[last_ % kernels_.size()] = {last_, std::string(name), where};
    return last_;
  }
  std::string describe(std::uint32_t trace) {
    const std::lock_guard lock(mutex_of(ProcessTable::traced_kernels));
    const Kernel& kernel = kernels_[trace % kernels_.size()];
    return kernel.trace == trace && trace != 0 ? "'" + kernel.name + "' (" + at(kernel.where) + ")"
                                               : "made earlier";
  }

 private:
  struct Kernel {
    std::uint32_t trace = 0;
    std::string name;
    Where where;
  };
  std::uint32_t last_ = 0;
  std::array<Kernel, 256> kernels_;
};

// Never destroyed, like the tables below: other threads may build kernels while the process ends.
Register& kernels() {
  static Register& instance = *new Register;
  return instance;
}

}  // namespace

ir::Op op_named(std::string_view word) {
  static const Words& words = *new Words(make_op_words());
  return static_cast<ir::Op>(look_up(words, word));
}

std::uint32_t math_named(std::string_view word) {
  static const Words& words = *new Words(make_math_words());
  return look_up(words, word);
}

ir::AtomicKind atomic_named(std::string_view word) {
  return kind_named<ir::AtomicKind>(word, static_cast<std::uint8_t>(ir::AtomicKind::compare_exchange) + 1);
}

ir::ReduceKind reduce_named(std::string_view word) {
  return kind_named<ir::ReduceKind>(word, static_cast<std::uint8_t>(ir::ReduceKind::all) + 1);
}

ir::AlgorithmKind algorithm_named(std::string_view word) {
  for (std::uint32_t k = 0; k < ir::algorithm_kind_count; ++k)
    if (ir::info(static_cast<ir::AlgorithmKind>(k)).name == word) return static_cast<ir::AlgorithmKind>(k);
  throw std::logic_error("the IR has no word '" + std::string(word) + "'");
}

std::uint32_t remember_kernel(std::string_view name, const Where& where) {
  return kernels().add(name, where);
}

std::string kernel_of_trace(std::uint32_t trace) {
  return kernels().describe(trace);
}

}  // namespace weir::detail
