// SPDX-License-Identifier: Apache-2.0
#include "compilation/kept_code.hpp"

#include <elf.h>

#include <cstring>
#include <utility>
#include <variant>

#include "compilation/request.hpp"

namespace weir::compilation {
namespace {

std::string_view text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool is_lines_section(std::string_view name) {
  return name.starts_with(".debug_") || name.starts_with(".rela.debug_");
}

}  // namespace

std::string encode_kept(const codegen::CodeObject& object, std::uint64_t lines) {
  std::string bytes(reinterpret_cast<const char*>(&lines), sizeof lines);
  return bytes + encode_reply({object});
}

std::optional<codegen::CodeObject> decode_kept(std::string_view bytes, std::uint64_t lines,
                                               std::size_t tasks) try {
  std::uint64_t stored_lines = 0;
  if (bytes.size() < sizeof stored_lines) return std::nullopt;
  std::memcpy(&stored_lines, bytes.data(), sizeof stored_lines);
  Reply reply = decode_reply(bytes.substr(sizeof stored_lines));
  auto* const object = std::get_if<codegen::CodeObject>(&reply.value);
  if (!object || object->entries.size() != tasks) return std::nullopt;
  if (stored_lines != lines) remove_source_lines(*object);
  return std::move(*object);
} catch (const Error&) {
  return std::nullopt;
}

// Debuggers ignore a section of type SHT_NULL. The code does not refer to these sections. Code for GPUs has
// no lines: it is text, or has no such sections.
void remove_source_lines(codegen::CodeObject& object) {
  std::vector<std::byte>& bytes = object.bytes;
  Elf64_Ehdr header;
  if (bytes.size() < sizeof header || !text_of(bytes).starts_with(ELFMAG)) return;
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::uint64_t count = header.e_shnum, size = sizeof(Elf64_Shdr);
  if (header.e_shoff > bytes.size() || count * size > bytes.size() - header.e_shoff ||
      header.e_shstrndx >= count)
    return;
  const auto section = [&](std::uint64_t i) {
    Elf64_Shdr value;
    std::memcpy(&value, bytes.data() + header.e_shoff + i * size, size);
    return value;
  };
  const Elf64_Shdr names = section(header.e_shstrndx);
  if (names.sh_offset > bytes.size() || names.sh_size > bytes.size() - names.sh_offset) return;
  const std::string_view all_names = text_of(bytes).substr(names.sh_offset, names.sh_size);
  for (std::uint64_t i = 1; i < count; ++i) {
    Elf64_Shdr found = section(i);
    if (found.sh_name >= all_names.size()) continue;
    const std::string_view rest = all_names.substr(found.sh_name);
    if (!is_lines_section(rest.substr(0, rest.find('\0')))) continue;
    found.sh_type = SHT_NULL;
    found.sh_size = 0;
    std::memcpy(bytes.data() + header.e_shoff + i * size, &found, size);
  }
}

}  // namespace weir::compilation
