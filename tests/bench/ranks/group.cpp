// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <weir/weir.hpp>

#include "ranks_bench.hpp"

namespace weir::bench::ranks {

double Member::largest(double mine) {
  shared_[world.rank()] = mine;
  world.barrier();
  const double most = *std::max_element(shared_.begin(), shared_.end());
  world.barrier();  // before the next value
  return most;
}

double Member::time(int repeats, const std::function<void()>& submit) {
  stream.synchronize();
  world.barrier();
  const double begin = now();
  for (int i = 0; i < repeats; ++i) submit();
  world.synchronize(stream);
  return largest(now() - begin) / repeats;
}

int Member::repeats_for(const Options& options, const std::function<void()>& submit) {
  time(2, submit);  // compiles, and opens connections
  const double seconds = time(4, submit);
  return std::clamp(static_cast<int>(options.sample_seconds / seconds), 4, 4000) &
         ~1;  // even: arrays that swap
}

std::vector<Device> devices_of(const std::string& driver) {
  std::vector<Device> found;
  for (const Device& device : devices())
    if (device.driver() == driver) found.push_back(device);
  if (found.empty()) throw std::runtime_error("the driver " + driver + " has no device");
  return found;
}

void over_ranks(const Options& options, const std::string& communicator,
                const std::function<void(Member&)>& body) {
  static std::atomic<int> groups{0};
  const std::string address = "weir-bench-ranks " + std::to_string(groups++);
  const std::vector<Device> devices = devices_of(options.driver);
  std::vector<double> shared(options.ranks);
  run_ranks(options.ranks, [&] {
    const Communicator seats = join();  // gives each thread its number
    JoinOptions wanted;
    wanted.communicator = communicator;
    wanted.address = address;
    wanted.rank = seats.rank();
    wanted.size = seats.size();
    wanted.limit = std::chrono::seconds(60);
    wanted.device = devices[seats.rank() % devices.size()];
    const Communicator world = join(wanted);
    Member member(world, *wanted.device, shared);
    body(member);
    member.stream.synchronize();
  });
}

std::vector<std::string> communicators_for(const Options& options) {
  if (options.driver == "cuda") return {"nccl", "local"};
  return {"local"};
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace weir::bench::ranks
