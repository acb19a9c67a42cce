// SPDX-License-Identifier: Apache-2.0
// Packs: what their builder puts into them, and what is read from them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>
#include <weir/kernel.hpp>
#include <weir/pack.hpp>

#include "support/expect_error.hpp"
#include "support/watched_driver.hpp"
#include "temporary_folder.hpp"

namespace weir::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* packed_target = "elf-x86_64:x86-64-v3";

auto packed_kernel(const char* name, int by) {
  return Kernel{
      name, with_constants([by](View<int> x) { range_for(x.size(), [&](Index i) { x[i] = x[i] * by; }); })};
}

class Packs : public testing::Test {
 protected:
  std::string path(const char* name) const { return (folder_.path() / name).string(); }
  /// Writes a pack of these kernels for one target.
  std::string write(const char* name, const std::vector<Program>& programs) const {
    PackBuilder builder;
    builder.add_target(parse_target(packed_target));
    for (const Program& program : programs) builder.add(program);
    builder.write(path(name));
    return path(name);
  }
  static std::string bytes_of(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(Packs, StayAsTheyWereWhenAKernelCannotBeCompiled) {
  const auto good = packed_kernel("good", 2);
  const Kernel bad{"bad", [](View<float> x) {
                     range_for(x.size(), [&](Index i) { x[i] = 1.0f; });
                     range_for(2, [&](Index i) {
                       LocalArray<double, 30'000> large;  // more than a GPU has
                       large[i] = 1.0;
                       x[i] = cast<float>(large[1 - i]);
                     });
                   }};
  const auto builder_with = [&](const auto&... kernels) {
    PackBuilder builder;
    builder.add_target(parse_target(packed_target));
    builder.add_target(parse_target("ptx:sm_80"));
    const auto add = [&](const auto& kernel) {
      if (&kernel.program() == &bad.program())
        EXPECT_THAT(error_of(ErrorCode::unsupported, [&] { builder.add(kernel.program()); }),
                    HasSubstr("the local arrays of one iteration"));
      else
        builder.add(kernel.program());
    };
    (add(kernels), ...);
    return builder;
  };
  builder_with(good).write(path("without"));
  builder_with(bad, bad, good, bad).write(path("with"));
  EXPECT_EQ(bytes_of(path("with")), bytes_of(path("without")));
}

TEST_F(Packs, AreNotWrittenToAPathWithoutAName) {
  const PackBuilder builder;
  EXPECT_THAT(error_of(ErrorCode::system, [&] { builder.write(""); }),
              HasSubstr("No such file or directory"));
  EXPECT_THAT(error_of(ErrorCode::system, [&] { builder.write(path("")); }), HasSubstr("Is a directory"));
}

TEST_F(Packs, KeepNoTargetThatTheyRefused) {
  PackBuilder builder;
  CompileTarget target = parse_target(packed_target);
  target.assume = "bogus";
  error_of(ErrorCode::invalid, [&] { builder.add_target(target); });
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { builder.add(packed_kernel("f", 2).program()); }),
              HasSubstr("needs at least one target"));
}

TEST_F(Packs, HoldTheKernelsInTheirOrder) {
  const auto twice = packed_kernel("twice", 2), thrice = packed_kernel("thrice", 3);
  const std::string file =
      write("two", {twice.program(), thrice.program(), packed_kernel("twice", 2).program()});
  const Pack pack = Pack::examine(file);
  EXPECT_EQ(pack.name(), file);
  EXPECT_TRUE(pack.usable());
  EXPECT_THAT(pack.maker(), HasSubstr("LLVM"));
  EXPECT_THAT(pack.kernels(), ElementsAre("twice", "thrice")) << "equal kernels are packed once";
  EXPECT_EQ(pack.program("twice").text(true), twice.program().text(true)) << "with the lines of the source";
  EXPECT_EQ(pack.program("thrice").text(true), thrice.program().text(true));
  EXPECT_EQ(pack.program(std::size_t{1}).text(), thrice.program().text());
  EXPECT_THAT(error_of(ErrorCode::not_found, [&] { (void)pack.program("half"); }),
              HasSubstr(file + " has no kernel 'half'; it has twice, thrice"));
  EXPECT_THAT(error_of(ErrorCode::not_found, [&] { (void)pack.program(std::size_t{2}); }),
              HasSubstr("has 2 kernels, and none at position 2"));
}

