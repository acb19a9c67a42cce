// SPDX-License-Identifier: Apache-2.0
// The driver's loader with objects of other compilers.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "support.hpp"

extern "C" __attribute__((visibility("default"))) std::uint32_t who_is_called() {
  return 70;
}

namespace cpu_test {
namespace {

struct OutArguments {
  std::uint32_t* out;
};

std::vector<char> object_bytes(const std::string& name) {
  const auto path = weir::test::built("tests/cpu_driver/objects/" + name + ".so");
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.empty()) throw std::runtime_error("cannot read " + path.string());
  return bytes;
}

weir_module load_object(const std::string& name) {
  const std::vector<char> bytes = object_bytes(name);
  const weir_code_object object = code_object(bytes);
  weir_module module = nullptr;
  call(table().module_load, first_device(), &object, &module);
  return module;
}

void run(weir_module module, const char* kernel, std::uint32_t* out) {
  Stream stream;
  stream.launch(kernel_of<OutArguments>(module, kernel), OutArguments{out});
  stream.synchronize();
}

std::string refusal_of(const std::string& name) {
  const std::vector<char> bytes = object_bytes(name);
  const weir_code_object object = code_object(bytes);
  weir_module module = nullptr;
  return refusal(WEIR_ERROR_CODE_OBJECT, table().module_load, first_device(), &object, &module);
}

std::size_t descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

class Linked : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Ways, Linked,
                         ::testing::Values("plain_gnu", "plain_sysv", "plain_relr", "plain_aligned"));

TEST_P(Linked, IsBoundToItselfFirst) {
  const weir_module module = load_object(GetParam());
  std::uint32_t out[6] = {};
  run(module, "fill_in", out);
  const std::uint32_t expected[6] = {1, 2, 10, 0, 7, 0};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(out[i], expected[i]) << i;
  call(table().module_unload, module);
}

TEST(Loader, RunsInitialisationAndTermination) {
  const weir_module module = load_object("start");
  std::uint32_t out = 0;
  run(module, "remember", &out);
  EXPECT_EQ(out, 5u);
  call(table().module_unload, module);
  EXPECT_EQ(out, 6u);
}

// proves R39
TEST(Loader, LetsExceptionsAndBacktracesPassThroughKernels) {
  const weir_module module = load_object("start");
  std::uint32_t out = 0, frames = 0;
  run(module, "catches", &out);
  EXPECT_EQ(out, 8u);
  run(module, "depth", &frames);
  EXPECT_GE(frames, 4u) << "the backtrace ends in the kernel";
  call(table().module_unload, module);
}

// proves R35
TEST(Loader, RefusesWhatItCannotBindAndSaysWhy) {
  EXPECT_NE(refusal_of("thread_local").find("thread-local variables"), std::string::npos);
  EXPECT_NE(refusal_of("ifunc").find("ifunc"), std::string::npos);
  EXPECT_NE(refusal_of("missing").find("no_library_has_this"), std::string::npos);
}

// proves R39
TEST(Loader, HoldsNoDescriptorsHoweverManyModulesThereAre) {
  const std::size_t before = descriptors();
  std::vector<weir_module> modules(2000);
  for (weir_module& module : modules) module = load_object("plain_gnu");
  EXPECT_EQ(descriptors(), before);
  std::uint32_t out[6] = {};
  run(modules[1999], "fill_in", out);
  EXPECT_EQ(out[2], 10u);
  for (const weir_module module : modules) call(table().module_unload, module);
}

// proves R40
TEST(Loader, NeedsNoFile) {
  const rlimit none{0, 0};
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limited{none.rlim_cur, before.rlim_max};
  const std::vector<char> bytes = object_bytes("plain_gnu");
  setrlimit(RLIMIT_FSIZE, &limited);
  const weir_code_object object = code_object(bytes);
  weir_module module = nullptr;
  weir_status status = new_status();
  const weir_result result = table().module_load(first_device(), &object, &module, &status);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(result, WEIR_OK) << status.message;
  if (module) call(table().module_unload, module);
}

}  // namespace
}  // namespace cpu_test
