// SPDX-License-Identifier: Apache-2.0
#include "rows.hpp"

#include <gtest/gtest.h>

#include "compile.hpp"
#include "instruction_set.hpp"

namespace weir::hipsim::test {

Target::Target(const std::string& processor)
    : processor(processor), generation(generation_of(processor)), lanes(generation >= 10 ? 32 : 64) {}

std::string Target::mask(unsigned index) const {
  return registers('s', index, lanes / 32);
}

std::string registers(char kind, unsigned index, unsigned words) {
  if (words == 1) return kind + std::to_string(index);
  return kind + ("[" + std::to_string(index) + ":" + std::to_string(index + words - 1) + "]");
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) words.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

std::vector<std::string> problems_of(const std::vector<Case>& cases, const Target& target) {
  std::vector<std::string> lines;
  for (const Case& c : cases) lines.push_back(c.text);
  std::vector<std::string> problems = assembler_errors(lines, target.processor, target.lanes);
  for (std::string& problem : problems)
    for (const char* lack : {"instruction not supported on this GPU", "invalid instruction"})
      if (problem.starts_with(lack)) problem = "lacks";
  return problems;
}

namespace {

void check_on(const Target& target, Table table) {
  SCOPED_TRACE(target.processor);
  const std::vector<Case> cases = table(target);
  const std::vector<std::string> problems = problems_of(cases, target);
  std::string text;
  std::vector<const Case*> kept;
  for (std::size_t n = 0; n < cases.size(); ++n) {
    if (problems[n] == "lacks") continue;
    if (!problems[n].empty()) {
      ADD_FAILURE() << target.processor << ": " << problems[n];
      continue;
    }
    kept.push_back(&cases[n]);
    text += cases[n].text + "\n";
  }
  if (kept.empty()) return;
  Machine machine(target.processor);
  machine.load(text);
  for (unsigned n = 0; n < kept.size(); ++n) {
    SCOPED_TRACE(kept[n]->text);
    try {
      kept[n]->check(machine, n);
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
}

}  // namespace

void check_table(Table table) {
  for (const char* processor : processors) check_on(Target(processor), table);
}

const std::map<std::string, Table>& all_tables() {
  static const std::map<std::string, Table> tables{
      {"Floats", float_rows},
      {"FloatsInOrder", float_order_rows},
      {"Halves", half_rows},
      {"Integers", integer_rows},
      {"Shorts", short_rows},
      {"Bytes", byte_rows},
      {"Conversions", convert_rows},
      {"Functions", function_rows},
      {"Comparisons", compare_rows},
      {"Packed", packed_rows},
      {"MixedAndDots", mixed_rows},
      {"Carries", carry_rows},
      {"Lanes", lane_rows},
      {"Dpp", dpp_rows},
      {"Scalars", scalar_rows},
      {"ScalarBits", scalar_bit_rows},
      {"ScalarFloats", scalar_float_rows},
      {"ScalarMemory", scalar_memory_rows},
      {"Memory", memory_rows},
      {"Lds", lds_rows},
      {"Atomics", atomic_rows},
      {"LdsAtomics", lds_atomic_rows},
  };
  return tables;
}

}  // namespace weir::hipsim::test
