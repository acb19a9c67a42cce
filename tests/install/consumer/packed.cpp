// SPDX-License-Identifier: Apache-2.0
// A program with a pack, which runs in an installation without the code generator.
#include <cstdio>
#include <exception>
#include <span>
#include <vector>
#include <weir/weir.hpp>

#include "packed_kernels.hpp"

namespace {

int fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  return 1;
}

bool all(const weir::Array<float>& x, float expected) {
  for (const float value : x.to_host())
    if (value != expected) return false;
  return true;
}

int run() {
  const weir::Device device = weir::open("cpu");
  const weir::Stream stream = device.create_stream();
  const weir::CurrentStream scope(stream);
  weir::Array<float> x = device.array<float>(1000);
  x.fill(1.0f);
  add_one(x);
  if (!all(x, 2.0f)) return fail("a kernel at namespace scope");
  made_later()(x);
  if (!all(x, 8.0f)) return fail("a kernel of a function, with loops that are merged");
  // Both parameters are one array, so the loops are not merged: x + 1, then 3x.
  both()(x, x);
  if (!all(x, 27.0f)) return fail("a launch that assumes nothing");
  const weir::AnyArrayView view = x;
  const weir::LaunchArgument arguments[] = {{.array = &view, .element = view.element()}};
  weir::Program::load("twice").launch(stream, arguments);
  if (!all(x, 54.0f)) return fail("a kernel in text form");

  const weir::Kernel absent{"absent", [](weir::View<float> y) {
                              weir::range_for(y.size(), [&](weir::Index i) { y[i] = y[i] - 0.25f; });
                            }};
  try {
    absent(x);
    return fail("a kernel without code was compiled: there is a code generator");
  } catch (const weir::Error& error) {
    std::printf("as expected: %s\n", error.what());
  }
  return 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    return fail(error.what());
  }
}
