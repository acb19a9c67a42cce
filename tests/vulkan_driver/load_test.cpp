// SPDX-License-Identifier: Apache-2.0
// The loader, the devices and their description.
#include "kernels.hpp"

namespace vulkan_test {
namespace {

using testing::HasSubstr;

TEST(Load, DISABLED_PrintsWhyThereIsNoDevice) {
  std::uint32_t count = 0;
  weir_status status = new_status();
  const weir_result result = table().device_count(&count, &status);
  std::printf("result %d: %s\n", result, status.message);
}

TEST(Load, MissingLoaderIsNamed) {
  const std::string text =
      run_apart("WEIR_VULKAN_LIBRARY=/nowhere/libvulkan.so.1", "Load.DISABLED_PrintsWhyThereIsNoDevice");
  EXPECT_THAT(text, HasSubstr("result 7: "));
  EXPECT_THAT(text, HasSubstr("/nowhere/libvulkan.so.1"));
}

TEST(Load, LibraryThatIsNoLoaderIsRefused) {
  const std::string text =
      run_apart("WEIR_VULKAN_LIBRARY=libm.so.6", "Load.DISABLED_PrintsWhyThereIsNoDevice");
  EXPECT_THAT(text, HasSubstr("result 7: "));
  EXPECT_THAT(text, HasSubstr("lacks vkGetInstanceProcAddr"));
}

TEST(Load, WithoutAVendorsDriverThereIsNoDevice) {
  const std::string text =
      run_apart("VK_DRIVER_FILES=/nowhere/icd.json", "Load.DISABLED_PrintsWhyThereIsNoDevice");
  EXPECT_THAT(text, HasSubstr("result 6: "));
}

TEST(Load, TheSoftwareDeviceIsACpuThatSaysWhatItDoesNotKeep) {
  const weir_device_info info = device_info();
  EXPECT_EQ(info.kind, WEIR_DEVICE_CPU);
  EXPECT_THAT(info.notes, HasSubstr("this Vulkan device is the CPU"));
  EXPECT_THAT(info.target_features, HasSubstr("+float64,+int64"));
  // Measured, and known of Mesa 22.3: it rounds fma twice.
  EXPECT_THAT(info.target_features, HasSubstr("+exact-f32-divide"));
  EXPECT_THAT(info.target_features, testing::Not(HasSubstr("fma")));
  EXPECT_THAT(info.target_features, HasSubstr("+denormals-f32"));
}

}  // namespace
}  // namespace vulkan_test
