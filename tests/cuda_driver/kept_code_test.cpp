// SPDX-License-Identifier: Apache-2.0
// Code of CUDA's compiler that is kept in the compile cache, seen by programs: each run below is a process
// that loads PTX, launches a kernel of it, and prints what it asked of the fake libcuda.
#include <array>
#include <filesystem>
#include <fstream>
#include <span>
#include <weir/device.hpp>
#include <weir/error.hpp>
#include <weir/module.hpp>
#include <weir/stream.hpp>

#include "cache/maintenance.hpp"
#include "fake.hpp"

namespace cuda_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string environment_or(const char* name, const char* otherwise) {
  const char* const text = std::getenv(name);
  return text ? text : otherwise;
}

TEST(LoadedCode, DISABLED_Program) {
  const std::string ptx = environment_or("TESTED_PTX", ".visible .entry add_1(.param .u64 x) {}");
  fake();
  try {
    const weir::Device gpu = weir::open("cuda");
    fake().forget_calls();
    const weir::Module module = gpu.load_module(
        {"ptx", "sm_70", std::as_bytes(std::span(ptx)), environment_or("TESTED_NAME", "kernels")});
    const weir::KernelFunction add =
        module.kernel("add_1", std::array{weir::KernelParameter::of<std::uint64_t>()});
    const weir::Stream stream = gpu.create_stream();
    add.launch(stream, {.grid = {1, 1, 1}, .block = {1, 1, 1}},
               std::array{weir::KernelArgument(std::uint64_t{7})});
    stream.synchronize();
  } catch (const weir::Error& error) {
    std::printf("\nerror: %s\n", error.what());
  }
  int compiled = 0, cubins = 0, ptx_loads = 0, launched = 0;
  for (const fake_cuda::Call& one : fake().calls()) {
    compiled += one.function == "cuLinkComplete";
    if (one.function == "cuModuleLoadDataEx") ++(one.values.at(0) ? cubins : ptx_loads);
    launched += one.function == "cuLaunchKernel" && one.bytes.at(0) == 7;
  }
  std::printf("\ncompiled %d, loaded %d cubins and %d ptx, launched %d\n", compiled, cubins, ptx_loads,
              launched);
}

constexpr const char* first_run = "compiled 1, loaded 1 cubins and 0 ptx, launched 1";
constexpr const char* later_run = "compiled 0, loaded 1 cubins and 0 ptx, launched 1";
constexpr const char* no_cache = "compiled 0, loaded 0 cubins and 1 ptx, launched 1";

