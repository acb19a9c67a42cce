// SPDX-License-Identifier: Apache-2.0
// Replays the manifests of the fuzzer's corpus, with any compiler.
#include <gtest/gtest.h>

#include "kernels.hpp"
#include "manifest_target.hpp"

namespace weir::test {
namespace {

bool exercise(const std::string& text) {
  return exercise_manifest(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

// proves R35
TEST(FuzzReplay, CorpusOfManifests) {
  std::size_t accepted = 0;
  for (const auto& path : files_of("tests/fuzz/corpus/manifest")) {
    SCOPED_TRACE(path.string());
    accepted += exercise(read_file(path));
  }
  EXPECT_GE(accepted, 2u) << "the corpus holds two manifests that are in order";
}

// proves R35
TEST(FuzzReplay, EveryPrefixOfAManifestIsRefused) {
  std::string text = read_file(files_of("tests/fuzz/corpus/manifest").front().parent_path() / "cuda.json");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  ASSERT_TRUE(exercise(text));
  for (std::size_t size = 0; size < text.size(); ++size)
    ASSERT_FALSE(exercise(text.substr(0, size))) << "cut to " << size << " bytes";
}

// proves R35
TEST(FuzzReplay, ManifestsWithOneByteChangedAreHandled) {
  const std::string text =
      read_file(files_of("tests/fuzz/corpus/manifest").front().parent_path() / "cuda.json");
  for (std::size_t at = 0; at < text.size(); ++at)
    for (const char other : {'\0', '"', '{', ']', '.', '/', '\\', '9', '\xff'}) {
      std::string changed = text;
      changed[at] = other;
      exercise(changed);
    }
}

}  // namespace
}  // namespace weir::test
