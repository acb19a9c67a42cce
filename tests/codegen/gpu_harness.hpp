// SPDX-License-Identifier: Apache-2.0
// Runs a kernel's text as AMD machine code on the HIP simulator and as host code, and compares the results.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "codegen/codegen.hpp"
#include "harness.hpp"

namespace weir::test {

/// Arguments by parameter name.
struct GpuArguments {
  struct Array {
    std::vector<std::byte> bytes;
    std::vector<std::int64_t> extents;
    auto operator<=>(const Array&) const = default;
  };
  std::map<std::string, Array> arrays;
  std::map<std::string, std::vector<std::byte>> scalars;
  auto operator<=>(const GpuArguments&) const = default;

  template <class T>
  GpuArguments& array(const std::string& name, const std::vector<T>& values,
                      std::vector<std::int64_t> extents = {}) {
    if (extents.empty()) extents = {std::int64_t(values.size())};
    Array& array = arrays[name];
    const auto bytes = std::as_bytes(std::span(values));
    array.bytes.assign(bytes.begin(), bytes.end());
    array.extents = std::move(extents);
    return *this;
  }
  template <class T>
  GpuArguments& scalar(const std::string& name, const T& value) {
    scalars[name].resize(sizeof(T));
    std::memcpy(scalars[name].data(), &value, sizeof(T));
    return *this;
  }
};

/// Results of the host's code: the arrays, the result of a reduction, and the error record.
struct HostResults {
  std::map<std::string, std::vector<std::byte>> arrays;
  std::uint64_t result = 0;
  ir::ErrorRecord record{};
};

/// What the kernel computes as host code, which runs once for equal arguments.
const HostResults& on_host(const std::string& text, const GpuArguments& arguments);

/// Differences after a run in `grid` blocks on a simulated device of the architecture, or "". Reports of the
/// simulator, such as races, count as differences.
std::string difference(const std::string& text, const GpuArguments& arguments,
                       const std::string& architecture, const codegen::LaunchAssumptions& assumptions,
                       const std::vector<std::uint32_t>& grids);

}  // namespace weir::test
