// SPDX-License-Identifier: Apache-2.0
// Packs: damaged files are refused or their code counts as absent, and which code a device gets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "compilation/canonical_request.hpp"
#include "compilation/kept_code.hpp"
#include "compilation/kernels.hpp"
#include "compilation/packs.hpp"
#include "temporary_store.hpp"
#include "thrown_by.hpp"

namespace weir::test {
namespace {

using compilation::encode_pack;
using compilation::pack_identity;
using compilation::PackContents;
using compilation::PackFile;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;

/// A pack with code for each input.
std::string pack_of(const std::map<std::string, std::string>& codes,
                    const std::string& maker = pack_identity()) {
  PackContents contents;
  contents.maker = maker;
  contents.kernels.push_back({"kernel", {}});
  contents.targets.push_back({"elf-x86_64", "x86-64-v3", ""});
  std::string entries;
  for (const auto& [input, code] : codes) {
    const std::string bytes = cache::encode_entry(entry(input, code, 0));
    contents.codes.push_back(
        {.tasks = 1, .place = {entries.size(), bytes.size()}, .key = cache::entry_name(input)});
    entries += bytes;
  }
  return encode_pack(contents, entries);
}

const std::map<std::string, std::string>& two_codes() {
  static const std::map<std::string, std::string> codes{{"input", "code"}, {"other", "other code"}};
  return codes;
}

/// Fails if the bytes give code that was not put in.
void expect_no_wrong_code(const std::string& bytes, const std::string& what) {
  try {
    const PackFile pack(bytes, "a pack");
    for (const auto& [input, code] : two_codes()) {
      const auto found = pack.find(input);
      EXPECT_TRUE(!found || *found == code) << what;
    }
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid) << what;
    EXPECT_THAT(error.what(), HasSubstr("a pack ")) << what;
  }
}

std::string refusal_of(const std::string& bytes) {
  return thrown_by([&] { PackFile(bytes, "a pack"); }).what();
}

TEST(PackFile, FindsCodeByItsInput) {
  const std::string bytes = pack_of(two_codes());
  const PackFile pack(bytes, "a pack");
  EXPECT_THAT(pack.find("input"), Optional(std::string("code")));
  EXPECT_THAT(pack.find("other"), Optional(std::string("other code")));
  EXPECT_EQ(pack.find("third"), std::nullopt);
  EXPECT_EQ(pack.contents().maker, pack_identity());
}

// proves R32
TEST(PackFile, EveryFlippedByteIsNoticed) {
  const std::string good = pack_of(two_codes());
  for (std::size_t at = 0; at < good.size(); ++at)
    for (const unsigned char flip : {1, 128, 255}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ flip);
      expect_no_wrong_code(bad, "byte " + std::to_string(at));
      bool complete = true;
      try {
        const PackFile pack(bad, "a pack");
        complete = pack.find("input") && pack.find("other");
      } catch (const Error&) {
        complete = false;
      }
      EXPECT_FALSE(complete) << "byte " << at;
    }
}

// proves R32
TEST(PackFile, EveryTruncationIsRefused) {
  const std::string good = pack_of(two_codes());
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_EQ(thrown_by([&] { PackFile(good.substr(0, size), "a pack"); }).code(), ErrorCode::invalid)
        << size;
  EXPECT_THAT(refusal_of(good + '\0'), HasSubstr("should have"));
  EXPECT_THAT(refusal_of(good.substr(0, good.size() - 1)), HasSubstr("truncated"));
  EXPECT_THAT(refusal_of("weir-ir 1\nkernel"), HasSubstr("is not a pack; expected a file that weir compile"));
}

// proves R32
TEST(PackFile, AnotherVersionOfTheFormatIsNamed) {
  std::string other = pack_of(two_codes());
  other[10] = '2';  // of "weir-pack 1"
  EXPECT_THAT(refusal_of(other), AllOf(HasSubstr("another version of Weir"), HasSubstr("make it again")));
}