class KeptCode : public testing::Test {
 protected:
  KeptCode() {
    std::string pattern = fs::temp_directory_path() / "weir-kept-XXXXXX";
    if (!mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp failed");
    folder_ = pattern;
  }
  ~KeptCode() override {
    std::error_code ignored;
    fs::permissions(folder_, fs::perms::owner_all, ignored);
    fs::remove_all(folder_, ignored);
  }

  /// The output of a process with these variables.
  std::string program(const std::string& variables = "") const {
    return run_apart(
        "WEIR_CUDA_LIBRARY=" + fake_library() + " WEIR_CACHE=" + cache().string() + " " + variables,
        "LoadedCode.DISABLED_Program");
  }
  fs::path cache() const { return folder_ / "code"; }
  std::vector<fs::path> entries() const {
    std::vector<fs::path> out;
    for (const auto& listed : weir::cache::list_entries(cache())) out.push_back(listed.file);
    return out;
  }

  fs::path folder_;
};

// proves R31
TEST_F(KeptCode, SecondProcessDoesNotCompile) {
  EXPECT_THAT(program(), HasSubstr(first_run));
  ASSERT_EQ(entries().size(), 1u);
  EXPECT_EQ(weir::cache::read_entry(entries()[0])->label, "kernels for cubin:sm_90");
  EXPECT_THAT(program(), HasSubstr(later_run));
  EXPECT_THAT(program("TESTED_NAME=renamed"), HasSubstr(later_run));
  EXPECT_EQ(entries().size(), 1u);
}

// proves R31
TEST_F(KeptCode, OtherVersionsOfTheVendorsDriverHaveTheirOwnCode) {
  EXPECT_THAT(program("FAKE_CUDA_VERSION=13000"), HasSubstr(first_run));
  EXPECT_THAT(program("FAKE_CUDA_VERSION=13010"), HasSubstr(first_run));
  EXPECT_THAT(program("FAKE_CUDA_VERSION=13000"), HasSubstr(later_run));
  EXPECT_EQ(entries().size(), 2u);
  EXPECT_THAT(program("FAKE_CUDA_VERSION=13000 TESTED_PTX='.visible .entry add_1(.param .u64 y) {}'"),
              HasSubstr(first_run));
}

// A driver that was replaced without another version.
TEST_F(KeptCode, RefusedCodeIsCompiledAgainAndReplaced) {
  EXPECT_THAT(program(), HasSubstr(first_run));
  EXPECT_THAT(program("FAKE_CUDA_BUILD=2"), HasSubstr("compiled 1, loaded 2 cubins and 0 ptx, launched 1"));
  EXPECT_THAT(program("FAKE_CUDA_BUILD=2"), HasSubstr(later_run));
  EXPECT_EQ(entries().size(), 1u);
}

TEST_F(KeptCode, CodeThatIsNeverLoadedIsNotKept) {
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(
        program("FAKE_CUDA_BUILD=0"),
        AllOf(HasSubstr("compiled 1, loaded 1 cubins and 1 ptx, launched 1"), Not(HasSubstr("error:"))));
  EXPECT_TRUE(entries().empty());
}

// proves R32
TEST_F(KeptCode, DamagedEntriesAreCompiledAgain) {
  EXPECT_THAT(program(), HasSubstr(first_run));
  const fs::path entry = entries().at(0);
  const auto size = fs::file_size(entry);
  for (const auto at : {std::uintmax_t{0}, size / 2, size - 20, size - 1}) {
    std::fstream file(entry, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte ^ 0x20));
    file.close();
    EXPECT_THAT(program(), HasSubstr(first_run)) << "byte " << at;
    EXPECT_THAT(program(), HasSubstr(later_run));
  }
  fs::resize_file(entry, size / 3);
  EXPECT_THAT(program(), HasSubstr(first_run));
}

// proves R32
TEST_F(KeptCode, WithoutAUsableFolderNothingIsKept) {
  EXPECT_THAT(program("WEIR_CACHE=off"), HasSubstr(no_cache));
  // As for a process with raised rights, there is no folder.
  EXPECT_THAT(program("HOME= XDG_CACHE_HOME= WEIR_CACHE="), HasSubstr(no_cache));
  EXPECT_TRUE(entries().empty());
  EXPECT_THAT(program(), HasSubstr(first_run));
  fs::permissions(cache(), fs::perms(0777));
  EXPECT_THAT(program(), AllOf(HasSubstr(first_run), HasSubstr("may be written by every user")));
}

TEST_F(KeptCode, LibraryWithoutALinkerLoadsThePtx) {
  EXPECT_THAT(program("FAKE_CUDA_MISSING=cuLinkCreate"), HasSubstr(no_cache));
  EXPECT_TRUE(entries().empty());
}

TEST_F(KeptCode, FailureOfTheCompilerIsReportedAsWithoutACache) {
  const auto message = [](const std::string& output) {
    const std::size_t at = output.find("error: ");
    return at == output.npos ? output : output.substr(at, output.find('\n', at) - at);
  };
  const std::string cached = program("TESTED_PTX=error");
  EXPECT_THAT(cached, AllOf(HasSubstr("line 7: no such word"), HasSubstr("launched 0")));
  EXPECT_EQ(message(cached), message(program("TESTED_PTX=error WEIR_CACHE=off")));
  EXPECT_TRUE(entries().empty());
}

}  // namespace
}  // namespace cuda_test
