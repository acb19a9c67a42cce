// SPDX-License-Identifier: Apache-2.0
// The driver's loader with objects of other compilers.
#include <elf.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>

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
                         ::testing::Values("plain_gnu", "plain_sysv", "plain_relr", "plain_aligned",
                                           "plain_based"));

TEST_P(Linked, IsBoundToItselfFirst) {
  const weir_module module = load_object(GetParam());
  std::uint32_t out[6] = {};
  run(module, "fill_in", out);
  const std::uint32_t expected[6] = {1, 2, 10, 0, 7, 0};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(out[i], expected[i]) << i;
  call(table().module_unload, module);
}

// Compilers and linkers may leave out relocations that the other tests mean to load.
TEST(Loader, TheObjectsOfTheseTestsHaveTheirRelocations) {
  const auto entries_of = [](const std::string& name) {
    const std::vector<char> bytes = object_bytes(name);
    Elf64_Ehdr header;
    std::memcpy(&header, bytes.data(), sizeof header);
    std::map<std::int64_t, std::uint64_t> entries;
    for (unsigned i = 0; i < header.e_phnum; ++i) {
      Elf64_Phdr segment;
      std::memcpy(&segment, bytes.data() + header.e_phoff + i * sizeof segment, sizeof segment);
      for (std::uint64_t at = 0; segment.p_type == PT_DYNAMIC && at < segment.p_filesz;
           at += sizeof(Elf64_Dyn)) {
        Elf64_Dyn entry;
        std::memcpy(&entry, bytes.data() + segment.p_offset + at, sizeof entry);
        entries[entry.d_tag] = entry.d_un.d_val;
      }
    }
    return entries;
  };
  EXPECT_GE(entries_of("plain_gnu")[DT_RELACOUNT], 130u);
  EXPECT_GE(entries_of("plain_relr")[DT_RELRSZ], 3 * 8u);  // an address and two words of bits
  EXPECT_TRUE(entries_of("plain_sysv").contains(DT_HASH));
  EXPECT_TRUE(entries_of("plain_gnu").contains(DT_GNU_HASH));
  EXPECT_TRUE(entries_of("single").contains(DT_FINI));
  EXPECT_TRUE(entries_of("needs").contains(DT_NEEDED));
}

TEST(Loader, FindsFunctionsOfALibraryThatAnObjectNeeds) {
  const weir_module module = load_object("needs");
  std::uint32_t out = 0;
  run(module, "call_library", &out);
  EXPECT_EQ(out, 7u);
  call(table().module_unload, module);
}

TEST(Loader, RunsInitialisationAndTermination) {
  for (const char* const object : {"start", "single"}) {  // lists of functions, and one function each
    const weir_module module = load_object(object);
    std::uint32_t out = 0;
    run(module, "remember", &out);
    EXPECT_EQ(out, 5u) << object;
    call(table().module_unload, module);
    EXPECT_EQ(out, 6u) << object;
  }
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
TEST(Loader, RefusesUnboundSymbolsWithTheReason) {
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
