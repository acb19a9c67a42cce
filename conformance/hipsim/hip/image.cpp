// SPDX-License-Identifier: Apache-2.0
#include "hip/image.hpp"

#include <cstring>
#include <string_view>

#include "code/code_object.hpp"

namespace weir::hipsim {
namespace {

constexpr std::string_view bundle_magic = "__CLANG_OFFLOAD_BUNDLE__";

std::uint64_t number(const std::uint8_t* at) {
  std::uint64_t value;
  std::memcpy(&value, at, 8);
  return value;
}

}  // namespace

Image find_image(const void* data, const std::string& target) {
  const auto* bytes = static_cast<const std::uint8_t*>(data);
  if (std::memcmp(bytes, bundle_magic.data(), 4) != 0) {
    const std::size_t size = elf_size(data);
    if (size) return {{bytes, size}, false, {}};
    return {{}, false, "the image is neither an ELF file nor a bundle of clang"};
  }
  if (std::memcmp(bytes, bundle_magic.data(), bundle_magic.size()) != 0)
    return {{}, false, "the image is neither an ELF file nor a bundle of clang"};
  const std::string architecture = target.substr(0, target.find(':'));
  const std::uint8_t* entry = bytes + bundle_magic.size() + 8;
  std::string found_targets;
  for (std::uint64_t left = number(bytes + bundle_magic.size()); left > 0; --left) {
    const std::uint64_t offset = number(entry), size = number(entry + 8), length = number(entry + 16);
    const std::string_view name(reinterpret_cast<const char*>(entry + 24), length);
    entry += 24 + length;
    found_targets += " " + std::string(name);
    const std::size_t at = name.find(architecture);
    const std::size_t end = at + architecture.size();
    if (at != name.npos && size && (end == name.size() || name[end] == ':'))
      return {{bytes + offset, size}, false, {}};
  }
  return {{}, true, "the bundle has no code for " + target + ", only:" + found_targets};
}

}  // namespace weir::hipsim
