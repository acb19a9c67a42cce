// SPDX-License-Identifier: Apache-2.0
// Code of a vendor's compiler that is kept in the compile cache, as programs use it: each run below is a
// process that loads a code object, launches a kernel of it, and prints what it asked of a driver that
// compiles.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <weir/array.hpp>
#include <weir/device.hpp>
#include <weir/error.hpp>
#include <weir/module.hpp>
#include <weir/stream.hpp>

#include "cache/compiling_driver.hpp"
#include "cache/temporary_store.hpp"
#include "places.hpp"
#include "run_apart.hpp"

namespace weir::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const fs::path driver_folder = built("tests/cache/compiling");

std::string environment_or(const char* name, const char* otherwise) {
  const char* const text = std::getenv(name);
  return text ? text : otherwise;
}

/// The code object, or one with a fault, or another with the same kernel.
std::string tested_code() {
  std::string code = bytes_of(built("tests/cache/added_numbers.so"));
  const std::string kind = environment_or("TESTED_CODE", "whole");
  if (kind == "cut-short") code.resize(code.size() / 2);
  if (kind == "another") code.at(15) ^= 1;  // padding of the ELF header
  return code;
}

/// Whether the kernel, which adds 7 to each number, does so.
bool adds(const Device& device, const Module& module) {
  using P = KernelParameter;
  const KernelFunction add = module.kernel("add", {P::array(), P::of<std::int64_t>(), P::of<std::int64_t>()});
  const Stream stream = device.create_stream();
  constexpr std::int64_t count = 100;
  Array<std::int64_t> numbers = device.array<std::int64_t>(stream, count);
  numbers.fill(stream, 3);
  add.launch(stream, {.grid = {4, 1, 1}, .block = {1, 1, 1}}, {numbers, count, std::int64_t{7}});
  return numbers.to_host(stream) == std::vector<std::int64_t>(count, 10);
}

TEST(LoadedCode, DISABLED_Program) {
  const std::string code = tested_code();
  bool correct = false;
  try {
    const Device device = open("compiling");
    correct = adds(device, device.load_module({"elf-x86_64", "x86-64", std::as_bytes(std::span(code)),
                                               environment_or("TESTED_NAME", "kernels")}));
  } catch (const Error& error) {
    std::printf("\nerror: %s\n", error.what());
  }
  void* const driver = dlopen((driver_folder / "libweir-compiling.so").c_str(), RTLD_NOW | RTLD_NOLOAD);
  ASSERT_TRUE(driver) << dlerror();
  const auto& counts =
      *reinterpret_cast<decltype(&compiling_driver_counts)>(dlsym(driver, "compiling_driver_counts"))();
  std::printf("\ncompiled %d, loaded %d machine code and %d source, %s\n", counts.compilations,
              counts.machine_code_loads, counts.source_loads, correct ? "correct" : "no result");
}

constexpr const char* first_run = "compiled 1, loaded 1 machine code and 0 source, correct";
constexpr const char* later_run = "compiled 0, loaded 1 machine code and 0 source, correct";
constexpr const char* no_cache = "compiled 0, loaded 0 machine code and 1 source, correct";

class MachineCode : public testing::Test {
 protected:
  /// The output of a process with these variables.
  std::string program(const std::string& variables = "") const {
    return run_apart(
        "WEIR_DRIVER_PATH=" + driver_folder.string() + " WEIR_CACHE=" + cache().string() + " " + variables,
        "LoadedCode.DISABLED_Program");
  }
  fs::path cache() const { return folder_.path() / "code"; }
  std::vector<fs::path> entries() const {
    std::vector<fs::path> out;
    for (const cache::Listed& listed : weir::cache::list_entries(cache())) out.push_back(listed.file);
    return out;
  }

  TemporaryFolder folder_;
};

// proves R31
TEST_F(MachineCode, SecondProcessDoesNotCompile) {
  EXPECT_THAT(program(), HasSubstr(first_run));
  ASSERT_EQ(entries().size(), 1u);
  EXPECT_EQ(weir::cache::read_entry(entries()[0])->label, "kernels for mutant-elf:x86-64");
  EXPECT_THAT(program(), HasSubstr(later_run));
  EXPECT_THAT(program("TESTED_NAME=renamed"), HasSubstr(later_run));
  EXPECT_EQ(entries().size(), 1u);
}

