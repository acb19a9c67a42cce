// SPDX-License-Identifier: Apache-2.0
#include "command_line_values.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <weir/files.hpp>

#include "command.hpp"
#include "ir/literals.hpp"

namespace weir::tool {
namespace {

// For an invalid word on the command line.
[[noreturn]] void fail(const ParameterInfo& parameter, const std::string& what) {
  throw UsageError("parameter " + parameter.name + ": " + what);
}

// For a file whose content does not fit the parameter.
[[noreturn]] void refuse_file(const ParameterInfo& parameter, const std::string& what) {
  throw Error(ErrorCode::invalid, "parameter " + parameter.name + ": " + what);
}

std::string describe(const ParameterInfo& parameter) {
  if (parameter.kind == ParameterInfo::Kind::scalar) return to_string(parameter.element);
  return "array<" + to_string(parameter.element) + ", " + std::to_string(parameter.rank) + ">";
}

std::string count_of(std::size_t count, std::string_view thing) {
  return std::to_string(count) + " " + std::string(thing) + (count == 1 ? "" : "s");
}

/// Numbers are those of constants in the text form; a bool may also be 0 or 1.
bool parse_component(ScalarType type, std::string_view word, std::byte* out) {
  if (type == ScalarType::boolean && (word == "0" || word == "1")) word = word == "1" ? "true" : "false";
  const auto bits = word == "nan" && is_float(type) ? std::optional(ir::canonical_nan(type))
                                                    : ir::constant_bits(word, type);
  if (bits) std::memcpy(out, &*bits, size_of(type));  // the low bytes come first
  return bits.has_value();
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t end = text.find(separator);
    words.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return words;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::byte> parse_scalar(const ParameterInfo& parameter, std::string_view text) {
  const std::vector<std::string_view> words = split(text, ',');
  if (words.size() != parameter.element.components())
    fail(parameter, describe(parameter) + " takes " + count_of(parameter.element.components(), "number") +
                        ", separated by commas, found '" + std::string(text) + "'");
  const std::size_t size = size_of(parameter.element.scalar);
  std::vector<std::byte> bytes(parameter.element.size());
  for (std::size_t i = 0; i < words.size(); ++i)
    if (!parse_component(parameter.element.scalar, words[i], bytes.data() + i * size))
      fail(parameter, "expected a value of type " + std::string(to_string(parameter.element.scalar)) +
                          ", found '" + std::string(words[i]) + "'");
  return bytes;
}

std::vector<std::int64_t> parse_extents(const ParameterInfo& parameter, std::string_view text) {
  std::vector<std::int64_t> extents;
  if (text.empty() && parameter.rank == 0) return extents;
  for (const std::string_view word : split(text, 'x')) {
    std::int64_t extent = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), extent);
    if (error != std::errc{} || end != word.data() + word.size() || extent < 0)
      fail(parameter, "expected extents such as zeros:100x20, found 'zeros:" + std::string(text) + "'");
    extents.push_back(extent);
  }
  if (extents.size() != parameter.rank)
    fail(parameter, describe(parameter) + " has " + count_of(parameter.rank, "extent") + ", found " +
                        std::to_string(extents.size()));
  return extents;
}

AnyArray load_array(const ParameterInfo& parameter, const std::string& file, const StreamRef& stream) {
  const HostArray array = read_npy(file);
  try {
    return to_device(stream, array, parameter.element, parameter.rank);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid) throw;
  }
  std::string shape;
  for (const std::int64_t extent : array.shape) shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
  refuse_file(parameter, "takes " + describe(parameter) + ", but " + file + " holds " +
                             std::string(to_string(array.type)) + " and its shape is (" + shape + ")");
}

AnyArray zeros(const ParameterInfo& parameter, std::span<const std::int64_t> extents,
               const StreamRef& stream) {
  AnyArray array(stream, parameter.element, extents);
  array.fill_zero(stream);
  return array;
}

/// Runs before the check for missing arguments, since a missing argument may have been misspelled.
void refuse_unknown(const Program& program, const std::map<std::string, std::string>& values) {
  std::string known;
  for (const ParameterInfo& parameter : program.parameters()) known += " " + parameter.name;
  for (const auto& [name, value] : values)
    if (std::ranges::find(program.parameters(), name, &ParameterInfo::name) == program.parameters().end())
      throw UsageError("kernel " + program.name() + " has no parameter '" + name + "'; it has:" + known);
}

}  // namespace

