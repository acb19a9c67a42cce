// SPDX-License-Identifier: Apache-2.0
// Finding HIP, reasons why it is unusable, and differences between its versions. Each case runs in a separate
// process.
#include <fstream>

#include "simulator.hpp"

namespace amdgpu_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string simulator_library = WEIR_HIPSIM_LIBRARY;
const std::string others = WEIR_OTHER_HIPS;

/// A configuration of the simulator, removed by the destructor.
class Config {
 public:
  explicit Config(const std::string& text)
      : path_(testing::TempDir() + "amdgpu-load-" + std::to_string(getpid()) + ".json") {
    std::ofstream(path_) << text;
  }
  ~Config() { std::filesystem::remove(path_); }
  std::string setting() const { return "HIPSIM_CONFIG=" + path_ + " "; }

 private:
  std::string path_;
};

Config version(const std::string& number, const std::string& device = "{\"arch\": \"gfx90a\"}") {
  return Config("{\"hip_version\": \"" + number + "\", \"devices\": [" + device + "], \"report\": \"none\"}");
}

std::string probe(const Config& config, const std::string& library = simulator_library) {
  return run_apart(config.setting() + "WEIR_AMDGPU_LIBRARY=" + library, "AmdgpuLibrary.DISABLED_Probe");
}

auto Answers(weir_result result) {
  return HasSubstr("\nanswer " + std::to_string(result) + "|");
}

TEST(AmdgpuLibrary, DISABLED_Probe) {
  weir_status status = new_status();
  std::uint32_t count = 0;
  if (const weir_result result = table().device_count(&count, &status); result != WEIR_OK) {
    std::printf("\nanswer %d|%s|%s\n", result, status.vendor_name, status.message);
    return;
  }
  const weir_device_info info = device_info();
  std::printf("\nanswer 0|%u devices|%s|%s|%s|%s|\n%s\n", count, info.name, info.driver_version,
              info.code_targets[0].target, info.target_features, info.notes);
}

/// Runs everything that differs between versions: memory, callbacks, copies during a busy stream, launches,
/// wrapped streams.
TEST(AmdgpuLibrary, DISABLED_Work) {
  OnDevice on(0);
  constexpr std::uint32_t count = 1000;
  const bool ordered = device_info().capabilities & WEIR_CAP_STREAM_ORDERED_ALLOCATION;
  const weir_allocation memory =
      ordered ? allocate_async(on.stream, count * 4) : allocate(on.device, count * 4);
  std::vector<float> in(count, 1.5f), out(count);
  {
    Gate gate(on.stream);
    call(table().copy_to_device, on.stream, memory, 0ull, static_cast<const void*>(in.data()),
         std::uint64_t{count * 4});
    const std::uint64_t at = address(memory);
    const OnDevice::AddArguments arguments{at, at, at, count, 0};
    const weir_launch launch = launch_of(on.add(), &arguments, sizeof arguments, 4, 256);
    call(table().kernel_launch, on.stream, &launch);
    call(table().copy_to_host, on.stream, static_cast<void*>(out.data()), memory, 0ull,
         std::uint64_t{count * 4});
    EXPECT_EQ(table().stream_query(on.stream, nullptr), WEIR_NOT_READY);
  }
  call(table().stream_synchronize, on.stream);
  EXPECT_THAT(out, testing::Each(3.0f));
  weir_stream wrapped = nullptr;
  call(table().stream_wrap, on.device, on.native(), &wrapped);
  call(table().stream_destroy, wrapped);
  if (ordered)
    call(table().memory_free_async, on.stream, memory);
  else
    call(table().memory_free, memory);
}

std::string work(const Config& config, const std::string& library) {
  return run_apart(config.setting() + "WEIR_AMDGPU_LIBRARY=" + library, "AmdgpuLibrary.DISABLED_Work");
}

// proves R33
TEST(AmdgpuLibrary, MissingLibraryIsNamedWithTheLinkersWords) {
  EXPECT_THAT(probe(version("6.3.0"), "/nowhere/libamdhip64.so.6"),
              AllOf(Answers(WEIR_ERROR_NO_LIBRARY),
                    HasSubstr("WEIR_AMDGPU_LIBRARY names /nowhere/libamdhip64.so.6, which cannot be opened"),
                    HasSubstr("No such file")));
}

