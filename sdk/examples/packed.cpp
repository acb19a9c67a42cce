// SPDX-License-Identifier: Apache-2.0
// Kernels compiled when the program is built, by weir_add_kernels() in CMakeLists.txt: one written in C++,
// and one in text form. The program starts without weir-codegen and LLVM.
#include <cmath>
#include <cstdio>
#include <vector>
#include <weir/weir.hpp>

#include "packed_kernels.hpp"

using namespace weir;

int main() try {
  Device device = open();
  Stream stream = device.create_stream();
  CurrentStream scope{stream};

  Array<float> x = device.array<float>(1000);
  x.fill(2.0f);
  decay(x, 1.0f);

  // Kernels in text form are found by their name.
  const Program twice = Program::load("twice");
  const AnyArrayView view = x;
  const LaunchArgument arguments[] = {{.array = &view, .element = view.element()}};
  twice.launch(stream, arguments);

  const float expected = 2.0f * 2.0f * std::exp(-1.0f);
  for (const float value : x.to_host()) {
    if (std::abs(value - expected) > 1e-6f) {
      std::fprintf(stderr, "packed: found %g, expected %g\n", value, expected);
      return 1;
    }
  }
  std::printf("packed: x is %g on %s\n", expected, device.name().c_str());
} catch (const Error& error) {
  std::fprintf(stderr, "packed: %s\n", error.what());
  return 1;
}
