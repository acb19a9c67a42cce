// SPDX-License-Identifier: Apache-2.0
// A kernel with a mistake, found in three steps: lines that it prints, an assertion, and a run in the
// interpreter, which names the race.
#include <cstdio>
#include <cstring>
#include <vector>
#include <weir/weir.hpp>

using namespace weir;

namespace {

/// The mean of each element and its neighbours, in place. That is the mistake: an iteration may read an
/// element before or after another one has written it.
auto smooth(const KernelOptions& options) {
  return Kernel{"smooth",
                [](View<float> x) {
                  range_for(range(1, x.size() - 1), [&](Index i) {
                    const Value mean = (x[i - 1] + x[i] + x[i + 1]) / 3.0f;
                    assert_(mean <= 1.0f, "the mean is above all elements");
                    if_(i == 2, [&] { print("the mean at {} is {:.3f}", i, mean); });
                    x[i] = mean;
                  });
                },
                options};
}

}  // namespace

int main() try {
  Device device = open();
  Stream stream = device.create_stream();
  CurrentStream scope{stream};
  auto x = device.array<float>(100);

  // Printed lines appear when the host waits.
  x.fill(1.0f);
  const auto kernel = smooth({.parameter_names = {"x"}});
  kernel(stream, x);
  stream.synchronize();

  // A false assertion fails the stream with its line.
  x.fill(2.0f);
  kernel(stream, x);
  try {
    stream.synchronize();
    std::printf("the assertion did not fail\n");
    return 1;
  } catch (const Error& error) {
    std::printf("line %u: %s\n", error.line(), error.what());
  }

  // The interpreter compares what iterations read and write. WEIR_DEBUG=smooth does this without a change of
  // the program.
  auto y = device.array<float>(100);
  y.fill(1.0f);
  const auto checked = smooth({.debug = true, .parameter_names = {"x"}});
  try {
    checked(stream, y);
  } catch (const Error& error) {
    std::printf("%s\n", error.what());
    return std::strstr(error.what(), "race on x(") ? 0 : 1;
  }
  std::printf("the race was not found\n");
  return 1;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
