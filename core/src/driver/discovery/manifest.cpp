// SPDX-License-Identifier: Apache-2.0
#include "driver/discovery/manifest.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weir/driver.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <weir/error.hpp>

#include "descriptor.hpp"
#include "driver/discovery/plugin_kind.hpp"
#include "driver/trust/trust.hpp"

namespace weir {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::size_t max_bytes = 64 * 1024;
constexpr int max_depth = 8;
constexpr int known_version = 1;

[[noreturn]] void cannot(const fs::path& file, std::string_view verb) {
  throw Error(ErrorCode::system,
              fmt::format("the manifest {} cannot be {}: {}", file.string(), verb, strerrordesc_np(errno)));
}

// Quotes the start of `text`. Escapes everything but printable ASCII, because terminals obey control
// characters.
std::string in_quotes(std::string_view text) {
  return json(text.substr(0, 40)).dump(-1, ' ', true, json::error_handler_t::replace);
}

// The parser's messages quote the text, which may have any length and contain any bytes.
std::string printable(std::string_view words) {
  constexpr std::size_t max_characters = 160;
  std::string text(words.substr(0, max_characters));
  std::ranges::replace_if(
      text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return words.size() > max_characters ? text + "..." : text;
}

// A C0 or C1 control character or DEL. `text` is UTF-8, which the parser has checked.
bool has_control_character(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7f) return true;
    if (byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) return true;
  }
  return false;
}

/// The type of a value with its article, for messages.
std::string describe_type(const json& value) {
  const std::string name = value.type_name();
  if (value.is_null()) return name;
  return (value.is_structured() ? "an " : "a ") + name;
}

std::size_t line_of(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  return 1 + static_cast<std::size_t>(std::ranges::count(before, '\n'));
}

std::string line_and_column(std::string_view text, std::size_t byte) {
  const std::size_t at = std::min(byte ? byte - 1 : 0, text.size());
  const std::size_t newline = text.substr(0, at).rfind('\n');
  return fmt::format("line {}, column {}", line_of(text, at), newline == text.npos ? at + 1 : at - newline);
}

// nlohmann's destructor allocates for the members of a container and ends the process when memory runs out.
void take_apart(json& value) noexcept {
  if (!value.is_structured()) return;
  for (json& member : value) take_apart(member);
  value.clear();
}
struct Document {
  json root;
  ~Document() { take_apart(root); }
};

// Feeds the parser and records the position, which its callbacks do not receive.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}
  const char& operator*() const { return *at_; }
  Cursor& operator++() {
    *furthest_ = std::max(*furthest_, ++at_);
    return *this;
  }
  Cursor operator++(int) {
    Cursor old = *this;
    ++*this;
    return old;
  }
  bool operator==(const Cursor& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  const char** furthest_;
};

std::string too_large(std::uint64_t size) {
  return fmt::format("is too large: {} bytes, at most {} are expected", size, max_bytes);
}

class ManifestReader {
 public:
  explicit ManifestReader(const fs::path& file) : file_(file) {}

  Manifest read(std::string_view text) && {
    if (text.size() > max_bytes) {
      fault(too_large(text.size()));
    } else if (std::optional<json> root = parse(text)) {
      const Document document{std::move(*root)};
      read_root(document.root);
    }
    return std::move(manifest_);
  }

 private:
  void fault(std::string words) { manifest_.faults.push_back(std::move(words)); }

