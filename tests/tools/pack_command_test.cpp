// SPDX-License-Identifier: Apache-2.0
// Packs as a user makes and runs them, in an installation with and without the code generator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>
#include <weir/files.hpp>
#include <weir/pack.hpp>

#include "places.hpp"
#include "temporary_folder.hpp"
#include "tools/run_program.hpp"

namespace weir::test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

constexpr const char* cpu = "elf-x86_64:x86-64-v3";

std::string text_of(const std::string& name, const std::string& operation, int rank = 1) {
  const std::string extents = rank == 1 ? "(%i) in (%zero to %n)" : "(%i, %j) in (%zero to %n, %zero to %m)";
  const std::string at = rank == 1 ? "@x[%i]" : "@x[%i, %j]";
  return "weir-ir 1\nkernel \"" + name + "\"\n  param @x : array<f32, " + std::to_string(rank) +
         ">\n{\n  %zero = const 0 : i64\n  %n = extent @x, 0 : i64\n" +
         (rank == 1 ? "" : "  %m = extent @x, 1 : i64\n") + "  parallel " + extents + " {\n    %v = load " +
         at + " : f32\n    %one = const 1 : f32\n    %w = add %v, %one : f32\n    %r = " + operation +
         " %w, %w : f32\n    store " + at + ", %r\n  }\n}\n";
}

class PackCommand : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(folder / "twice.weir") << text_of("twice", "add");
    std::ofstream(folder / "square.weir") << text_of("square", "mul");
  }

  std::string path(const std::string& name) const { return (folder / name).string(); }

  /// The built files of an installation, without weir-codegen and libweir-codegen.
  fs::path bare_tool() const {
    const fs::path bare = folder / "bare", library = tool_folder().parent_path() / library_folder();
    if (fs::exists(bare)) return bare / "bin/weir";
    fs::create_directories(bare / "bin");
    fs::create_directories(bare / library_folder() / "weir");
    fs::copy_file(tool(), bare / "bin/weir");
    for (const fs::directory_entry& file : fs::directory_iterator(library))
      if (file.path().filename().string().starts_with("libweir.so"))
        fs::copy(file.path(), bare / library_folder() / file.path().filename(),
                 fs::copy_options::copy_symlinks);
    fs::copy(library / "weir/weir-probe", bare / library_folder() / "weir");
    fs::copy(library / "weir/drivers", bare / library_folder() / "weir/drivers");
    return bare / "bin/weir";
  }

  ProgramResult weir(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), tool());
    return run_program(arguments, {"WEIR_CACHE=off"});
  }
  ProgramResult bare(std::vector<std::string> arguments, std::vector<std::string> environment = {}) const {
    arguments.insert(arguments.begin(), bare_tool().string());
    environment.emplace_back("WEIR_CACHE=off");
    return run_program(arguments, environment);
  }
  void make(const std::string& pack, std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "compile");
    arguments.insert(arguments.end(), {"-o", path(pack)});
    const ProgramResult result = weir(arguments);
    ASSERT_EQ(result.status, 0) << result.err;
  }
  float first_of(const std::string& file) const {
    float value = 0;
    const HostArray array = read_npy(path(file));
    std::memcpy(&value, array.data.data(), sizeof value);
    return value;
  }

  const test::TemporaryFolder temporary;
  const fs::path folder = temporary.path();

 private:
  static fs::path tool_folder() { return fs::path(tool()).parent_path(); }
  static std::string library_folder() { return WEIR_TEST_LIBRARY_FOLDER; }
};

TEST_F(PackCommand, LinksAndDevicesAreWrittenAndNotReplaced) {
  make("k.weirpack", {path("twice.weir"), "--target", cpu});
  fs::create_symlink("k.weirpack", folder / "link.weirpack");
  make("link.weirpack", {path("square.weir"), "--target", cpu});
  EXPECT_TRUE(fs::is_symlink(folder / "link.weirpack"));
  EXPECT_THAT(weir({"pack", "--list", path("k.weirpack")}).out, HasSubstr("square"));
  fs::create_symlink("/dev/full", folder / "full.weirpack");
  const ProgramResult full =
      weir({"compile", path("twice.weir"), "--target", cpu, "-o", path("full.weirpack")});
  EXPECT_EQ(full.status, 1);
  EXPECT_THAT(full.err, HasSubstr("full.weirpack: cannot write the pack: No space left on device"));
  EXPECT_TRUE(fs::is_symlink(folder / "full.weirpack"));
}

