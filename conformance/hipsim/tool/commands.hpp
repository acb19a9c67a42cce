// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace weir::hipsim::tool {

/// The options of `weir-hipsim run`.
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
/// Prints the instructions of a code object that the simulator cannot execute. Returns 1 if there are any.
int check_instructions(const std::string& file);
/// Executes one kernel. Returns 1 if it faults.
int run_kernel(const RunRequest& request);
/// Writes a copy of a HIP library without the symbols of some functions.
int hide_functions(const std::string& library, const std::vector<std::string>& functions,
                   const std::string& output);

/// Reads a whole file. Throws std::runtime_error.
std::vector<std::uint8_t> read_file(const std::string& path);
/// The architecture of a code object, from its metadata. Throws std::runtime_error.
std::string architecture_of(const std::vector<std::uint8_t>& image);

}  // namespace weir::hipsim::tool
