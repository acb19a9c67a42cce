// SPDX-License-Identifier: Apache-2.0
// The folder in which this process keeps generated code, if it does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <weir/export.hpp>

#include "cache/store.hpp"

namespace weir::compilation {

struct CachePolicy {
  std::filesystem::path folder;  ///< empty when no cache is used
  std::string why_off;           ///< the reason, when `folder` is empty
  bool named = false;            ///< by WEIR_CACHE; problems with another folder are not reported
  std::uint64_t limit = std::uint64_t{1} << 30;  ///< bytes
};

/// The inputs of the policy; unset environment variables are empty.
struct CacheInputs {
  std::string weir_cache;        ///< WEIR_CACHE: a folder, or `off`
  std::string weir_cache_bytes;  ///< WEIR_CACHE_BYTES
  std::string cache_home;        ///< XDG_CACHE_HOME
  std::string home;              ///< HOME
  bool elevated = false;         ///< the process has rights that its caller lacks
};

/// Throws Error{invalid} when WEIR_CACHE_BYTES is not a number.
CachePolicy make_cache_policy(const CacheInputs& inputs);
/// The policy of this process.
WEIR_API CachePolicy current_cache_policy();

/// Why the folder of the policy is not used: others may write it, it cannot be created or written. "" when it
/// is used. Creates the folder and a file in it.
WEIR_API std::string why_cache_unusable(const CachePolicy& policy);

/// The settings of the store in the folder of `policy`, which writes warnings to standard error.
cache::Settings cache_settings(const CachePolicy& policy);

}  // namespace weir::compilation
