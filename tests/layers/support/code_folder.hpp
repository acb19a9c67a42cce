// SPDX-License-Identifier: Apache-2.0
// A folder that shares generated code between the processes of one sweep, so that only the first of several
// thousand runs compiles a kernel.
#pragma once

#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>

#include "codegen/codegen.hpp"

namespace weir::test {

/// The folder that WEIR_KEPT_CODE names; without the variable, nothing is stored. Files are written under a
/// temporary name and renamed. A truncated file, or one of another key, is ignored.
class CodeFolder {
 public:
  std::optional<codegen::CodeObject> find(const std::string& key) const {
    if (folder_.empty()) return std::nullopt;
    std::ifstream file(path_of(key), std::ios::binary);
    codegen::CodeObject code;
    std::uint32_t entries = 0;
    std::string bytes;
    if (read_text(file) != key) return std::nullopt;
    code.format = read_text(file);
    code.target = read_text(file);
    bytes = read_text(file);
    read(file, entries);
    for (std::uint32_t i = 0; i < entries && file; ++i) {
      codegen::CodeObject::Entry& entry = code.entries.emplace_back();
      entry.symbol = read_text(file);
      for (std::uint32_t* number : numbers_of(entry)) read(file, *number);
    }
    if (!file) return std::nullopt;
    const auto* const begin = reinterpret_cast<const std::byte*>(bytes.data());
    code.bytes.assign(begin, begin + bytes.size());
    return code;
  }

  void keep(const std::string& key, const codegen::CodeObject& code) const {
    if (folder_.empty()) return;
    const std::filesystem::path path = path_of(key), made = path.string() + "." + std::to_string(getpid());
    {
      std::ofstream file(made, std::ios::binary);
      for (const std::string& text : {key, code.format, code.target}) write_text(file, text);
      write_text(file, {reinterpret_cast<const char*>(code.bytes.data()), code.bytes.size()});
      write(file, static_cast<std::uint32_t>(code.entries.size()));
      for (codegen::CodeObject::Entry entry : code.entries) {
        write_text(file, entry.symbol);
        for (const std::uint32_t* number : numbers_of(entry)) write(file, *number);
      }
    }
    std::error_code ignored;
    std::filesystem::rename(made, path, ignored);
  }

 private:
  static std::array<std::uint32_t*, 9> numbers_of(codegen::CodeObject::Entry& entry) {
    return {&entry.block[0],
            &entry.block[1],
            &entry.block[2],
            &entry.dynamic_shared_bytes,
            &entry.block_share,
            &entry.waves,
            &entry.lowering.paths,
            &entry.lowering.vector_width,
            &entry.lowering.packet_width};
  }
  static void read(std::istream& from, std::uint32_t& number) {
    from.read(reinterpret_cast<char*>(&number), sizeof number);
  }
  static void write(std::ostream& to, std::uint32_t number) {
    to.write(reinterpret_cast<const char*>(&number), sizeof number);
  }
  static std::string read_text(std::istream& from) {
    std::uint32_t size = 0;
    read(from, size);
    std::string text(from ? size : 0, '\0');
    from.read(text.data(), static_cast<std::streamsize>(text.size()));
    return text;
  }
  static void write_text(std::ostream& to, const std::string& text) {
    write(to, static_cast<std::uint32_t>(text.size()));
    to.write(text.data(), static_cast<std::streamsize>(text.size()));
  }
  std::filesystem::path path_of(const std::string& key) const {
    return folder_ / std::to_string(std::hash<std::string>{}(key));
  }

  const std::filesystem::path folder_ = [] {
    const char* const named = std::getenv("WEIR_KEPT_CODE");
    return named ? std::filesystem::path(named) : std::filesystem::path();
  }();
};

}  // namespace weir::test
