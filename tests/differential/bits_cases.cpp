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

/// Keeps the operations that the IR has; the verifier decides, independently of this file.
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

/// The operation's statements as text; the last one defines %result. Its operands are replaced by those of
/// their type, and %a, %c, %t, %u, %y and %z get its number.
std::string statements(const Operation& operation, std::size_t number, const std::string& result) {
  const std::string& from = operation.words;
  const std::size_t last = from.find_last_of('\n') + 1;
  std::string text = "    ";
  for (std::size_t at = 0; at < from.size(); ++at) {
    if (at == last) text += "%" + result + " = ";
    text += from[at];
    if (from[at] == '\n') text += "    ";
    if ((from[at] != '%' && from[at] != '@') || at + 1 == from.size()) continue;
    const char next = from[at + 1];
    if (next >= '0' && next <= '9') text += name(operation.operands.at(std::size_t(next - '0')));
    if (std::string_view("actuyz").find(next) != std::string_view::npos)
      text += next + std::to_string(number), ++at;
  }
  return text + "\n";
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

std::vector<Operation> chains(ScalarType type) {
  const std::string t = " : " + name(type);
  struct First {
    std::string words;
    std::vector<ScalarType> operands;
  };
  std::vector<First> firsts;
  for (const Operation& operation : arithmetic()) {
    if (operation.result != type || operation.words.starts_with("philox")) continue;
    firsts.push_back({"%t = " + operation.words, operation.operands});
    if (operation.operands.size() != 2) continue;
    std::string with_constant = operation.words;
    with_constant.replace(with_constant.find("%1"), 2, "%c");
    for (const char* constant : {"0", "1", "3"})
      firsts.push_back({"%c = const " + std::string(constant) + t + "\n%t = " + with_constant, {type, type}});
  }
  for (const ScalarType from : {ScalarType::i32, ScalarType::u32, ScalarType::f32, ScalarType::boolean})
    if (from != type) firsts.push_back({"%t = cast %0" + t, {from, type}});
  std::vector<Operation> operations;
  for (const First& first : firsts) {
    const std::string last = "%" + std::to_string(first.operands.size() - 1);
    for (const std::string& other : {last, std::string("%z")}) {
      const std::string before = first.words + "\n" + (other == "%z" ? "%z = const 0" + t + "\n" : "");
      for (const char* op : {"eq", "ne", "lt", "le", "gt", "ge"})
        operations.push_back(
            {before + op + " %t, " + other + " : bool", first.operands, ScalarType::boolean});
      for (const char* op : {"min", "max"})
        operations.push_back({before + op + " %t, " + other + t, first.operands, type});
    }
    for (const char* op : {"popcount", "clz", "ctz"})
      operations.push_back({first.words + "\n" + op + " %t" + t, first.operands, type});
    // Sums of products with a common factor, which LLVM factors and devices with multiply-adds distribute.
    for (const char* op : {"add", "mul"})
      operations.push_back({first.words + "\n" + op + " %t, " + last + t, first.operands, type});
  }
  operations.push_back({"%t = mul %0, %1" + t + "\n%z = add %t, %1" + t + "\n%c = mul %z, %1" + t +
                            "\nadd %c, %z" + t,
                        {type, type},
                        type});
  return valid(std::move(operations));
}

std::vector<Operation> with_constants() {
  std::vector<Operation> operations;
  for (const ScalarType type : {ScalarType::f16, ScalarType::f32, ScalarType::f64}) {
    const std::string t = " : " + name(type);
    for (const char* constant : {"0", "-0", "1", "-1", "inf"}) {
      const std::string before = "%c = const " + std::string(constant) + t + "\n";
      const auto add = [&](const std::string& words, std::size_t count) {
        operations.push_back({before + words + t, std::vector<ScalarType>(count, type), type});
      };
      for (const std::string op : {"add", "sub", "mul", "div", "min", "max"}) {
        add(op + " %0, %c", 1);
        add(op + " %c, %0", 1);
        // The constant reaches the operation on one of two paths.
        add("%z = lt %0, %1 : bool\n%t = select %z, %c, %1" + t + "\n" + op + " %t, %0", 2);
      }
      for (const char* operands : {"%c, %0, %1", "%0, %c, %1", "%0, %1, %c", "%c, %0, %c"})
        add("math.fma " + std::string(operands),
            std::string(operands).find("%1") == std::string::npos ? 1 : 2);
      // Compilers make a conversion of a selected constant.
      for (const char* other : {"0", "-0", "1", "-1", "2"})
        add("%y = const " + std::string(other) + t + "\n%z = lt %0, %1 : bool\nselect %z, %c, %y", 2);
      // Compilers make one instruction of two bounds.
      for (const char* bound : {"0", "-0", "1", "-1"})
        for (const auto& [inner, outer] : {std::pair("min", "max"), std::pair("max", "min")})
          add("%z = const " + std::string(bound) + t + "\n%t = " + inner + " %0, %c" + t + "\n" + outer +
                  " %t, %z",
              1);
      // Conversions have bounds, and compilers make fewer of three.
      for (const std::string op : {"min", "max"}) {
        for (const ScalarType to : {ScalarType::u8, ScalarType::i16, ScalarType::u32, ScalarType::i32,
                                    ScalarType::u64, ScalarType::i64})
          operations.push_back(
              {before + "%t = " + op + " %0, %c" + t + "\ncast %t : " + name(to), {type}, to});
        for (const char* last : {"min", "max"})
          add("%z = const 0" + t + "\n%y = const 4" + t + "\n%t = " + op + " %0, %c" + t + "\n%u = " +
                  (op == "min" ? "max %t, %z" : "min %t, %y") + t + "\n" + last + " %u, " +
                  (std::string(last) == "min" ? "%y" : "%z"),
              1);
      }
    }
  }
  return valid(std::move(operations));
}

std::vector<Operation> selections() {
  std::vector<Operation> operations;
  for (const ScalarType type : {ScalarType::f32, ScalarType::f64}) {
    const std::string t = " : " + name(type);
    const auto add = [&](const std::string& other, std::vector<ScalarType> operands) {
      for (const std::string op : {"lt", "le", "gt", "ge"})
        for (const char* compared : {"%0, %c", "%c, %0"})
          for (const char* arms : {"%0, %c", "%c, %0"})
            operations.push_back({"%c = " + other + t + "\n%z = " + op + " " + compared + " : bool\nselect %z, " +
                                      arms + t,
                                  operands, type});
    };
    for (const char* constant : {"0", "-0", "1", "-1", "inf"}) add("const " + std::string(constant), {type});
    // Numbers that are never a NaN, or never negative.
    add("cast %1", {type, ScalarType::i32});
    add("cast %1", {type, ScalarType::u8});
    add("abs %1", {type, type});
    add("max %1, %1", {type, type});
    // A zero of the other sign than the one in the comparison.
    for (const char* zero : {"0", "-0"})
      for (const std::string op : {"lt", "le", "gt", "ge"})
        for (const char* arms : {"%0, %t", "%t, %0"})
          operations.push_back({"%c = const " + std::string(zero) + t + "\n%t = neg %c" + t + "\n%z = " + op +
                                    " %0, %c : bool\nselect %z, " + arms + t,
                                {type}, type});
  }
  return valid(std::move(operations));
}

std::vector<Operation> compared_signs() {
  std::vector<Operation> operations;
  for (const ScalarType type : {ScalarType::f16, ScalarType::f32, ScalarType::f64}) {
    const std::string t = " : " + name(type);
    const auto add = [&](const std::string& form, std::size_t count) {
      for (const char* constant : {"-1", "0", "1"})
        for (const std::string op : {"lt", "le", "gt", "ge", "eq", "ne"})
          for (const char* compared : {"%t, %c", "%c, %t"})
            operations.push_back({form + "%c = const " + constant + t + "\n" + op + " " + compared + " : bool",
                                  std::vector<ScalarType>(count, type), ScalarType::boolean});
    };
    add("%t = abs %0" + t + "\n", 1);
    add("%z = abs %0" + t + "\n%t = neg %z" + t + "\n", 1);
    add("%z = abs %0" + t + "\n%a = abs %1" + t + "\n%t = max %z, %a" + t + "\n", 2);
    add("%t = math.sqrt %0" + t + "\n", 1);
    add("%t = mul %0, %0" + t + "\n", 1);
  }
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
      // Integer operands and results are i32; the verifier selects the valid signature.
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
    for (const char* kind : {"add", "sub", "mul", "min", "max", "and", "or", "xor", "exchange"})
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

std::string_view to_string(LoopForm form) {
  constexpr std::string_view names[] = {"line", "single", "edges", "tiles", "branches", "inner_loops"};
  return names[std::size_t(form)];
}

std::vector<std::int64_t> shape_of(LoopForm form, std::size_t count) {
  if (form == LoopForm::single) return {std::int64_t(count), 1};
  if (form == LoopForm::tiles) return {std::int64_t(count / 32), 32};
  return {std::int64_t(count)};
}

bool is_computed(LoopForm form, std::size_t i, std::size_t count) {
  if (form == LoopForm::edges) return i >= 3 && i < count - 2;
  return form != LoopForm::branches || i * i % 7 < 3;
}

std::string kernel_text(const std::vector<Operation>& operations, LoopForm form) {
  const bool rows = form == LoopForm::single || form == LoopForm::tiles;
  const std::string rank = rows ? "2" : "1", at = rows ? "[%i, %j]" : "[%i]";
  std::string parameters, before, body;
  for (const auto& [type, which] : kernel_inputs(operations)) {
    const std::string array = name(type) + std::to_string(which);
    parameters += "  param @" + array + " : array<" + name(type) + ", " + rank + ">\n";
    const std::string of_type = " : " + name(type) + "\n";
    if (form != LoopForm::tiles) {
      body += "    %" + array + " = load @" + array + at + of_type;
      continue;
    }
    body += "    %near_" + array + " = load @" + array + "[%row, %j]" + of_type;
    body += "    %own_" + array + " = load @" + array + at + of_type;
    body += "    %" + array + " = select %true, %near_" + array + ", %own_" + array + of_type;
  }
  for (std::size_t k = 0; k < operations.size(); ++k) {
    const std::string r = "r" + std::to_string(k);
    parameters += "  param @" + r + " : array<" + name(operations[k].result) + ", " + rank + ">\n";
    body += statements(operations[k], k, r) + "    store @" + r + at + ", %" + r + "\n";
  }
  std::string loop = "parallel (%i) in (%zero to %n)";
  if (rows) loop = "parallel (%i, %j) in (%zero to %n, %zero to %m)";
  if (form == LoopForm::edges) loop = "parallel (%i) in (%three to %end)";
  if (form == LoopForm::branches) parameters += "  param @skipped : array<u8, 1>\n";
  if (form != LoopForm::line) {
    parameters += "  param @none : i64\n";
    before = "  %none = arg @none : i64\n  %one = const 1 : i64\n  %passes = add %none, %one : i64\n";
  }
  if (rows) before += "  %m = extent @r0, 1 : i64\n";
  if (form == LoopForm::edges)
    before += "  %three = const 3 : i64\n  %two = const 2 : i64\n  %end = sub %n, %two : i64\n";
  if (form == LoopForm::branches) before += "  %nil = const 0 : u8\n";
  if (form == LoopForm::tiles)
    body = "    %row = add %i, %none : i64\n    %true = ge %i, %none : bool\n" + body;
  if (form == LoopForm::branches)
    body =
        "    %skipped = load @skipped[%i] : u8\n    %computed = eq %skipped, %nil : bool\n    if %computed {\n" +
        body + "    }\n";
  if (form == LoopForm::inner_loops) body = "    for %k = %zero to %passes step %one {\n" + body + "    }\n";
  return "weir-ir 1\nkernel \"bits\"\n" + parameters +
         "{\n  %zero = const 0 : i64\n  %n = extent @r0, 0 : i64\n" + before + "  " + loop + " {\n" + body +
         "  }\n}\n";
}

}  // namespace weir::test
