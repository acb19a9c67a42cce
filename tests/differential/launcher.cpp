// SPDX-License-Identifier: Apache-2.0
#include "launcher.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <weir/error.hpp>

#include "ir/literals.hpp"

namespace weir::test {

namespace {

std::vector<std::byte> bytes_of(ScalarType type, const std::vector<std::uint64_t>& components) {
  const std::size_t size = size_of(type);
  std::vector<std::byte> bytes(components.size() * size);
  for (std::size_t i = 0; i < components.size(); ++i)
    std::memcpy(bytes.data() + i * size, &components[i], size);
  return bytes;
}

std::uint64_t random_scalar(ScalarType type, Choices& choices) {
  if (type == ScalarType::boolean) return choices.below(2);
  if (is_float(type) && choices.chance(8)) {
    // Zeros, infinities, NaN, the least and the largest numbers, of both signs.
    const std::uint64_t one = type == ScalarType::f16   ? 0x7c00
                              : type == ScalarType::f32 ? 0x7f800000
                                                        : 0x7ff0000000000000;
    const std::uint64_t special[] = {0, 1, one, one - 1, one | one >> 1, one & ~(one << 1 & one)};
    const std::uint64_t sign = std::uint64_t{choices.below(2)} << (8 * size_of(type) - 1);
    return special[choices.below(6)] | sign;
  }
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

std::uint64_t launch_key(std::uint64_t seed, std::uint64_t number) {
  const auto mix = [](std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  };
  return mix(mix(seed + 0x9e3779b97f4a7c15u) + number);
}

LaunchData random_data(const RunnableKernel& runnable, Choices& choices) {
  LaunchData data;
  data.extents = runnable.extents;
  for (std::size_t p = 0; p < runnable.kernel.parameters.size(); ++p) {
    const ElementType& element = runnable.kernel.parameters[p].element;
    std::size_t count = element.components();
    for (const std::int64_t extent : runnable.extents[p]) count *= static_cast<std::size_t>(extent);
    auto& components = data.components.emplace_back(count);
    for (std::uint64_t& component : components) component = random_scalar(element.scalar, choices);
  }
  return data;
}

namespace {

/// The part of a view that begins one element or row later.
struct Shifted : AnyArrayView {
  explicit Shifted(const AnyArrayView& all) : AnyArrayView(all) {}
  AnyArrayView view() const { return sliced(0, 1, extent(0), 1); }
};

constexpr std::byte gap{0x5a};

/// A place in memory for `extents` elements: the dimensions in any order, each with a step and a gap, some
/// against the addresses. The strides are in scalars.
struct Place {
  std::uint64_t first = 0, scalars = 0;
  std::vector<std::int64_t> strides;
};
Place random_place(const std::vector<std::int64_t>& extents, std::size_t components, Choices& choices) {
  Place place{choices.below(5), 0, std::vector<std::int64_t>(extents.size())};
  std::vector<std::size_t> order(extents.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t d = order.size(); d-- > 1;) std::swap(order[d], order[choices.below(d + 1)]);
  std::uint64_t pitch = components;
  for (const std::size_t d : order) {
    pitch = pitch * (1 + choices.below(3)) + choices.below(3);
    place.strides[d] = static_cast<std::int64_t>(pitch);
    const std::uint64_t reach = pitch * static_cast<std::uint64_t>(std::max<std::int64_t>(extents[d], 1) - 1);
    if (choices.chance(4)) {
      place.strides[d] = -place.strides[d];
      place.first += reach;
    }
    pitch += reach;
  }
  place.scalars = place.first + pitch + choices.below(5);
  return place;
}

}  // namespace

/// Gives the array of parameter `p` another place in memory, whose bytes between the elements are `gap`.
void Launch::place(std::uint32_t p, const std::vector<std::int64_t>& extents, Choices& choices) {
  const ElementType element = runnable_.kernel.parameters[p].element;
  const Place place = random_place(extents, element.components(), choices);
  const std::int64_t scalars[] = {static_cast<std::int64_t>(place.scalars)};
  memory_[p] = AnyArray(stream_, ElementType{element.scalar}, scalars);
  memory_[p].copy_from_bytes(stream_, std::vector<std::byte>(memory_[p].size_bytes(), gap));
  views_[p] = memory_[p].with_strides(place.first * size_of(element.scalar), element, extents, place.strides);
}

bool Launch::gaps_are_unchanged() const {
  for (std::size_t p = 0; p < views_.size(); ++p) {
    if (views_[p].contiguous() || !runnable_.has_own_memory(std::uint32_t(p))) continue;
    views_[p].copy_from_bytes(stream_, std::vector<std::byte>(views_[p].size_bytes(), gap));
    std::vector<std::byte> memory(memory_[p].size_bytes());
    memory_[p].copy_to_bytes(stream_, memory);
    if (std::ranges::count(memory, gap) != std::ssize(memory)) return false;
  }
  return true;
}

Launch::Launch(const RunnableKernel& runnable, const LaunchData& data, const Device& device, Choices* strides)
    : runnable_(runnable),
      stream_(device.create_stream()),
      memory_(runnable.kernel.parameters.size()),
      views_(runnable.kernel.parameters.size()) {
  const ir::Kernel& kernel = runnable.kernel;
  for (std::uint32_t p = 0; p < kernel.parameters.size(); ++p) {
    const ElementType element = kernel.parameters[p].element;
    scalars_.push_back(bytes_of(element.scalar, data.components[p]));
    if (kernel.parameters[p].kind != ir::Parameter::Kind::array || !runnable.has_own_memory(p)) continue;
    std::vector<std::int64_t> extents = data.extents[p];
    const bool shifted =
        std::find(runnable.shifted.begin(), runnable.shifted.end(), p) != runnable.shifted.end();
    if (strides && !shifted && !extents.empty() && !std::ranges::count(extents, 0) && strides->chance(2)) {
      place(p, extents, *strides);
    } else {
      if (shifted) ++extents[0];
      memory_[p] = AnyArray(stream_, element, extents);
      views_[p] = shifted ? Shifted(memory_[p]).view() : memory_[p];
    }
    if (!views_[p].empty()) views_[p].copy_from_bytes(stream_, scalars_[p]);
  }
  for (std::uint32_t p = 0; p < runnable.memory.size(); ++p)
    if (runnable.memory[p] != p) views_[p] = views_[runnable.memory[p]];
  if (runnable.shadow != RunnableKernel::none) {  // the first element as a separate array
    const AnyArrayView& all = views_[runnable.shadowed];
    const std::int64_t one[] = {1};
    views_[runnable.shadow] = all.reinterpreted(0, all.element(), one);
  }
}

void Launch::submit(const Program& program, const LaunchOptions& options) {
  const auto& parameters = runnable_.kernel.parameters;
  std::vector<LaunchArgument> arguments;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const bool array = parameters[p].kind == ir::Parameter::Kind::array;
    arguments.push_back(
        {array ? &views_[p] : nullptr, array ? nullptr : scalars_[p].data(), parameters[p].element});
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

Components Launch::components() const {
  Components result(views_.size());
  for (std::size_t p = 0; p < views_.size(); ++p) {
    if (runnable_.kernel.parameters[p].kind != ir::Parameter::Kind::array ||
        !runnable_.has_own_memory(std::uint32_t(p)))
      continue;
    const std::size_t size = size_of(runnable_.kernel.parameters[p].element.scalar);
    std::vector<std::byte> bytes(views_[p].size_bytes());
    if (!bytes.empty()) views_[p].copy_to_bytes(stream_, bytes);
    result[p].resize(bytes.size() / size);
    for (std::size_t i = 0; i < result[p].size(); ++i)
      std::memcpy(&result[p][i], bytes.data() + i * size, size);
  }
  return result;
}

Components components_of(const RunnableKernel& runnable, const Machine& machine) {
  Components result(runnable.kernel.parameters.size());
  for (std::size_t p = 0; p < result.size(); ++p)
    if (runnable.kernel.parameters[p].kind == ir::Parameter::Kind::array &&
        runnable.has_own_memory(std::uint32_t(p)))
      result[p] = machine.components(p);
  return result;
}

std::string difference(const RunnableKernel& runnable, const Components& found, const Components& expected) {
  for (std::size_t p = 0; p < found.size(); ++p) {
    const ir::Parameter& parameter = runnable.kernel.parameters[p];
    const ScalarType type = parameter.element.scalar;
    for (std::size_t i = 0; i < expected[p].size(); ++i) {
      const std::uint64_t is = found[p].at(i), should = expected[p][i];
      if (is == should || (ir::is_nan(type, is) && ir::is_nan(type, should))) continue;
      char words[160];
      std::snprintf(words, sizeof words, "@%s, scalar %zu: found %#llx, expected %#llx",
                    parameter.name.c_str(), i, static_cast<unsigned long long>(is),
                    static_cast<unsigned long long>(should));
      return words;
    }
  }
  return {};
}

}  // namespace weir::test
