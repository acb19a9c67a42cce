// SPDX-License-Identifier: Apache-2.0
#include "driver/discovery/manifest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <random>
#include <weir/error.hpp>

#include "driver/trust/trust.hpp"
#include "driver_folder.hpp"

namespace weir::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json valid() {
  return DriverFolder::manifest("good", "libweir-good.so");
}

std::string refusal(const std::string& text) {
  try {
    parse_manifest(text, "/drivers/x.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::parse);
    return error.what();
  }
  return "accepted";
}

std::string refusal_with(const char* key, json value) {
  json manifest = valid();
  manifest[key] = std::move(value);
  return refusal(manifest.dump());
}

std::string refusal_without(const char* key) {
  json manifest = valid();
  manifest.erase(key);
  return refusal(manifest.dump());
}

TEST(Manifest, ReturnsEveryField) {
  json text = valid();
  text["abi"]["max"] = "1.3";
  text["vendor_libraries"] = {"libvendor.so.1"};
  text["a_key_of_a_later_version"] = 1;
  const Manifest manifest = parse_manifest(text.dump(), "/drivers/good.json");
  EXPECT_EQ(manifest.name, "good");
  EXPECT_EQ(manifest.library, "/drivers/libweir-good.so");
  EXPECT_EQ(manifest.abi_min, WEIR_ABI_VERSION(1, 0));
  EXPECT_EQ(manifest.abi_max, WEIR_ABI_VERSION(1, 3));
  EXPECT_EQ(manifest.architecture, WEIR_MACHINE);
  EXPECT_THAT(manifest.vendor_libraries, testing::ElementsAre("libvendor.so.1"));
}

// proves R35
TEST(Manifest, MalformedJsonIsRefusedWithLineAndColumn) {
  EXPECT_THAT(refusal("{\n  \"name\": \"x\",\n  oops\n}"),
              HasSubstr("/drivers/x.json is not valid JSON at line 3, column "));
}

TEST(Manifest, EmptyFileIsRefused) {
  EXPECT_THAT(refusal(""), HasSubstr("is not valid JSON at line 1, column 1"));
  EXPECT_THAT(refusal("{\n\"abi\": 1e999}"),
              HasSubstr("is not valid JSON in line 2: number overflow parsing '1e999'"));
}

TEST(Manifest, TruncatedTextIsRefused) {
  const std::string text = valid().dump();
  for (std::size_t length = 0; length < text.size(); ++length)
    EXPECT_NE(refusal(text.substr(0, length)), "accepted") << length;
}

TEST(Manifest, SomethingElseThanAnObjectIsRefused) {
  EXPECT_THAT(refusal("[1, 2]"), HasSubstr("holds array where an object is expected"));
}

// proves R35
TEST(Manifest, DeepNestingIsRefused) {
  EXPECT_THAT(refusal(std::string(30000, '[')), HasSubstr("is nested more than 8 levels deep"));
  std::string objects;
  for (int i = 0; i < 6000; ++i) objects += "{\"a\":";
  EXPECT_THAT(refusal(objects), HasSubstr("is nested more than 8 levels deep"));
}

// proves R35
TEST(Manifest, HugeTextIsRefused) {
  EXPECT_THAT(refusal(std::string(65537, ' ')),
              HasSubstr("is too large: 65537 bytes, at most 65536 are expected"));
}

// proves R35
TEST(Manifest, ZeroBytesAreRefused) {
  const std::string text = valid().dump();
  EXPECT_THAT(refusal(text + std::string("\0", 1)), HasSubstr("a zero byte"));
  EXPECT_THAT(refusal(text + std::string("\0 {}", 4)), HasSubstr("a zero byte"));
}

TEST(Manifest, HugeFileIsRefusedWithoutReadingAllOfIt) {
  const DriverFolder folder;
  const fs::path file = folder.write("huge.json", "{");
  fs::resize_file(file, std::uintmax_t{1} << 40);  // sparse
  const Candidate found = folder.find_one();
  EXPECT_EQ(found.status, DriverStatus::broken);
  EXPECT_THAT(found.reason, HasSubstr("is too large: 1099511627776 bytes"));
}

TEST(Manifest, NamedPipeIsRefusedAndNotWaitedFor) {
  const DriverFolder folder;
  ASSERT_EQ(mkfifo((folder.path() / "pipe.json").c_str(), 0644), 0);
  EXPECT_THAT(folder.find_one().reason, HasSubstr("is not a regular file"));
}

TEST(Manifest, LinkToNowhereIsRefused) {
  const DriverFolder folder;
  fs::create_symlink("nowhere", folder.path() / "link.json");
  const Candidate found = folder.find_one();
  EXPECT_NE(found.status, DriverStatus::usable);
  EXPECT_THAT(found.reason, HasSubstr("link.json"));
}

TEST(Manifest, EveryMissingKeyIsNamed) {
  for (const char* key : {"name", "library", "abi", "architecture"})
    EXPECT_THAT(refusal_without(key), HasSubstr("lacks the key \"" + std::string(key) + "\""));
}

TEST(Manifest, WrongTypesAreNamed) {
  for (const char* key : {"name", "library", "architecture"})
    EXPECT_THAT(refusal_with(key, 7),
                HasSubstr("has a number for \"" + std::string(key) + "\"; a string is expected"));
  EXPECT_THAT(refusal_with("abi", "1.0"),
              HasSubstr("has a string for \"abi\"; an object with \"min\" and \"max\" is expected"));
  EXPECT_THAT(refusal_with("abi", {{"min", 1.0}}),
              HasSubstr("has a number for \"min\"; a string is expected"));
  EXPECT_THAT(refusal_with("abi", {{"min", "1.0"}}), HasSubstr("lacks the key \"max\""));
  EXPECT_THAT(refusal_with("vendor_libraries", "libx.so"), HasSubstr("a list of strings is expected"));
  EXPECT_THAT(refusal_with("vendor_libraries", json::array({1})), HasSubstr("a list of strings is expected"));
}

TEST(Manifest, LaterManifestVersionIsRefused) {
  EXPECT_THAT(refusal_with("manifest_version", 2), HasSubstr("has manifest_version 2; this Weir reads 1"));
  EXPECT_THAT(refusal_with("manifest_version", "1"),
              HasSubstr("has manifest_version \"1\"; this Weir reads 1"));
}

// proves R35
TEST(Manifest, SameKeyTwiceIsRefusedAtEveryLevelWithItsLine) {
  EXPECT_THAT(refusal("{\"name\": \"a\", \"name\": \"b\"}"),
              HasSubstr("has the key \"name\" twice, the second time in line 1"));
  EXPECT_THAT(
      refusal(
          "{\"name\": \"a\",\n \"abi\": {\"min\": \"1.0\",\n  \"max\": \"1.0\",\n  \"m\\u0069n\": \"9.0\"}}"),
      HasSubstr("has the key \"min\" twice, the second time in line 4"));
  EXPECT_THAT(refusal("{\"x\": [{\"a\": {\"b\": 1,\n\"b\": 2}}]}"),
              HasSubstr("has the key \"b\" twice, the second time in line 2"));
  std::string deepest = "{\"a\": 1,\n\"a\": 1}";
  for (int level = 1; level < 8; ++level) deepest = "{\"x\": " + deepest + "}";
  EXPECT_THAT(refusal(deepest), HasSubstr("has the key \"a\" twice, the second time in line 2"));
}

TEST(Manifest, SameKeyInTwoObjectsIsAccepted) {
  json manifest = valid();
  manifest["later"] = {{{"name", 1}, {"abi", {{"min", 1}}}}, {{"name", 1}, {"abi", {{"min", 1}}}}};
  EXPECT_EQ(refusal(manifest.dump()), "accepted");
}

// proves R35
TEST(Manifest, ControlCharactersAreRefused) {
  for (const char* text : {"a\x1b[2Jb", "a\nb", "\x7f",
                           "\xc2\x9b"
                           "1m"}) {
    for (const char* key : {"name", "description", "library", "architecture"})
      EXPECT_THAT(refusal_with(key, text),
                  HasSubstr("has a control character in \"" + std::string(key) + '"'));
    EXPECT_THAT(refusal_with("vendor_libraries", json::array({text})),
                HasSubstr("has a control character in \"vendor_libraries\""));
  }
  EXPECT_EQ(refusal_with("description", "Ger\u00e4te \u2013 \u00a0"), "accepted");
}

TEST(Manifest, EveryFaultIsListed) {
  const Manifest reading =
      examine_manifest(R"({"name": "A", "library": "/x", "abi": {"min": 1}})", "/x.json");
  EXPECT_THAT(reading.faults,
              testing::ElementsAre(HasSubstr("has the name \"A\""), HasSubstr("absolute path"),
                                   HasSubstr("has a number for \"min\""), HasSubstr("lacks the key \"max\""),
                                   HasSubstr("lacks the key \"architecture\"")));
}

// A message is printable, of bounded length, and names the file.
// proves R35
TEST(Manifest, AThousandAlterationsEndInADriverOrInOneSentence) {
  const DriverFolder folder;
  folder.add_driver("good", "good");
  json sound = DriverFolder::manifest("good", "good.so");
  sound["manifest_version"] = 1;
  sound["description"] = "A driver for tests";
  sound["vendor_libraries"] = {"libvendor.so.1", "libother.so.2"};
  const std::string text = sound.dump(1);
  const std::array<std::string, 12> pieces{"\"min\": \"1.0\",",
                                           "{",
                                           "]",
                                           "\"",
                                           "\\u001b",
                                           "\xff",
                                           std::string(1, '\0'),
                                           "../",
                                           "1e999",
                                           "\"name\": \"x\",",
                                           "\n",
                                           std::string(300, 'x')};
  std::mt19937 random(20'240'131);
  const auto below = [&](std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
  };
  int accepted = 0;
  for (int round = 0; round < 1000; ++round) {
    std::string altered = text;
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
      const std::size_t at = below(altered.size()),
                        length = below(std::min<std::size_t>(20, altered.size() - at));
      switch (below(4)) {
        case 0:
          altered[at] = static_cast<char>(below(256));
          break;
        case 1:
          altered.insert(at, pieces[below(pieces.size())]);
          break;
        case 2:
          altered.erase(at, length);
          break;
        default:
          altered.insert(below(altered.size()), altered.substr(at, length));
      }
    }
    const fs::path file = folder.write("good.json", altered);
    const Manifest reading = examine_manifest(altered, file);
    try {
      read_manifest(open_trusted(file));
      ++accepted;
      EXPECT_THAT(reading.faults, testing::IsEmpty()) << altered;
    } catch (const Error& error) {
      const std::string words = error.what();
      EXPECT_THAT(words, testing::StartsWith("the manifest " + file.string() + ' ')) << altered;
      EXPECT_LT(words.size(), 400u) << words;
      EXPECT_TRUE(std::ranges::all_of(words, [](char c) { return c >= ' ' && c <= '~'; })) << words;
      EXPECT_FALSE(reading.faults.empty());
    }
  }
  EXPECT_GT(accepted, 20);
  EXPECT_LT(accepted, 500);
}

