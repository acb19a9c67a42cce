// SPDX-License-Identifier: Apache-2.0
#include "manifest_target.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <weir/error.hpp>

#include "driver/discovery/manifest.hpp"
#include "require.hpp"

namespace weir::test {
namespace {

namespace fs = std::filesystem;

bool inside(const fs::path& file, const fs::path& folder) {
  const fs::path way = file.lexically_relative(folder);
  return !way.empty() && way != "." && std::find(way.begin(), way.end(), "..") == way.end();
}

}  // namespace

bool exercise_manifest(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Manifest manifest;
  try {
    manifest = parse_manifest(text, "/drivers/fuzz.json");
  } catch (const Error& error) {
    require(error.code() == ErrorCode::parse, "a manifest is refused with a code of its own", text);
    require(std::string_view(error.what()).starts_with("the manifest /drivers/fuzz.json "),
            "a refusal does not name the manifest", error.what());
    return false;
  }
  require(valid_driver_name(manifest.name), "a name is accepted that is none", text);
  require(manifest.library.is_absolute(), "a library is accepted that depends on the current folder", text);
  require(inside(manifest.library, "/drivers"), "a library outside of the manifest's folder is accepted",
          text);
  require(manifest.library.native().find('\0') == std::string::npos, "a path with a zero byte is accepted",
          text);
  require(manifest.abi_min <= manifest.abi_max, "an empty range of ABIs is accepted", text);
  return true;
}

}  // namespace weir::test
