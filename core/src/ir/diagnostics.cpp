// SPDX-License-Identifier: Apache-2.0
// Names of places, parameters and kernels in messages.
#include <algorithm>
#include <weir/error.hpp>

#include "ir/printer.hpp"
#include "ir/struct_parameter.hpp"
#include "ir/verifier.hpp"

namespace weir::ir {

namespace {

// The spelling of an element type in C++.
std::string source_type(const ElementType& type) {
  std::string scalar;
  switch (type.scalar) {
    case ScalarType::boolean:
      scalar = "bool";
      break;
    case ScalarType::f16:
      scalar = "half";
      break;
    case ScalarType::f32:
      scalar = "float";
      break;
    case ScalarType::f64:
      scalar = "double";
      break;
    default:
      scalar = (is_signed(type.scalar) ? "std::int" : "std::uint") +
               std::to_string(8 * size_of(type.scalar)) + "_t";
      break;
  }
  const std::string rows = std::to_string(type.rows);
  if (type.shape == ElementType::Shape::vector) return "Vec<" + scalar + ", " + rows + ">";
  if (type.shape == ElementType::Shape::matrix)
    return "Mat<" + scalar + ", " + rows + ", " + std::to_string(type.cols) + ">";
  return scalar;
}

}  // namespace

std::string describe(const Kernel& kernel, const Location& location) {
  if (!kernel.knows(location)) return "kernel " + quote(kernel.name);
  std::string out = kernel.files[location.file] + ":" + std::to_string(location.line);
  if (location.column != 0) out += ":" + std::to_string(location.column);
  return out;
}

bool is_generated_name(std::string_view name, std::size_t index) {
  return name == "p" + std::to_string(index);
}

std::string describe_parameter(const Kernel& kernel, std::size_t index) {
  const Parameter& parameter = kernel.parameters[index];
  if (!is_generated_name(parameter.name, index)) return "@" + parameter.name;
  const std::string type = source_type(parameter.element);
  std::string handle = "Value<" + type + ">";
  if (parameter.kind == Parameter::Kind::array)
    handle = "View<" + type + (parameter.rank != 1 ? ", " + std::to_string(parameter.rank) : "") + ">";
  return "@" + parameter.name + " (" + handle + ")";
}

std::string describe_argument(const Kernel& kernel, std::span<const StructParameter> structs,
                              std::size_t parameter) {
  std::size_t number = parameter + 1, first = parameter;
  std::string_view name = kernel.parameters[parameter].name;
  std::string member;
  for (const StructParameter& array : structs) {
    if (array.first > parameter) break;
    if (array.first == parameter || array.has_member(parameter)) name = array.name(kernel);
    const std::size_t members = std::min(array.members.size(), parameter - array.first);
    number -= members;
    if (!array.has_member(parameter)) continue;
    first = array.first;
    member = ", member " + std::to_string(members);
  }
  const std::string named = is_generated_name(name, first) ? "" : " ('" + std::string(name) + "')";
  return "argument " + std::to_string(number) + named + member;
}

std::string describe_array(const Kernel& kernel, std::span<const StructParameter> structs,
                           std::size_t parameter) {
  for (const StructParameter& array : structs)
    if (array.has_member(parameter)) return array.describe_member(kernel, parameter);
  const std::string& name = kernel.parameters[parameter].name;
  return is_generated_name(name, parameter) ? describe_argument(kernel, structs, parameter)
                                            : "array '" + name + "'";
}

void throw_diagnostics(const Kernel& kernel, std::span<const Diagnostic> diagnostics) {
  std::string message;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!message.empty()) message += '\n';
    message += describe(kernel, diagnostic.location) + ": " + diagnostic.message;
  }
  const Location& first = diagnostics.front().location;
  const bool known = kernel.knows(first);
  throw Error(ErrorCode::kernel, message, kernel.name, known ? kernel.files[first.file] : std::string(),
              first.line);
}

}  // namespace weir::ir
