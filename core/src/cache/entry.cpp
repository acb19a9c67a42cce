// SPDX-License-Identifier: Apache-2.0
#include "cache/entry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

// Used header-only, so that libweir needs no library for it at run time.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace weir::cache {
namespace {

constexpr std::string_view magic = "weir-code 1\n";
constexpr std::size_t hash_digits = 32;

struct Sizes {
  std::uint64_t label, input, code;
  double seconds;
};

}  // namespace

std::string checksum(std::string_view bytes) {
  static_assert(sizeof(XXH128_canonical_t) == checksum_bytes);
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  return {reinterpret_cast<const char*>(canonical.digest), sizeof canonical.digest};
}

std::string entry_name(std::string_view input) {
  const XXH128_hash_t hash = XXH3_128bits(input.data(), input.size());
  return fmt::format("{:016x}{:016x}{}", hash.high64, hash.low64, entry_suffix);
}

bool is_entry_name(std::string_view name) {
  return name.size() == hash_digits + entry_suffix.size() && name.ends_with(entry_suffix) &&
         name.find_first_not_of("0123456789abcdef") == hash_digits;
}

std::string encode_entry(const Entry& entry) {
  const Sizes sizes{entry.label.size(), entry.input.size(), entry.code.size(), entry.seconds};
  std::string bytes(magic);
  bytes.append(reinterpret_cast<const char*>(&sizes), sizeof sizes);
  bytes += entry.label + entry.input + entry.code;
  return bytes + checksum(bytes);
}

std::optional<Entry> decode_entry(std::string_view bytes) {
  constexpr std::size_t header = magic.size() + sizeof(Sizes), trailer = checksum_bytes;
  if (bytes.size() < header + trailer || !bytes.starts_with(magic)) return std::nullopt;
  const std::string_view body = bytes.substr(0, bytes.size() - trailer);
  if (bytes.substr(body.size()) != checksum(body)) return std::nullopt;
  Sizes sizes;
  std::memcpy(&sizes, bytes.data() + magic.size(), sizeof sizes);
  std::string_view rest = body.substr(header);
  bool complete = true;
  const auto take = [&](std::uint64_t size) {
    complete &= size <= rest.size();
    const std::string_view part = rest.substr(0, size);
    rest.remove_prefix(part.size());
    return std::string(part);
  };
  Entry entry;
  entry.label = take(sizes.label);
  entry.input = take(sizes.input);
  entry.code = take(sizes.code);
  entry.seconds = sizes.seconds;
  if (!complete || !rest.empty()) return std::nullopt;
  return entry;
}

}  // namespace weir::cache
