// SPDX-License-Identifier: Apache-2.0
#include "sweep_programs.hpp"

#include <atomic>
#include <memory>
#include <numeric>

#include "support/kernel_code.hpp"

namespace weir::test {
namespace {

void expect(bool right, const char* what) {
  if (!right) throw Wrong{what};
}

}  // namespace

void arrays(const Device& device) {
  const Stream stream = device.create_stream();
  CurrentStream scope(stream);
  auto x = device.array<std::int32_t>(1000), y = device.array<std::int32_t>(1000);
  std::vector<std::int32_t> host(1000);
  std::iota(host.begin(), host.end(), 0);
  x.copy_from(stream, host);
  y.slice(0, 500).copy_from(stream, x.slice(500, 1000));
  y.slice(500, 1000).fill(stream, 7);
  const std::vector<std::int32_t> back = y.to_host(stream);
  expect(back[0] == 500 && back[499] == 999 && back[500] == 7 && back[999] == 7, "copies");
  auto pinned = device.pinned_array<std::int32_t>(1000);
  x.copy_to_async(stream, pinned);
  stream.synchronize();
  expect(pinned[999] == 999, "a pinned array");
}

void streams_and_events(const Device& device) {
  const Stream first = device.create_stream(), second = device.create_stream(-1);
  const Event event = device.create_event();
  const TimedEvent begin = device.create_timed_event(), end = device.create_timed_event();
  auto x = device.array<std::int32_t>(first, 100);
  begin.record(first);
  x.fill(first, 1);
  event.record(first);
  second.wait(event);
  const std::vector<std::int32_t> seen = x.to_host(second);
  end.record(first);
  const auto called = std::make_shared<std::atomic<bool>>(false);  // may outlive this function
  first.call_host([called] { *called = true; });
  second.wait(first);
  second.flush();
  second.synchronize();
  expect(*called && seen[99] == 1 && end.since(begin).count() >= 0, "events");
  expect(first.query() && event.query(), "queries");
}

void memory_of_many_streams(const Device& device) {
  std::vector<Stream> streams(4);
  for (Stream& stream : streams) stream = device.create_stream();
  std::vector<Array<std::int32_t>> kept;
  for (int round = 0; round < 3; ++round)
    for (std::size_t i = 0; i < streams.size(); ++i) {
      auto x = device.array<std::int32_t>(streams[i], 5000);
      x.fill(streams[i], static_cast<std::int32_t>(i));
      const Stream& other = streams[(i + 1) % streams.size()];
      other.wait(streams[i]);
      auto y = device.array<std::int32_t>(other, 5000);
      y.copy_from(other, x);
      kept.push_back(std::move(y));
      if (kept.size() > 2) {
        device.synchronize();
        const std::vector<std::int32_t> first = kept.front().to_host(streams[0]);
        expect(first[0] == first[4999], "memory that was used again");
        kept.erase(kept.begin());
      }
    }
  streams.pop_back();
  device.synchronize();
}

namespace {

struct Ready {
  explicit Ready(const Device& device) : module(load(device)) {}
  Module module;
  KernelFunction add = module.kernel(
      "add_value",
      {KernelParameter::array(), KernelParameter::of<std::int64_t>(), KernelParameter::of<std::int32_t>()});
  void launch(const StreamRef& stream, const ArrayView<std::int32_t>& x, std::int32_t value) const {
    add.launch(stream, {4, 1, 256}, {x, static_cast<std::int64_t>(x.size()), value});
  }
};

}  // namespace

void ready_kernels(const Device& device) {
  const Ready ready(device);
  const Stream stream = device.create_stream();
  auto x = device.array<std::int32_t>(stream, 100);
  x.fill(stream, 0);
  for (int i = 1; i <= 3; ++i) ready.launch(stream, x, i);
  expect(x.to_host(stream)[99] == 6, "ready kernels");
  (void)ready.add.info();
}

void long_blocks(const Device& device) {
  const Module module = load(device);
  const KernelFunction linger = module.kernel("linger", {KernelParameter::array()});
  const Stream stream = device.create_stream();
  auto count = device.array<std::uint32_t>(stream, 1);
  count.fill(stream, 0);
  constexpr std::uint32_t blocks = 64;
  for (int i = 0; i < 2; ++i) linger.launch(stream, {blocks, 1, 1}, {count});
  expect(count.to_host(stream)[0] == 2 * blocks, "long blocks");
}

void task_lists(const Device& device) {
  const Ready ready(device);
  const Stream stream = device.create_stream();
  auto x = device.array<std::int32_t>(stream, 100), y = device.array<std::int32_t>(stream, 100),
       z = device.array<std::int32_t>(stream, 100);
  for (auto* array : {&x, &y, &z}) array->fill(stream, 0);
  TaskList list(device);
  const auto add = [&](const Array<std::int32_t>& array, TaskPlace place) {
    list.add(ready.add, {1, 1}, std::vector<KernelArgument>{array, std::int64_t{100}, std::int32_t{1}},
             place);
  };
  add(x, {});
  add(x, {0, 0});
  add(y, {0, 1});
  add(z, {0, 2});
  add(y, {});
  for (int i = 0; i < 3; ++i) list.launch(stream);
  expect(x.to_host(stream)[99] == 6 && y.to_host(stream)[0] == 6 && z.to_host(stream)[50] == 3,
         "a task list");
}

namespace {

void kernels(const Device& device, LaunchMode mode) {
  Kernel step{"step", [](View<float> u, View<float> v, View<float> total) {
                range_for(u.size(), [&](Index i) { assert_(u[i] >= 0.0f, "negative"); });
                stream_parallel([&] {
                  Value<float> sum = reduce_sum(u.size(), [&](Index i) { return u[i]; });
                  range_for(u.size(), [&](Index i) { u[i] = u[i] + sum; });
                });
                stream_parallel([&] { range_for(v.size(), [&](Index i) { v[i] = v[i] + 1.0f; }); });
                range_for(total.size(), [&](Index i) { total[i] = u[i] + v[i]; });
              }};
  const Stream stream = device.create_stream();
  auto u = device.array<float>(stream, 10), v = device.array<float>(stream, 10),
       total = device.array<float>(stream, 10);
  u.fill(stream, 1.0f);
  v.fill(stream, 1.0f);
  for (int i = 0; i < 3; ++i) step(LaunchOptions{.mode = mode}, stream, u, v, total);
  expect(total.to_host(stream)[9] == 1331.0f + 4.0f, "kernels");
}
}  // namespace

void kernels_over_streams(const Device& device) {
  kernels(device, LaunchMode::streams);
}
void kernels_as_graphs(const Device& device) {
  kernels(device, LaunchMode::graph);
}

void recorded_graphs(const Device& device) {
  const Ready ready(device);
  const Stream stream = device.create_stream();
  auto x = device.array<std::int32_t>(stream, 100), y = device.array<std::int32_t>(stream, 100);
  auto seen = device.pinned_array<std::int32_t>(100);
  y.fill(stream, 0);
  GraphBuilder record(device);
  record.fill(x, 5);
  record.launch(ready.add, {1, 1}, {x, std::int64_t{100}, std::int32_t{1}});
  record.launch(ready.add, {1, 1}, {y, std::int64_t{100}, std::int32_t{1}});
  record.copy_to(y, seen);
  Graph graph = record.build();
  for (int i = 0; i < 3; ++i) graph.launch(stream);
  stream.synchronize();
  expect(x.to_host(stream)[99] == 6 && seen[0] == 3, "a recorded graph");
}

void profiles(const Device& device) {
  const Ready ready(device);
  const Stream stream = device.create_stream();
  auto x = device.array<std::int32_t>(stream, 100);
  x.fill(stream, 0);
  Profile profile(device);
  ready.launch(stream, x, 1);
  stream.synchronize();
  expect(profile.results().size() == 1, "a profile");
}

void peers(const Device& first) {
  const Device second = open("cpu:1");
  const Stream stream = second.create_stream();
  auto x = first.array<std::int32_t>(100), y = second.array<std::int32_t>(stream, 100);
  x.fill(7);
  first.synchronize();
  for (int i = 0; i < 3; ++i) y.copy_from(stream, x);
  expect(y.to_host(stream)[99] == 7, "a copy between devices");
  const MemorySize memory = second.memory();
  expect(memory.total > 0 && memory.free <= memory.total, "how much memory there is");
}

}  // namespace weir::test
