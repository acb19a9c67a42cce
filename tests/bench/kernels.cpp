// SPDX-License-Identifier: Apache-2.0
#include <weir/weir.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace weir::bench {

Module load_bench_kernels(const Device& device) {
  const auto path =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "weir-bench-kernels.so";
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
  if (bytes.empty()) throw std::runtime_error("cannot read " + path.string());
  return device.load_module({.format = "elf-x86_64", .target = "x86-64", .data = std::as_bytes(std::span(bytes))});
}

}  // namespace weir::bench
