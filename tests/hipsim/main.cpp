// SPDX-License-Identifier: Apache-2.0
// Configures one device of each architecture that Weir targets, before the simulator is used.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const std::string path = testing::TempDir() + "hipsim-" + std::to_string(::getpid()) + ".json";
  std::ofstream(path) << R"({
    "hip_version": "6.3.42131",
    "devices": [{"arch": "gfx90a", "memory_mib": 64}, {"arch": "gfx942", "compute_units": 304},
                {"arch": "gfx1100", "memory_pools": false}, {"arch": "gfx906"}, {"arch": "gfx908"}, {"arch": "gfx950"},
                {"arch": "gfx1030"}, {"arch": "gfx1201"}],
    "threads": 2, "instruction_limit": 2000000, "report": "none"})";
  ::setenv("HIPSIM_CONFIG", path.c_str(), 1);
  const int result = RUN_ALL_TESTS();
  std::remove(path.c_str());
  return result;
}
