// SPDX-License-Identifier: Apache-2.0
// Whole kernels compiled by LLVM and launched through HIP; the host computes the expected results.
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <numeric>
#include <random>

#include "compile.hpp"
#include "hip.hpp"
#include "include/hipsim.h"
#include "kernels.hpp"

namespace weir::hipsim::test {
namespace {

/// The kernels for an architecture, compiled once.
const std::vector<std::uint8_t>& image_for(const std::string& architecture) {
  static std::map<std::string, std::vector<std::uint8_t>> images;
  auto& image = images[architecture];
  if (image.empty()) image = compile_ir(kernels_ir, architecture);
  return image;
}

class Kernels : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    use_device_of(GetParam());
    hipDeviceReset();
    hipsimClear();
    module = std::make_unique<LoadedModule>(image_for(GetParam()));
  }
  void TearDown() override {
    hipDeviceReset();
    hipsimClear();
    module.reset();
  }
  std::string report(std::size_t index = 0) {
    char text[1000] = "";
    hipsimReport(index, text, sizeof(text));
    return text;
  }
  std::unique_ptr<LoadedModule> module;
};

TEST_P(Kernels, AddsVectorsWithAPartialLastBlock) {
  std::vector<float> a(1000), b(1000), out(1000, -1);
  std::iota(a.begin(), a.end(), 0.0f), std::iota(b.begin(), b.end(), 0.5f);
  DeviceArray<float> da(a), db(b), result(out);
  module->kernel("add").launch(4, 256, result.pointer(), da.pointer(), db.pointer(), 1000);
  out = result.read();
  for (unsigned n = 0; n < 1000; ++n) ASSERT_EQ(a[n] + b[n], out[n]) << n;
}

TEST_P(Kernels, ReducesInLdsAcrossBarriers) {
  std::vector<float> a(1024);
  std::iota(a.begin(), a.end(), 1.0f);
  DeviceArray<float> da(a), result(std::vector<float>(4));
  module->kernel("reduce").launch(4, 256, result.pointer(), da.pointer());
  const auto out = result.read();
  for (unsigned g = 0; g < 4; ++g)
    EXPECT_EQ(std::accumulate(a.begin() + g * 256, a.begin() + (g + 1) * 256, 0.0f), out[g]);
  EXPECT_EQ(0u, hipsimReportCount()) << report();
}

TEST_P(Kernels, ReportsRacesOnLds) {
  DeviceArray<int> out(std::vector<int>(256));
  module->kernel("racy").launch(1, 256, out.pointer());
  ASSERT_NE(0u, hipsimReportCount());
  EXPECT_NE(std::string::npos, report().find("kernel racy, workgroup (0, 0, 0), wave")) << report();
  EXPECT_NE(std::string::npos, report().find("of LDS")) << report();
}

TEST_P(Kernels, CountsWithAtomicsOnMemoryAndOnAVariable) {
  DeviceArray<int> sum(std::vector<int>(1)), tickets(std::vector<int>(1024));
  module->kernel("count").launch(8, 128, sum.pointer(), tickets.pointer());
  EXPECT_EQ(1023 * 1024 / 2, sum.read()[0]);
  auto order = tickets.read();
  std::sort(order.begin(), order.end());
  for (int n = 0; n < 1024; ++n) ASSERT_EQ(7 + n, order[std::size_t(n)]);
  void* counter;
  std::size_t bytes;
  HIP(hipModuleGetGlobal(&counter, &bytes, module->handle(), "counter"));
  int value = 0;
  HIP(hipMemcpy(&value, counter, 4, hipMemcpyDeviceToHost));
  EXPECT_EQ(7 + 1024, value);
}

TEST_P(Kernels, AddsDoublesAtomically) {
  std::vector<double> a(512);
  std::iota(a.begin(), a.end(), 1.0);
  DeviceArray<double> da(a), sum(std::vector<double>(1)), top(std::vector<double>{3});
  module->kernel("float_atomics").launch(4, 128, sum.pointer(), top.pointer(), da.pointer());
  EXPECT_EQ(512 * 513 / 2, sum.read()[0]);
  EXPECT_EQ(512, top.read()[0]);
}

