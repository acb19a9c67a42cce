// SPDX-License-Identifier: Apache-2.0
// Cases of weir-bench-ranks: ranks as threads of one process, each with a device of its own, timed together.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>
#include <weir/communicator.hpp>
#include <weir/device.hpp>

namespace weir::bench::ranks {

struct Options {
  std::string driver = "cuda";
  std::uint32_t ranks = 2;
  std::int64_t smaller = 1;   ///< divides extents, for trials on CPUs
  std::int64_t cells = 4000;  ///< rows and columns of the river's terrain
  std::int64_t steps = 1000;  ///< of the river
  std::int64_t halo = 16;     ///< rows, of stencils that do not exchange in each step
  std::string program, twin;  ///< the `weir` tool; the twin's library or ""
  double sample_seconds = 0.03;
  int samples = 9;
};

/// One line of the table. `figure` is compared with the bar by the case.
struct Row {
  std::string name;
  std::string units = "us";  ///< of `ours` and `against`
  double ours = 0, against = 0;
  double figure = 0;
  std::string bar;  ///< in words, or "" for a row that only informs
  bool met = true;
  std::string words;   ///< notes, such as which results have equal bits
  bool wrong = false;  ///< failed, or results differ
};

/// A rank of the group under test.
class Member {
 public:
  Member(const Communicator& communicator, Device on, std::vector<double>& shared)
      : world(communicator), device(std::move(on)), stream(device.create_stream()), shared_(shared) {}

  /// Seconds for each of `repeats` runs of `submit`, from a common start to the end of the slowest rank's
  /// stream. Collective.
  double time(int repeats, const std::function<void()>& submit);
  /// The largest value of all ranks. Collective.
  double largest(double mine);
  /// Runs that take about Options::sample_seconds. Collective.
  int repeats_for(const Options& options, const std::function<void()>& submit);

  const Communicator& world;
  Device device;
  Stream stream;

 private:
  std::vector<double>& shared_;
};

/// Devices of the driver.
std::vector<Device> devices_of(const std::string& driver);

/// Runs `body` in options.ranks threads that joined over `communicator` with the devices of the driver, in
/// turn. Throws what a rank threw.
void over_ranks(const Options& options, const std::string& communicator,
                const std::function<void(Member&)>& body);

/// The communicators for ranks with devices of the driver.
std::vector<std::string> communicators_for(const Options& options);

double median(std::vector<double> values);

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Case {
  std::string name;
  std::function<std::vector<Row>(const Options&)> run;
};

std::vector<Case> all_reduce_cases(const Options& options);
std::vector<Case> stencil_cases(const Options& options);
std::vector<Case> reduction_cases(const Options& options);
std::vector<Case> river_cases(const Options& options);

}  // namespace weir::bench::ranks
