// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace weir::hipsim::tool {

/// What `weir-hipsim run` was asked for.
struct RunRequest {
  std::string file, kernel, architecture;
  std::vector<std::uint32_t> grid{1}, block{64};
  std::vector<std::string> arguments;  ///< as the help text describes them
  std::uint32_t dynamic_lds = 0;
  unsigned threads = 0, shown = 8;
  std::string races = "report";
};

/// Prints the kernels of a code object with their arguments and resources. Returns the exit status.
int list_kernels(const std::string& file);
/// Prints the instructions of a code object that the simulator does not execute; status 1 if there are any.
int check_instructions(const std::string& file);
/// Executes one kernel; status 1 if it faults.
int run_kernel(const RunRequest& request);
/// Writes a copy of a HIP library in which some functions cannot be found.
int hide_functions(const std::string& library, const std::vector<std::string>& functions,
                   const std::string& output);

/// A whole file; throws std::runtime_error.
std::vector<std::uint8_t> read_file(const std::string& path);
/// The architecture that a code object was made for, by its metadata; throws std::runtime_error.
std::string architecture_of(const std::vector<std::uint8_t>& image);

}  // namespace weir::hipsim::tool