TEST_P(Kernels, PrivateArraysAreEachItemsOwn) {
  DeviceArray<int> out(std::vector<int>(256));
  module->kernel("scratch").launch(2, 128, out.pointer(), 5);
  const auto got = out.read();
  for (int i = 0; i < 256; ++i) {
    int a[16];
    for (int k = 0; k < 16; ++k) a[(k * 7 + 5) & 15] = k * i;
    ASSERT_EQ(a[i & 15], got[std::size_t(i)]) << i;
  }
}

TEST_P(Kernels, FunctionsAndDivergentLoops) {
  DeviceArray<int> out(std::vector<int>(256));
  module->kernel("call_function").launch(2, 128, out.pointer());
  const auto got = out.read();
  const int table[] = {3, 5, 7, 11};
  for (int i = 0; i < 256; ++i) {
    int n = 0;
    for (unsigned x = unsigned(i) + 1;;) {
      x = x & 1 ? 3 * x + 1 : x / 2;
      ++n;
      if (x <= 1) break;
    }
    ASSERT_EQ(n * table[i & 3], got[std::size_t(i)]) << i;
  }
}

TEST_P(Kernels, DividesLikeTheHost) {
  std::mt19937_64 random(7);
  std::vector<std::int64_t> a(512), b(512);
  for (unsigned n = 0; n < 512; ++n)
    a[n] = std::int64_t(random()) >> random() % 60, b[n] = (std::int64_t(random()) >> random() % 60) | 1;
  DeviceArray<std::int64_t> da(a), db(b), whole(a);
  DeviceArray<double> wide(std::vector<double>(512));
  DeviceArray<float> single(std::vector<float>(512));
  module->kernel("divide").launch(4, 128, wide.pointer(), whole.pointer(), single.pointer(), da.pointer(),
                                  db.pointer());
  const auto q = whole.read();
  const auto d = wide.read();
  const auto f = single.read();
  for (unsigned n = 0; n < 512; ++n) {
    ASSERT_EQ(a[n] / b[n], q[n]);
    ASSERT_EQ(double(a[n]) / double(b[n]), d[n]);
    ASSERT_EQ(std::sqrt(std::fabs(float(a[n]))) / float(b[n]), f[n]);
  }
}

TEST_P(Kernels, IdsInThreeDimensions) {
  DeviceArray<int> out(std::vector<int>(4 * 3 * 2 * 30, -1));
  void* pointer = out.pointer();
  void* parameters[] = {&pointer};
  HIP(hipModuleLaunchKernel(module->kernel("ids").handle(), 4, 3, 2, 5, 3, 2, 0, nullptr, parameters,
                            nullptr));
  const auto got = out.read();
  int n = 0;
  for (int gz = 0; gz < 2; ++gz)
    for (int gy = 0; gy < 3; ++gy)
      for (int gx = 0; gx < 4; ++gx)
        for (int z = 0; z < 2; ++z)
          for (int y = 0; y < 3; ++y)
            for (int x = 0; x < 5; ++x, ++n)
              ASSERT_EQ(x | y << 4 | z << 8 | gx << 12 | gy << 16 | gz << 20, got[std::size_t(n)]) << n;
}

// On GFX9 with s_set_gpr_idx_on and s_set_gpr_idx_off, later with moves by M0.
TEST_P(Kernels, RegistersAreIndexedByAScalar) {
  std::vector<int> in(64 * 32);
  std::iota(in.begin(), in.end(), 1000);
  for (const int index : {0, 17, 30}) {
    DeviceArray<int> from(in), to(std::vector<int>(in.size()));
    module->kernel("indexed").launch(1, 64, to.pointer(), from.pointer(), index);
    std::vector<int> expected = in;
    for (std::size_t item = 0; item < 64; ++item)
      expected[item * 32 + std::size_t(index) + 1] = in[item * 32 + std::size_t(index)];
    EXPECT_EQ(expected, to.read()) << index;
  }
}

TEST_P(Kernels, OutOfBoundsIsAnIllegalAddressWithKernelLaneAndAddress) {
  DeviceArray<float> a(std::vector<float>(64)), out(std::vector<float>(100));
  EXPECT_EQ(hipSuccess, module->kernel("add").try_launch(1, 128, 0, nullptr, out.pointer(), a.pointer(),
                                                         a.pointer(), 100));
  EXPECT_EQ(hipErrorIllegalAddress, hipDeviceSynchronize());
  EXPECT_NE(std::string::npos, report().find("kernel add, workgroup (0, 0, 0), wave ")) << report();
  EXPECT_NE(std::string::npos, report().find(", lane 0")) << report();
  EXPECT_NE(std::string::npos, report().find("global_load")) << report();
  EXPECT_NE(std::string::npos, report().find("0 bytes behind the end of device block")) << report();
}

