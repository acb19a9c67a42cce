// SPDX-License-Identifier: Apache-2.0
// Random kernels whose arrays are members of struct arrays: in every layout they produce the results that the
// interpreter gives for ordinary arrays.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <weir/struct_array.hpp>

#include "ir/printer.hpp"
#include "launcher.hpp"
#include "passes/place_members.hpp"
#include "tested_device.hpp"

namespace weir::test {
namespace {

constexpr std::byte padding{0xcd};

/// Each array of a kernel as the only member of a struct array, with padding around the member and in it.
class Structured {
 public:
  Structured(const RunnableKernel& runnable, Choices& choices)
      : kernel(runnable.kernel), extents_(runnable.extents), choices_(choices) {
    kernel.parameters.clear();
    for (std::size_t p = 0; p < extents_.size(); ++p) {
      const ir::Parameter& parameter = runnable.kernel.parameters[p];
      if (parameter.kind == ir::Parameter::Kind::array) add_array(parameter, extents_[p]);
      places_.push_back(static_cast<std::uint32_t>(kernel.parameters.size()));
      kernel.parameters.push_back(parameter);
    }
    rename(kernel.body);
  }

  ir::Kernel kernel;
  std::vector<ir::StructParameter> structs;

 private:
  void add_array(const ir::Parameter& parameter, const std::vector<std::int64_t>& extents) {
    ir::Parameter size;
    size.name = parameter.name + "_size";
    size.element = ElementType{ScalarType::i64};
    const auto first = static_cast<std::uint32_t>(kernel.parameters.size());
    kernel.parameters.push_back(size);

    const auto scalar = static_cast<std::uint32_t>(size_of(parameter.element.scalar));
    const auto gap = [&] { return scalar * static_cast<std::uint32_t>(choices_.below(4)); };
    detail::StructMember member;
    member.element = parameter.element;
    member.offset = gap();
    member.rank = static_cast<std::uint8_t>(extents.size() - 1);
    auto bytes = static_cast<std::uint32_t>(parameter.element.size());
    for (std::size_t d = member.rank; d-- > 0;) {
      member.extents[d] = static_cast<std::uint32_t>(extents[d + 1]);
      member.strides[d] = bytes + gap();
      bytes = member.strides[d] * member.extents[d];
    }
    structs.push_back({first, member.offset + bytes + gap() + scalar, {member}});
  }

  void rename(ir::Block& block) {
    for (ir::Statement& s : block.statements) {
      for (ir::Block& body : s.bodies) rename(body);
      switch (s.op) {
        case ir::Op::extent:
          take_extent(s);
          break;
        case ir::Op::argument:
        case ir::Op::load:
        case ir::Op::store:
        case ir::Op::atomic:
          s.index = places_[s.index];
          break;
        default:
          break;
      }
    }
  }
  void take_extent(ir::Statement& s) {
    if (s.component == 0) {
      s.op = ir::Op::argument;
      s.index = places_[s.index] - 1;
      return;
    }
    s.op = ir::Op::constant;
    s.immediate = static_cast<std::uint64_t>(extents_[s.index][s.component]);
    s.index = s.component = 0;
  }

  const std::vector<std::vector<std::int64_t>>& extents_;
  Choices& choices_;
  std::vector<std::uint32_t> places_;  // of the parameters of the kernel without structs
};

/// Structs of one member on the host.
struct HostStructs {
  HostStructs(const ir::StructParameter& array, std::size_t size_)
      : type{array.size_bytes, array.members}, size(size_), bytes(size_ * array.size_bytes, padding) {}

  /// Calls `visit` with the offset and the number of each of the members' scalars.
  template <class Visit>
  void each_scalar(Visit&& visit) const {
    const detail::StructMember& member = type.members[0];
    const std::uint64_t components = member.element.components(), scalar = size_of(member.element.scalar);
    for (std::uint64_t i = 0; i < size * member.count() * components; ++i) {
      std::uint64_t rest = i / components, offset = member.offset + i % components * scalar;
      for (std::size_t d = member.rank; d-- > 0; rest /= member.extents[d])
        offset += rest % member.extents[d] * member.strides[d];
      visit(rest * type.size_bytes + offset, i);
    }
  }