// proves R32
TEST(PackFile, ContentsThatContradictTheFileGiveNoCode) {
  PackContents contents;
  contents.kernels.push_back({"kernel", {}});
  contents.targets.push_back({"elf-x86_64", "x86-64-v3", ""});
  const std::string bytes = cache::encode_entry(entry("other", "other code", 0));
  const auto with = [&](const PackContents::Code& code) {
    PackContents changed = contents;
    changed.codes = {code};
    return encode_pack(changed, bytes);
  };
  const std::string key = cache::entry_name("input");
  expect_no_wrong_code(with({.place = {0, bytes.size()}, .key = key}), "the place of another entry");
  for (const PackContents::Place& place :
       {PackContents::Place{~0ull, 1}, {1, ~0ull}, {bytes.size(), 1}, {0, bytes.size() - 1}, {0, 0}})
    EXPECT_EQ(PackFile(with({.place = place, .key = key}), "a pack").find("input"), std::nullopt);
  EXPECT_THAT(refusal_of(with({.kernel = 1, .key = key})), HasSubstr("contradict"));
  EXPECT_THAT(refusal_of(with({.target = 1, .key = key})), HasSubstr("contradict"));
}

// ------------------------------------------------------------------------- what a device gets

/// A kernel that differs from those of other tests, because packs stay in the process.
std::string scale_text(const std::string& factor, const std::string& name = "scale", const char* x = "x") {
  const std::string at = std::string("@") + x;
  return "weir-ir 1\nkernel \"" + name + "\"\n  param " + at +
         " : array<f32, 1>\n{\n  %zero = const 0 : i64\n" + "  %n = extent " + at +
         ", 0 : i64\n  parallel (%i) in (%zero to %n) {\n    %f = const " + factor +
         " : f32\n    %v = load " + at + "[%i] : f32\n    %r = mul %f, %v : f32\n    store " + at +
         "[%i], %r\n  }\n}\n";
}

struct Packed {
  std::string format, cpu, features;
  std::string needs = "";
  std::uint32_t block = 1;
  codegen::LaunchAssumptions assumptions = {};
};

/// Adds a pack with code for each target, whose bytes are the position of the target, to this process.
void add(const PlannedKernel& kernel, const std::vector<Packed>& all, const std::string& name,
         const std::string& maker = pack_identity()) {
  PackContents contents;
  contents.maker = maker;
  contents.kernels.push_back({kernel.kernel.name, {}});
  std::string entries;
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    contents.targets.push_back({all[i].format, all[i].cpu, all[i].features});
    codegen::Target target{all[i].format, all[i].cpu, all[i].features};
    target.assumptions = all[i].assumptions;
    const auto request = compilation::canonical_request(kernel.kernel, kernel.tasks, target);
    codegen::CodeObject object{all[i].format, all[i].cpu, {static_cast<std::byte>(i)}, {}, all[i].needs};
    object.entries.push_back({.symbol = "f", .block = {all[i].block, 1, 1}});
    const std::string input = maker + "\n" + request.input;
    const std::string bytes =
        cache::encode_entry(entry(input, compilation::encode_kept(object, request.lines), 0));
    contents.codes.push_back({.target = i,
                              .assumptions = all[i].assumptions.number(),
                              .tasks = 1,
                              .place = {entries.size(), bytes.size()},
                              .key = cache::entry_name(input)});
    entries += bytes;
  }
  compilation::add_pack(std::make_shared<const detail::LoadedPack>(name, encode_pack(contents, entries)));
}

/// The positions of the code that a device with these targets is offered, in order.
std::vector<int> offered(const PlannedKernel& kernel, const std::vector<codegen::Target>& loads) {
  std::vector<int> found;
  const compilation::TaskGroup group = kernel.tasks;
  compilation::find_packed(kernel.kernel, {&group, 1}, loads,
                           [&](std::vector<codegen::CodeObject>&& objects) {
                             found.push_back(static_cast<int>(objects.at(0).bytes.at(0)));
                             return false;
                           });
  return found;
}

codegen::Target device(const std::string& format, const std::string& cpu, const std::string& features = "",
                       codegen::LaunchAssumptions assumptions = {}) {
  return {format, cpu, features, 32, 1024, assumptions};
}

TEST(Packs, TheTargetsThatADeviceListsComeFirst) {
  const PlannedKernel kernel(scale_text("101"));
  add(kernel,
      {{"ptx", "sm_70", ""}, {"elf-x86_64", "x86-64-v3", ""}, {"ptx", "sm_90", ""}, {"ptx", "sm_80", ""}},
      "order");
  EXPECT_THAT(offered(kernel, {device("ptx", "sm_90"), device("cubin", "sm_90")}), ElementsAre(2, 0, 3));
  EXPECT_THAT(offered(kernel, {device("elf-x86_64", "znver4"), device("elf-x86_64", "x86-64-v3")}),
              ElementsAre(1));
  EXPECT_THAT(offered(kernel, {device("hsaco", "gfx942")}), IsEmpty());
}