// proves R33
TEST(AmdgpuLibrary, InfoSaysWhatIsMissing) {
  const std::string tool = weir::test::built("bin/weir");
  if (!std::filesystem::exists(tool)) GTEST_SKIP() << tool << " is not built";
  EXPECT_THAT(
      run("WEIR_AMDGPU_LIBRARY=/nowhere/libamdhip64.so.6 " + tool + " info"),
      AllOf(HasSubstr("/nowhere/libamdhip64.so.6"), HasSubstr("libamdhip64.so.7 or libamdhip64.so.6")));
}

// proves R33
TEST(AmdgpuLibrary, OldLibraryIsRefusedByWhatItLacks) {
  EXPECT_THAT(
      probe(version("4.3.0"), others + "/libamdhip64.so.4"),
      AllOf(Answers(WEIR_ERROR_NO_LIBRARY), HasSubstr("is too old: it lacks hip"), HasSubstr("HIP 5.2")));
  EXPECT_THAT(
      probe(version("4.5.0"), others + "/libamdhip64.so.5"),
      AllOf(Answers(WEIR_ERROR_NO_LIBRARY), HasSubstr("it is of HIP 4.5; install ROCm 5.2 or newer")));
}

// Weir generates only HSACO of code object version 5, which does not load before HIP 5.2.
// proves R33
TEST(AmdgpuLibrary, LibraryThatCannotLoadTheGeneratedCodeIsRefused) {
  for (const char* old : {"5.0.0", "5.1.3"})
    EXPECT_THAT(probe(version(old), others + "/libamdhip64.so.5"),
                AllOf(Answers(WEIR_ERROR_NO_LIBRARY), HasSubstr("install ROCm 5.2 or newer")));
}

// proves R33
TEST(AmdgpuLibrary, NoDeviceIsAnOrdinaryAnswer) {
  EXPECT_THAT(probe(version("6.3.0", "")),
              AllOf(Answers(WEIR_ERROR_NO_DEVICE), HasSubstr("HIP finds no device (hipErrorNoDevice)")));
}

// proves R33
TEST(AmdgpuLibrary, FailureToStartCarriesHipsName) {
  EXPECT_THAT(probe(Config(R"({"fail": [{"call": "hipInit", "error": 304}]})")),
              AllOf(Answers(WEIR_ERROR_SYSTEM), HasSubstr("|hipErrorOperatingSystem|"), HasSubstr("(304)")));
}

TEST(AmdgpuLibrary, VersionsDifferInTheirNotes) {
  const std::string without_pools = probe(version("5.2.0"), others + "/libamdhip64.so.5.2");
  EXPECT_THAT(
      without_pools,
      AllOf(HasSubstr("|HIP 5.2|gfx90a|sramecc+:xnack-|"),
            HasSubstr("\nmemory: the library lacks functions of stream-ordered allocation; blocking calls"),
            HasSubstr("\ngraphs: HIP before 6.3"),
            HasSubstr("\nstreams: HIP 5.2 cannot query a stream's device"),
            HasSubstr("\ncallbacks: HIP 5.2 lacks hipLaunchHostFunc; hipStreamAddCallback")));
  const std::string hip52 = probe(version("5.2.21153"), others + "/libamdhip64.so.5");
  EXPECT_THAT(hip52,
              AllOf(HasSubstr("|HIP 5.2|gfx90a|"), HasSubstr("\nmemory: hipFreeAsync of HIP before 6.2")));
  EXPECT_THAT(probe(version("6.4.0")), AllOf(HasSubstr("|HIP 6.4|gfx90a|"), HasSubstr("|\n\n")));
  const Config radeon = version("7.0.0", "{\"arch\": \"gfx1100\", \"sramecc\": false}");
  EXPECT_THAT(
      probe(radeon, others + "/libamdhip64.so.7"),
      AllOf(HasSubstr("|HIP 7.0|gfx1100||"), HasSubstr("\nmemory: hipMallocAsync of HIP 7 fails on gfx1100"),
            Not(HasSubstr("graphs:")), Not(HasSubstr("callbacks:"))));
  EXPECT_THAT(probe(version("7.0.0"), others + "/libamdhip64.so.7"), HasSubstr("|HIP 7.0|gfx90a|"));
}

