// SPDX-License-Identifier: Apache-2.0
// `weir cache`: the generated code that is kept on disk.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <weir/error.hpp>

#include "cache/maintenance.hpp"
#include "cache/statistics.hpp"
#include "command.hpp"
#include "compilation/cache_policy.hpp"

namespace weir::tool {
namespace {

using compilation::CachePolicy;

/// The policy of this process, which has a folder.
CachePolicy policy_with_folder() {
  CachePolicy policy = compilation::current_cache_policy();
  if (policy.folder.empty())
    throw Error(ErrorCode::unsupported, "there is no compile cache: " + policy.why_off);
  return policy;
}

std::string size_text(std::uint64_t bytes) {
  constexpr double kibi = 1024;
  const auto number = static_cast<double>(bytes);
  return number < kibi * kibi ? fmt::format("{:.1f} KiB", number / kibi)
                              : fmt::format("{:.1f} MiB", number / (kibi * kibi));
}

void line(const char* label, const std::string& text) {
  std::printf("%-10s %s\n", label, text.c_str());
}

int show_info() {
  const CachePolicy policy = compilation::current_cache_policy();
  const std::string why_not = compilation::why_cache_unusable(policy);
  if (policy.folder.empty()) {
    line("in use", "no: " + why_not);
    return 0;
  }
  std::uint64_t bytes = 0;
  const std::vector<cache::Listed> entries = cache::list_entries(policy.folder);
  for (const cache::Listed& entry : entries) bytes += entry.bytes;
  const cache::Statistics counts = cache::read_statistics(policy.folder);
  line("folder", policy.folder.string());
  line("in use", why_not.empty() ? "yes" : "no: " + why_not);
  line("size", fmt::format("{} of at most {}", size_text(bytes), size_text(policy.limit)));
  line("entries", fmt::format("{}", entries.size()));
  line("hits", fmt::format("{}", counts.hits));
  line("misses", fmt::format("{}", counts.misses));
  line("evictions", fmt::format("{}", counts.evictions));
  line("saved",
       fmt::format("{:.1f} s of code generation", static_cast<double>(counts.saved_microseconds) * 1e-6));
  return 0;
}

std::string date_text(std::int64_t nanoseconds) {
  const auto time = static_cast<std::time_t>(nanoseconds / 1'000'000'000);
  std::tm local{};
  char text[32] = "";
  if (localtime_r(&time, &local)) std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &local);
  return text;
}

int list() {
  for (const cache::Listed& listed : cache::list_entries(policy_with_folder().folder)) {
    const std::optional<cache::Entry> entry = cache::read_entry(listed.file);
    std::string label = entry ? entry->label : "damaged, or of another version of Weir";
    std::replace_if(
        label.begin(), label.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
    std::printf("%s  %10s  %8s  %s\n", date_text(listed.used).c_str(), size_text(listed.bytes).c_str(),
                entry ? fmt::format("{:.0f} ms", entry->seconds * 1e3).c_str() : "", label.c_str());
  }
  return 0;
}

int clear() {
  const CachePolicy policy = policy_with_folder();
  const std::uint64_t removed = cache::clear(policy.folder);
  std::printf("removed %llu entries from %s\n", static_cast<unsigned long long>(removed),
              policy.folder.c_str());
  if (!cache::list_entries(policy.folder).empty())
    throw Error(ErrorCode::system,
                policy.folder.string() + ": some entries cannot be removed; check the rights of the folder");
  return 0;
}

int verify() {
  const CachePolicy policy = policy_with_folder();
  std::size_t sound = 0, damaged = 0;
  for (const cache::Listed& listed : cache::list_entries(policy.folder)) {
    if (cache::read_entry(listed.file)) {
      ++sound;
    } else {
      ++damaged;
      std::printf("%s is damaged, or of another version of Weir\n", listed.file.c_str());
    }
  }
  std::printf("%zu entries are sound, %zu are damaged\n", sound, damaged);
  if (damaged) std::printf("Damaged entries are not used, and are replaced when their code is needed.\n");
  return damaged ? 1 : 0;
}

const Command cache_command(
    "cache", "Show or clear the cache of generated code", [](CLI::App& app) -> std::function<int()> {
      app.require_subcommand(1, 1);
      const CLI::App* const info =
          app.add_subcommand("info", "Print the folder, its size and how often it was used");
      const CLI::App* const entries = app.add_subcommand(
          "list",
          "List the entries, the last one used first: time, size, time to generate, kernel and target");
      const CLI::App* const empty = app.add_subcommand("clear", "Remove all entries");
      app.add_subcommand("verify", "Read each entry and report the damaged ones");
      return [info, entries, empty] {
        return info->parsed()      ? show_info()
               : entries->parsed() ? list()
               : empty->parsed()   ? clear()
                                   : verify();
      };
    });

}  // namespace
}  // namespace weir::tool
