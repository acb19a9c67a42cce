// SPDX-License-Identifier: Apache-2.0
// NumPy files and pictures: arrays from an .npz file to a device, through a kernel, and into a PNG file.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <vector>
#include <weir/files.hpp>
#include <weir/weir.hpp>

using namespace weir;

int main() try {
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  const std::filesystem::path inputs = folder / "weir-example.npz", picture = folder / "weir-example.png";

  // As numpy.savez("weir-example.npz", waves=..., scale=...) would write it.
  std::vector<float> waves(48 * 64);
  for (std::size_t i = 0; i < waves.size(); ++i) waves[i] = static_cast<float>(i % 64) / 63;
  HostArrays arrays;
  arrays["waves"] = HostArray::of<float>({48, 64}, waves);
  arrays["scale"] = HostArray::of<float>({}, std::vector{200.0f});
  write_npz(inputs, arrays);

  Device device = open();
  Stream stream = device.create_stream();
  const HostArrays read = read_npz(inputs);
  const Array<float, 2> x = to_device<float, 2>(stream, read.at("waves"));
  const float scale = read.at("scale").values<float>()[0];

  Kernel shade{"shade", [](View<const float, 2> from, View<std::uint8_t, 2> to, Value<float> scale) {
                 range_for(from.extent(0), from.extent(1),
                           [&](Index i, Index j) { to(i, j) = cast<std::uint8_t>(from(i, j) * scale); });
               }};
  const auto grey = device.array<std::uint8_t>(stream, x.extent(0), x.extent(1));
  shade(stream, x, grey, scale);
  write_png(picture, to_host(stream, grey));

  const HostArray again = read_png(picture);
  const auto pixels = again.values<std::uint8_t>();
  std::printf("%s: %zu pixels, the last is %d\n", picture.c_str(), again.size(), pixels.back());
  const bool right =
      again.shape == std::vector<std::int64_t>{48, 64} && pixels[0] == 0 && pixels.back() == 200;
  std::filesystem::remove(inputs);
  std::filesystem::remove(picture);
  return right ? 0 : 1;
} catch (const std::exception& error) {  // weir::Error, or an error of std::filesystem
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