TEST_F(Packs, OfTheSameKernelsHaveTheSameBytes) {
  const std::vector<Program> programs{packed_kernel("twice", 2).program()};
  EXPECT_EQ(bytes_of(write("one", programs)), bytes_of(write("other", programs)));
}

TEST_F(Packs, ListTheirCodeByKernelTargetAndAssumptions) {
  PackBuilder builder;
  CompileTarget target = parse_target(packed_target);
  builder.add_target(target);
  builder.add_target(target);  // once
  builder.add_target(parse_target("elf-x86_64:x86-64-v4"));
  builder.add(packed_kernel("twice", 2).program());
  const Kernel merged{"merged", [](View<int> x, View<int> y) {
                        range_for(x.size(), [&](Index i) { y[i] = x[i] + 1; });
                        range_for(x.size(), [&](Index i) { x[i] = y[i] * 2; });
                      }};
  builder.add(merged.program());
  builder.write(path("codes"));
  std::string list;
  for (const PackedCode& code : Pack::examine(path("codes")).code()) {
    EXPECT_TRUE(code.sound);
    EXPECT_GT(code.bytes, 100u);
    list += std::to_string(code.kernel) + " " + code.target.format + ":" + code.target.cpu + " [" +
            code.target.assume + "] " + std::to_string(code.tasks) + "\n";
  }
  EXPECT_EQ(list,
            "0 elf-x86_64:x86-64-v3 [] 1\n0 elf-x86_64:x86-64-v4 [] 1\n"
            "1 elf-x86_64:x86-64-v3 [no_alias,index32] 1\n1 elf-x86_64:x86-64-v3 [no_alias,index32] 1\n"
            "1 elf-x86_64:x86-64-v3 [] 2\n1 elf-x86_64:x86-64-v3 [] 1\n"
            "1 elf-x86_64:x86-64-v4 [no_alias,index32] 1\n1 elf-x86_64:x86-64-v4 [no_alias,index32] 1\n"
            "1 elf-x86_64:x86-64-v4 [] 2\n1 elf-x86_64:x86-64-v4 [] 1\n")
      << "the second of equal assumptions is for launches with few iterations";
}

TEST_F(Packs, HoldCodeForTheAssumptionsThatTheyWereAskedFor) {
  PackBuilder builder;
  for (const char* assume : {"no_alias,aligned", "index32", "no_alias,aligned"}) {
    CompileTarget target = parse_target("ptx:sm_80");
    target.assume = assume;
    builder.add_target(target);
  }
  builder.add(packed_kernel("twice", 2).program());
  builder.write(path("assumed"));
  std::vector<std::string> assumed;
  for (const PackedCode& code : Pack::examine(path("assumed")).code()) assumed.push_back(code.target.assume);
  EXPECT_THAT(assumed, ElementsAre("no_alias,aligned", "index32", ""));
}

TEST_F(Packs, WithTwoKernelsOfANameCannotSayWhichIsMeant) {
  const Pack pack =
      Pack::examine(write("equal", {packed_kernel("same", 2).program(), packed_kernel("same", 3).program()}));
  EXPECT_THAT(pack.kernels(), ElementsAre("same", "same"));
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { (void)pack.program("same"); }),
              AllOf(HasSubstr("2 kernels in "), HasSubstr("are called 'same'; give each another name")));
  EXPECT_EQ(pack.program(std::size_t{1}).text(), packed_kernel("same", 3).program().text());
}

TEST_F(Packs, ThatAreLoadedServeTheirKernelsByName) {
  static int runs = 0;  // loaded packs stay in the process
  const std::string number = std::to_string(++runs), shared = "in both " + number, own = "in one " + number;
  const auto loaded = packed_kernel(shared.c_str(), 5);
  const std::string file = write("first", {loaded.program()});
  (void)Pack::load(file);
  (void)Pack::load(write("second", {loaded.program(), packed_kernel(own.c_str(), 2).program()}));
  const Program program = Program::load(shared);
  EXPECT_EQ(program.text(), loaded.program().text()) << "the same in both packs";
  EXPECT_THAT(error_of(ErrorCode::not_found, [&] { (void)Program::load("absent"); }),
              AllOf(HasSubstr("no pack of this process has a kernel 'absent'; there are:"),
                    HasSubstr("\n  " + file + ": " + shared), HasSubstr("second: " + shared + ", " + own)));
  const Pack other = Pack::load(write("third", {packed_kernel(own.c_str(), 3).program()}));
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { (void)Program::load(own); }),
              HasSubstr("2 kernels in the packs of this process are called '" + own + "'"));
  if (open_real().driver() != "cpu") return;
  const Device device = Watch::open();
  const Stream stream = device.create_stream();
  const auto x = device.array<int>(stream, 10);
  x.fill(stream, 3);
  const AnyArrayView view = x;
  const LaunchArgument argument{&view, nullptr, view.element(), {}};
  program.launch(stream, {&argument, 1});
  EXPECT_THAT(x.to_host(stream), testing::Each(15));
}

