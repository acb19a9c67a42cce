// SPDX-License-Identifier: Apache-2.0
// The program that mpi_test runs as each rank: mpi_ranks SCENARIO. Prints one line per finding.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
#include <weir/communicator.hpp>
#include <weir/weir.hpp>

#include "grid_checks.hpp"

namespace {

using namespace weir;
using namespace std::chrono_literals;

void say(const std::string& words) {
  const std::string line = words + "\n";
  [[maybe_unused]] const auto written = write(STDOUT_FILENO, line.data(), line.size());
}

void expect(bool condition, const std::string& words) {
  if (!condition) throw std::runtime_error("expected: " + words);
}

void done(const Communicator& world) {
  say("rank " + std::to_string(world.rank()) + " of " + std::to_string(world.size()) + " over " +
      world.name() + " is right");
}

int number(std::uint32_t value) {
  return static_cast<int>(value);
}

// A fill before each call and a copy after it on one stream, in messages of several algorithms.
void order() {
  const Communicator world = join();
  Device device = open("cpu");
  const Stream stream = device.create_stream();
  const int n = number(world.size()), rank = number(world.rank());
  for (const int length : {1, 1000, 30'000, 400'000}) {
    constexpr int rounds = 4;
    auto x = device.array<int>(stream, length);
    auto kept = device.array<int>(stream, rounds, length);
    for (int round = 0; round < rounds; ++round) {
      x.fill(stream, rank + round);
      world.all_reduce(stream, x, Reduction::sum);
      kept.slice(round, round + 1).flat().copy_from(stream, x);
    }
    world.synchronize(stream);
    const std::vector<int> values = kept.to_host(stream);
    for (int round = 0; round < rounds; ++round)
      for (int i = 0; i < length; ++i)
        expect(values[static_cast<std::size_t>(round * length + i)] == n * (n - 1) / 2 + n * round,
               "the sums of all ranks");
  }
  done(world);
}

void collectives() {
  const Communicator world = join();
  const Communicator second = join();  // groups are independent
  Device device = open("cpu");
  const Stream stream = device.create_stream();
  const CurrentStream current{stream};
  const std::uint32_t n = world.size(), right = (world.rank() + 1) % n, left = (world.rank() + n - 1) % n;
  for (const std::uint32_t length : {2u, 100'000u}) {
    auto mine = device.array<std::uint32_t>(length), other = device.array<std::uint32_t>(length);
    auto all = device.array<std::uint32_t>(length * n);
    mine.fill(10 + world.rank());
    world.all_gather(stream, all, mine);
    second.exchange(stream, mine, right, other, left);
    const auto gathered = all.to_host();
    for (std::uint32_t i = 0; i < length * n; ++i)
      expect(gathered[i] == 10 + i / length, "parts in the order of ranks");
    expect(other.to_host().back() == 10 + left, "the array of the rank to the left");
    for (std::uint32_t root = 0; root < n; ++root) {
      mine.fill(10 + world.rank());
      world.broadcast(stream, mine, root);
      expect(mine.to_host().back() == 10 + root, "the array of the root");
    }
  }
  world.synchronize(stream);
  second.synchronize(stream);
  world.barrier();
  done(world);
}

// The order of the sum matters for these values.
void same_bits() {
  const Communicator world = join();
  Device device = open("cpu");
  const Stream stream = device.create_stream();
  for (const std::size_t length : {std::size_t{1003}, std::size_t{50'021}}) {
    std::vector<float> values(length);
    for (std::size_t i = 0; i < length; ++i)
      values[i] = 0.1f * static_cast<float>(world.rank() * 1'000'003 % 97 + 1) + static_cast<float>(i % 13);
    auto x = device.array_of<float>(values);
    auto all = device.array<float>(length * world.size());
    world.all_reduce(stream, x, Reduction::sum);
    world.all_gather(stream, all, x);
    world.synchronize(stream);
    const auto gathered = all.to_host(stream);
    for (std::size_t i = 0; i < gathered.size(); ++i)
      expect(gathered[i] == gathered[i % length], "the same bits on all ranks");
  }
  done(world);
}

void run_once() {
  int runs = 0;
  run_ranks([&] {
    ++runs;
    const Communicator world = join();
    world.barrier();
    done(world);
  });
  expect(runs == 1, "one run in each process");
}

void device() {
  say("this rank has " + std::to_string(open_for_rank("cpu").index()));
}

/// Two threads; rank LATE_RANK joins when a rank of another process may have joined.
void threads() {
  run_ranks(2, [] {
    Device device = open_for_rank("cpu");  // the rank is the device's number
    if (std::to_string(device.index()) == std::getenv("LATE_RANK")) std::this_thread::sleep_for(300ms);
    const Communicator world = join();
    const Stream stream = device.create_stream();
    auto x = device.array<int>(stream, 1);
    x.fill(stream, getpid());
    world.all_reduce(stream, x, Reduction::sum);
    world.synchronize(stream);
    expect(x.to_host(stream)[0] == 2 * getpid(), "the sum of this process's ranks");
    done(world);
  });
}

/// A child of each rank destroys its copy of the Communicator; the ranks go on.
void forked() {
  std::optional<Communicator> world(join());
  world->barrier();
  const pid_t child = fork();
  if (child == 0) {
    alarm(8);
    world.reset();
    _exit(0);
  }
  int status = 0;
  expect(waitpid(child, &status, 0) == child && WIFEXITED(status), "the child's end");
  world->barrier();
  done(*world);
}

void distributed() {
  const Communicator world = join();
  Device device = open("cpu");
  const Stream stream = device.create_stream();
  const Cut uneven = weir::test::uneven_cut(33, world.size(), 2);
  for (const bool periodic : {false, true}) {
    weir::test::check_halos(world, stream, 33, uneven, 2, periodic);
    weir::test::check_stencil(world, stream, 33, uneven, 2, periodic);
  }
  for (const std::int64_t rows : {7, 5003})
    weir::test::check_reductions(world, stream, rows, 13, weir::test::uneven_cut(rows, world.size(), 0));
  done(world);
}

void distributed_grid() {
  const Communicator world = join();
  Device device = open("cpu");
  const Stream stream = device.create_stream();
  weir::test::check_random_grids(world, stream, 5, 3);
  weir::test::check_grid_stencil(world, stream, {{37, 41}, {{.halo = 1}, {.halo = 1, .periodic = true}}});
  done(world);
}

/// Rank 1 makes another cut.
void other_cut() {
  const Communicator world = join();
  Device device = open("cpu");
  const Stream stream = device.create_stream();
  Cut cut;
  cut.rows = {3, 4, 5};
  if (world.rank() == 1) std::swap(cut.rows[0], cut.rows[2]);
  const Distributed<float> x(world, stream, {12}, cut);
}

/// Rank `culprit` does `wrong` instead of an exchange of halos.
void with_culprit_in_exchange(std::uint32_t culprit, const std::function<void()>& wrong) {
  const Communicator world = join();
  Device device = open("cpu");
  const Stream stream = device.create_stream();
  Cut cut;
  cut.halo = 1;
  cut.periodic = true;
  const Distributed<float> x(world, stream, {60}, cut);
  x.local().fill(stream, 1.0f);
  try {  // the culprit may be gone before the first exchange has ended here
    x.exchange(stream);
    world.synchronize(stream);
    if (world.rank() == culprit) wrong();
    x.exchange(stream);
    world.synchronize(stream);
  } catch (const Error& error) {
    if (world.rank() == 0) std::this_thread::sleep_for(500ms);  // until the others have reported
    say("rank " + std::to_string(world.rank()) + " failed: " + error.what());
    throw;
  }
}

/// Rank `culprit` does `wrong` after a first call; the others make a second.
void with_culprit(std::uint32_t culprit, const std::function<void()>& wrong) {
  const Communicator world = join();
  Device device = open("cpu");
  const Stream stream = device.create_stream();
  auto x = device.array<int>(stream, 10);
  x.fill(stream, 1);
  auto begin = std::chrono::steady_clock::now();
  try {  // the culprit may be gone before the first call has ended here
    world.all_reduce(stream, x, Reduction::sum);
    world.synchronize(stream);
    begin = std::chrono::steady_clock::now();
    if (world.rank() == culprit) wrong();
    world.all_reduce(stream, x, Reduction::sum);
    world.synchronize(stream);
  } catch (const Error& error) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    // mpirun ends all processes when the first exits, which must not happen before this one has reported.
    if (world.rank() == 0) std::this_thread::sleep_for(2500ms);
    char time[32];
    std::snprintf(time, sizeof time, "%.1f", took.count());
    say("rank " + std::to_string(world.rank()) + " failed after " + time + " s: " + error.what());
    throw;
  }
}

/// All ranks do `what` in a group, after a call.
void with_all(const std::function<void()>& what) {
  const Communicator world = join();
  world.barrier();
  what();
}

/// Rank 1 calls broadcast where the others call all_reduce.
void other_call() {
  const Communicator world = join();
  Device device = open("cpu");
  const Stream stream = device.create_stream();
  auto x = device.array<int>(stream, 10);
  x.fill(stream, 1);
  if (world.rank() == 1)
    world.broadcast(stream, x, 0);
  else
    world.all_reduce(stream, x, Reduction::sum);
  world.synchronize(stream);
}

void mismatch() {
  const Communicator world = join();
  Device device = open("cpu");
  const Stream stream = device.create_stream();
  auto x = device.array<int>(stream, world.rank() == 1 ? 12 : 10);
  x.fill(stream, 1);
  world.all_reduce(stream, x, Reduction::sum);
  world.synchronize(stream);
}

const std::map<std::string, std::function<void()>> scenarios = {
    {"order", order},
    {"collectives", collectives},
    {"same_bits", same_bits},
    {"run_once", run_once},
    {"device", device},
    {"threads", threads},
    {"forked", forked},
    {"mismatch", mismatch},
    {"other_call", other_call},
    {"distributed", distributed},
    {"distributed_grid", distributed_grid},
    {"other_cut", other_cut},
    {"exchange_throw", [] { with_culprit_in_exchange(1, [] { throw std::out_of_range("no such river"); }); }},
    {"exchange_exit", [] { with_culprit_in_exchange(1, [] { _exit(0); }); }},
    {"throw", [] { with_culprit(1, [] { throw std::out_of_range("no such river"); }); }},
    {"kill", [] { with_culprit(1, [] { raise(SIGKILL); }); }},
    {"kill_parent",
     [] {
       with_culprit(1, [] {
         if (fork() != 0) raise(SIGKILL);
         close(STDOUT_FILENO);  // the test reads to its end
         close(STDERR_FILENO);
         std::this_thread::sleep_for(5s);
         _exit(0);
       });
     }},
    {"exit", [] { with_culprit(1, [] { _exit(0); }); }},
    {"exit_in_group", [] { with_culprit(1, [] { std::exit(3); }); }},
    {"exit_everywhere", [] { with_all([] { std::exit(0); }); }},
    {"hang", [] { with_culprit(2, [] { std::this_thread::sleep_for(60s); }); }},
    {"stop", [] { with_culprit(2, [] { raise(SIGSTOP); }); }},
    {"absent",
     [] {
       if (std::string(std::getenv("OMPI_COMM_WORLD_RANK")) == "2") std::this_thread::sleep_for(60s);
       join();
     }},
};

}  // namespace

int main(int count, char** arguments) try {
  scenarios.at(count > 1 ? arguments[1] : "order")();
  return 0;
} catch (const std::exception& error) {
  say(std::string("thrown: ") + error.what());
  return 1;
}
