// SPDX-License-Identifier: Apache-2.0
#include "device.hpp"

#include <cstdlib>

#include "figures.hpp"

namespace weir::bench::gpu {
namespace {

/// An empty kernel with `arrays` addresses and `numbers` 32-bit numbers as parameters.
std::string taking(std::size_t arrays, std::size_t numbers) {
  std::string list;
  for (std::size_t i = 0; i < arrays + numbers; ++i) {
    list += i ? ", " : "";
    list += (i < arrays ? ".param .u64 a" : ".param .u32 a") + std::to_string(i);
  }
  return ".visible .entry take" + std::to_string(arrays + numbers) + "(" + list + ")\n{\n  ret;\n}\n";
}

constexpr const char* bump_text = R"(
.visible .entry bump(.param .u64 at)
{
  .reg .b32 %x;
  .reg .b64 %at;
  ld.param.u64 %at, [at];
  ld.global.u32 %x, [%at];
  add.u32 %x, %x, 1;
  st.global.u32 [%at], %x;
  ret;
}
)";

constexpr const char* spin_text = R"(
.visible .entry spin(.param .u64 cycles)
{
  .reg .pred %more;
  .reg .b64 %cycles, %begin, %now;
  ld.param.u64 %cycles, [cycles];
  mov.u64 %begin, %clock64;
look:
  mov.u64 %now, %clock64;
  sub.u64 %now, %now, %begin;
  setp.lt.u64 %more, %now, %cycles;
  @%more bra look;
  ret;
}
)";

const Module& kernels() {
  static const Module module = device().load_module({.format = "ptx",
                                                     .target = "sm_70",
                                                     .data = std::as_bytes(std::span(kernel_text())),
                                                     .name = "bench kernels"});
  return module;
}

}  // namespace

const Device& device() {
  static const Device one = [] {
    const char* name = std::getenv("WEIR_DEVICE");
    return open(name && *name ? name : "cuda");
  }();
  return one;
}

const std::string& kernel_text() {
  static const std::string text = ".version 6.4\n.target sm_70\n.address_size 64\n" + taking(0, 0) +
                                  taking(2, 2) + taking(9, 10) + bump_text + spin_text;
  return text;
}

KernelFunction kernel(const char* name, std::initializer_list<KernelParameter> parameters) {
  return kernels().kernel(name, parameters);
}

KernelFunction take(std::size_t arguments) {
  const std::size_t arrays = arguments == 19 ? 9 : arguments / 2;
  std::vector<KernelParameter> parameters(arguments, KernelParameter::of<std::uint32_t>());
  for (std::size_t i = 0; i < arrays; ++i) parameters[i] = KernelParameter::array();
  return kernels().kernel("take" + std::to_string(arguments), parameters);
}
KernelFunction bump() {
  return kernel("bump", {KernelParameter::array()});
}
KernelFunction spin() {
  return kernel("spin", {KernelParameter::of<std::uint64_t>()});
}

std::uint64_t cycles_for(double microseconds) {
  static const double cycles_per_microsecond = [] {
    const Stream stream = device().create_stream();
    const KernelFunction kernel = spin();
    constexpr std::uint64_t cycles = 20'000'000;
    kernel.launch(stream, {}, {cycles});  // loads the kernel and raises the clock
    stream.synchronize();
    const double begin = now();
    kernel.launch(stream, {}, {cycles});
    stream.synchronize();
    return static_cast<double>(cycles) / ((now() - begin) * 1e6);
  }();
  return static_cast<std::uint64_t>(microseconds * cycles_per_microsecond);
}

}  // namespace weir::bench::gpu