TEST(Manifest, AbsoluteLibraryPathIsRefused) {
  EXPECT_THAT(refusal_with("library", "/usr/lib/libc.so.6"), HasSubstr("by an absolute path"));
}

TEST(Manifest, LibraryOutsideTheFolderIsRefused) {
  for (const char* path : {"../evil.so", "a/../../evil.so", "..", ".", "a/.."})
    EXPECT_THAT(refusal_with("library", path), HasSubstr("outside the manifest's folder")) << path;
  EXPECT_THAT(refusal_with("library", ""), HasSubstr("names no library"));
}

TEST(Manifest, ZeroByteInALibraryPathIsRefused) {
  EXPECT_THAT(refusal_with("library", std::string("a\0b.so", 6)),
              HasSubstr("has a zero byte in \"library\""));
}

TEST(Manifest, NamesAreLowerCaseLettersDigitsAndDashes) {
  for (const char* name : {"", "Cpu", "a b", "-a", "a/b", "aaaaaaaaaabbbbbbbbbbccccccccccddd"})
    EXPECT_THAT(refusal_with("name", name), HasSubstr("has the name")) << name;
  EXPECT_EQ(refusal_with("name", "amd-2"), "accepted");
}

TEST(Manifest, AbiVersionsAreTwoNumbers) {
  for (const char* version : {"", "1", "1.", "1.0.0", "x.y", "-1.0", "99999.0", "1.0 "})
    EXPECT_THAT(refusal_with("abi", {{"min", version}, {"max", "1.0"}}),
                HasSubstr("a version like \"1.0\" is expected"))
        << version;
}

TEST(Manifest, EmptyAbiRangeIsRefused) {
  EXPECT_THAT(refusal_with("abi", {{"min", "1.5"}, {"max", "1.0"}}),
              HasSubstr("has the ABI range 1.5 to 1.0, which is empty"));
}

}  // namespace
}  // namespace weir::test