TEST(AmdgpuLibrary, DevicesThatFailAreNamed) {
  EXPECT_THAT(probe(version("6.4.0", R"({"arch": "gfx90a", "memory_pools": false})")),
              HasSubstr("\nmemory: the device has no memory pools"));
  EXPECT_THAT(probe(version("6.4.0", R"({"arch": "gfx90c", "sramecc": false, "integrated": true})")),
              AllOf(HasSubstr("|gfx90c|xnack-|"), HasSubstr("\nmemory: hipMallocAsync hangs on gfx90c")));
}

TEST(AmdgpuLibrary, EveryVersionWorks) {
  EXPECT_THAT(work(version("5.2.0"), others + "/libamdhip64.so.5.2"), HasSubstr("[  PASSED  ] 1 test"));
  EXPECT_THAT(work(version("5.2.21153"), others + "/libamdhip64.so.5"), HasSubstr("[  PASSED  ] 1 test"));
  EXPECT_THAT(work(version("6.0.0"), simulator_library), HasSubstr("[  PASSED  ] 1 test"));
  EXPECT_THAT(work(version("6.4.0"), simulator_library), HasSubstr("[  PASSED  ] 1 test"));
  EXPECT_THAT(work(version("7.0.0"), others + "/libamdhip64.so.7"), HasSubstr("[  PASSED  ] 1 test"));
}

TEST(AmdgpuLibrary, DISABLED_NameOfTheLibrary) {
  (void)device_info();
  for (const char* name : {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"})
    if (dlopen(name, RTLD_NOW | RTLD_NOLOAD)) std::printf("\nopened %s\n", name);
}

TEST(AmdgpuLibrary, NewestIsOpenedByItsName) {
  const Config config = version("7.0.0");
  const std::string both = others + ":" + std::filesystem::path(simulator_library).parent_path().string();
  const auto opened = [&](const std::string& folders) {
    return run_apart("-u WEIR_AMDGPU_LIBRARY " + config.setting() + "LD_LIBRARY_PATH=" + folders,
                     "AmdgpuLibrary.DISABLED_NameOfTheLibrary");
  };
  EXPECT_THAT(opened(both), HasSubstr("opened libamdhip64.so.7"));
  EXPECT_THAT(opened(std::filesystem::path(simulator_library).parent_path().string()),
              HasSubstr("opened libamdhip64.so.6"));
}

/// The library of the distribution instead of the simulator; empty where it is not installed.
std::string debians_library() {
  for (const char* path :
       {"/usr/lib/x86_64-linux-gnu/libamdhip64.so.5", "/usr/lib/x86_64-linux-gnu/libamdhip64.so.6"})
    if (std::filesystem::exists(path)) return path;
  return "";
}

// proves R33
TEST(AmdgpuLibrary, DebiansHipWithoutAGpuSaysNoDevice) {
  const std::string library = debians_library();
  if (library.empty()) GTEST_SKIP() << "HIP IS NOT INSTALLED: apt-get install libamdhip64-5 to test this";
  if (std::filesystem::exists("/dev/kfd")) GTEST_SKIP() << "the test needs a machine without an AMD GPU";
  EXPECT_THAT(run_apart("WEIR_AMDGPU_LIBRARY=" + library, "AmdgpuLibrary.DISABLED_Probe"),
              AllOf(Answers(WEIR_ERROR_NO_DEVICE), HasSubstr("HIP finds no device"),
                    HasSubstr("there is no /dev/kfd")));
  const std::string tool = weir::test::built("bin/weir");
  if (!std::filesystem::exists(tool)) return;
  EXPECT_THAT(run("WEIR_AMDGPU_LIBRARY=" + library + " " + tool + " info"),
              AllOf(HasSubstr("amdgpu"), HasSubstr("no device"), HasSubstr("there is no /dev/kfd")));
}

}  // namespace
}  // namespace amdgpu_test
