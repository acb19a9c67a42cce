// SPDX-License-Identifier: Apache-2.0
// Figures of a run: totals, medians, bytes and rates per task, a trace for viewers, and whether launches were
// graphs.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <weir/weir.hpp>

using namespace weir;

int main() try {
  Device device = open();
  Stream stream = device.create_stream();
  CurrentStream scope{stream};
  Kernel triad{"triad", [](View<float> a, View<const float> b, View<const float> c) {
                 range_for(a.size(), [&](Index i) { a[i] = b[i] + 3.0f * c[i]; });
               }};
  Kernel steps{"steps", [](View<float> a, View<float> b) {
                 range_for(a.size(), [&](Index i) { a[i] = a[i] + 1.0f; });
                 Value<float> sum = reduce_sum(a.size(), [&](Index i) { return a[i]; });
                 range_for(b.size(), [&](Index i) { b[i] = b[i] + sum; });
               }};

  constexpr std::size_t n = 1 << 20;
  auto a = device.array<float>(n), b = device.array<float>(n), c = device.array<float>(n);
  for (auto* array : {&a, &b, &c}) array->fill(1.0f);
  triad(a, b, c), steps(a, b);  // compiles both, so that the profile has only their runs

  const ProfileSummary run = profile(device, [&] {
    for (int i = 0; i < 10; ++i) triad(a, b, c), steps(a, b);
  });
  std::printf("%s", to_string(run).c_str());

  // The same data one by one, as a trace for chrome://tracing or https://ui.perfetto.dev.
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "weir-example-trace.json";
  {
    const Profile watch(device);
    triad(a, b, c), steps(a, b);
    device.synchronize();
    watch.write_trace(file);
  }
  std::printf("%s: %ju bytes\n", file.c_str(), std::filesystem::file_size(file));
  std::filesystem::remove(file);

  steps(LaunchOptions{.mode = LaunchMode::graph}, stream, a, b);
  const LaunchReport report = stream.last_launch();
  if (report.was_graph())
    std::printf("the last launch was a graph of %u nodes\n", report.nodes);
  else
    std::printf("the last launch went over streams: %s\n",
                std::string(to_string(report.why_no_graph)).c_str());
  stream.synchronize();

  const bool right = run.runs >= 40 && run.tasks.front().runs == 10 && run.busy > 0;
  return right ? 0 : 1;
} catch (const std::exception& error) {  // weir::Error, or an error of std::filesystem
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
