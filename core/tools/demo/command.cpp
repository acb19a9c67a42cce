// SPDX-License-Identifier: Apache-2.0
// `weir demo`: reads the options and calls run_river().
#include "command.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <memory>
#include <weir/error.hpp>

#include "river_run.hpp"

namespace weir::demo {
namespace {

/// Values of the command line before their conversion to RiverOptions.
struct RiverArguments {
  RiverOptions options;
  std::string units = "auto";
  double rain = 120, hours = 3;
  bool closed = false;
};

std::function<int()> set_up_river(CLI::App& app) {
  auto arguments = std::make_shared<RiverArguments>();
  RiverOptions& options = arguments->options;
  app.add_option("--terrain", options.terrain,
                 "ESRI ASCII grid of elevations in metres; by default a valley that ships with Weir")
      ->type_name("FILE.asc");
  app.add_option("--device", options.device,
                 "Device to run on, such as cpu or cuda:1; by default WEIR_DEVICE or the best device present")
      ->type_name("DEVICE");
  app.add_option(
         "--ranks", options.ranks,
         "Threads that share the terrain, each on a device of its own if there are several; by default "
         "the processes that mpirun started, WEIR_RANKS threads, or one")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  app.add_option("--steps", options.steps, "Number of time steps")->type_name("N")->capture_default_str();
  app.add_option("--out", options.out, "Folder for the maps and the timeline")
      ->type_name("DIR")
      ->capture_default_str();
  app.add_option("--rain", arguments->rain, "Total rain, millimetres")
      ->type_name("MM")
      ->capture_default_str();
  app.add_option("--hours", arguments->hours, "Duration of the rain, hours")
      ->type_name("H")
      ->capture_default_str();
  app.add_option("--manning", options.parameters.manning, "Roughness of the ground after Manning, s/m^(1/3)")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--units", arguments->units, "Unit of the grid's cell size: auto, degrees or metres")
      ->type_name("UNIT")
      ->check(CLI::IsMember({"auto", "degrees", "metres"}))
      ->capture_default_str();
  app.add_flag("--closed", arguments->closed, "Let no water leave across the border");
  app.add_flag("--keep-hollows", options.keep_hollows,
               "Do not cut channels through the artificial dams of a coarse grid");
  return [arguments] {
    RiverOptions chosen = arguments->options;
    chosen.units = arguments->units == "degrees"  ? CellUnits::degrees
                   : arguments->units == "metres" ? CellUnits::metres
                                                  : CellUnits::automatic;
    chosen.parameters.rain = static_cast<float>(arguments->rain / 1000);
    chosen.parameters.rain_duration = static_cast<float>(arguments->hours * 3600);
    chosen.parameters.open_border = !arguments->closed;
    try {
      check_options(chosen);
    } catch (const Error& error) {
      throw tool::UsageError(error.what());
    }
    run_river(chosen, std::cout, isatty(STDOUT_FILENO) != 0);
    return 0;
  };
}

const tool::Command command(
    "demo", "Run a demonstration: weir demo river", [](CLI::App& app) -> std::function<int()> {
      app.require_subcommand(0, 1);
      auto list = std::make_shared<bool>(false);
      app.add_flag("--list", *list, "List the demonstrations");
      CLI::App* const river = app.add_subcommand(
          "river", "Rain on a real landscape: shallow water, dyes and silt, drawn as maps");
      return [&app, list, river, run_river = set_up_river(*river)]() -> int {
        if (river->parsed() && !*list) return run_river();
        if (!*list)
          throw tool::UsageError("weir demo takes the name of a demonstration; weir demo --list lists them");
        for (const CLI::App* demo : app.get_subcommands([](const CLI::App*) { return true; }))
          std::printf("%-10s %s\n", demo->get_name().c_str(), demo->get_description().c_str());
        return 0;
      };
    });

}  // namespace
}  // namespace weir::demo
