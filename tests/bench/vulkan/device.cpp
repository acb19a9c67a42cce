// SPDX-License-Identifier: Apache-2.0
#include "device.hpp"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cases.hpp"

namespace weir::bench::vulkan {

const Device& device() {
  static const Device one = [] {
    const char* const given = std::getenv("WEIR_DEVICE");
    const std::string_view name = given && *given ? given : "vulkan";
    if (name.substr(0, name.find(':')) != "vulkan")
      throw Skipped("WEIR_DEVICE is '" + std::string(name) + "', which is no Vulkan device");
    return open(name);
  }();
  return one;
}

bool is_cpu() {
  return device().info().kind == DeviceKind::cpu;
}

namespace {
KernelFunction load(Words code, std::span<const KernelParameter> parameters) {
  const Module module = device().load_module({.format = "spirv-vulkan",
                                              .target = "vulkan1.3",
                                              .data = std::as_bytes(code),
                                              .name = "bench kernels"});
  return module.kernel("main", parameters);
}
}  // namespace

KernelFunction load_take(std::size_t arguments) {
  const std::size_t arrays = arrays_of_take(arguments);
  std::vector<KernelParameter> parameters(arguments, KernelParameter::of<std::uint32_t>());
  for (std::size_t i = 0; i < arrays; ++i) parameters[i] = KernelParameter::array();
  return load(take.ours, parameters);
}

KernelFunction load_bump() {
  const KernelParameter parameters[] = {KernelParameter::array()};
  return load(bump.ours, parameters);
}

KernelFunction load_spin() {
  const KernelParameter parameters[] = {KernelParameter::array(), KernelParameter::of<std::uint32_t>()};
  return load(spin.ours, parameters);
}

std::uint32_t rounds_for(double microseconds) {
  constexpr std::uint32_t most = 60'000;  // llvmpipe ends a thread's loops after 65,535 iterations
  static const double rounds_per_microsecond = [] {
    const Stream stream = device().create_stream();
    const KernelFunction kernel = load_spin();
    const auto to = device().array<std::uint32_t>(stream, 1);
    constexpr std::uint32_t rounds = 10'000;
    const auto run = [&] {
      kernel.launch(stream, {}, {to, rounds});
      stream.synchronize();
    };
    run();  // makes the pipeline and raises the clock
    const double begin = now();
    run();
    return rounds / ((now() - begin) * 1e6);
  }();
  return static_cast<std::uint32_t>(
      std::clamp(microseconds * rounds_per_microsecond, 1.0, static_cast<double>(most)));
}

}  // namespace weir::bench::vulkan
