// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <weir/sdk/standard_output.hpp>

#include "tool/commands.hpp"

namespace {
constexpr const char* argument_help =
    "one argument of the kernel, in order: TYPE:VALUE for a number (i32, u32, i64, f32, f64), or "
    "TYPE*:COUNT[=FILL] for a "
    "block of device memory, FILL being a number, iota (0, 1, 2, ...) or @FILE; its first values are printed "
    "afterwards";
}

static int run_tool(int argc, char** argv) {
  using namespace weir::hipsim::tool;
  CLI::App app{"Executes AMDGPU machine code (HSACO files) on the CPU"};
  app.require_subcommand(1);
  std::string file, output;
  std::vector<std::string> functions;
  RunRequest request;

  CLI::App* list = app.add_subcommand("list", "Print the kernels of a code object");
  list->add_option("FILE", file, "the code object")->required();
  CLI::App* check = app.add_subcommand("check", "Print the instructions that the simulator cannot execute");
  check->add_option("FILE", file, "the code object")->required();
  CLI::App* run = app.add_subcommand("run", "Execute a kernel and check its memory accesses");
  run->add_option("FILE", request.file, "the code object")->required();
  run->add_option("KERNEL", request.kernel, "the kernel's name")->required();
  run->add_option("--grid", request.grid, "workgroups: X, X,Y or X,Y,Z")->delimiter(',')->expected(1, 3);
  run->add_option("--block", request.block, "workitems of a workgroup")->delimiter(',')->expected(1, 3);
  run->add_option("--arg", request.arguments, argument_help);
  run->add_option("--lds", request.dynamic_lds, "bytes of dynamic LDS");
  run->add_option("--threads", request.threads, "host threads besides the first");
  run->add_option("--show", request.shown, "number of values to print of each block");
  run->add_option("--races", request.races, "races on LDS: off, report or error")
      ->check(CLI::IsMember({"off", "report", "error"}));
  CLI::App* hide = app.add_subcommand("hide", "Write a copy of a HIP library without some functions");
  hide->add_option("LIBRARY", file, "such as libamdhip64.so.6")->required();
  hide->add_option("OUTPUT", output, "the copy")->required();
  hide->add_option("FUNCTION", functions, "names to hide")->required();
  CLI11_PARSE(app, argc, argv);
  try {
    if (*list) return list_kernels(file);
    if (*check) return check_instructions(file);
    if (*hide) return hide_functions(file, functions, output);
    return run_kernel(request);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weir-hipsim: %s\n", error.what());
    return 2;
  }
}

int main(int argc, char** argv) {
  weir::sdk::hold_standard_descriptors();
  weir::sdk::ignore_file_size_signal();
  return weir::sdk::check_standard_output("weir-hipsim", run_tool(argc, argv));
}
