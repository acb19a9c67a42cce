// SPDX-License-Identifier: Apache-2.0
// `weir cache`: the generated code that is kept on disk.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <memory>
#include <utility>
#include <vector>
#include <weir/device.hpp>
#include <weir/error.hpp>
#include <weir/stream.hpp>

#include "byte_text.hpp"
#include "cache/maintenance.hpp"
#include "cache/statistics.hpp"
#include "command.hpp"
#include "compilation/cache_policy.hpp"
#include "foreign_text.hpp"
#include "kernel_file.hpp"

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
  line("size", fmt::format("{} of at most {}", byte_text(bytes), byte_text(policy.limit)));
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
    const std::string label =
        entry ? without_control_characters(entry->label) : "damaged, or of another version of Weir";
    std::printf("%s  %10s  %8s  %s\n", date_text(listed.used).c_str(), byte_text(listed.bytes).c_str(),
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

struct WarmOptions {
  std::vector<std::string> files;
  std::string device;
};

int warm(const WarmOptions& options) {
  const CachePolicy policy = policy_with_folder();
  if (const std::string why_not = compilation::why_cache_unusable(policy); !why_not.empty())
    throw Error(ErrorCode::system, why_not);
  const Device device = options.device.empty() ? open() : open(options.device);
  const Stream stream = device.create_stream();
  for (const std::string& file : options.files) {
    const Program program = read_kernel(file);
    program.prepare(stream);
    std::printf("%s is ready for %s\n", program.name().c_str(), device.name().c_str());
  }
  return 0;
}

std::function<int()> set_up(CLI::App& app) {
  app.require_subcommand(1, 1);
  const auto add = [&](const char* name, const char* description, const std::function<int()>& action) {
    return std::pair(app.add_subcommand(name, description), action);
  };
  auto options = std::make_shared<WarmOptions>();
  const std::vector<std::pair<CLI::App*, std::function<int()>>> commands = {
      add("info", "Print the folder, its size and how often it was used", show_info),
      add("list",
          "List the entries, the last one used first: time, size, time to generate, kernel and target", list),
      add("clear", "Remove all entries", clear),
      add("verify", "Read each entry and report the damaged ones", verify),
      add("warm", "Generate the code of kernels that is not there, for launches with ordinary arguments",
          [options] { return warm(*options); })};
  CLI::App& warming = *commands.back().first;
  warming.add_option("files", options->files, "Kernels in IR text form")->required();
  warming.add_option("--device", options->device, "Device such as cpu or cpu:1; see weir info");
  return [commands] {
    for (const auto& [command, action] : commands)
      if (command->parsed()) return action();
    return 1;
  };
}

const Command cache_command("cache", "Show, fill or clear the cache of generated code", set_up);

}  // namespace
}  // namespace weir::tool
