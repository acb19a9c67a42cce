// SPDX-License-Identifier: Apache-2.0
#include "river_timeline.hpp"

#include <vector>

#include "timeline.hpp"

namespace weir::demo {

void write_timeline(const std::filesystem::path& path, const Device& device, const Profile& profile) {
  std::vector<TimelineTask> tasks;
  for (TaskTime& time : profile.results())
    tasks.push_back({std::move(time.task), std::move(time.kernel), time.stream, time.start, time.duration,
                     time.region, time.block});
  write_timeline(path, "weir demo river on " + device.name() + " (" + device.info().name + ")", tasks);
}

}  // namespace weir::demo
