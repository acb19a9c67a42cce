// SPDX-License-Identifier: Apache-2.0
// A folder for written files, and the stored ones.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>
#include <weir/files.hpp>

#include "temporary_folder.hpp"

namespace weir::test {

class Files : public testing::Test {
 protected:
  static std::filesystem::path fixture(const std::string& name) {
    return std::filesystem::path(WEIR_FIXTURES) / name;
  }
  static std::string bytes_of(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  std::filesystem::path written(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return folder / name;
  }
  /// The error's message; fails unless it has the code and begins with the file's name.
  static std::string refused(ErrorCode code, const std::filesystem::path& path,
                             const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      EXPECT_THAT(error.what(), testing::StartsWith(path.string() + ": "));
      return error.what();
    }
    ADD_FAILURE() << path << " was accepted";
    return "";
  }
  /// Each file that differs from the good one by a byte, or is cut off, is refused or read; nothing else
  /// happens.
  template <class Read>
  void damage(const std::string& good, const std::string& name, Read read, int step) const {
    for (std::size_t at = 0; at < good.size(); at += static_cast<std::size_t>(step))
      for (const int flip : {1, 0x80, 0xff}) {
        std::string bad = good;
        bad[at] = static_cast<char>(bad[at] ^ flip);
        attempt(written(name, bad), read);
        attempt(written(name, good.substr(0, at)), read);
      }
  }

  const TemporaryFolder temporary;
  const std::filesystem::path folder = temporary.path();

 private:
  template <class Read>
  static void attempt(const std::filesystem::path& path, Read read) {
    try {
      read(path);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::parse) << error.what();
      EXPECT_THAT(error.what(), testing::StartsWith(path.string() + ": "));
    }
  }
};

template <class T>
std::vector<T> vector_of(const HostArray& array) {
  const std::span<const T> values = array.values<T>();
  return {values.begin(), values.end()};
}

}  // namespace weir::test