// proves R31
TEST_F(MachineCode, OtherVersionsOfTheVendorsDriverHaveTheirOwnCode) {
  EXPECT_THAT(program("VENDOR_VERSION=1"), HasSubstr(first_run));
  EXPECT_THAT(program("VENDOR_VERSION=2"), HasSubstr(first_run));
  EXPECT_THAT(program("VENDOR_VERSION=1"), HasSubstr(later_run));
  EXPECT_EQ(entries().size(), 2u);
  EXPECT_THAT(program("VENDOR_VERSION=1 TESTED_CODE=another"), HasSubstr(first_run));
}

// A driver that was replaced without another version.
TEST_F(MachineCode, RefusedCodeIsCompiledAgainAndReplaced) {
  EXPECT_THAT(program(), HasSubstr(first_run));
  EXPECT_THAT(program("VENDOR_BUILD=2"),
              HasSubstr("compiled 1, loaded 2 machine code and 0 source, correct"));
  EXPECT_THAT(program("VENDOR_BUILD=2"), HasSubstr(later_run));
  EXPECT_EQ(entries().size(), 1u);
}

TEST_F(MachineCode, CodeThatIsNeverLoadedIsNotKept) {
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(program("VENDOR_BUILD=0"),
                AllOf(HasSubstr("compiled 1, loaded 1 machine code and 1 source, correct"),
                      Not(HasSubstr("error:"))));
  EXPECT_TRUE(entries().empty());
}

// proves R32
TEST_F(MachineCode, DamagedEntriesAreCompiledAgain) {
  EXPECT_THAT(program(), HasSubstr(first_run));
  const fs::path entry = entries().at(0);
  const std::string whole = bytes_of(entry);
  for (const std::size_t at : {std::size_t{0}, whole.size() / 2, whole.size() - 20, whole.size() - 1}) {
    std::string damaged = bytes_of(entry);
    damaged.at(at) ^= 0x20;
    write_bytes(entry, damaged);
    EXPECT_THAT(program(), HasSubstr(first_run)) << "byte " << at;
    EXPECT_THAT(program(), HasSubstr(later_run));
  }
  fs::resize_file(entry, whole.size() / 3);
  EXPECT_THAT(program(), HasSubstr(first_run));
}

// proves R32
TEST_F(MachineCode, WithoutAUsableFolderNothingIsKept) {
  EXPECT_THAT(program("WEIR_CACHE=off"), HasSubstr(no_cache));
  // As for a process with raised rights, there is no folder.
  EXPECT_THAT(program("HOME= XDG_CACHE_HOME= WEIR_CACHE="), HasSubstr(no_cache));
  EXPECT_TRUE(entries().empty());
  EXPECT_THAT(program(), HasSubstr(first_run));
  fs::permissions(cache(), fs::perms(0777));
  EXPECT_THAT(program(), AllOf(HasSubstr(first_run), HasSubstr("may be written by every user")));
}

TEST_F(MachineCode, DriverThatDoesNotCompileLoadsTheObject) {
  EXPECT_THAT(program("VENDOR_COMPILES=0"), HasSubstr(no_cache));
  EXPECT_TRUE(entries().empty());
}

TEST_F(MachineCode, FailureOfTheCompilerIsReportedAsWithoutACache) {
  const auto message = [](const std::string& output) {
    const std::size_t at = output.find("error: ");
    return at == output.npos ? output : output.substr(at, output.find('\n', at) - at);
  };
  const std::string cached = program("TESTED_CODE=cut-short");
  EXPECT_THAT(cached, AllOf(HasSubstr("compiled 1, loaded 0 machine code and 1 source, no result"),
                            HasSubstr("'kernels' of format 'elf-x86_64'"), HasSubstr("is cut short")));
  EXPECT_EQ(message(cached), message(program("TESTED_CODE=cut-short WEIR_CACHE=off")));
  EXPECT_TRUE(entries().empty());
}

}  // namespace
}  // namespace weir::test
