// SPDX-License-Identifier: Apache-2.0
#include "launcher.hpp"

#include <bit>
#include <cstdio>
#include <cstring>
#include <weir/error.hpp>

#include "tested_device.hpp"

namespace weir::test {

namespace {

std::vector<std::byte> bytes_of(ScalarType type, const std::vector<std::uint64_t>& lanes) {
  const std::size_t size = size_of(type);
  std::vector<std::byte> bytes(lanes.size() * size);
  for (std::size_t i = 0; i < lanes.size(); ++i) std::memcpy(bytes.data() + i * size, &lanes[i], size);
  return bytes;
}

bool is_nan(ScalarType type, std::uint64_t bits) {
  switch (type) {
    case ScalarType::f16:
      return (bits & 0x7fff) > 0x7c00;
    case ScalarType::f32:
      return (bits & 0x7fffffff) > 0x7f800000;
    case ScalarType::f64:
      return (bits & 0x7fffffffffffffff) > 0x7ff0000000000000;
    default:
      return false;
  }
}

std::uint64_t random_scalar(ScalarType type, Choices& choices) {
  if (type == ScalarType::boolean) return choices.below(2);
  std::uint64_t bits = choices.chance(3) ? choices.bits() : choices.below(12);
  if (is_float(type) && choices.chance(2)) {
    const float number = (static_cast<float>(choices.below(4000)) - 2000.0f) / 16.0f;
    if (type == ScalarType::f16) return half{number}.bits();
    if (type == ScalarType::f32) return std::bit_cast<std::uint32_t>(number);
    return std::bit_cast<std::uint64_t>(static_cast<double>(number) * 1.1);
  }
  if (is_signed(type) && choices.chance(4)) bits = ~bits;
  return size_of(type) == 8 ? bits : bits & ((std::uint64_t{1} << (8 * size_of(type))) - 1);
}

}  // namespace

Device tested() {
  static const Device device = open(tested_device());
  return device;
}

LaunchData random_data(const RunnableKernel& runnable, Choices& choices) {
  LaunchData data;
  data.extents = runnable.extents;
  for (std::size_t p = 0; p < runnable.kernel.parameters.size(); ++p) {
    const ElementType& element = runnable.kernel.parameters[p].element;
    std::size_t count = element.lanes();
    for (const std::int64_t extent : runnable.extents[p]) count *= static_cast<std::size_t>(extent);
    auto& lanes = data.lanes.emplace_back(count);
    for (std::uint64_t& lane : lanes) lane = random_scalar(element.scalar, choices);
  }
  return data;
}

std::uint64_t CompiledMath::operator()(const ir::Statement& s, std::span<const ScalarType> types,
                                       std::span<const std::uint64_t> operands) {
  const std::string name(info(static_cast<ir::MathFunction>(s.index)).name);
  const std::string key = name + " " + std::string(to_string(types[0]));
  const auto [found, added] = known_.try_emplace({key, {operands.begin(), operands.end()}}, 0);
  if (!added) return found->second;
  auto program = programs_.find(key);
  if (program == programs_.end()) {
    std::string parameters, loads, list;
    for (std::size_t i = 0; i < types.size(); ++i) {
      const std::string n = std::to_string(i), type(to_string(types[i]));
      parameters += "param @a" + n + " : " + type + "\n";
      loads += "%a" + n + " = arg @a" + n + " : " + type + "\n";
      list += (i ? ", %a" : "%a") + n;
    }
    const std::string type(to_string(s.type));
    program =
        programs_
            .emplace(key, Program::parse("weir-ir 1\nkernel \"" + name + "\"\n" + parameters +
                                         "param @r : array<" + type + ", 1>\n{\n%zero = const 0 : i64\n" +
                                         loads + "%v = math." + name + " " + list + " : " + type +
                                         "\nstore @r[%zero], %v\n}\n"))
            .first;
  }
  static Stream stream = tested().create_stream();
  static const std::int64_t one[] = {1};
  const AnyArray result(stream, ElementType{s.type}, one);
  std::vector<LaunchArgument> arguments(types.size() + 1);
  for (std::size_t i = 0; i < types.size(); ++i) {
    arguments[i].data = &operands[i];
    arguments[i].element = ElementType{types[i]};
  }
  arguments.back().array = &result;
  program->second.launch(stream, arguments);
  std::uint64_t bits = 0;
  result.copy_to_bytes(stream, std::as_writable_bytes(std::span(&bits, 1)).first(size_of(s.type)));
  return found->second = bits;
}

Launch::Launch(const ir::Kernel& kernel, const LaunchData& data)
    : kernel_(kernel), stream_(tested().create_stream()), arrays_(kernel.parameters.size()) {
  for (std::size_t p = 0; p < kernel.parameters.size(); ++p) {
    const ElementType element = kernel.parameters[p].element;
    scalars_.push_back(bytes_of(element.scalar, data.lanes[p]));
    if (kernel.parameters[p].kind != ir::Parameter::Kind::array) continue;
    arrays_[p] = AnyArray(stream_, element, data.extents[p]);
    arrays_[p].copy_from_bytes(stream_, scalars_[p]);
  }
}

void Launch::submit(const Program& program, const LaunchOptions& options) {
  std::vector<LaunchArgument> arguments;
  for (std::size_t p = 0; p < kernel_.parameters.size(); ++p) {
    const bool array = kernel_.parameters[p].kind == ir::Parameter::Kind::array;
    arguments.push_back(
        {array ? &arrays_[p] : nullptr, array ? nullptr : scalars_[p].data(), kernel_.parameters[p].element});
  }
  program.launch(stream_, arguments, options);
}

std::optional<std::string> Launch::finish() {
  try {
    stream_.synchronize();
  } catch (const Error& error) {
    return error.what();
  }
  return std::nullopt;
}

std::string Launch::difference(const Machine& machine) const {
  for (std::size_t p = 0; p < arrays_.size(); ++p) {
    if (kernel_.parameters[p].kind != ir::Parameter::Kind::array) continue;
    const ScalarType type = kernel_.parameters[p].element.scalar;
    const std::size_t size = size_of(type);
    std::vector<std::byte> bytes(arrays_[p].size_bytes());
    arrays_[p].copy_to_bytes(stream_, bytes);
    const std::vector<std::uint64_t>& expected = machine.lanes(p);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      std::uint64_t found = 0;
      std::memcpy(&found, bytes.data() + i * size, size);
      if (found == expected[i] || (is_nan(type, found) && is_nan(type, expected[i]))) continue;
      char words[160];
      std::snprintf(words, sizeof words, "@%s, scalar %zu: found %#llx, expected %#llx",
                    kernel_.parameters[p].name.c_str(), i, static_cast<unsigned long long>(found),
                    static_cast<unsigned long long>(expected[i]));
      return words;
    }
  }
  return {};
}

}  // namespace weir::test
