// SPDX-License-Identifier: Apache-2.0
// Selects Mesa's device before the driver loads Vulkan, and turns the pipeline cache off where a test does
// not name a folder.
#include <gtest/gtest.h>

#include <cstdlib>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  setenv("VK_DRIVER_FILES", WEIR_LAVAPIPE, 0);
  setenv("WEIR_CACHE", "off", 0);
  return RUN_ALL_TESTS();
}
