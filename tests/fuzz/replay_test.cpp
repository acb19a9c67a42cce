// SPDX-License-Identifier: Apache-2.0
// Replays the corpora of all fuzzers, with any compiler.
#include <gtest/gtest.h>

#include "ir_target.hpp"
#include "kernels.hpp"

namespace weir::test {
namespace {

const std::uint8_t* bytes_of(const std::string& text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}

TEST(FuzzReplay, CorpusOfTheIr) {
  for (const auto& path : files_of("tests/fuzz/corpus/ir")) {
    SCOPED_TRACE(path.string());
    const std::string text = read_file(path);
    if (!text.empty() && text[0] == 0) {
      exercise_random_kernel(bytes_of(text) + 1, text.size() - 1);
    } else {
      exercise_ir_text(bytes_of(text), text.size());
    }
  }
}

TEST(FuzzReplay, MalformedKernels) {
  for (const auto& path : files_of("tests/ir/malformed")) {
    const std::string text = read_file(path);
    EXPECT_FALSE(exercise_ir_text(bytes_of(text), text.size())) << path;
  }
}

TEST(FuzzReplay, EveryPrefixOfAKernelIsRefused) {
  for (const auto& path : files_of("tests/ir/kernels")) {
    std::string text = read_file(path);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    for (std::size_t size = 0; size < text.size(); ++size) {
      ASSERT_FALSE(exercise_ir_text(bytes_of(text), size)) << path << " cut to " << size << " bytes";
    }
  }
}

TEST(FuzzReplay, KernelsWithOneByteChangedAreHandled) {
  for (const auto& path : files_of("tests/ir/kernels")) {
    const std::string text = read_file(path);
    for (std::size_t at = 0; at < text.size(); ++at) {
      std::string changed = text;
      changed[at] = static_cast<char>("%${}0 \"\xff"[at % 8]);
      exercise_ir_text(bytes_of(changed), changed.size());
    }
  }
}

}  // namespace
}  // namespace weir::test