TEST_F(PackCommand, ListShowsKernelsTargetsAssumptionsAndSizes) {
  make("k.weirpack", {path("twice.weir"), path("square.weir"), "--target", cpu, "--target", "ptx:sm_90"});
  const ProgramResult result = weir({"pack", "--list", path("k.weirpack")});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("k.weirpack: 2 kernels, made by weir-codegen of Weir"), HasSubstr("LLVM 22"),
                    HasSubstr("\ntwice(x: array<f32, 1>)\n"), HasSubstr("\nsquare(x: array<f32, 1>)\n")));
  EXPECT_THAT(result.out, ContainsRegex("elf-x86_64:x86-64-v3 +any launch +1 task +[0-9.]+ KiB\n"));
  EXPECT_THAT(result.out,
              ContainsRegex("ptx:sm_90 +no_alias,index32,aligned,device_local +1 task +[0-9.]+ KiB\n"));
  EXPECT_THAT(result.out, Not(HasSubstr("damaged")));
}

TEST_F(PackCommand, TheSameKernelsGiveTheSameBytes) {
  make("a.weirpack", {path("twice.weir"), path("square.weir"), "--target", cpu});
  make("b.weirpack", {path("twice.weir"), path("square.weir"), "--target", cpu});
  const auto bytes = [&](const char* file) {
    std::ifstream in(path(file), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  EXPECT_EQ(bytes("a.weirpack"), bytes("b.weirpack"));
}

TEST_F(PackCommand, RunsWithoutTheCodeGenerator) {
  make("k.weirpack", {path("twice.weir"), path("square.weir"), "--target", cpu});
  const ProgramResult text = bare({"run", path("twice.weir"), "--device", "cpu", "--arg", "x=zeros:1000"});
  EXPECT_EQ(text.status, 1);
  EXPECT_THAT(text.err, HasSubstr("weir-codegen: no such file"));
  const ProgramResult result = bare({"run", path("k.weirpack"), "--kernel", "twice", "--device", "cpu",
                                     "--arg", "x=zeros:1000", "--out", "x=" + path("x.npy")});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(first_of("x.npy"), 2.0f);
}

// The code of the loop is in the pack, that of the scan is not.
TEST_F(PackCommand, HoldsThePartsOfAKernelWithAlgorithms) {
  std::string text = text_of("scanned", "add");
  text.insert(text.rfind('}'), "  algorithm.inclusive_scan.sum @x, @x\n");
  std::ofstream(folder / "scanned.weir") << text;
  make("k.weirpack", {path("scanned.weir"), "--target", cpu});
  const std::vector<std::string> run{"run",   path("k.weirpack"),  "--device", "cpu",
                                     "--arg", "x=zeros:1000", "--out",    "x=" + path("x.npy")};
  ASSERT_EQ(weir(run).status, 0);
  EXPECT_EQ(first_of("x.npy"), 2.0f);
  const ProgramResult result = bare(run);
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("kernel 'inclusive_scan'"));
}

TEST_F(PackCommand, OneOfSeveralKernelsIsNamed) {
  make("k.weirpack", {path("twice.weir"), path("square.weir"), "--target", cpu});
  const ProgramResult several = weir({"run", path("k.weirpack"), "--arg", "x=zeros:10"});
  EXPECT_EQ(several.status, 2);
  EXPECT_THAT(several.err, HasSubstr("has the kernels twice, square; choose one with --kernel NAME"));
  const ProgramResult absent = weir({"run", path("k.weirpack"), "--kernel", "half"});
  EXPECT_EQ(absent.status, 1);
  EXPECT_THAT(absent.err, HasSubstr("has no kernel 'half'; it has twice, square"));
}

TEST_F(PackCommand, AnAbsentTargetIsCompiledOrNamed) {
  make("gpu.weirpack", {path("twice.weir"), "--target", "ptx:sm_90"});
  const std::vector<std::string> run{"run", path("gpu.weirpack"), "--device", "cpu", "--arg", "x=zeros:10"};
  EXPECT_EQ(weir(run).status, 0);
  const ProgramResult result = bare(run);
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("kernel 'twice' has no code for device cpu:0"),
                                HasSubstr("gpu.weirpack has it for ptx:sm_90"), HasSubstr("weir compile"),
                                HasSubstr("or install weir-codegen")));
}

/// Alters one byte of a pack of one kernel, so that its contents and code are sound and its text is not.
bool damage_text(const std::string& file) {
  std::ostringstream read;
  read << std::ifstream(file, std::ios::binary).rdbuf();
  const std::string bytes = read.str();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string altered = bytes;
    altered[at] ^= 1;
    std::ofstream(file, std::ios::binary) << altered;
    try {
      const Pack pack = Pack::examine(file);
      if (!pack.usable() || !std::ranges::all_of(pack.code(), &PackedCode::sound)) continue;
      try {
        (void)pack.program(0);
      } catch (const Error&) {
        return true;
      }
    } catch (const Error&) {
    }
  }
  return false;
}

