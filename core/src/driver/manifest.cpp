// SPDX-License-Identifier: Apache-2.0
#include "driver/manifest.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weir/driver.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <weir/error.hpp>

#include "driver/descriptor.hpp"

namespace weir {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::size_t max_bytes = 64 * 1024;
constexpr int max_depth = 8;
constexpr int known_version = 1;

[[noreturn]] void refuse(const fs::path& file, std::string_view what) {
  throw Error(ErrorCode::parse, fmt::format("the manifest {} {}", file.string(), what));
}

std::string line_and_column(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte ? byte - 1 : 0, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = newline == before.npos ? before.size() + 1 : before.size() - newline;
  return fmt::format("line {}, column {}", line, column);
}

// nlohmann's destructor takes memory for the members of a container, and ends the process when there is none.
void take_apart(json& value) noexcept {
  if (!value.is_structured()) return;
  for (json& member : value) take_apart(member);
  value.clear();
}
struct Document {
  json root;
  ~Document() { take_apart(root); }
};

json parse_json(std::string_view text, const fs::path& file) {
  std::set<std::string> keys;
  const auto watch = [&](int depth, json::parse_event_t event, json& value) {
    const bool opens =
        event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
    if (opens && depth >= max_depth)
      refuse(file, fmt::format("is nested more than {} levels deep", max_depth));
    if (event == json::parse_event_t::key && depth == 1 && !keys.insert(value.get<std::string>()).second)
      refuse(file, fmt::format("has the key \"{}\" twice", value.get<std::string>()));
    return true;
  };
  try {
    return json::parse(text.begin(), text.end(), watch);
  } catch (const json::parse_error& error) {
    // The library's own sentence repeats the position and carries an internal number; keep its last part.
    std::string_view words = error.what();
    if (const auto at = words.find("; "); at != words.npos)
      words.remove_prefix(at + 2);
    else if (const auto colon = words.rfind(": "); colon != words.npos)
      words.remove_prefix(colon + 2);
    refuse(file, fmt::format("is not valid JSON at {}: {}", line_and_column(text, error.byte), words));
  } catch (const json::exception& error) {  // a number out of range
    refuse(file, fmt::format("is not valid JSON: {}", error.what()));
  }
}

const json& get(const json& object, const char* key, const fs::path& file) {
  const auto found = object.find(key);
  if (found == object.end()) refuse(file, fmt::format("lacks the key \"{}\"", key));
  return *found;
}

std::string get_string(const json& object, const char* key, const fs::path& file) {
  const json& value = get(object, key, file);
  if (!value.is_string())
    refuse(file, fmt::format("has {} for \"{}\"; a string is expected", value.type_name(), key));
  std::string text = value.get<std::string>();
  if (text.find('\0') != text.npos) refuse(file, fmt::format("has a zero byte in \"{}\"", key));
  return text;
}

std::string get_string_or_empty(const json& object, const char* key, const fs::path& file) {
  return object.contains(key) ? get_string(object, key, file) : std::string();
}

std::uint32_t get_abi(const json& object, const char* key, const fs::path& file) {
  const std::string text = get_string(object, key, file);
  std::uint16_t major = 0, minor = 0;
  const char* const end = text.data() + text.size();
  const auto [dot, first] = std::from_chars(text.data(), end, major);
  if (first == std::errc() && dot != end && *dot == '.') {
    const auto [rest, second] = std::from_chars(dot + 1, end, minor);
    if (second == std::errc() && rest == end) return WEIR_ABI_VERSION(major, minor);
  }
  refuse(file, fmt::format("has \"{}\" for \"{}\"; a version like \"1.0\" is expected", text, key));
}

std::vector<std::string> get_strings(const json& object, const char* key, const fs::path& file) {
  const auto found = object.find(key);
  if (found == object.end()) return {};
  const auto is_string = [](const json& value) { return value.is_string(); };
  if (!found->is_array() || !std::all_of(found->begin(), found->end(), is_string))
    refuse(file, fmt::format("has {} for \"{}\"; a list of strings is expected", found->type_name(), key));
  return found->get<std::vector<std::string>>();
}

fs::path library_path(const std::string& text, const fs::path& file) {
  const fs::path relative = text;
  if (text.empty()) refuse(file, "names no library: \"library\" is empty");
  if (relative.is_absolute())
    refuse(file,
           fmt::format(
               "names the library \"{}\" by an absolute path; a path relative to the manifest is expected",
               text));
  const fs::path normal = relative.lexically_normal();
  if (normal.empty() || normal == "." || *normal.begin() == "..")
    refuse(file, fmt::format("names the library \"{}\" outside the manifest's folder", text));
  return fs::absolute(file).parent_path() / normal;
}

}  // namespace

