// SPDX-License-Identifier: Apache-2.0
// Figures of a profile, and their table.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <weir/profile.hpp>

namespace weir {
namespace {

double median_of(std::vector<double>& durations) {
  const auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
  std::nth_element(durations.begin(), middle, durations.end());
  if (durations.size() % 2 != 0) return *middle;
  return (*middle + *std::max_element(durations.begin(), middle)) / 2;
}

std::string time_text(double nanoseconds) {
  if (nanoseconds < 1e3) return fmt::format("{:.0f} ns", nanoseconds);
  if (nanoseconds < 1e6) return fmt::format("{:.2f} us", nanoseconds / 1e3);
  if (nanoseconds < 1e9) return fmt::format("{:.2f} ms", nanoseconds / 1e6);
  return fmt::format("{:.2f} s", nanoseconds / 1e9);
}

}  // namespace

ProfileSummary summarize(std::span<const TaskTime> times) try {
  struct Group {
    TaskSummary summary;
    std::vector<double> durations;
  };
  std::map<std::pair<std::string_view, std::string_view>, Group> groups;
  ProfileSummary result;
  double begin = 0, end = 0;
  for (const TaskTime& time : times) {
    Group& group = groups[{time.kernel, time.task}];
    group.durations.push_back(time.duration);
    group.summary.total += time.duration;
    group.summary.bytes += time.bytes;
    begin = result.runs == 0 ? time.start : std::min(begin, time.start);
    end = std::max(result.runs == 0 ? begin : end, time.start + time.duration);
    result.busy += time.duration;
    ++result.runs;
  }
  result.span = end - begin;
  for (auto& [name, group] : groups) {
    TaskSummary& task = group.summary;
    task.kernel = name.first;
    task.task = name.second;
    task.runs = group.durations.size();
    const auto [shortest, longest] = std::ranges::minmax(group.durations);
    task.shortest = shortest;
    task.longest = longest;
    task.median = median_of(group.durations);
    result.tasks.push_back(std::move(task));
  }
  std::ranges::stable_sort(result.tasks, std::greater(), &TaskSummary::total);
  return result;
} catch (...) {
  detail::rethrow_as_error();
}

std::string to_string(const ProfileSummary& summary) try {
  std::string text = fmt::format("{} tasks in {}, busy for {} ({:.2f} at a time)\n", summary.runs,
                                 time_text(summary.span), time_text(summary.busy), summary.concurrency());
  if (summary.tasks.empty()) return text;
  text += fmt::format("{:>6}  {:>8}  {:>10}  {:>10}  {:>9}  {}\n", "share", "runs", "total", "median", "GB/s",
                      "task");
  for (const TaskSummary& task : summary.tasks) {
    const double share = summary.busy > 0 ? 100 * task.total / summary.busy : 0;
    text += fmt::format("{:>5.1f}%  {:>8}  {:>10}  {:>10}  {:>9}  {}: {}\n", share, task.runs,
                        time_text(task.total), time_text(task.median),
                        task.bytes ? fmt::format("{:.2f}", task.rate()) : "-", task.kernel, task.task);
  }
  return text;
} catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir
