// SPDX-License-Identifier: Apache-2.0
// Converts words of the command line to launch arguments, and arrays to files, for `weir run`.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>
#include <weir/program.hpp>
#include <weir/weir.hpp>

namespace weir::tool {

/// Splits "name=value". Throws UsageError for a word without '=' or a repeated name.
std::map<std::string, std::string> split_assignments(const std::vector<std::string>& words,
                                                     const char* option);

/// The arguments of one launch, in device memory.
///
/// An array parameter takes "@FILE.npy" or "zeros:EXTENTS" (zeros:100x20). An array that is only written may
/// be omitted; it then takes the extents of the first given array of its rank. A scalar parameter takes a
/// number, "true" or "false"; Vec and Mat take their components, separated by commas.
class KernelArguments {
 public:
  /// Throws UsageError for an invalid word and Error for an invalid file; both name the parameter, the
  /// expectation and the finding.
  KernelArguments(const Program& program, const std::map<std::string, std::string>& values,
                  const StreamRef& stream);

  std::vector<LaunchArgument> launch_arguments() const;

  /// Waits for `stream` and writes the array parameter `name` to an .npy file.
  void write(const std::string& name, const std::string& file, const StreamRef& stream) const;

  /// One line for each parameter: "x: array<f32, 1> of 1000, 4000 bytes", "factor: f32".
  std::vector<std::string> descriptions() const;

 private:
  struct Slot {
    ParameterInfo parameter;
    AnyArray array;
    std::vector<std::byte> scalar;
  };
  std::vector<Slot> slots_;
};

}  // namespace weir::tool