  std::optional<json> parse(std::string_view text) {
    // The library takes a zero byte for the end of the text.
    if (const std::size_t zero = text.find('\0'); zero != text.npos) {
      fault(fmt::format("is not valid JSON at {}: a zero byte", line_and_column(text, zero + 1)));
      return std::nullopt;
    }
    std::array<std::set<std::string>, max_depth + 1> keys;  // of the open object at each level
    const char* read = text.data();
    bool deep = false;
    const auto watch = [&](int depth, json::parse_event_t event, json& value) {
      const bool opens =
          event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
      if (opens && depth >= max_depth) {
        if (!deep) fault(fmt::format("is nested more than {} levels deep", max_depth));
        deep = true;
        return false;
      }
      const auto level = static_cast<std::size_t>(depth);
      if (event == json::parse_event_t::object_start) keys[level + 1].clear();
      if (event == json::parse_event_t::key && depth <= max_depth &&
          !keys[level].insert(value.get<std::string>()).second)
        fault(fmt::format("has the key {} twice, the second time in line {}",
                          in_quotes(value.get_ref<const std::string&>()),
                          line_of(text, static_cast<std::size_t>(read - text.data()))));
      return true;
    };
    try {
      return json::parse(Cursor(text.data(), &read), Cursor(text.data() + text.size(), &read), watch);
    } catch (const json::parse_error& error) {
      // The library's message repeats the position and contains an internal number; keep its last part.
      std::string_view words = error.what();
      if (const auto at = words.find("; "); at != words.npos)
        words.remove_prefix(at + 2);
      else if (const auto colon = words.rfind(": "); colon != words.npos)
        words.remove_prefix(colon + 2);
      fault(fmt::format("is not valid JSON at {}: {}", line_and_column(text, error.byte), printable(words)));
    } catch (const json::exception& error) {  // a number out of range
      // "[json.exception.out_of_range.406] number overflow parsing '1e999'"
      std::string_view words = error.what();
      if (const auto end = words.find("] "); end != words.npos) words.remove_prefix(end + 2);
      fault(fmt::format("is not valid JSON in line {}: {}",
                        line_of(text, static_cast<std::size_t>(read - text.data())), printable(words)));
    }
    return std::nullopt;
  }

  void read_root(const json& root) {
    if (!root.is_object())
      return fault(fmt::format("holds {} where an object is expected", root.type_name()));
    if (const auto version = root.find("manifest_version");
        version != root.end() && *version != known_version)
      fault(fmt::format("has manifest_version {}; this Weir reads {}",
                        version->dump(-1, ' ', true, json::error_handler_t::replace).substr(0, 40),
                        known_version));
    if (auto name = get_string(root, "name")) {
      if (!valid_driver_name(*name))
        fault(
            fmt::format("has the name {}; lower case letters, digits and '-' are expected, at most 32, and "
                        "no '-' first",
                        in_quotes(*name)));
      manifest_.name = std::move(*name);
    }
    if (root.contains("kind")) read_kind(root);
    if (root.contains("description"))
      manifest_.description = get_string(root, "description").value_or(std::string());
    if (const auto library = get_string(root, "library")) read_library(*library);
    read_abi(root);
    manifest_.architecture = get_string(root, "architecture").value_or(std::string());
    manifest_.vendor_libraries = get_strings(root, "vendor_libraries");
    manifest_.launched_by = get_strings(root, "launched_by");
  }

