// SPDX-License-Identifier: Apache-2.0
// A program that uses only the installed package, with a driver that was built outside of Weir's tree. It
// opens the driver's device, uploads numbers, copies them on the device and downloads them.
#include <cstdio>
#include <exception>
#include <numeric>
#include <vector>
#include <weir/weir.hpp>

namespace {

int run() {
  const weir::Device device = weir::open("minimal");
  const weir::Stream stream = device.create_stream();
  std::vector<float> numbers(1000);
  std::iota(numbers.begin(), numbers.end(), 1.0f);

  const auto source = device.array<float>(stream, 1000), destination = device.array<float>(stream, 1000);
  source.copy_from(stream, numbers);
  destination.copy_from(stream, source);
  const std::vector<float> back = destination.to_host(stream);
  if (back == numbers) {
    std::printf("%s: %zu numbers came back\n", device.info().name.c_str(), back.size());
    return 0;
  }
  std::fprintf(stderr, "the numbers that came back are not those that were sent\n");
  return 1;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
