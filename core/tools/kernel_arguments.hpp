// SPDX-License-Identifier: Apache-2.0
// Turns words of the command line into launch arguments, and arrays back into files: the inside of `weir
// run`.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>
#include <weir/program.hpp>
#include <weir/weir.hpp>

namespace weir::tool {

/// "name=value" as given, in order. Throws UsageError for a word without '=', or a name given twice.
std::map<std::string, std::string> split_assignments(const std::vector<std::string>& words,
                                                     const char* option);

/// The arguments of one launch, in device memory.
///
/// An array parameter takes "@FILE.npy" or "zeros:EXTENTS" (zeros:100x20); one that is only written to may be
/// left out and then has the extents of the first given array of its rank. A scalar parameter takes a number,
/// "true" or "false"; Vec and Mat take their components separated by commas.
class KernelArguments {
 public:
  /// Throws UsageError, or Error for what a file holds, that names the parameter, what it takes and what was
  /// given.
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