  std::optional<std::string> get_string(const json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end()) {
      fault(fmt::format("lacks the key \"{}\"", key));
      return std::nullopt;
    }
    if (!found->is_string()) {
      fault(fmt::format("has {} for \"{}\"; a string is expected", describe_type(*found), key));
      return std::nullopt;
    }
    return checked_text(*found, key);
  }

  std::optional<std::string> checked_text(const json& value, const char* key) {
    const std::string& text = value.get_ref<const std::string&>();
    if (text.find('\0') != text.npos)
      fault(fmt::format("has a zero byte in \"{}\"", key));
    else if (has_control_character(text))
      fault(fmt::format("has a control character in \"{}\"", key));
    else
      return text;
    return std::nullopt;
  }

  // A library that is refused because of its path is recorded as well, so that tools can still examine it.
  void read_library(const std::string& text) {
    if (text.empty()) return fault("names no library: \"library\" is empty");
    const fs::path relative = text, normal = relative.lexically_normal();
    if (relative.is_absolute())
      fault(
          fmt::format("names the library {} by an absolute path; a path relative to the manifest is expected",
                      in_quotes(text)));
    else if (normal.empty() || normal == "." || *normal.begin() == "..")
      fault(fmt::format("names the library {} outside the manifest's folder", in_quotes(text)));
    manifest_.library = fs::absolute(file_).parent_path() / normal;
  }

  void read_kind(const json& root) {
    const std::optional<std::string> kind = get_string(root, "kind");
    if (!kind) return;
    for (const PluginKind known : {PluginKind::driver, PluginKind::communicator})
      if (*kind == terms_of(known).name) {
        manifest_.kind = known;
        return;
      }
    fault(fmt::format("has {} for \"kind\"; \"driver\" or \"communicator\" is expected", in_quotes(*kind)));
  }

  void read_abi(const json& root) {
    const auto abi = root.find("abi");
    if (abi == root.end()) return fault("lacks the key \"abi\"");
    if (!abi->is_object())
      return fault(fmt::format("has {} for \"abi\"; an object with \"min\" and \"max\" is expected",
                               describe_type(*abi)));
    const std::optional<std::uint32_t> min = get_version(*abi, "min"), max = get_version(*abi, "max");
    if (!min || !max) return;
    if (*min > *max)
      return fault(fmt::format("has the ABI range {} to {}, which is empty", abi_text(*min), abi_text(*max)));
    manifest_.abi_min = *min;
    manifest_.abi_max = *max;
  }

  std::optional<std::uint32_t> get_version(const json& object, const char* key) {
    const std::optional<std::string> text = get_string(object, key);
    if (!text) return std::nullopt;
    std::uint16_t major = 0, minor = 0;
    const char* const end = text->data() + text->size();
    const auto [dot, first] = std::from_chars(text->data(), end, major);
    if (first == std::errc() && dot != end && *dot == '.') {
      const auto [rest, second] = std::from_chars(dot + 1, end, minor);
      if (second == std::errc() && rest == end) return WEIR_ABI_VERSION(major, minor);
    }
    fault(fmt::format("has {} for \"{}\"; a version like \"1.0\" is expected", in_quotes(*text), key));
    return std::nullopt;
  }

  std::vector<std::string> get_strings(const json& root, const char* key) {
    std::vector<std::string> texts;
    const auto found = root.find(key);
    if (found == root.end()) return texts;
    const auto is_string = [](const json& value) { return value.is_string(); };
    if (!found->is_array() || !std::ranges::all_of(*found, is_string)) {
      fault(fmt::format("has {} for \"{}\"; a list of strings is expected", describe_type(*found), key));
      return texts;
    }
    for (const json& value : *found)
      if (auto text = checked_text(value, key)) texts.push_back(std::move(*text));
    return texts;
  }

  const fs::path& file_;
  Manifest manifest_;
};

// Reads at most one byte more than a manifest may have, which reveals a file that is too large.
std::string read_text(int descriptor, const fs::path& file) {
  std::string text(max_bytes + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = pread(descriptor, text.data() + size, text.size() - size, static_cast<off_t>(size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) cannot(file, "read");
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
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

Manifest examine_manifest(std::string_view text, const fs::path& file) {
  return ManifestReader(file).read(text);
}

Manifest examine_manifest(const fs::path& file) try {
  const Descriptor descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info {};
  if (descriptor.get() < 0) cannot(file, "opened");
  if (fstat(descriptor.get(), &info) != 0) cannot(file, "examined");
  if (!S_ISREG(info.st_mode))
    throw Error(
        ErrorCode::system,
        fmt::format("the manifest {} is not a regular file; pass the .json file of a driver or communicator",
                    file.string()));
  if (const auto size = static_cast<std::uint64_t>(info.st_size); size > max_bytes) {
    Manifest refused;
    refused.faults.push_back(too_large(size));
    return refused;
  }
  return examine_manifest(read_text(descriptor.get(), file), file);
} catch (...) {
  detail::rethrow_as_error();
}

Manifest parse_manifest(std::string_view text, const fs::path& file) {
  Manifest manifest = examine_manifest(text, file);
  if (!manifest.faults.empty())
    throw Error(ErrorCode::parse, fmt::format("the manifest {} {}", file.string(), manifest.faults.front()));
  return manifest;
}

Manifest read_manifest(const TrustedFile& file) {
  if (file.size() > max_bytes)
    throw Error(ErrorCode::parse,
                fmt::format("the manifest {} {}", file.named().string(), too_large(file.size())));
  return parse_manifest(read_text(file.descriptor(), file.named()), file.named());
}

}  // namespace weir
