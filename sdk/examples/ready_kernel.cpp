// SPDX-License-Identifier: Apache-2.0
// Launches a kernel of another compiler: a code object, its parameters, a grid. No kernel language.
//   ready_kernel                                    the build's code object of ready_kernel_code.c, on the
//   CPU
//   CODE_OBJECT=ready_kernel_code.ptx ready_kernel  the same kernel on an NVIDIA GPU
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>
#include <weir/weir.hpp>

using namespace weir;

static std::vector<char> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

int main() try {
  // The format of the code object determines its devices. The target names the processors that the code
  // requires; the driver refuses code that its device cannot run. `weir info` lists formats and targets.
  const char* const given = std::getenv("CODE_OBJECT");
  const std::string path = given ? given : CODE_OBJECT;
  const bool ptx = path.ends_with(".ptx");
  Device device = open(ptx ? "cuda" : "cpu");
  const std::vector<char> code = read_file(path);
  Module module = device.load_module({.format = ptx ? "ptx" : "elf-x86_64",
                                      .target = ptx ? "sm_70" : "x86-64",
                                      .data = std::as_bytes(std::span(code)),
                                      .name = "ready_kernel"});

  // The parameters of the code. Arguments are checked against this list at every launch.
  using P = KernelParameter;
  KernelFunction polynomial = module.kernel("polynomial", {P::array(), P::array(), P::of<std::int64_t>(),
                                                           P::of<float>(), P::of<float>(), P::of<float>()});

  Stream stream = device.create_stream();
  CurrentStream scope{stream};
  constexpr std::int64_t n = 1'000'000;
  auto x = device.array<float>(n), y = device.array<float>(n);
  x.fill(3.0f);

  // The code and the launch must agree on a block's work: 256 threads for one element each on the GPU, a loop
  // over 1024 elements on the CPU.
  const std::uint32_t block = ptx ? 256 : 1;
  const std::int64_t elements_per_block = ptx ? 256 : 1024;
  const Dim3 grid(static_cast<std::uint32_t>((n + elements_per_block - 1) / elements_per_block));
  polynomial.launch(stream, {.grid = grid, .block = block}, {x, y, n, 2.0f, -1.0f, 0.5f});

  const std::vector<float> result = y.to_host();
  for (std::int64_t i = 0; i < n; ++i) {
    if (result[i] != 15.5f) {  // 2 * 9 - 3 + 0.5
      std::fprintf(stderr, "ready_kernel: y[%lld] is %g, expected 15.5\n", (long long)i, result[i]);
      return 1;
    }
  }

  // Mismatched arguments are refused before anything is submitted.
  try {
    polynomial.launch(stream, {.grid = grid, .block = block}, {x, y});
    std::fprintf(stderr, "ready_kernel: a launch with two of six arguments was accepted\n");
    return 1;
  } catch (const Error& error) {
    std::printf("ready_kernel: the result is correct; as expected, the next launch was refused:\n  %s\n",
                error.what());
  }
} catch (const Error& error) {
  std::fprintf(stderr, "ready_kernel: %s\n", error.what());
  return 1;
}