  detail::StructType type;
  std::size_t size;
  std::vector<std::byte> bytes;
};

/// One launch in a layout. Returns the arrays as Launch::components() does, and checks the padding.
Components run(const Structured& structured, const RunnableKernel& runnable, const LaunchData& data,
               const Layout& layout, const LaunchOptions& options, std::optional<std::string>& failure) {
  ir::Kernel kernel = structured.kernel;
  const std::vector<Layout> layouts(structured.structs.size(), layout);
  passes::place_members(kernel, structured.structs, layouts, kernel.options.check_bounds);
  const Program program = Program::parse(ir::print(kernel));
  const Device device = open(tested_device());
  const Stream stream = device.create_stream();

  const auto& parameters = runnable.kernel.parameters;
  std::vector<HostStructs> hosts;
  std::vector<Array<std::uint8_t>> memory;
  std::vector<AnyArrayView> views(parameters.size());
  std::vector<std::int64_t> sizes(parameters.size());
  std::vector<std::vector<std::byte>> scalars(parameters.size());
  std::vector<LaunchArgument> arguments;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const std::size_t scalar = size_of(parameters[p].element.scalar);
    const std::vector<std::uint64_t>& values = data.components[p];
    if (parameters[p].kind != ir::Parameter::Kind::array) {
      scalars[p].resize(values.size() * scalar);
      for (std::size_t i = 0; i < values.size(); ++i)
        std::memcpy(scalars[p].data() + i * scalar, &values[i], scalar);
      arguments.push_back({nullptr, scalars[p].data(), parameters[p].element});
      continue;
    }
    sizes[p] = runnable.extents[p][0];
    HostStructs& host =
        hosts.emplace_back(structured.structs[hosts.size()], static_cast<std::size_t>(sizes[p]));
    host.each_scalar(
        [&](std::uint64_t at, std::uint64_t i) { std::memcpy(&host.bytes[at], &values[i], scalar); });
    const std::int64_t bytes = detail::struct_array_bytes(host.type, layout, sizes[p]);
    memory.push_back(device.array<std::uint8_t>(stream, bytes));
    const bool plain = layout.kind() == Layout::Kind::structs;
    memory.back().copy_from_bytes(
        stream, plain ? host.bytes : detail::arrange_structs(host.type, layout, host.size, host.bytes));
    detail::member_arguments(memory.back(), host.type, layout, host.size, &views[p]);
    arguments.push_back({nullptr, &sizes[p], element_type<std::int64_t>});
    arguments.push_back({&views[p], nullptr, views[p].element()});
  }
  program.launch(stream, arguments, options);
  try {
    stream.synchronize();
  } catch (const Error& error) {
    failure = error.what();
  }

  Components result(parameters.size());
  for (std::size_t p = 0, a = 0; p < parameters.size(); ++p) {
    if (parameters[p].kind != ir::Parameter::Kind::array) continue;
    const std::size_t scalar = size_of(parameters[p].element.scalar);
    HostStructs& host = hosts[a];
    std::vector<std::byte> bytes(memory[a].size());
    memory[a++].copy_to_bytes(stream, bytes);
    if (layout.kind() == Layout::Kind::structs)
      host.bytes = bytes;
    else
      detail::collect_structs(host.type, layout, host.size, bytes, host.bytes);
    result[p].resize(data.components[p].size());
    host.each_scalar([&](std::uint64_t at, std::uint64_t i) {
      std::memcpy(&result[p][i], &host.bytes[at], scalar);
      std::fill_n(host.bytes.begin() + static_cast<std::ptrdiff_t>(at), scalar, padding);
    });
    EXPECT_EQ(std::ranges::count(host.bytes, padding), std::ssize(host.bytes)) << parameters[p].name;
  }
  return result;
}

/// Returns false if the interpreter stopped because the kernel runs too long.
bool compare(std::uint64_t seed, CompiledMath& math) {
  Choices choices(seed);
  const RunnableKernel runnable = runnable_kernel(choices);
  for (const ir::Parameter& parameter : runnable.kernel.parameters)
    if (parameter.kind == ir::Parameter::Kind::array && parameter.rank == 0)
      return false;  // structs are in arrays of one dimension at least
  LaunchData data = random_data(runnable, choices);
  data.launch_key = launch_key(seed, 0);
  Machine machine(runnable.kernel, data, std::ref(math));
  try {
    machine.run_kernel(300'000);
  } catch (const CannotRun&) {
    return false;
  }
  const Structured structured(runnable, choices);
  for (const Layout& layout :
       {Layout::array_of_structs(), Layout::struct_of_arrays(), Layout::blocks(2), Layout::blocks(32)}) {
    std::optional<std::string> failure;
    const Components found = run(structured, runnable, data, layout, {seed, 0}, failure);
    EXPECT_EQ(failure.has_value(), machine.failed())
        << to_string(layout) << " said: " << failure.value_or("nothing") << "\n"
        << ir::print(structured.kernel);
    if (machine.failed_between_loops()) continue;
    EXPECT_EQ(difference(runnable, found, components_of(runnable, machine)), "")
        << to_string(layout) << "\n"
        << ir::print(structured.kernel);
  }
  return true;
}

TEST(Layouts, RandomKernelsDoWhatTheyDoWithOrdinaryArrays) {
  CompiledMath math(open(tested_device()));
  int ran = 0;
  for (std::uint64_t seed = 5000; seed < 5300 && ran < 30 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    try {
      if (compare(seed, math)) ++ran;
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
  if (!HasFailure()) {
    EXPECT_EQ(ran, 30) << "too few kernels ran for a meaningful result";
  }
}

}  // namespace
}  // namespace weir::test
