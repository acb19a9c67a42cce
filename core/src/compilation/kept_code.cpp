// SPDX-License-Identifier: Apache-2.0
#include "compilation/kept_code.hpp"

#include <cstring>
#include <utility>
#include <variant>

#include "compilation/request.hpp"
#include "compilation/source_lines.hpp"

namespace weir::compilation {

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

}  // namespace weir::compilation