// proves R32
TEST_F(PackCommand, ADamagedTextIsNamed) {
  make("k.weirpack", {path("twice.weir"), "--target", cpu});
  ASSERT_TRUE(damage_text(path("k.weirpack")));
  const ProgramResult list = weir({"pack", path("k.weirpack")});
  EXPECT_EQ(list.status, 1);
  EXPECT_THAT(list.out, AllOf(HasSubstr("twice(...)  text damaged"),
                              HasSubstr("the texts of 1 of 1 kernels are damaged; make the pack again")));
}

// proves R32
TEST_F(PackCommand, DamagedCodeIsGeneratedAnew) {
  make("k.weirpack", {path("twice.weir"), "--target", cpu});
  const auto size = static_cast<std::streamoff>(fs::file_size(path("k.weirpack")));
  {
    std::fstream file(path("k.weirpack"), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(size - 100);  // in the last entry, which is code
    file.put('?');
  }
  const ProgramResult list = weir({"pack", path("k.weirpack")});
  EXPECT_EQ(list.status, 1);
  EXPECT_THAT(list.out, HasSubstr("1 of 1 pieces of code are damaged"));
  const std::vector<std::string> run{"run", path("k.weirpack"), "--device", "cpu", "--arg", "x=zeros:10"};
  EXPECT_EQ(weir(run).status, 0);
  const ProgramResult result = bare(run);
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("but the code for elf-x86_64:x86-64-v3 is damaged"));
  fs::resize_file(path("k.weirpack"), static_cast<std::uintmax_t>(size) - 1);
  EXPECT_THAT(weir(run).err, HasSubstr("it is truncated or damaged; make it again"));
}

TEST_F(PackCommand, BadRequestsAreExplained) {
  const auto refused = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"compile", path("twice.weir")});
    const ProgramResult result = weir(arguments);
    EXPECT_NE(result.status, 0);
    return result.err;
  };
  EXPECT_THAT(refused({"-o", path("k.weirpack")}), HasSubstr("a pack needs its targets"));
  EXPECT_THAT(refused({"--target", "elf-x86_64:native", "-o", path("k.weirpack")}),
              HasSubstr("another processor on each machine"));
  EXPECT_THAT(refused({"--target", "elf-x86_64", "-o", path("k.weirpack")}), HasSubstr("name one, such as"));
  EXPECT_THAT(refused({"--target", cpu, "--target", "ptx:sm_90", "-o", path("k.so")}),
              HasSubstr("write it with -o FILE.weirpack"));
  EXPECT_THAT(refused({"--target", "ptx:sm_1", "-o", path("k.weirpack")}), HasSubstr("sm_1"));
  EXPECT_FALSE(fs::exists(path("k.weirpack")));
  EXPECT_THAT(weir({"pack", path("twice.weir")}).err, HasSubstr("is not a pack"));
}

#ifdef WEIR_HIPSIM_LIBRARY
// Rows of 3 floats do not begin at multiples of 16 bytes, so this launch meets fewer assumptions than most
// do.
TEST_F(PackCommand, AnUnusualLaunchTakesCodeThatAssumesLess) {
  std::ofstream(folder / "rows.weir") << text_of("rows", "add", 2);
  make("k.weirpack", {path("rows.weir"), "--target", "hsaco:gfx90a"});
  const std::vector<std::string> simulator{"WEIR_AMDGPU_LIBRARY=" WEIR_HIPSIM_LIBRARY, "HIPSIM_CONFIG"};
  for (const char* const extents : {"8x16", "8x3"}) {
    const ProgramResult result = bare({"run", path("k.weirpack"), "--device", "amdgpu", "--explain", "--arg",
                                       std::string("x=zeros:") + extents, "--out", "x=" + path("x.npy")},
                                      simulator);
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(first_of("x.npy"), 2.0f);
    EXPECT_THAT(result.out, HasSubstr(std::strcmp(extents, "8x3") == 0
                                          ? "launches that meet nothing"
                                          : "launches that meet no_alias,index32,aligned,device_local"));
  }
  make("usual.weirpack", {path("rows.weir"), "--target", "hsaco:gfx942"});
  const ProgramResult other =
      bare({"run", path("usual.weirpack"), "--device", "amdgpu", "--arg", "x=zeros:8x16"}, simulator);
  EXPECT_THAT(other.err, AllOf(HasSubstr("has it for hsaco:gfx942"), HasSubstr("hsaco:gfx90a")))
      << "the driver refuses the code of another processor";
}
#endif

}  // namespace
}  // namespace weir::test
