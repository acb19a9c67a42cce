// SPDX-License-Identifier: Apache-2.0
// `weir compile` and `weir run` on files, as a user runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>
#include <weir/files.hpp>

#include "places.hpp"
#include "temporary_folder.hpp"
#include "tools/run_program.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;

constexpr const char* scale_text = R"(weir-ir 1
kernel "scale"
  param @x : array<f32, 1>
  param @y : array<f32, 1>
  param @factor : f32
{
  %zero = const 0 : i64
  %n = extent @x, 0 : i64
  %factor = arg @factor : f32
  parallel (%i) in (%zero to %n) {
    %x = load @x[%i] : f32
    %scaled = mul %factor, %x : f32
    store @y[%i], %scaled
  }
}
)";

constexpr const char* cross_text = R"(weir-ir 1
kernel "first_component"
  param @v : array<vec<f64, 3>, 2>
  param @out : array<f64, 2>
{
  %zero = const 0 : i64
  %rows = extent @v, 0 : i64
  %cols = extent @v, 1 : i64
  parallel (%i, %j) in (%zero to %rows, %zero to %cols) {
    %c = load @v[%i, %j].2 : f64
    store @out[%i, %j], %c
  }
}
)";

constexpr const char* sorted_text = R"(weir-ir 1
kernel "sorted"
  param @x : array<f32, 1>
{
  %zero = const 0 : i64
  %n = extent @x, 0 : i64
  parallel (%i) in (%zero to %n) {
    %x = load @x[%i] : f32
    %negative = neg %x : f32
    store @x[%i], %negative
  }
  algorithm.sort.ascending @x
  %f = load @x[%zero] : f32
  %one = const 1 : i64
  store @x[%one], %f
}
)";

class KernelCommands : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  template <class T>
  std::string write_array(const std::string& name, ScalarType type, const std::vector<T>& values,
                          std::vector<std::int64_t> shape) const {
    HostArray array;
    array.type = type;
    array.shape = std::move(shape);
    array.data.resize(values.size() * sizeof(T));
    std::memcpy(array.data.data(), values.data(), array.data.size());
    write_npy(path(name), array);
    return path(name);
  }
  template <class T>
  std::vector<T> read_array(const std::string& name) const {
    const HostArray array = read_npy(path(name));
    std::vector<T> values(array.data.size() / sizeof(T));
    std::memcpy(values.data(), array.data.data(), array.data.size());
    return values;
  }

  const test::TemporaryFolder temporary_;
  const std::filesystem::path folder_ = temporary_.path();
};

