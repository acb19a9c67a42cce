// SPDX-License-Identifier: Apache-2.0
// Values of a kernel as sums, so that two of them can be compared.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "ir/task.hpp"

namespace weir::passes {

/// A sum of multiples of symbols and a constant, modulo 2^64. A symbol is anything that is not a sum itself:
/// a loop index, an argument, a quotient, a loaded value.
struct LinearForm {
  struct Term {
    std::uint32_t symbol;
    std::uint64_t factor;  ///< never 0
    friend bool operator==(const Term&, const Term&) = default;
  };
  std::vector<Term> terms;  ///< by symbol
  std::uint64_t constant = 0;
  friend bool operator==(const LinearForm&, const LinearForm&) = default;
};

/// a + factor * b
LinearForm sum(const LinearForm& a, const LinearForm& b, std::uint64_t factor);

/// The forms of all values of a verified kernel, or of a task of one. Equal forms mean equal values if their
/// symbols have equal values. An operation without side effects on equal operands is one symbol at all its
/// places. The kernel must not change while this is used.
class LinearForms {
 public:
  explicit LinearForms(const ir::Kernel& kernel) : LinearForms(kernel.body, kernel.value_count) {}
  explicit LinearForms(const ir::Task& task) : LinearForms(task.body, task.value_count) {}

  const LinearForm& of(ir::ValueId value) const { return forms_[value]; }
  /// The symbol of a loop index, or of another value whose form is one symbol.
  std::uint32_t symbol(ir::ValueId value) const { return forms_[value].terms.front().symbol; }
  /// Whether a symbol has one value during the whole launch. All values that are defined outside of loops
  /// have.
  bool is_invariant(std::uint32_t symbol) const { return invariant_[symbol]; }
  /// Whether a symbol is an index of a `parallel` or a `reduce`.
  bool is_loop_index(std::uint32_t symbol) const { return loop_index_[symbol]; }
  /// The bounds of such an index.
  struct Range {
    LinearForm low, high;
  };
  const Range& range(std::uint32_t loop_index) const { return ranges_.at(loop_index); }
  /// Whether any statement of the kernel uses the value.
  bool is_used(ir::ValueId value) const { return used_[value]; }

 private:
  LinearForms(const ir::Block& body, std::uint32_t value_count);
  void block(const ir::Block& block, bool invariant);
  LinearForm form_of(const ir::Statement& s, bool invariant);
  std::optional<LinearForm> linear_form(const ir::Statement& s) const;
  LinearForm operation(const ir::Statement& s, bool invariant);
  LinearForm fresh(bool invariant);

  std::vector<LinearForm> forms_;          // by value
  std::vector<ScalarType> types_;          // by value
  std::vector<bool> used_;                 // by value
  std::vector<bool> invariant_;            // by symbol
  std::map<std::uint32_t, Range> ranges_;  // of loop indices
  std::vector<bool> loop_index_;           // by symbol
  std::map<std::vector<std::uint64_t>, std::uint32_t> known_;
};

}  // namespace weir::passes
