// SPDX-License-Identifier: Apache-2.0
// Launches one kernel as often as its argument says, or, for "spin", keeps one running until the process is
// ended.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <weir/weir.hpp>

using namespace weir;

int main(int, char** arguments) try {
  const Device device = open("cpu");
  if (!std::strcmp(arguments[1], "spin")) {
    Kernel spin{"spin_in_debuggers", [](View<std::uint32_t> x) {
                  range_for(1, [&](Index) {
                    while_([&] { return atomic_add(x[0], 1u) != 0xffffffffu; },
                           [&] {});  // the line that is attached to
                  });
                }};
    auto x = device.array<std::uint32_t>(1);
    x.fill(1u);
    spin(x);
    device.default_stream().flush();
    std::puts("spinning");
    std::fflush(stdout);
    device.synchronize();
    return 0;
  }
  Kernel shown{"shown_in_debuggers", [](View<float> x) {
                 range_for(x.size(), [&](Index i) {
                   Value<float> half = x[i] * 0.5f;  // the line that is broken at
                   Value<float> wave = sin(half) + 1.0f;
                   x[i] = wave;  // the last line of the loop
                 });
               }};
  auto x = device.array<float>(100'000);
  x.fill(1.0f);
  for (int i = std::atoi(arguments[1]); i > 0; --i) shown(x);
  std::printf("%g\n", double(x.to_host()[0]));
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