TEST_F(KernelCommands, RunReadsAndWritesNumPyFiles) {
  const std::string kernel = write("scale.weir", scale_text);
  const std::string x = write_array<float>("x.npy", ScalarType::f32, {1, 2, 3}, {3});
  const ProgramResult result = run_program({tool(), "run", kernel, "--arg", "x=@" + x, "--arg", "factor=2.5",
                                            "--out", "y=" + path("y.npy"), "--device", "cpu"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out,
              testing::MatchesRegex("scale on cpu:0 \\(.+\\): compiled and run in .+ ms\n"
                                    "  x: array<f32, 1> of 3, 12 bytes\n  y: array<f32, 1> of 3, 12 bytes\n"
                                    "  factor: f32\nwrote y to .+/y.npy\n"));
  EXPECT_EQ(read_npy(path("y.npy")).shape, std::vector<std::int64_t>{3});
  EXPECT_EQ(read_array<float>("y.npy"), (std::vector<float>{2.5f, 5.0f, 7.5f}));
}

TEST_F(KernelCommands, RunTakesArraysOfRank0) {
  const std::string kernel = write("half.weir", R"(weir-ir 1
kernel "half"
  param @x : array<f32, 0>
  param @zero : array<f32, 0>
  param @result : array<f32, 0>
{
  %half = const 0.5 : f32
  %x = load @x[] : f32
  %zero = load @zero[] : f32
  %sum = add %x, %zero : f32
  %y = mul %sum, %half : f32
  store @result[], %y
}
)");
  const std::string x = write_array<float>("x.npy", ScalarType::f32, {3}, {});
  const ProgramResult result =
      run_program({tool(), "run", kernel, "--arg", "x=@" + x, "--arg", "zero=zeros:", "--out",
                   "result=" + path("result.npy"), "--device", "cpu"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("  result: array<f32, 0>, 4 bytes\n"));
  EXPECT_TRUE(read_npy(path("result.npy")).shape.empty());
  EXPECT_EQ(read_array<float>("result.npy"), std::vector<float>{1.5f});
}

// The device of a driver that takes no code yet is of a kind that would come before the CPU.
TEST_F(KernelCommands, RunRoundsScalarsAsConstants) {
  const std::string kernel = write("numbers.weir", R"(weir-ir 1
kernel "numbers"
  param @h : f16
  param @x : f32
  param @y : array<f32, 1>
{
  %0 = const 0 : i64
  %1 = const 1 : i64
  %h = arg @h : f16
  %wide = cast %h : f32
  store @y[%0], %wide
  %x = arg @x : f32
  store @y[%1], %x
}
)");
  const auto run = [&](const std::string& h, const std::string& x) {
    return run_program({tool(), "run", kernel, "--arg", "h=" + h, "--arg", "x=" + x, "--arg", "y=zeros:2",
                        "--out", "y=" + path("y.npy"), "--device", "cpu"});
  };
  const ProgramResult rounded = run("2046.50000000001", "1e-60");
  EXPECT_EQ(rounded.status, 0) << rounded.err;
  EXPECT_EQ(read_array<float>("y.npy"), (std::vector<float>{2047, 0}));
  for (const char* large : {"65520", "-70000", "1e39"})
    EXPECT_THAT(run(large, "0").err, HasSubstr("expected a value of type f16, found '" + std::string(large)));
}

TEST_F(KernelCommands, RunPassesOverDevicesThatNoCodeIsGeneratedFor) {
  const std::filesystem::path drivers = folder_ / "drivers";
  std::filesystem::create_directory(drivers);
  std::filesystem::copy_file(test::built("tests/driver/broken/good.so"), drivers / "good.so");
  std::filesystem::permissions(drivers / "good.so", std::filesystem::perms{0755});
  write("drivers/good.json", R"({"name": "good", "library": "good.so", "abi": {"min": "1.0", "max": "1.0"},
                                 "architecture": ")" WEIR_MACHINE "\"}");
  const std::string kernel = write("scale.weir", scale_text);
  const std::string x = write_array<float>("x.npy", ScalarType::f32, {1, 2, 3}, {3});
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> command{tool(), "run", kernel, "--arg", "x=@" + x, "--arg", "factor=2.5"};
    command.insert(command.end(), more.begin(), more.end());
    return run_program(command, {"WEIR_DRIVER_PATH=" + drivers.string(), "WEIR_DEVICE"});
  };
  const ProgramResult chosen = run({});
  EXPECT_EQ(chosen.status, 0) << chosen.err;
  EXPECT_THAT(chosen.out, testing::Not(HasSubstr("on good:0")));
  EXPECT_THAT(run({"--device", "good"}).err, HasSubstr("good:0"));
}

TEST_F(KernelCommands, ComponentsOfVectorsAreTheLastDimension) {
  const std::string kernel = write("first.weir", cross_text);
  const std::string v =
      write_array<double>("v.npy", ScalarType::f64, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {2, 2, 3});
  const ProgramResult result =
      run_program({tool(), "run", kernel, "--arg", "v=@" + v, "--out", "out=" + path("out.npy")});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(read_npy(path("out.npy")).shape, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(read_array<double>("out.npy"), (std::vector<double>{2, 5, 8, 11}));
}

TEST_F(KernelCommands, AlgorithmsRunAndAreNotCompiled) {
  const std::string kernel = write("sorted.weir", sorted_text);
  write_array<float>("x.npy", ScalarType::f32, {3, 7, 5}, {3});
  const ProgramResult run = run_program({tool(), "run", kernel, "--arg", "x=@" + path("x.npy"), "--out",
                                         "x=" + path("out.npy"), "--device", "cpu"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(read_array<float>("out.npy"), (std::vector<float>{-7, -7, -3}));
  const ProgramResult compiled = run_program({tool(), "compile", kernel, "-o", path("sorted.so")});
  EXPECT_EQ(compiled.status, 1);
  EXPECT_THAT(compiled.err, HasSubstr("kernel 'sorted' contains algorithms, which only Weir submits"));
  EXPECT_FALSE(std::filesystem::exists(path("sorted.so")));
  const ProgramResult text = run_program({tool(), "compile", kernel, "--emit", "ir", "-o", "-"});
  EXPECT_THAT(text.out, HasSubstr("\n  algorithm.sort.ascending @x\n"));
}

TEST_F(KernelCommands, CompileWritesToStandardOutput) {
  const std::string kernel = write("scale.weir", scale_text);
  const ProgramResult text = run_program({tool(), "compile", kernel, "--emit", "ir", "-o", "-"});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, testing::StartsWith("weir-ir 1"));
  const ProgramResult object = run_program({tool(), "compile", kernel, "-o", "-"});
  EXPECT_EQ(object.status, 0) << object.err;
  EXPECT_THAT(object.out, testing::StartsWith("\x7f"
                                              "ELF"));
  EXPECT_THAT(object.err, HasSubstr("scale_0_loop"));
  EXPECT_FALSE(std::filesystem::exists("-"));
}

TEST_F(KernelCommands, CompileWritesAnElfObjectAndListsItsKernels) {
  const std::string kernel = write("scale.weir", scale_text);
  const ProgramResult result = run_program({tool(), "compile", kernel, "-o", path("scale.so")});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("scale_0_loop"));
  std::ifstream file(path("scale.so"), std::ios::binary);
  std::string start(4, ' ');
  file.read(start.data(), 4);
  EXPECT_EQ(start,
            "\x7f"
            "ELF");
}

TEST_F(KernelCommands, ExplainPrintsTheFormsOfEachTasksCode) {
  const std::string kernel = write("scale.weir", scale_text);
  const ProgramResult compiled = run_program(
      {tool(), "compile", kernel, "--explain", "--target", "elf-x86_64:x86-64-v3", "-o", path("scale.so")});
  EXPECT_EQ(compiled.status, 0) << compiled.err;
  EXPECT_THAT(compiled.out, HasSubstr("scale_0_loop: vector loop of 8\n"));
  const ProgramResult text = run_program({tool(), "compile", kernel, "--explain", "--emit", "ir"});
  EXPECT_THAT(text.out, testing::StartsWith("weir-ir 1"));
  EXPECT_THAT(text.err, HasSubstr("scale_0_loop"));
  const ProgramResult run = run_program(
      {tool(), "run", kernel, "--explain", "--device", "cpu", "--arg", "factor=2", "--arg", "x=zeros:100"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("scale, launches that meet nothing:\n  scale_0_loop: vector loop of "));
}

TEST_F(KernelCommands, CompileDoesNotReplaceTheFileThatItReads) {
  const std::string kernel = write("scale.weir", scale_text);
  const ProgramResult result = run_program({tool(), "compile", kernel, "-o", kernel});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("is the file of the kernel; write to another one"));
}

TEST_F(KernelCommands, TimesAreThoseOfEachTaskAndStage) {
  const ProgramResult result =
      run_program({tool(), "compile", write("scale.weir", scale_text), "--times", "--target", "ptx:sm_90"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, testing::ContainsRegex("lower +optimise +generate +link +all +bytes\n"));
  EXPECT_THAT(result.out, testing::ContainsRegex("\nscale_0_loop( +[0-9]+\\.[0-9]+){5} +[0-9]+\n"));
}

TEST_F(KernelCommands, RunWithDebugStopsAtARace) {
  const std::string kernel =
      write("shift.weir",
            "weir-ir 1\nkernel \"shift\"\n  param @x : array<f32, 1>\n{\n  %zero = const 0 : i64\n"
            "  %one = const 1 : i64\n  %n = const 9 : i64\n  parallel (%i) in (%zero to %n) {\n"
            "    %j = add %i, %one : i64\n    %v = load @x[%i] : f32\n    store @x[%j], %v\n  }\n}\n");
  std::vector<std::string> command{tool(), "run", kernel, "--device", "cpu", "--arg", "x=zeros:10"};
  EXPECT_EQ(run_program(command).status, 0);
  command.push_back("--debug");
  const ProgramResult run = run_program(command);
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, testing::AllOf(HasSubstr("kernel 'shift': race on x(1)"), HasSubstr("shift.weir:10")));
}

TEST_F(KernelCommands, CompileEmitsTheTextItRead) {
  const std::string kernel = write("scale.weir", scale_text);
  const ProgramResult once = run_program({tool(), "compile", kernel, "--emit", "ir"});
  const ProgramResult twice = run_program({tool(), "compile", write("again.weir", once.out), "--emit", "ir"});
  EXPECT_EQ(once.status, 0) << once.err;
  EXPECT_EQ(once.out, twice.out);
}

struct Mistake {
  const char* name;
  std::vector<std::string> arguments;
  const char* message;
  int status = 2;  ///< 1 for a valid command line that names invalid input
};
void PrintTo(const Mistake& mistake, std::ostream* out) {
  *out << mistake.name;
}

class RunMistakes : public KernelCommands, public testing::WithParamInterface<Mistake> {};

// proves R35
TEST_P(RunMistakes, AreNamed) {
  const std::string kernel = write("scale.weir", scale_text);
  write_array<double>("f64.npy", ScalarType::f64, {1, 2}, {2});
  write_array<float>("flat.npy", ScalarType::f32, {1, 2, 3, 4}, {2, 2});
  write("text.npy", "not an array");
  write("cut.npy", std::string("\x93NUMPY\x01\x00\xff\x00", 10));
  std::vector<std::string> words{tool(), "run", kernel};
  for (const std::string& word : GetParam().arguments) {
    const std::size_t at = word.find("DIR/");
    words.push_back(at == std::string::npos ? word : word.substr(0, at) + path(word.substr(at + 4)));
  }
  const ProgramResult result = run_program(words);
  EXPECT_EQ(result.status, GetParam().status);
  EXPECT_THAT(result.err, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    KernelCommands, RunMistakes,
    testing::Values(
        Mistake{"MissingScalar",
                {"--arg", "x=zeros:3"},
                "parameter factor: not given; add --arg factor=VALUE (f32)"},
        Mistake{"NotANumber",
                {"--arg", "x=zeros:3", "--arg", "factor=two"},
                "expected a value of type f32, found 'two'"},
        Mistake{"MissingArray", {"--arg", "factor=2"}, "parameter x: not given"},
        Mistake{"UnknownParameter", {"--arg", "q=1"}, "parameter"},
        Mistake{"GivenTwice", {"--arg", "x=zeros:3", "--arg", "x=zeros:3"}, "--arg names 'x' twice"},
        Mistake{"NoValue", {"--arg", "x"}, "--arg takes NAME=VALUE, found 'x'"},
        Mistake{"WrongRank",
                {"--arg", "x=zeros:3x4", "--arg", "factor=2"},
                "array<f32, 1> has 1 extent, found 2"},
        Mistake{"NoExtents", {"--arg", "x=zeros:", "--arg", "factor=2"}, "expected extents such as"},
        Mistake{"NegativeExtent", {"--arg", "x=zeros:-1", "--arg", "factor=2"}, "expected extents such as"},
        Mistake{"WrongType", {"--arg", "x=@DIR/f64.npy", "--arg", "factor=2"}, "holds f64", 1},
        Mistake{"WrongShape", {"--arg", "x=@DIR/flat.npy", "--arg", "factor=2"}, "is (2, 2)", 1},
        Mistake{"NotNpy", {"--arg", "x=@DIR/text.npy", "--arg", "factor=2"}, "not an .npy file", 1},
        Mistake{"CutNpy", {"--arg", "x=@DIR/cut.npy", "--arg", "factor=2"}, "cut off", 1},
        Mistake{"NoFile", {"--arg", "x=@DIR/none.npy", "--arg", "factor=2"}, "cannot read the file", 1},
        Mistake{
            "TooLarge", {"--arg", "x=zeros:99999999999999999", "--arg", "factor=2"}, "cannot allocate", 1},
        Mistake{"UnknownOutput",
                {"--arg", "x=zeros:3", "--arg", "factor=2", "--out", "z=DIR/z.npy"},
                "--out names 'z'"},
        Mistake{"NegativeSeed",
                {"--arg", "x=zeros:3", "--arg", "factor=2", "--seed", "-1"},
                "--seed is '-1', expected a whole number from 0 to 18446744073709551615"},
        Mistake{"LongSeed",
                {"--arg", "x=zeros:3", "--arg", "factor=2", "--seed", "18446744073709551616"},
                "--seed is '18446744073709551616', expected a whole number"},
        Mistake{"OneFileForTwoArrays",
                {"--arg", "x=zeros:3", "--arg", "factor=2", "--out", "x=DIR/a.npy", "--out",
                 "y=DIR/none/../a.npy"},
                "--out writes 'x' and 'y' to "},
        Mistake{"UnwritableOutput",
                {"--arg", "x=zeros:3", "--arg", "factor=2", "--out", "y=DIR/none/y.npy"},
                "cannot write the file",
                1},
        Mistake{"UnknownDevice",
                {"--arg", "x=zeros:3", "--arg", "factor=2", "--device", "abacus"},
                "no device 'abacus'",
                1},
        Mistake{"DeviceInUpperCase",
                {"--arg", "x=zeros:3", "--arg", "factor=2", "--device", "CPU:0"},
                "no device 'CPU:0': no usable driver has that name; did you mean 'cpu:0'?",
                1}),
    [](const auto& info) { return std::string(info.param.name); });

// proves R33
TEST_F(KernelCommands, AMissingDeviceNamesTheFoldersThatAreIgnored) {
  const std::string kernel = write("scale.weir", scale_text);
  const ProgramResult result = run_program(
      {tool(), "run", kernel, "--arg", "x=zeros:3", "--arg", "factor=2", "--device", "abacus"},
      {"WEIR_DRIVER_PATH=drivers/mine"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("ignored: drivers/mine of WEIR_DRIVER_PATH: it is relative"));
}

// proves R35
TEST_F(KernelCommands, MalformedKernelIsReportedWithItsPlace) {
  const std::string kernel = write("bad.weir", "weir-ir 1\nkernel \"k\"\n{\n  %0 = frobnicate\n}\n");
  const ProgramResult result = run_program({tool(), "run", kernel});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("bad.weir:4:"));
}

// proves R35
TEST_F(KernelCommands, UnknownTargetNamesTheExistingOnes) {
  const std::string kernel = write("scale.weir", scale_text);
  const auto refused = [&](const char* target) {
    const ProgramResult result =
        run_program({tool(), "compile", kernel, "--target", target, "-o", path("x")});
    EXPECT_EQ(result.status, 1) << target;
    return result.err;
  };
  EXPECT_THAT(refused("abacus"), HasSubstr("it makes elf-x86_64, ptx, hsaco and spirv-vulkan\n"));
  EXPECT_THAT(refused("sm_90"), HasSubstr("the processor follows its format: ptx:sm_90"));
  EXPECT_THAT(refused("gfx942"), HasSubstr("the processor follows its format: hsaco:gfx942"));
  EXPECT_THAT(refused("ptx"), HasSubstr("is for one processor, found 'native': name it after the format"));
}

// proves R40
TEST_F(KernelCommands, FeaturesThatContradictTheProcessorAreRefusedWithAMessage) {
  const std::string kernel = write("scale.weir", scale_text);
  const std::pair<const char*, const char*> targets[] = {
      {"elf-x86_64:x86-64-v3:-64bit", "feature '-64bit' contradicts processor 'x86-64-v3'"},
      {"elf-x86_64:x86-64-v3:+soft-float", "feature '+soft-float' contradicts processor 'x86-64-v3'"},
      {"elf-x86_64:x86-64-v3:-64bit-mode", "feature '-64bit-mode' contradicts processor 'x86-64-v3'"},
      {"elf-x86_64:x86-64-v3:+abacus", "feature '+abacus' is none that LLVM has"},
      {"elf-x86_64:x86-64-v3:avx512f", "feature 'avx512f' has no sign; expected features of x86-64"},
      {"hsaco:gfx90a:-flat-global-insts", "feature '-flat-global-insts' contradicts processor 'gfx90a'"},
      {"hsaco:gfx90a:-flat-address-space", "feature '-flat-address-space' contradicts processor 'gfx90a'"},
      {"elf-x86_64:x86-64-v3:+sse,,", "the features '+sse,,' have an empty word"},
      {"hsaco:gfx1100:-a16", "expected sramecc, xnack, cumode or tgsplit"}};
  for (const auto& [target, words] : targets) {
    const ProgramResult result =
        run_program({tool(), "compile", kernel, "--target", target, "-o", path("x")});
    EXPECT_EQ(result.status, 1) << target;
    EXPECT_THAT(result.err, HasSubstr(words));
  }
  for (const char* target : {"elf-x86_64:x86-64-v3:+avx512f,-prefer-256-bit", "hsaco:gfx90a:-xnack",
                             "hsaco:gfx1100:+cumode", "hsaco:gfx942:sramecc+:xnack-"}) {
    const ProgramResult result =
        run_program({tool(), "compile", kernel, "--target", target, "-o", path("x")});
    EXPECT_EQ(result.status, 0) << target << result.err;
  }
}

// proves R35
TEST_F(KernelCommands, FolderInsteadOfAFileIsRefused) {
  const ProgramResult result = run_program({tool(), "compile", folder_.string(), "-o", path("x")});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err,
              HasSubstr("cannot read the file: Is a directory; expected a kernel in IR text form"));
}

TEST_F(KernelCommands, PipesAreRead) {
  const ProgramResult result = run_program(
      {"/bin/sh", "-c",
       "mkfifo \"$2\"; cat \"$1\" >\"$2\" & exec timeout 30 \"$0\" compile \"$2\" --emit ir -o -",
       tool(), write("scale.weir", scale_text), path("pipe")});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("weir-ir 1"));
}

// The pipe has more bytes than any kernel and never ends.
TEST_F(KernelCommands, EndlessTextIsRefused) {
  const std::string pipe = path("endless");
  const ProgramResult result = run_program(
      {"/bin/sh", "-c",
       "mkfifo \"$1\"; exec 3<>\"$1\"; head -c 17825792 /dev/zero >&3 & "
       "timeout 30 \"$0\" compile - -o \"$1.o\" <\"$1\"; status=$?; kill $!; exit $status",
       tool(), pipe});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("<standard input>: a kernel's text has at most 16777216 bytes"));
}

}  // namespace
}  // namespace weir::test
