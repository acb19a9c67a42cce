// SPDX-License-Identifier: Apache-2.0
#include "timeline.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <weir/error.hpp>

namespace weir::demo {

void write_timeline(std::ostream& out, std::string_view process, std::span<const TimelineTask> tasks) {
  using Json = nlohmann::ordered_json;
  constexpr int pid = 1;
  std::set<std::uint64_t> streams;
  for (const TimelineTask& task : tasks) streams.insert(task.stream);
  out << "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n";
  // Names that are invalid UTF-8 must not prevent writing a timeline.
  const auto put = [&](const Json& event) {
    out << event.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  put({{"name", "process_name"}, {"ph", "M"}, {"pid", pid}, {"tid", 0}, {"args", {{"name", process}}}});
  for (std::uint64_t stream : streams) {
    out << ",\n";
    put({{"name", "thread_name"},
         {"ph", "M"},
         {"pid", pid},
         {"tid", stream},
         {"args", {{"name", "stream " + std::to_string(stream)}}}});
  }
  for (const TimelineTask& task : tasks) {
    Json args = {{"kernel", task.kernel}};
    if (task.region >= 0) args["region"] = task.region, args["block"] = task.block;
    out << ",\n";
    put({{"name", task.name},
         {"cat", task.kernel},
         {"ph", "X"},
         {"pid", pid},
         {"tid", task.stream},
         {"ts", task.start / 1000},
         {"dur", task.duration / 1000},
         {"args", std::move(args)}});
  }
  out << "\n]}\n";
}

void write_timeline(const std::filesystem::path& path, std::string_view process,
                    std::span<const TimelineTask> tasks) {
  errno = 0;
  std::ofstream file(path);
  if (file) write_timeline(file, process, tasks);
  if (!file.flush())
    throw Error(ErrorCode::system,
                path.string() + ": cannot write the timeline: " + std::strerror(errno ? errno : EIO));
}

}  // namespace weir::demo