TEST_F(Packs, InsideTheProgramAreLoadedLikeFiles) {
  static const std::string bytes =
      bytes_of(write("inside", {packed_kernel("inside the program", 2).program()}));
  const std::span<const std::byte> whole = std::as_bytes(std::span(bytes));
  const Pack pack = Pack::embedded(whole, "of the test");
  EXPECT_EQ(pack.name(), "of the test");
  EXPECT_THAT(pack.kernels(), ElementsAre("inside the program"));
  EXPECT_EQ(Program::load("inside the program").text(),
            packed_kernel("inside the program", 2).program().text());
  testing::internal::CaptureStderr();
  const Pack half = Pack::embedded(whole.first(whole.size() / 2), "half of it");
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("weir: the pack in the program is not used: "));
  error_of(ErrorCode::invalid, [&] { (void)half.name(); });
}

// proves R35
TEST_F(Packs, RequestsThatMakeNoSenseAreRefused) {
  PackBuilder builder;
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { builder.add(packed_kernel("twice", 2).program()); }),
              HasSubstr("needs at least one target before its kernels"));
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { builder.add_target(parse_target("elf-x86_64:native")); }),
              HasSubstr("target elf-x86_64:native is another processor on each machine"));
  builder.add_target(parse_target(packed_target));
  Program gone = packed_kernel("twice", 2).program();
  const Program taken = std::move(gone);
  error_of(ErrorCode::invalid, [&] { builder.add(gone); });
  EXPECT_THAT(error_of(ErrorCode::system, [&] { builder.write("/nonexistent/a.weirpack"); }),
              HasSubstr("/nonexistent/a.weirpack: cannot write the pack: No such file or directory"));
  Pack pack = Pack::examine(write("one", {taken}));
  const Pack moved = std::move(pack);
  error_of(ErrorCode::invalid, [&] { (void)pack.name(); });
  error_of(ErrorCode::invalid, [&] { (void)pack.kernels(); });
  error_of(ErrorCode::invalid, [&] { (void)pack.code(); });
}

int run_pack_main(std::vector<std::string> words) {
  words.insert(words.begin(), "pack");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  return detail::pack_main(static_cast<int>(arguments.size()), arguments.data());
}

// Each in a process of its own, which keeps its programs from then on.
TEST(PackMainDeathTest, PacksTheProgramsAndTheTextsThatItIsGiven) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::string folder = testing::TempDir(), text = folder + "pack_main.weir",
                    out = folder + "pack_main.pack";
  std::ofstream(text) << packed_kernel("from a text", 7).program().text();
  EXPECT_EXIT(
      {
        detail::keep_programs();
        const auto kernel = packed_kernel("from a program", 6);
        std::exit(run_pack_main({out, "--target", packed_target, "--assume", "no_alias", "--text", text}));
      },
      testing::ExitedWithCode(0), "");
  EXPECT_THAT(Pack::examine(out).kernels(), ElementsAre("from a program", "from a text"));
}

TEST(PackMainDeathTest, RefusesWordsThatItDoesNotKnow) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto refuses = [](std::vector<std::string> words, const char* because) {
    EXPECT_EXIT(std::exit(run_pack_main(words)), testing::ExitedWithCode(1), because);
  };
  refuses({}, "weir_add_kernels: '' is not expected; the arguments are FILE --target TARGET");
  refuses({"out", "more"}, "'more' is not expected");
  refuses({"out", "--target"}, "'--target' is not expected");
  refuses({"out", "--target", packed_target}, "there are no kernels to pack");
}

}  // namespace
}  // namespace weir::test
