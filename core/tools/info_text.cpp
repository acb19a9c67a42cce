// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weir/communicator.h>
#include <weir/driver.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "foreign_text.hpp"
#include "info_report.hpp"

namespace weir::tool {
namespace {

std::string bytes_text(std::uint64_t bytes) {
  constexpr double unit = 1024;
  const double mebibytes = static_cast<double>(bytes) / (unit * unit);
  return mebibytes < unit ? fmt::format("{:.0f} MiB", mebibytes)
                          : fmt::format("{:.1f} GiB", mebibytes / unit);
}

std::string count_text(std::uint32_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

class TextReport {
 public:
  explicit TextReport(bool coloured) : coloured_(coloured) {}

  void add_plugin(const Candidate& candidate) {
    const bool usable = candidate.status == DriverStatus::usable;
    const auto& identity = candidate.identity;
    out_ += paint(bold, identity ? fmt::format("{} {}", without_control_characters(candidate.name),
                                               without_control_characters(identity->version))
                                 : without_control_characters(candidate.name));
    out_ += "  " + paint(usable ? green : identity ? plain : red, to_string(candidate.status)) + "\n";
    if (!candidate.description.empty()) line("is", candidate.description);
    if (identity) line("made by", identity->vendor);
    if (identity && !identity->layers.empty()) {
      std::vector<std::string> names;
      for (const LayerIdentity& layer : identity->layers)
        names.push_back(layer.options.empty() ? layer.name
                                              : fmt::format("{} ({})", layer.name, layer.options));
      line("layers", fmt::format("{}; the first is nearest to the program", fmt::join(names, ", ")));
    }
    if (!usable) {
      line("why", candidate.reason);
      line("remedy", candidate.remedy);
    }
    if (!candidate.note.empty()) line("note", candidate.note);
    for (const std::string& change : describe(candidate.effects, false)) line("note", change);
    for (std::uint32_t index = 0; index < candidate.devices.size(); ++index)
      add_device(candidate.name, index, candidate.devices[index]);
    if (candidate.communicator_info) add_communicator(*candidate.communicator_info);
    line("found at", candidate.manifest.string());
    out_ += "\n";
  }

  void add_folders(std::span<const SearchFolder> folders, std::span<const Candidate> candidates) {
    add_folders("Driver folders, in search order", PluginKind::driver, folders, candidates);
    add_folders("\nCommunicator folders", PluginKind::communicator, folders, candidates);
  }

  void add_cache(const CacheState& cache) {
    out_ += "\n" + paint(bold, "Compile cache") + "\n";
    if (!cache.folder.empty()) out_ += fmt::format("  {}\n", without_control_characters(cache.folder));
    out_ += cache.why_off.empty()
                ? "  in use\n"
                : fmt::format("  not used: {}\n", without_control_characters(cache.why_off));
  }

  void add(std::string_view text) { out_ += text; }
  std::string take() { return std::move(out_); }

 private:
  static constexpr std::string_view plain = "", bold = "1", red = "31", green = "32";

  std::string paint(std::string_view colour, std::string_view text) const {
    if (!coloured_ || colour.empty()) return std::string(text);
    return fmt::format("\x1b[{}m{}\x1b[0m", colour, text);
  }

  void add_folders(std::string_view title, PluginKind kind, std::span<const SearchFolder> folders,
                   std::span<const Candidate> candidates) {
    out_ += paint(bold, title) + "\n";
    std::size_t width = 0;
    for (const SearchFolder& folder : folders) width = std::max(width, folder.path.native().size());
    for (const SearchFolder& folder : folders)
      if (folder.kind == kind)
        out_ += fmt::format("  {:<{}}  {} ({})\n", without_control_characters(folder.path.string()), width,
                            folder_state(folder, candidates), describe_origin(folder));
  }

  static std::string describe_origin(const SearchFolder& folder) {
    switch (folder.origin) {
      case SearchOrigin::environment:
        return fmt::format("from {}", to_string(folder.origin, folder.kind));
      case SearchOrigin::user:
        return "this user's";
      case SearchOrigin::install:
        return "this installation's";
      case SearchOrigin::system:
        return "the system's";
    }
    return "";
  }

  void line(std::string_view label, std::string_view text, int indent = 2) {
    out_ +=
        fmt::format("{:{}}{:<{}}  {}\n", "", indent, label, 14 - indent, without_control_characters(text));
  }

  void add_communicator(const weir_communicator_info& info) {
    if (info.library_version[0]) line("runtime", info.library_version);
    std::vector<std::string_view> can, direct;
    for (const CapabilityWords& capability : all_communicator_capabilities())
      if (info.capabilities & capability.bit) can.push_back(capability.words);
    line("can", fmt::format("{}", fmt::join(can, ", ")));
    for (std::uint32_t i = 0; i < info.direct_count; ++i) direct.push_back(info.direct[i]);
    if (!direct.empty()) line("takes", fmt::format("device memory of {}", fmt::join(direct, ", ")));
    if (info.notes[0]) line("note", info.notes);
  }

  void add_device(std::string_view driver, std::uint32_t index, const weir_device_info& info) {
    out_ += fmt::format("\n  {}  {}\n", paint(bold, fmt::format("{}:{}", driver, index)),
                        without_control_characters(info.name));
    const bool cpu = info.kind == WEIR_DEVICE_CPU;
    std::string kind = kind_word(info.kind);
    if (info.vendor[0]) kind += fmt::format(" by {}", info.vendor);
    kind += ", " + (cpu ? count_text(info.multiprocessors, "core", "cores")
                        : count_text(info.multiprocessors, "multiprocessor", "multiprocessors"));
    if (info.lanes > 1) kind += fmt::format(" of {} lanes", info.lanes);
    if (info.location[0]) kind += fmt::format(", at {}", info.location);
    line("is", kind, 4);
    std::string memory = bytes_text(info.total_memory);
    if (info.memory_bandwidth)
      memory += fmt::format(", {:.0f} GB/s", static_cast<double>(info.memory_bandwidth) * 1e-9);
    line("memory", memory, 4);
    if (info.driver_version[0]) line("runtime", info.driver_version, 4);
    for (std::uint32_t i = 0; i < std::min<std::uint32_t>(info.code_target_count, WEIR_MAX_CODE_TARGETS);
         ++i) {
      const weir_code_target& target = info.code_targets[i];
      line(i == 0 ? "loads" : "",
           target.target[0] ? fmt::format("{} for {}", target.format, target.target) : target.format, 4);
    }
    line("block",
         fmt::format("up to {}, {} shared", count_text(info.max_block_threads, "thread", "threads"),
                     info.max_shared_bytes < 1024 ? fmt::format("{} bytes", info.max_shared_bytes)
                                                  : fmt::format("{} KiB", info.max_shared_bytes / 1024)),
         4);
    std::vector<std::string_view> can, cannot;
    for (const CapabilityWords& capability : all_capabilities())
      (info.capabilities & capability.bit ? can : cannot).push_back(capability.words);
    list("can", can);
    list("cannot", cannot);
    for (std::string_view notes = info.notes; !notes.empty();) {
      const std::size_t end = std::min(notes.find('\n'), notes.size());
      line("note", notes.substr(0, end), 4);
      notes.remove_prefix(std::min(end + 1, notes.size()));
    }
  }

  // Wrapped between words of the list, so that the columns stay.
  void list(std::string_view label, const std::vector<std::string_view>& words) {
    constexpr std::size_t width = 72;
    std::string row;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (!row.empty() && row.size() + words[i].size() > width) {
        line(label, row, 4);
        label = "";
        row.clear();
      }
      row += fmt::format("{}{}{}", row.empty() ? "" : " ", words[i], i + 1 < words.size() ? "," : "");
    }
    if (!row.empty()) line(label, row, 4);
  }

  bool coloured_;
  std::string out_;
};

}  // namespace

std::string info_text(std::span<const SearchFolder> folders, std::span<const Candidate> candidates,
                      const CacheState& cache, bool coloured) {
  TextReport report(coloured);
  report.add(fmt::format("Weir {}, driver ABI {}.{}\n\n", WEIR_VERSION, WEIR_ABI_MAJOR(WEIR_ABI_CURRENT),
                         WEIR_ABI_MINOR(WEIR_ABI_CURRENT)));
  for (const Candidate& candidate : candidates) report.add_plugin(candidate);
  report.add_folders(folders, candidates);
  report.add_cache(cache);
  return report.take();
}

}  // namespace weir::tool
