// SPDX-License-Identifier: Apache-2.0
// Finding libcuda, and reasons why it is unusable. Each case runs in a separate process.
#include "fake.hpp"

namespace cuda_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string old_library = weir::test::built("tests/cuda_driver/fake-cuda-old.so");

/// The driver's message about its devices with such a libcuda.
std::string probe(const std::string& settings, const std::string& library = fake_library()) {
  return run_apart("WEIR_CUDA_LIBRARY=" + library + " " + settings, "CudaLibrary.DISABLED_Probe");
}

auto Answers(weir_result result) {
  return HasSubstr("\nanswer " + std::to_string(result) + "|");
}

TEST(CudaLibrary, DISABLED_Probe) {
  weir_status status = new_status();
  std::uint32_t count = 0;
  if (const weir_result result = table().device_count(&count, &status); result != WEIR_OK) {
    std::printf("\nanswer %d|%s|%s\n", result, status.vendor_name, status.message);
    return;
  }
  const weir_device_info info = device_info();
  std::printf("\nanswer 0|%u devices|%s|%s|%s|%s\n", count, info.name, info.driver_version,
              info.target_features, info.notes);
}

// proves R33
TEST(CudaLibrary, MissingLibraryIsNamedWithTheLinkersWords) {
  EXPECT_THAT(probe("", "/nowhere/libcuda.so.1"),
              AllOf(Answers(WEIR_ERROR_NO_LIBRARY),
                    HasSubstr("WEIR_CUDA_LIBRARY names /nowhere/libcuda.so.1, which cannot be opened"),
                    HasSubstr("No such file")));
}

// proves R33
TEST(CudaLibrary, InfoSaysWhatIsMissing) {
  const std::string tool = weir::test::built("bin/weir");
  if (!std::filesystem::exists(tool)) GTEST_SKIP() << tool << " is not built";
  const auto text = run("WEIR_CUDA_LIBRARY=/nowhere/libcuda.so.1 " + tool + " info");
  EXPECT_THAT(text, AllOf(HasSubstr("/nowhere/libcuda.so.1"),
                          HasSubstr("install the package that provides libcuda.so.1")));
}

// proves R33
TEST(CudaLibrary, OldLibraryIsRefusedByTheFunctionItLacksAndBothVersions) {
  EXPECT_THAT(probe("FAKE_CUDA_VERSION=9020 FAKE_CUDA_MISSING=cuLaunchHostFunc"),
              AllOf(Answers(WEIR_ERROR_NO_LIBRARY), HasSubstr("of CUDA 9.2"),
                    HasSubstr("lacks cuLaunchHostFunc, which CUDA 10.0 has")));
}

// proves R33
TEST(CudaLibrary, StubOfTheToolkitIsCalledThat) {
  EXPECT_THAT(probe("FAKE_CUDA_INIT=34"),
              AllOf(Answers(WEIR_ERROR_NO_LIBRARY), HasSubstr("CUDA_ERROR_STUB_LIBRARY"),
                    HasSubstr("toolkit's stub")));
}

// proves R33
TEST(CudaLibrary, FailureToStartCarriesCudasName) {
  EXPECT_THAT(probe("FAKE_CUDA_INIT=803"),
              AllOf(Answers(WEIR_ERROR_SYSTEM), HasSubstr("|CUDA_ERROR_SYSTEM_DRIVER_MISMATCH|"),
                    HasSubstr("(803)")));
}

// proves R33
TEST(CudaLibrary, NoDeviceIsAnOrdinaryAnswer) {
  const auto no_device = Answers(WEIR_ERROR_NO_DEVICE);
  EXPECT_THAT(probe("FAKE_CUDA_INIT=100"), AllOf(no_device, HasSubstr("no NVIDIA GPU is present")));
  EXPECT_THAT(probe("FAKE_CUDA_DEVICES=0"), AllOf(no_device, HasSubstr("CUDA finds no device")));
  EXPECT_THAT(probe("FAKE_CUDA_DEVICES=0 CUDA_VISIBLE_DEVICES=-1"),
              HasSubstr("CUDA_VISIBLE_DEVICES is '-1'"));
}

TEST(CudaLibrary, LibraryBeforeGetProcAddressIsReadBySymbols) {
  EXPECT_THAT(probe("FAKE_CUDA_VERSION=11020", old_library),
              AllOf(HasSubstr("answer 0|3 devices|Fake GPU 0|CUDA 11.2"), HasSubstr("|+ptx72|")));
}

TEST(CudaLibrary, PartsThatAreMissingAreNotesAndClearedBits) {
  const std::string without_pools = probe("FAKE_CUDA_VERSION=11010");
  EXPECT_THAT(without_pools, HasSubstr("CUDA before 11.2 has no stream-ordered allocation"));
  EXPECT_THAT(without_pools, HasSubstr("graphs: CUDA before 11.4"));
  EXPECT_THAT(probe("FAKE_CUDA_POOLS=0"), HasSubstr("the device has no memory pools"));
  EXPECT_THAT(probe(""), AllOf(Not(HasSubstr("graphs:")), Not(HasSubstr("memory:"))));
}

TEST(CudaLibrary, NewestPtxFollowsTheVersion) {
  const std::pair<const char*, const char*> versions[] = {{"11080", "+ptx78"},
                                                          {"12060", "+ptx85"},
                                                          {"12080", "+ptx87"},
                                                          {"13000", "+ptx90"},
                                                          {"14000", "+ptx90"}};
  for (const auto& [version, feature] : versions)
    EXPECT_THAT(probe(std::string("FAKE_CUDA_VERSION=") + version),
                HasSubstr(std::string("|") + feature + "|"));
}

}  // namespace
}  // namespace cuda_test
