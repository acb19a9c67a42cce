// SPDX-License-Identifier: Apache-2.0
// The rules are those of <weir/driver.h> and of libweir's reader, core/src/driver/manifest.cpp, which
// programs cannot call.
#include "manifest.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>

namespace weir::conformance {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t most_bytes = 64 * 1024;
constexpr int most_levels = 8;
constexpr std::size_t longest_name = 32;

std::string quoted(const std::string& text) {
  return '"' + text.substr(0, 40) + '"';
}

/// "1.0" as WEIR_ABI_VERSION has it; nothing when the text is no version.
std::optional<std::uint32_t> version_in(const std::string& text) {
  std::uint16_t major = 0, minor = 0;
  const char* const end = text.data() + text.size();
  const auto [dot, first] = std::from_chars(text.data(), end, major);
  if (first != std::errc() || dot == end || *dot != '.') return std::nullopt;
  const auto [rest, second] = std::from_chars(dot + 1, end, minor);
  if (second != std::errc() || rest != end) return std::nullopt;
  return std::uint32_t{major} << 16 | minor;
}

class Reader {
 public:
  explicit Reader(const std::string& text) {
    if (text.size() > most_bytes)
      fault("has " + std::to_string(text.size()) + " bytes; at most " + std::to_string(most_bytes) +
            " are expected");
    std::set<std::string> keys;
    bool deep = false;
    root_ = json::parse(
        text,
        [&](int depth, json::parse_event_t event, json& value) {
          const bool opens =
              event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
          deep = deep || (opens && depth >= most_levels);
          if (event == json::parse_event_t::key && depth == 1 &&
              !keys.insert(value.get<std::string>()).second)
            fault("has the key " + quoted(value.get<std::string>()) + " twice");
          return true;
        },
        false);
    if (deep) fault("is nested more than " + std::to_string(most_levels) + " levels deep");
  }

  const json& root() const { return root_; }

  void check() {
    const auto version = root_.find("manifest_version");
    if (version != root_.end() && *version != 1)
      fault("has manifest_version " + version->dump(-1, ' ', false, json::error_handler_t::replace) +
            "; 1 is expected");
    if (const auto name = text_of(root_, "name"))
      if (const std::string wrong = fault_of_name(*name); !wrong.empty()) fault(wrong);
    if (root_.contains("description")) text_of(root_, "description");
    if (const auto library = text_of(root_, "library")) check_library(*library);
    check_abi();
    check_architecture();
    if (const auto list = root_.find("vendor_libraries"); list != root_.end()) {
      const auto is_text = [](const json& value) { return value.is_string(); };
      if (!list->is_array() || !std::ranges::all_of(*list, is_text))
        fault(std::string("has ") + list->type_name() +
              " for \"vendor_libraries\"; a list of strings is expected");
    }
  }

  std::vector<std::string> take() { return std::move(faults_); }

 private:
  void fault(std::string words) { faults_.push_back(std::move(words)); }

  std::optional<std::string> text_of(const json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end()) {
      fault("lacks the key \"" + std::string(key) + '"');
      return std::nullopt;
    }
    if (!found->is_string()) {
      fault(std::string("has ") + found->type_name() + " for \"" + key + "\"; a string is expected");
      return std::nullopt;
    }
    std::string text = found->get<std::string>();
    if (text.find('\0') != text.npos) fault("has a zero byte in \"" + std::string(key) + '"');
    return text;
  }

  void check_library(const std::string& text) {
    const fs::path normal = fs::path(text).lexically_normal();
    if (normal.is_absolute())
      fault("names the library " + quoted(text) +
            " by an absolute path; a path relative to the manifest is expected");
    else if (normal.empty() || normal == "." || *normal.begin() == "..")
      fault("names the library " + quoted(text) + " outside the manifest's folder");
  }

  void check_abi() {
    const auto abi = root_.find("abi");
    if (abi == root_.end() || !abi->is_object()) {
      fault("has no object \"abi\"; one with \"min\" and \"max\" is expected");
      return;
    }
    std::optional<std::uint32_t> range[2];
    for (int i = 0; i < 2; ++i) {
      const char* const key = i == 0 ? "min" : "max";
      const auto text = text_of(*abi, key);
      if (text) range[i] = version_in(*text);
      if (text && !range[i])
        fault("has " + quoted(*text) + " for \"" + key + "\"; a version like \"1.0\" is expected");
    }
    if (range[0] && range[1] && *range[0] > *range[1])
      fault("has an ABI range that is empty: min is above max");
  }

  void check_architecture() {
    const auto text = text_of(root_, "architecture");
    utsname machine{};
    if (text && uname(&machine) == 0 && *text != machine.machine)
      fault("is for the architecture " + quoted(*text) + "; this machine is " + machine.machine);
  }

  json root_;
  std::vector<std::string> faults_;
};

}  // namespace

std::string fault_of_name(const std::string& name) {
  const bool known = std::ranges::all_of(
      name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
  if (known && !name.empty() && name.size() <= longest_name && name.front() != '-') return {};
  return "has the name " + quoted(name) +
         "; lower case letters, digits and '-' are expected, at most 32, and no '-' first";
}

ManifestFile read_manifest_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("the manifest " + path.string() + " cannot be read");
  Reader reader(std::string(std::istreambuf_iterator<char>(file), {}));
  const json& root = reader.root();
  if (!root.is_object() || !root.contains("library") || !root["library"].is_string())
    throw std::runtime_error(path.string() + " is no driver manifest: it is no JSON object with a library");
  reader.check();
  const bool named = root.contains("name") && root["name"].is_string();
  return {named ? root["name"].get<std::string>() : path.stem().string(),
          fs::absolute(path.parent_path() / root["library"].get<std::string>()).lexically_normal(),
          reader.take()};
}

}  // namespace weir::conformance
