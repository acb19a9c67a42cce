// SPDX-License-Identifier: Apache-2.0
#include "ir/algorithm.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "ir/literals.hpp"
#include "ir/printer.hpp"
#include "ir/token_stream.hpp"
#include "ir/verifier.hpp"

namespace weir::ir {

namespace {

using Array = AlgorithmArray;
using Type = AlgorithmArray::Type;
using Choice = AlgorithmChoice;

constexpr Array input(std::string_view name, Type type, std::int8_t like = -1) {
  return {name, type, true, false, like};
}
constexpr Array output(std::string_view name, Type type, std::int8_t like = -1) {
  return {name, type, false, true, like};
}
constexpr Array in_place(std::string_view name, Type type) {
  return {name, type, true, true, -1};
}

constexpr Array reduction[] = {input("x", Type::numbers), output("result", Type::numbers, 0)};
constexpr Array argument[] = {input("x", Type::number), output("index", Type::count)};
constexpr Array scan[] = {input("x", Type::number), output("result", Type::number, 0)};
constexpr Array sort[] = {in_place("keys", Type::scalar)};
constexpr Array sort_by_key[] = {in_place("keys", Type::scalar), in_place("values", Type::any)};
constexpr Array compact[] = {input("x", Type::any), input("keep", Type::flag), output("result", Type::any, 0),
                             output("count", Type::count)};
constexpr Array partition[] = {input("x", Type::any), input("first", Type::flag),
                               output("result", Type::any, 0), output("count", Type::count)};
constexpr Array unique[] = {input("x", Type::scalar), output("result", Type::scalar, 0),
                            output("count", Type::count)};
constexpr Array reduce_by_key[] = {input("keys", Type::scalar), input("values", Type::number),
                                   output("result_keys", Type::scalar, 0),
                                   output("result_values", Type::number, 1), output("count", Type::count)};
constexpr Array histogram[] = {input("x", Type::number), output("counts", Type::count)};
constexpr Array gather[] = {input("x", Type::any), input("index", Type::index),
                            output("result", Type::any, 0)};

constexpr std::array<AlgorithmInfo, algorithm_kind_count> infos{{
    {"reduce", Choice::combine, reduction},
    {"arg_min", Choice::none, argument},
    {"arg_max", Choice::none, argument},
    {"inclusive_scan", Choice::combine, scan},
    {"exclusive_scan", Choice::combine, scan},
    {"sort", Choice::order, sort},
    {"sort_by_key", Choice::order, sort_by_key},
    {"compact", Choice::none, compact},
    {"partition", Choice::none, partition},
    {"unique", Choice::none, unique},
    {"reduce_by_key", Choice::combine, reduce_by_key},
    {"histogram", Choice::range, histogram},
    {"gather", Choice::none, gather},
    {"scatter", Choice::none, gather},
}};

constexpr std::string_view orders[] = {"ascending", "descending"};
constexpr std::uint32_t combine_count = static_cast<std::uint32_t>(ReduceKind::bit_xor) + 1;

bool accepts(Type type, const ElementType& element) noexcept {
  const bool scalar = element.shape == ElementType::Shape::scalar;
  const bool number = element.scalar != ScalarType::boolean && element.scalar != ScalarType::f16;
  switch (type) {
    case Type::any:
      return true;
    case Type::scalar:
      return scalar;
    case Type::number:
      return scalar && number;
    case Type::numbers:
      return number;
    case Type::index:
      return scalar && is_integer(element.scalar) && element.size() >= 4;
    case Type::flag:
      return element == ElementType{ScalarType::boolean};
    case Type::count:
      return element == ElementType{ScalarType::i64};
  }
  return false;
}

std::string_view words(Type type) noexcept {
  switch (type) {
    case Type::any:
      return "elements of any type";
    case Type::scalar:
      return "scalars";
    case Type::number:
      return "integers, f32 or f64";
    case Type::numbers:
      return "integers, f32, f64, or vectors or matrices of them";
    case Type::index:
      return "integers of 4 or 8 bytes";
    case Type::flag:
      return "bool";
    case Type::count:
      return "i64";
  }
  return "";
}

class Rules {
 public:
  Rules(const Kernel& kernel, const Algorithm& algorithm)
      : kernel_(kernel), algorithm_(algorithm), info_(info(algorithm.kind)), name_("'algorithm.") {
    name_ += info_.name;
    name_ += "'";
  }