TEST_P(Kernels, UseAfterFreeIsRecognised) {
  void* gone;
  HIP(hipMalloc(&gone, 4096));
  HIP(hipFree(gone));
  DeviceArray<float> out(std::vector<float>(64));
  EXPECT_EQ(hipSuccess, module->kernel("add").try_launch(1, 64, 0, nullptr, out.pointer(), gone, gone, 64));
  EXPECT_EQ(hipErrorIllegalAddress, hipDeviceSynchronize());
  EXPECT_NE(std::string::npos, report().find("in freed device block")) << report();
}

TEST_P(Kernels, AFaultStaysUntilTheDeviceIsReset) {
  void* nowhere = reinterpret_cast<void*>(64);
  DeviceArray<float> out(std::vector<float>(64));
  EXPECT_EQ(hipSuccess,
            module->kernel("add").try_launch(1, 64, 0, nullptr, out.pointer(), nowhere, nowhere, 64));
  EXPECT_EQ(hipErrorIllegalAddress, hipDeviceSynchronize());
  void* pointer;
  EXPECT_EQ(hipErrorIllegalAddress, hipMalloc(&pointer, 16));
  EXPECT_EQ(hipSuccess, hipDeviceReset());
  EXPECT_EQ(hipSuccess, hipMalloc(&pointer, 16));
  EXPECT_EQ(hipSuccess, hipFree(pointer));
}

TEST_P(Kernels, EndlessKernelsEndAtTheLimit) {
  DeviceArray<int> out(std::vector<int>(1));
  EXPECT_EQ(hipSuccess, module->kernel("endless").try_launch(1, 64, 0, nullptr, out.pointer()));
  EXPECT_EQ(hipErrorLaunchFailure, hipDeviceSynchronize());
  EXPECT_NE(std::string::npos, report().find("has not ended after")) << report();
}

TEST_P(Kernels, KernelsThatStopThemselves) {
  EXPECT_EQ(hipSuccess, module->kernel("stops").try_launch(1, 64, 0, nullptr));
  EXPECT_EQ(hipErrorAssert, hipDeviceSynchronize());
}

TEST_P(Kernels, CodeForAnotherDeviceIsRefused) {
  const std::string other = std::string(GetParam()) == "gfx90a" ? "gfx1100" : "gfx90a";
  hipModule_t module;
  EXPECT_EQ(hipErrorNoBinaryForGpu, hipModuleLoadData(&module, image_for(other).data()));
  EXPECT_NE(std::string::npos, report().find("but the device is")) << report();
}

INSTANTIATE_TEST_SUITE_P(Architectures, Kernels,
                         testing::Values("gfx90a", "gfx942", "gfx1100", "gfx906", "gfx908", "gfx950",
                                         "gfx1030", "gfx1201"),
                         [](const auto& info) { return std::string(info.param); });

/// Launches a kernel with a race, with races configured as errors; exits with 0 if the launch fails.
[[noreturn]] void launch_where_races_are_errors() {
  std::remove(std::getenv("HIPSIM_CONFIG"));
  const std::string path = testing::TempDir() + "hipsim-races-" + std::to_string(::getpid()) + ".json";
  std::ofstream(path) << R"({"devices": [{"arch": "gfx942"}], "races": "error", "report": "stderr"})";
  ::setenv("HIPSIM_CONFIG", path.c_str(), 1);
  hipError_t result = hipSuccess;
  {
    const LoadedModule module(image_for("gfx942"));
    DeviceArray<int> out(std::vector<int>(256));
    HIP(module.kernel("racy").try_launch(1, 256, 0, nullptr, out.pointer()));
    result = hipDeviceSynchronize();
  }
  std::remove(path.c_str());
  std::_Exit(result == hipErrorLaunchFailure ? 0 : 1);
}

// The configuration is read once per process, so this test needs a separate process.
TEST(RacesAsErrors, FailTheLaunch) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(launch_where_races_are_errors(), testing::ExitedWithCode(0),
              "kernel racy, workgroup.*their order is not defined");
}

}  // namespace
}  // namespace weir::hipsim::test
