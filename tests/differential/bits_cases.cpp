// SPDX-License-Identifier: Apache-2.0
#include "bits_cases.hpp"

#include <algorithm>
#include <set>
#include <weir/error.hpp>
#include <weir/program.hpp>

#include "random_values.hpp"

namespace weir::test {
namespace {

std::string name(ScalarType type) {
  return std::string(to_string(type));
}

/// Keeps what the IR has; the rules are the verifier's, not this file's.
std::vector<Operation> valid(std::vector<Operation> operations) {
  std::erase_if(operations, [](const Operation& operation) {
    try {
      Program::parse(kernel_text({operation}));
      return false;
    } catch (const Error&) {
      return true;
    }
  });
  return operations;
}

std::string operand_list(std::size_t count) {
  std::string list;
  for (std::size_t i = 0; i < count; ++i) list += (i ? ", %" : "%") + std::to_string(i);
  return list;
}

}  // namespace

std::vector<Operation> arithmetic() {
  std::vector<Operation> operations;
  const auto add = [&](std::string mnemonic, ScalarType type, std::size_t count, ScalarType result) {
    operations.push_back({mnemonic + " " + operand_list(count) + " : " + name(result),
                          std::vector<ScalarType>(count, type), result});
  };
  for (const ScalarType type : all_types) {
    for (const char* op :
         {"add", "sub", "mul", "div", "rem", "min", "max", "mul_hi", "and", "or", "xor", "shl", "shr"})
      add(op, type, 2, type);
    for (const char* op : {"neg", "abs", "not", "popcount", "clz", "ctz"}) add(op, type, 1, type);
    for (const char* op : {"eq", "ne", "lt", "le", "gt", "ge"}) add(op, type, 2, ScalarType::boolean);
    operations.push_back({"select %0, %1, %2 : " + name(type), {ScalarType::boolean, type, type}, type});
  }
  for (unsigned word = 0; word < 4; ++word)
    operations.push_back({"philox." + std::to_string(word) + " %0, %1, %2, %0, %1, %2 : u32",
                          std::vector<ScalarType>(3, ScalarType::u32), ScalarType::u32});
  return valid(std::move(operations));
}

std::vector<Operation> conversions() {
  std::vector<Operation> operations;
  for (const ScalarType from : all_types)
    for (const ScalarType to : all_types)
      for (const char* op : {"cast", "bitcast"})
        operations.push_back({std::string(op) + " %0 : " + name(to), {from}, to});
  return valid(std::move(operations));
}

std::vector<Operation> functions() {
  constexpr std::pair<const char*, std::size_t> list[] = {
#define WEIR_MATH(name, operands) {#name, operands},
#include "ir/math.def"
#undef WEIR_MATH
  };
  std::vector<Operation> operations;
  for (const ScalarType type : {ScalarType::f32, ScalarType::f64})
    for (const auto& [function, count] : list) {
      // Operands and results that are integers are i32; the verifier says which signature holds.
      std::vector<Operation> candidates;
      for (const ScalarType last : {type, ScalarType::i32})
        for (const ScalarType result : {type, ScalarType::i32, ScalarType::boolean}) {
          if (count == 1 && last != type) continue;
          std::vector<ScalarType> types(count, type);
          types.back() = last;
          candidates.push_back(
              {"math." + std::string(function) + " " + operand_list(count) + " : " + name(result), types,
               result});
        }
      for (Operation& operation : valid(std::move(candidates))) operations.push_back(std::move(operation));
    }
  return operations;
}

std::vector<Operation> atomics() {
  std::vector<Operation> operations;
  for (const ScalarType type : all_types) {
    for (const char* kind : {"add", "sub", "min", "max", "and", "or", "xor", "exchange"})
      operations.push_back(
          {"atomic." + std::string(kind) + " @0[%i], %1 : " + name(type), {type, type}, type});
    operations.push_back(
        {"atomic.compare_exchange @0[%i], %1, %2 : " + name(type), {type, type, type}, type});
  }
  return valid(std::move(operations));
}

std::vector<std::pair<ScalarType, unsigned>> kernel_inputs(const std::vector<Operation>& operations) {
  std::set<std::pair<ScalarType, unsigned>> inputs;
  for (const Operation& operation : operations)
    for (unsigned k = 0; k < operation.operands.size(); ++k) inputs.insert({operation.operands[k], k});
  return {inputs.begin(), inputs.end()};
}

std::string kernel_text(const std::vector<Operation>& operations) {
  std::string parameters, body;
  for (const auto& [type, which] : kernel_inputs(operations)) {
    const std::string array = name(type) + std::to_string(which);
    parameters += "  param @" + array + " : array<" + name(type) + ", 1>\n";
    body += "    %" + array + " = load @" + array + "[%i] : " + name(type) + "\n";
  }
  for (std::size_t k = 0; k < operations.size(); ++k) {
    const std::string r = "r" + std::to_string(k);
    parameters += "  param @" + r + " : array<" + name(operations[k].result) + ", 1>\n";
    std::string words;
    const std::string& from = operations[k].words;
    for (std::size_t at = 0; at < from.size(); ++at) {
      words += from[at];
      if ((from[at] == '%' || from[at] == '@') && at + 1 < from.size() && from[at + 1] >= '0' &&
          from[at + 1] <= '9')
        words += name(operations[k].operands.at(std::size_t(from[at + 1] - '0')));
    }
    body += "    %" + r + " = " + words + "\n    store @" + r + "[%i], %" + r + "\n";
  }
  return "weir-ir 1\nkernel \"bits\"\n" + parameters +
         "{\n  %zero = const 0 : i64\n  %n = extent @r0, 0 : i64\n" + "  parallel (%i) in (%zero to %n) {\n" +
         body + "  }\n}\n";
}

}  // namespace weir::test