  std::string check() const {
    const std::size_t count = info_.arrays.size();
    if (algorithm_.arrays.size() != count)
      return name_ + " takes " + std::to_string(count) + (count == 1 ? " array" : " arrays") + ", found " +
             std::to_string(algorithm_.arrays.size());
    for (std::size_t i = 0; i < count; ++i)
      if (std::string wrong = check_array(info_.arrays[i], algorithm_.arrays[i]); !wrong.empty())
        return wrong;
    if (algorithm_.size)
      if (std::string wrong = check_array(input("size", Type::count), *algorithm_.size); !wrong.empty())
        return wrong;
    return check_choice();
  }

 private:
  std::string check_array(const Array& array, std::uint32_t parameter) const {
    if (parameter >= kernel_.parameters.size() ||
        kernel_.parameters[parameter].kind != Parameter::Kind::array)
      return name_ + " takes an array as '" + std::string(array.name) + "', found " +
             (parameter < kernel_.parameters.size() ? describe_parameter(kernel_, parameter)
                                                    : "parameter number " + std::to_string(parameter));
    const ElementType& element = kernel_.parameters[parameter].element;
    const std::string takes = name_ + " takes an array of ";
    const std::string found = " as '" + std::string(array.name) + "', found " +
                              describe_parameter(kernel_, parameter) + " of " + to_string(element);
    if (!accepts(array.type, element)) return takes + std::string(words(array.type)) + found;
    if (array.like < 0) return {};
    const ElementType& like =
        kernel_.parameters[algorithm_.arrays[static_cast<std::size_t>(array.like)]].element;
    return element == like ? std::string() : takes + to_string(like) + found;
  }

  std::string check_choice() const {
    if (info_.choice == Choice::combine) {
      if (static_cast<std::uint32_t>(algorithm_.combine) >= combine_count)
        return name_ + " combines by sum, min, max, and, or, or xor, found another number";
      const std::size_t values = algorithm_.kind == AlgorithmKind::reduce_by_key ? 1 : 0;
      const ElementType& element = kernel_.parameters[algorithm_.arrays[values]].element;
      if (!reduces(algorithm_.combine, element.scalar))
        return name_ + " combines bits of integers only, found " + to_string(element) +
               "; combine by sum, min or max";
    }
    if (info_.choice == Choice::range &&
        !(algorithm_.low < algorithm_.high && std::isfinite(algorithm_.high - algorithm_.low)))
      return name_ + " counts in a range of finite numbers, the lower one first, found " +
             print_constant(ScalarType::f64, std::bit_cast<std::uint64_t>(algorithm_.low)) + " to " +
             print_constant(ScalarType::f64, std::bit_cast<std::uint64_t>(algorithm_.high));
    return {};
  }