std::map<std::string, std::string> split_assignments(const std::vector<std::string>& words,
                                                     const char* option) {
  std::map<std::string, std::string> result;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0)
      throw UsageError(std::string(option) + " takes NAME=VALUE, found '" + word + "'");
    if (!result.emplace(word.substr(0, equals), word.substr(equals + 1)).second)
      throw UsageError(std::string(option) + " names '" + word.substr(0, equals) + "' twice");
  }
  return result;
}

KernelArguments::KernelArguments(const Program& program, const std::map<std::string, std::string>& values,
                                 const StreamRef& stream) {
  refuse_unknown(program, values);
  for (const ParameterInfo& parameter : program.parameters()) {
    Slot slot{parameter, {}, {}};
    const auto found = values.find(parameter.name);
    const bool given = found != values.end();
    const std::string value = given ? found->second : "";
    if (parameter.kind == ParameterInfo::Kind::scalar) {
      if (!given)
        fail(parameter, "not given; add --arg " + parameter.name + "=VALUE (" + describe(parameter) + ")");
      slot.scalar = parse_scalar(parameter, value);
    } else if (value.starts_with('@')) {
      slot.array = load_array(parameter, value.substr(1), stream);
    } else if (value.starts_with("zeros:")) {
      slot.array = zeros(parameter, parse_extents(parameter, std::string_view(value).substr(6)), stream);
    } else if (given || !parameter.written) {
      fail(parameter, (given ? "found '" + value + "'" : std::string("not given")) + "; " +
                          describe(parameter) + " takes @FILE.npy or zeros:EXTENTS");
    }
    slots_.push_back(std::move(slot));
  }
  // Omitted arrays take the extents of the first given array of their rank.
  for (Slot& slot : slots_) {
    if (slot.parameter.kind != ParameterInfo::Kind::array || slot.array.alive()) continue;
    if (slot.parameter.rank == 0) {
      slot.array = zeros(slot.parameter, {}, stream);
      continue;
    }
    for (const Slot& other : slots_) {
      if (!other.array.alive() || other.parameter.rank != slot.parameter.rank) continue;
      std::vector<std::int64_t> extents;
      for (std::size_t d = 0; d < other.array.rank(); ++d) extents.push_back(other.array.extent(d));
      slot.array = zeros(slot.parameter, extents, stream);
      break;
    }
    if (!slot.array.alive())
      fail(slot.parameter, "has no known extents; add --arg " + slot.parameter.name + "=zeros:EXTENTS");
  }
}

std::vector<LaunchArgument> KernelArguments::launch_arguments() const {
  std::vector<LaunchArgument> result;
  for (const Slot& slot : slots_) {
    LaunchArgument argument;
    argument.element = slot.parameter.element;
    if (slot.parameter.kind == ParameterInfo::Kind::array)
      argument.array = &slot.array;
    else
      argument.data = slot.scalar.data();
    result.push_back(argument);
  }
  return result;
}

std::vector<std::string> KernelArguments::descriptions() const {
  std::vector<std::string> lines;
  for (const Slot& slot : slots_) {
    std::string line = slot.parameter.name + ": " + describe(slot.parameter);
    if (slot.parameter.kind == ParameterInfo::Kind::array) {
      std::string extents;
      for (std::size_t d = 0; d < slot.array.rank(); ++d)
        extents += (extents.empty() ? "" : "x") + std::to_string(slot.array.extent(d));
      line += (extents.empty() ? "" : " of " + extents) + ", " + std::to_string(slot.array.size_bytes()) +
              " bytes";
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

void KernelArguments::write(const std::string& name, const std::string& file, const StreamRef& stream) const {
  for (const Slot& slot : slots_) {
    if (slot.parameter.name != name || slot.parameter.kind != ParameterInfo::Kind::array) continue;
    write_npy(file, to_host(stream, slot.array));
    return;
  }
  throw UsageError("--out names '" + name + "', expected an array parameter of the kernel");
}

}  // namespace weir::tool
