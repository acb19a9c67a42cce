// SPDX-License-Identifier: Apache-2.0
// Today's host with the driver of ABI 1.0 stored in 1.0/: new_host CODE_OBJECT. Uses memory, streams, events
// and a launch through libweir, and functions that 1.0 does not have.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>
#include <weir/weir.hpp>

using namespace weir;

static int wrong(const char* what) {
  std::fprintf(stderr, "new_host: %s\n", what);
  return 1;
}

int main(int argument_count, char** arguments) try {
  if (argument_count != 2) return wrong("expected the code object");
  std::ifstream file(arguments[1], std::ios::binary);
  const std::vector<char> code{std::istreambuf_iterator<char>(file), {}};
  Device device = open("minimal");
  Module module = device.load_module({.format = "elf-x86_64",
                                      .target = "x86-64",
                                      .data = std::as_bytes(std::span(code)),
                                      .name = "kernel"});
  using P = KernelParameter;
  KernelFunction add = module.kernel("add", {P::array(), P::of<std::int64_t>(), P::of<std::int64_t>()});

  Stream first = device.create_stream(), second = device.create_stream();
  constexpr std::int64_t n = 1000;
  auto numbers = device.array<std::int64_t>(n);
  {
    CurrentStream scope{first};
    numbers.fill(35);
  }
  Event filled = device.create_event();
  filled.record(first);
  second.wait(filled);
  add.launch(second, {.grid = 8, .block = 1}, {numbers, n, std::int64_t{7}});
  CurrentStream scope{second};
  for (const std::int64_t number : numbers.to_host())
    if (number != 42) return wrong("an element is not 35 + 7");
  device.synchronize();
  std::printf("new_host: a driver of ABI 1.0 works\n");
} catch (const Error& error) {
  return wrong(error.what());
}
