// SPDX-License-Identifier: Apache-2.0
#include "compilation/cache_policy.hpp"

#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "driver/environment.hpp"
#include "driver/trust/private_folder.hpp"
#include "driver/trust/trust.hpp"

namespace weir::compilation {
namespace {

namespace fs = std::filesystem;

// $HOME/.cache/weir/code, of which only $HOME must be there.
constexpr int max_missing_levels = 3;

std::string distrust(const fs::path& folder) try {
  check_trusted_folder(folder);
  return "";
} catch (const Error& error) {
  return fmt::format("the compile cache {} is not used: {}", folder.string(), error.what());
}

std::string create(const fs::path& folder) {
  const std::string reason = make_private_folder(folder, max_missing_levels);
  if (reason.empty()) return reason;
  return fmt::format(
      "the compile cache {} is not used: {}; name another folder in WEIR_CACHE, or turn the cache "
      "off with WEIR_CACHE=off",
      folder.string(), reason);
}

void warn(const std::string& problem) {
  const std::string line = "weir: " + problem + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

CachePolicy make_cache_policy(const CacheInputs& inputs) {
  CachePolicy policy;
  if (inputs.elevated) {
    policy.why_off = "this process has rights that its caller lacks";
    return policy;
  }
  policy.limit = parse_bytes("WEIR_CACHE_BYTES", inputs.weir_cache_bytes).value_or(policy.limit);
  if (inputs.weir_cache == "off") {
    policy.why_off = "WEIR_CACHE is off";
  } else if (strcasecmp(inputs.weir_cache.c_str(), "off") == 0) {
    refuse_environment("WEIR_CACHE", inputs.weir_cache, "off, or a folder");
  } else if (!inputs.weir_cache.empty()) {
    std::error_code error;
    policy.named = true;
    policy.folder = fs::absolute(inputs.weir_cache, error).lexically_normal();
    if (!policy.folder.has_filename()) policy.folder = policy.folder.parent_path();
    if (error)
      policy.why_off = fmt::format("WEIR_CACHE is {}, and there is no current folder", inputs.weir_cache);
    // The XDG specification requires that a relative XDG_CACHE_HOME is ignored.
  } else if (fs::path(inputs.cache_home).is_absolute()) {
    policy.folder = fs::path(inputs.cache_home) / "weir/code";
  } else if (fs::path(inputs.home).is_absolute()) {
    policy.folder = fs::path(inputs.home) / ".cache/weir/code";
  } else {
    policy.why_off = "neither WEIR_CACHE nor XDG_CACHE_HOME nor HOME names a folder";
  }
  return policy;
}

CachePolicy current_cache_policy() {
  return make_cache_policy({secure_environment("WEIR_CACHE"), secure_environment("WEIR_CACHE_BYTES"),
                            secure_environment("XDG_CACHE_HOME"), secure_environment("HOME"),
                            process_is_elevated()});
}

std::string why_cache_unusable(const CachePolicy& policy) {
  if (policy.folder.empty()) return policy.why_off;
  if (std::string reason = create(policy.folder); !reason.empty()) return reason;
  if (std::error_code error; !std::filesystem::is_directory(policy.folder, error))
    return fmt::format("{} is not a folder; name one in WEIR_CACHE", policy.folder.string());
  if (access(policy.folder.c_str(), W_OK | X_OK) != 0)
    return fmt::format("{} cannot be written: {}", policy.folder.string(), strerrordesc_np(errno));
  return distrust(policy.folder);
}

cache::Settings cache_settings(const CachePolicy& policy) {
  cache::Settings settings;
  settings.folder = policy.folder;
  settings.limit = policy.limit;
  // For a daemon without a home, only `weir info` reports that the usual folder cannot be created.
  settings.create = create;
  settings.distrust = distrust;
  settings.warn = [named = policy.named, folder = policy.folder](const std::string& problem) {
    if (named || access(folder.c_str(), F_OK) == 0) warn(problem);
  };
  return settings;
}

}  // namespace weir::compilation
