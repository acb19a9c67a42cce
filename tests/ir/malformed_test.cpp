// SPDX-License-Identifier: Apache-2.0
// A corpus of malformed kernels, one mistake each. The first line of a file is the expected message.
#include <gtest/gtest.h>

#include <map>
#include <weir/error.hpp>

#include "ir/parser.hpp"
#include "ir/verifier.hpp"
#include "kernels.hpp"

namespace weir::test {
namespace {

constexpr std::string_view mark = "// expects: ";

std::string expected_of(const std::string& text) {
  return text.substr(mark.size(), text.find('\n') - mark.size());
}

// The message from parsing and verifying the text, or "" if there is none.
std::string complaint(const std::string& text) {
  try {
    ir::verify_or_throw(ir::parse(text, "FILE"));
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

class Malformed : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Malformed, GivesItsMessage) {
  const std::string text = read_file(GetParam());
  ASSERT_TRUE(text.starts_with(mark));
  EXPECT_EQ(complaint(text), expected_of(text));
}

INSTANTIATE_TEST_SUITE_P(Corpus, Malformed, testing::ValuesIn(files_of("tests/ir/malformed")),
                         [](const auto& info) { return info.param.stem().string(); });

TEST(MalformedCorpus, GivesEachFileAMessageOfItsOwn) {
  std::map<std::string, std::string> seen;
  for (const auto& path : files_of("tests/ir/malformed")) {
    const std::string expected = expected_of(read_file(path));
    const auto [other, added] =
        seen.emplace(expected.substr(expected.find(": ") + 2), path.filename().string());
    EXPECT_TRUE(added) << path.filename() << " and " << other->second << " both expect: " << expected;
  }
}

}  // namespace
}  // namespace weir::test
