// SPDX-License-Identifier: Apache-2.0
// Tables of instructions. Each case is one instruction, assembled for every processor that has it, and a
// check. The check runs the instruction and compares every bit with the ISA documents.
#pragma once
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "machine.hpp"

namespace weir::hipsim::test {

/// A processor, and its assembler's syntax of registers.
struct Target {
  explicit Target(const std::string& processor);
  /// A lane mask in scalar registers: "s[20:21]", or "s20" for waves of 32 lanes.
  std::string mask(unsigned index) const;
  std::string vcc() const { return lanes == 64 ? "vcc" : "vcc_lo"; }
  bool is(std::string_view name) const { return processor == name; }

  std::string processor;
  unsigned generation, lanes;
};

/// "s[2:3]", "v7", "a[0:3]": `words` registers of a kind, starting at `index`.
std::string registers(char kind, unsigned index, unsigned words);

/// One instruction. `check` runs the instruction at `index` of the machine's program any number of times, and
/// fails the test if a result is wrong.
struct Case {
  std::string name, text;
  std::function<void(Machine& machine, unsigned index)> check;
};

/// The cases of one table for a target. Cases of instructions that the target lacks are removed later.
using Table = std::vector<Case> (*)(const Target&);

/// Checks a table on all processors. Fails if a processor has an instruction but rejects its written form.
void check_table(Table table);
/// The assembler's error for each case: empty if it accepts the case, "lacks" if the processor lacks the
/// instruction.
std::vector<std::string> problems_of(const std::vector<Case>& cases, const Target& target);

/// All tables of these tests, by the name of their test.
const std::map<std::string, Table>& all_tables();

/// Splits at blanks.
std::vector<std::string> words_of(std::string_view text);

// The tables; each is defined in the file of its name.
std::vector<Case> float_rows(const Target&);
std::vector<Case> float_order_rows(const Target&);
std::vector<Case> half_rows(const Target&);
std::vector<Case> integer_rows(const Target&);
std::vector<Case> short_rows(const Target&);
std::vector<Case> byte_rows(const Target&);
std::vector<Case> convert_rows(const Target&);
std::vector<Case> function_rows(const Target&);
std::vector<Case> compare_rows(const Target&);
std::vector<Case> packed_rows(const Target&);
std::vector<Case> mixed_rows(const Target&);
std::vector<Case> carry_rows(const Target&);
std::vector<Case> lane_rows(const Target&);
std::vector<Case> dpp_rows(const Target&);
std::vector<Case> scalar_rows(const Target&);
std::vector<Case> scalar_bit_rows(const Target&);
std::vector<Case> scalar_float_rows(const Target&);
std::vector<Case> scalar_memory_rows(const Target&);
std::vector<Case> memory_rows(const Target&);
std::vector<Case> lds_rows(const Target&);
std::vector<Case> atomic_rows(const Target&);
std::vector<Case> lds_atomic_rows(const Target&);

}  // namespace weir::hipsim::test
