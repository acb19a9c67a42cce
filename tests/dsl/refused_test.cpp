// SPDX-License-Identifier: Apache-2.0
// The compilers' messages for kernels that C++ itself can refuse.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "places.hpp"

namespace {

const std::string mistakes = weir::test::source("tests/dsl/refused/mistakes.cpp");

std::vector<std::string> lines_of(std::istream& in) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The complete output of `compiler` for the mistakes, one entry per error with its context.
std::vector<std::string> errors_of(const std::string& compiler) {
  const bool clang = compiler.find("clang") != std::string::npos;
  const std::string command = compiler + " -std=c++20 -fsyntax-only -w " +
                              (clang ? "-ferror-limit=0 -ftemplate-backtrace-limit=0"
                                     : "-fmax-errors=0 -fno-diagnostics-show-caret") +
                              " -I" + weir::test::source("core/include").string() + " -I" +
                              weir::test::source("sdk/include").string() + " " + mistakes + " 2>&1";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), &pclose);
  std::vector<std::string> errors(1);
  bool seen = false;
  std::array<char, 8192> buffer;
  while (pipe && std::fgets(buffer.data(), buffer.size(), pipe.get()) != nullptr) {
    const std::string line = buffer.data();
    const bool error = line.find(" error: ") != std::string::npos;
    const bool context = line.find("In instantiation of") != std::string::npos ||
                         line.find("In function") != std::string::npos ||
                         line.find("In substitution of") != std::string::npos ||
                         line.find("In file included") != std::string::npos;
    if (seen && (error || (context && !clang))) {
      errors.emplace_back();
      seen = false;
    }
    errors.back() += line;
    seen = seen || error;
  }
  return errors;
}

bool says(const std::string& error, const std::string& alternatives) {
  std::size_t begin = 0;
  while (true) {
    const std::size_t bar = alternatives.find('|', begin);
    // "||" is an operator in a message, not a separator of alternatives.
    const bool is_operator = bar != std::string::npos && alternatives.compare(bar, 2, "||") == 0;
    if (is_operator) return error.find(alternatives) != std::string::npos;
    if (error.find(alternatives.substr(begin, bar - begin)) != std::string::npos) return true;
    if (bar == std::string::npos) return false;
    begin = bar + 1;
  }
}

class Refused : public testing::TestWithParam<const char*> {};

TEST_P(Refused, EveryMistakeIsExplainedAtItsLine) {
  std::ifstream in(mistakes);
  const std::vector<std::string> lines = lines_of(in);
  const std::vector<std::string> errors = errors_of(GetParam());
  int marked = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string mark = "// refuse: ";
    const std::size_t at = lines[i].find(mark);
    if (at == std::string::npos) continue;
    ++marked;
    const std::string words = lines[i].substr(at + mark.size());
    const std::string place = "mistakes.cpp:" + std::to_string(i + 1) + ":";
    bool found = false;
    std::string about;
    for (const std::string& error : errors) {
      if (error.find(place) == std::string::npos) continue;
      about += error;
      found = found || says(error, words);
    }
    EXPECT_TRUE(found) << lines[i] << "\nwas expected to say: " << words << "\nfound:\n" << about;
  }
  EXPECT_GT(marked, 50);
}

std::vector<const char*> compilers() {
  static std::string list = WEIR_COMPILERS;
  std::vector<const char*> result;
  for (char& c : list) {
    if (c == ',') c = '\0';
  }
  for (std::size_t i = 0; i < list.size(); i += std::string(list.c_str() + i).size() + 1)
    result.push_back(list.c_str() + i);
  return result;
}

INSTANTIATE_TEST_SUITE_P(Compilers, Refused, testing::ValuesIn(compilers()), [](const auto& info) {
  return std::string(std::string(info.param).find("clang") != std::string::npos ? "clang" : "gcc") +
         std::to_string(info.index);
});

}  // namespace