  const Kernel& kernel_;
  const Algorithm& algorithm_;
  const AlgorithmInfo& info_;
  std::string name_;
};

double bound(TokenStream& in, const char* what) {
  const std::string expected = std::string(what) + " of the histogram, a finite number";
  if (!in.at(Token::Kind::number)) in.fail(expected);
  const auto bits = constant_bits(in.token().text, ScalarType::f64);
  if (!bits) in.fail(expected);
  in.advance();
  return std::bit_cast<double>(*bits);
}

}  // namespace

const AlgorithmInfo& info(AlgorithmKind kind) noexcept {
  return infos[static_cast<std::size_t>(kind)];
}

std::string check_algorithm(const Kernel& kernel, const Statement& statement) {
  if (statement.index >= kernel.algorithms.size())
    return "'algorithm' names one of the kernel's " + std::to_string(kernel.algorithms.size()) +
           " algorithms, found number " + std::to_string(statement.index);
  const Algorithm& algorithm = kernel.algorithms[statement.index];
  if (static_cast<std::uint32_t>(algorithm.kind) >= algorithm_kind_count)
    return "there is no algorithm number " + std::to_string(static_cast<int>(algorithm.kind));
  return Rules(kernel, algorithm).check();
}

std::string print_algorithm(const Kernel& kernel, const Statement& statement) {
  if (statement.index >= kernel.algorithms.size()) return "algorithm.?";
  return print_algorithm(kernel, kernel.algorithms[statement.index]);
}

std::string print_algorithm(const Kernel& kernel, const Algorithm& algorithm) {
  if (static_cast<std::uint32_t>(algorithm.kind) >= algorithm_kind_count) return "algorithm.?";
  const AlgorithmInfo& its = info(algorithm.kind);
  std::string out = "algorithm.";
  out += its.name;
  if (its.choice == Choice::combine)
    out += "." + std::string(static_cast<std::uint32_t>(algorithm.combine) < combine_count
                                 ? to_string(algorithm.combine)
                                 : "?");
  if (its.choice == Choice::order) out += "." + std::string(orders[algorithm.descending]);
  const auto array = [&](std::uint32_t parameter) {
    return "@" + (parameter < kernel.parameters.size() ? kernel.parameters[parameter].name : "?");
  };
  for (std::size_t i = 0; i < algorithm.arrays.size(); ++i)
    out += (i == 0 ? " " : ", ") + array(algorithm.arrays[i]);
  if (its.choice == Choice::range)
    out += " in " + print_constant(ScalarType::f64, std::bit_cast<std::uint64_t>(algorithm.low)) + " to " +
           print_constant(ScalarType::f64, std::bit_cast<std::uint64_t>(algorithm.high));
  if (algorithm.size) out += " size " + array(*algorithm.size);
  return out;
}

Algorithm read_algorithm(TokenStream& in, const Token& mnemonic,
                         const std::function<std::uint32_t()>& parameter) {
  std::string_view rest = mnemonic.text.substr(mnemonic.text.find('.') + 1);
  const std::string_view name = rest.substr(0, rest.find('.'));
  const auto known = std::ranges::find(infos, name, &AlgorithmInfo::name);
  if (known == infos.end())
    in.fail_at(mnemonic, "expected an algorithm, such as algorithm.sort.ascending, found " + found(mnemonic));
  Algorithm algorithm;
  algorithm.kind = static_cast<AlgorithmKind>(known - infos.begin());
  rest.remove_prefix(std::min(rest.size(), name.size() + 1));
  const auto choose = [&](std::uint32_t count, const char* what, auto&& name_of) {
    for (std::uint32_t i = 0; i < count; ++i)
      if (name_of(i) == rest) return i;
    in.fail_at(mnemonic, "expected " + std::string(what) + " after '" + std::string(name) + "', found " +
                             found(mnemonic));
  };
  if (known->choice == Choice::combine)
    algorithm.combine = static_cast<ReduceKind>(
        choose(combine_count, ".sum, .min, .max, .and, .or or .xor",
               [](std::uint32_t i) { return to_string(static_cast<ReduceKind>(i)); }));
  else if (known->choice == Choice::order)
    algorithm.descending =
        choose(2, ".ascending or .descending", [](std::uint32_t i) { return orders[i]; }) == 1;
  else if (name.size() + 1 + std::string_view("algorithm").size() != mnemonic.text.size())
    in.fail_at(mnemonic, "expected the arrays after '" + std::string(name) + "', found " + found(mnemonic));
  for (std::size_t i = 0; i < known->arrays.size(); ++i) {
    if (i != 0) in.expect_mark(',', "and the array '" + std::string(known->arrays[i].name) + "'");
    algorithm.arrays.push_back(parameter());
  }
  if (known->choice == Choice::range) {
    in.expect_word("in", "and the range of the histogram");
    algorithm.low = bound(in, "the lower bound");
    in.expect_word("to", "and the upper bound of the histogram");
    algorithm.high = bound(in, "the upper bound");
  }
  if (in.accept_word("size")) algorithm.size = parameter();
  return algorithm;
}

}  // namespace weir::ir
