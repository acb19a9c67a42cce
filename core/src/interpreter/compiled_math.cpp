// SPDX-License-Identifier: Apache-2.0
#include "interpreter/compiled_math.hpp"

#include <weir/array.hpp>
#include <weir/device.hpp>

namespace weir::interpreter {

const Program& CompiledMath::program(const std::string& key, const ir::Statement& s,
                                     std::span<const ScalarType> types) {
  if (const auto found = programs_.find(key); found != programs_.end()) return found->second;
  std::string parameters, loads, list;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::string n = std::to_string(i), type(to_string(types[i]));
    parameters += "param @a" + n + " : " + type + "\n";
    loads += "%a" + n + " = arg @a" + n + " : " + type + "\n";
    list += (i ? ", %a" : "%a") + n;
  }
  const std::string name(info(static_cast<ir::MathFunction>(s.index)).name), type(to_string(s.type));
  const Program made =
      Program::parse("weir-ir 1\nkernel \"" + name + "\"\n" + parameters + "param @r : array<" + type +
                     ", 1>\n{\n%zero = const 0 : i64\n" + loads + "%v = math." + name + " " + list + " : " +
                     type + "\nstore @r[%zero], %v\n}\n");
  made.debug(false);  // WEIR_DEBUG may name a function
  return programs_.emplace(key, made).first->second;
}

std::uint64_t CompiledMath::operator()(const ir::Statement& s, std::span<const ScalarType> types,
                                       std::span<const std::uint64_t> operands) {
  const std::string key =
      std::string(info(static_cast<ir::MathFunction>(s.index)).name) + " " + std::string(to_string(types[0]));
  const auto [found, added] = known_.try_emplace({key, {operands.begin(), operands.end()}}, 0);
  if (!added) return found->second;
  static const std::int64_t one[] = {1};
  const AnyArray result(stream_, ElementType{s.type}, one);
  std::vector<LaunchArgument> arguments(types.size() + 1);
  for (std::size_t i = 0; i < types.size(); ++i) {
    arguments[i].data = &operands[i];
    arguments[i].element = ElementType{types[i]};
  }
  arguments.back().array = &result;
  program(key, s, types).launch(stream_, arguments);
  std::uint64_t bits = 0;
  result.copy_to_bytes(stream_, std::as_writable_bytes(std::span(&bits, 1)).first(size_of(s.type)));
  return found->second = bits;
}

}  // namespace weir::interpreter
