// SPDX-License-Identifier: Apache-2.0
// Selects and configures the simulator before the driver loads HIP. Tests in separate processes select their
// own.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const bool apart = std::getenv("WEIR_AMDGPU_LIBRARY") || std::getenv("LD_LIBRARY_PATH");
  if (apart && testing::GTEST_FLAG(also_run_disabled_tests)) return RUN_ALL_TESTS();
  const std::string path = testing::TempDir() + "amdgpu-driver-" + std::to_string(::getpid()) + ".json";
  std::ofstream(path) << R"({
    "hip_version": "6.4.43482", "threads": 2, "instruction_limit": 10000000, "report": "none",
    "devices": [{"arch": "gfx90a", "memory_mib": 256}, {"arch": "gfx942", "compute_units": 304},
                {"arch": "gfx1100", "compute_units": 48, "wave_size": 32}]})";
  setenv("HIPSIM_CONFIG", path.c_str(), 1);
  setenv("WEIR_AMDGPU_LIBRARY", WEIR_HIPSIM_LIBRARY, 1);
  const int result = RUN_ALL_TESTS();
  std::remove(path.c_str());
  return result;
}