TEST(Packs, CodeThatNeedsMoreThanTheDeviceHasIsLeftOut) {
  const PlannedKernel kernel(scale_text("102"));
  add(kernel, {{"f", "a", "", "+int64,+float64"}, {"f", "b", "", "", 2048}, {"f", "c", "", "+int64", 1024}},
      "needs");
  EXPECT_THAT(offered(kernel, {device("f", "d", "+int64")}), ElementsAre(2));
  EXPECT_THAT(offered(kernel, {device("f", "d", "+float64,+int64,+other")}), ElementsAre(0, 2));
  EXPECT_THAT(offered(kernel, {device("f", "d", "+int6")}), IsEmpty());
}

TEST(Packs, CodeIsThatOfTheLaunchsAssumptions) {
  const PlannedKernel kernel(scale_text("103"));
  add(kernel, {{"f", "a", ""}, {"f", "b", "", "", 1, {.no_alias = true}}}, "assumptions");
  EXPECT_THAT(offered(kernel, {device("f", "a")}), ElementsAre(0));
  EXPECT_THAT(offered(kernel, {device("f", "a", "", {.no_alias = true})}), ElementsAre(1));
  EXPECT_THAT(offered(kernel, {device("f", "a", "", {.index32 = true})}), IsEmpty());
}

// proves R31
TEST(Packs, AMovedOrRenamedKernelFindsItsCodeAndAChangedOneDoesNot) {
  add(PlannedKernel(scale_text("104")), {{"f", "a", ""}}, "renamed");
  EXPECT_THAT(offered(PlannedKernel(scale_text("104", "another", "array")), {device("f", "a")}),
              ElementsAre(0));
  EXPECT_THAT(offered(PlannedKernel(scale_text("104.00001")), {device("f", "a")}), IsEmpty());
}

// proves R31
TEST(Packs, CodeOfAnotherBuildIsNotUsed) {
  const PlannedKernel kernel(scale_text("105"));
  add(kernel, {{"f", "a", ""}}, "a pack of another build", "weir-codegen of Weir 9.9.9 (0)");
  EXPECT_THAT(offered(kernel, {device("f", "a")}), IsEmpty());
  const std::vector<codegen::Target> loads{device("f", "a")};
  EXPECT_THAT(compilation::describe_packs("scale", loads),
              HasSubstr("a pack of another build has it, but was made by weir-codegen of Weir 9.9.9 (0), and "
                        "this is weir-codegen of Weir"));
}

TEST(Packs, SayWhatTheyContainForADeviceWithoutCode) {
  add(PlannedKernel(scale_text("106", "described")), {{"ptx", "sm_90", "+ptx86"}, {"hsaco", "gfx942", ""}},
      "a.weirpack");
  const std::vector<codegen::Target> cpu{device("elf-x86_64", "x86-64-v3")}, gpu{device("ptx", "sm_90")};
  EXPECT_THAT(compilation::describe_packs("described", cpu),
              HasSubstr("a.weirpack has it for ptx:sm_90:+ptx86, hsaco:gfx942"));
  EXPECT_THAT(compilation::describe_packs("described", gpu), HasSubstr("but for other statements"));
  EXPECT_THAT(compilation::describe_packs("absent", gpu), HasSubstr("a.weirpack does not contain it"));
}

TEST(Packs, AFileIsLoadedOnceUntilItChanges) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "k.weirpack";
  write_bytes(file, pack_of(two_codes()));
  const auto load = [&] { return compilation::add_pack(compilation::read_pack(file, true)); };
  const auto first = load();
  EXPECT_EQ(load(), first);
  write_bytes(file, pack_of({{"input", "another length"}}));
  EXPECT_NE(load(), first);
}

// proves R32
TEST(Packs, AFileThatOthersMayWriteIsNotLoaded) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "k.weirpack";
  write_bytes(file, pack_of(two_codes()));
  fs::permissions(file, fs::perms(0666));
  EXPECT_THAT(thrown_by([&] { compilation::read_pack(file, true); }).what(),
              HasSubstr("may be written by every user"));
  EXPECT_EQ(compilation::read_pack(file, false)->file.contents().codes.size(), 2u) << "only examined";
  EXPECT_EQ(thrown_by([&] { compilation::read_pack(folder.path() / "absent", true); }).code(),
            ErrorCode::system);
  EXPECT_EQ(thrown_by([&] { compilation::read_pack(folder.path(), false); }).code(), ErrorCode::system);
}

}  // namespace
}  // namespace weir::test
