// SPDX-License-Identifier: Apache-2.0
// Profiles in Chrome's trace format. Written without a JSON library, because those that libweir uses end the
// process when memory runs out.
#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <weir/error.hpp>
#include <weir/profile.hpp>
#include <weir/sdk/utf8.hpp>

#include "descriptor.hpp"
#include "temporary_file.hpp"

namespace weir {
namespace {

/// A JSON string. Bytes that are not UTF-8 become the replacement character.
std::string json_string(std::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text.front());
    const std::size_t length = sdk::character_length(text);
    if (length == 0)
      result += "\\ufffd";
    else if (c == '"' || c == '\\')
      result.append({'\\', text.front()});
    else if (c < 0x20 || c == 0x7f)
      result += fmt::format("\\u{:04x}", c);
    else
      result += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result + '"';
}

}  // namespace

std::string detail::trace_events(std::span<const TaskTime> times, std::string_view title,
                                 std::uint32_t group) {
  std::set<std::uint32_t> streams;
  for (const TaskTime& time : times) streams.insert(time.stream);
  std::string text = fmt::format(
      "\n"
      R"({{"name":"process_name","ph":"M","pid":{},"tid":0,"args":{{"name":{}}}}})",
      group, json_string(title));
  for (const std::uint32_t stream : streams)
    text += fmt::format(
        ",\n"
        R"({{"name":"thread_name","ph":"M","pid":{0},"tid":{1},"args":{{"name":"stream {1}"}}}})",
        group, stream);
  for (const TaskTime& time : times) {
    const std::string kernel = json_string(time.kernel);
    std::string details = R"("kernel":)" + kernel;
    if (time.region >= 0) details += fmt::format(R"(,"region":{},"block":{})", time.region, time.block);
    if (time.bytes > 0) details += fmt::format(R"(,"bytes":{})", time.bytes);
    text += fmt::format(
        ",\n"
        R"({{"name":{},"cat":{},"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})",
        json_string(time.task), kernel, group, time.stream, time.start / 1000, time.duration / 1000, details);
  }
  return text;
}

namespace {

std::string trace_of(std::string_view events) {
  return fmt::format(R"({{"displayTimeUnit": "ns", "traceEvents": [{})", events) + "\n]}\n";
}

}  // namespace

std::string chrome_trace(std::span<const TaskTime> times, std::string_view title) try {
  return trace_of(detail::trace_events(times, title, 1));
} catch (...) {
  detail::rethrow_as_error();
}

void write_trace(const std::filesystem::path& path, std::span<const TaskTime> times, std::string_view title) try {
  detail::write_trace_file(path, detail::trace_events(times, title, 1));
} catch (...) {
  detail::rethrow_as_error();
}

void detail::write_trace_file(const std::filesystem::path& path, std::string_view events) {
  const std::string text = trace_of(events);
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666));
  if (file.get() < 0 || !write_all(file.get(), text))
    throw Error(ErrorCode::system,
                fmt::format("{}: cannot write the trace: {}; choose a folder that this user may write",
                            path.string(), strerrordesc_np(errno)));
}

}  // namespace weir