std::string abi_text(std::uint32_t version) {
  return fmt::format("{}.{}", WEIR_ABI_MAJOR(version), WEIR_ABI_MINOR(version));
}

std::string abi_range_text(std::uint32_t min, std::uint32_t max) {
  return min == max ? abi_text(min) : fmt::format("{} to {}", abi_text(min), abi_text(max));
}

bool valid_driver_name(std::string_view name) noexcept {
  if (name.empty() || name.size() > 32 || name.front() == '-') return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

Manifest parse_manifest(std::string_view text, const fs::path& file) {
  if (text.size() > max_bytes)
    refuse(file, fmt::format("is too large: {} bytes, at most {} are expected", text.size(), max_bytes));
  const Document document{parse_json(text, file)};
  const json& root = document.root;
  if (!root.is_object()) refuse(file, fmt::format("holds {} where an object is expected", root.type_name()));

  if (const auto version = root.find("manifest_version"); version != root.end() && *version != known_version)
    refuse(file, fmt::format("has manifest_version {}; this Weir reads {}",
                             version->dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 40),
                             known_version));

  Manifest manifest;
  manifest.name = get_string(root, "name", file);
  if (!valid_driver_name(manifest.name))
    refuse(file,
           fmt::format("has the name \"{}\"; lower case letters, digits and '-' are expected, at most 32",
                       manifest.name.substr(0, 40)));
  manifest.description = get_string_or_empty(root, "description", file);
  manifest.library = library_path(get_string(root, "library", file), file);
  const json& abi = get(root, "abi", file);
  if (!abi.is_object())
    refuse(file, fmt::format("has {} for \"abi\"; an object with \"min\" and \"max\" is expected",
                             abi.type_name()));
  manifest.abi_min = get_abi(abi, "min", file);
  manifest.abi_max = get_abi(abi, "max", file);
  if (manifest.abi_min > manifest.abi_max)
    refuse(file, fmt::format("has the ABI range {} to {}, which is empty", abi_text(manifest.abi_min),
                             abi_text(manifest.abi_max)));
  manifest.architecture = get_string(root, "architecture", file);
  manifest.vendor_libraries = get_strings(root, "vendor_libraries", file);
  return manifest;
}

Manifest read_manifest(const fs::path& path) {
  const auto fail = [&](std::string_view doing) {
    throw Error(ErrorCode::system,
                fmt::format("the manifest {} cannot be {}: {}", path.string(), doing, std::strerror(errno)));
  };
  // Non-blocking, because opening a named pipe would wait for a writer.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) fail("opened");
  struct stat info {};
  if (fstat(file.get(), &info) != 0) fail("examined");
  if (!S_ISREG(info.st_mode)) refuse(path, "is not a regular file");

  std::string text(max_bytes + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("read");
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > max_bytes)
    refuse(path,
           fmt::format("is too large: {} bytes, at most {} are expected",
                       std::max<std::uintmax_t>(static_cast<std::uintmax_t>(info.st_size), size), max_bytes));
  return parse_manifest(std::string_view(text).substr(0, size), path);
}

}  // namespace weir
