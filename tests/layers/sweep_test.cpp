// SPDX-License-Identifier: Apache-2.0
// Fails the n-th call of every function of the driver, for all n, in small programs that use every part of
// the runtime, and in the examples. (program_sweep.cpp does the same to whole test programs.)
// After each failure: an exception is an Error with the fault layer's message, nothing leaks, and the next
// run in the same process is correct. `validate` is above the faults, and its object counts are compared with
// the core's.
//
// Left out, with reasons:
//  - Calls in the middle, for a function that a program calls more than `all_up_to` times: heat launches 2200
//    kernels, nearly all from the same two places. The first and the last calls are all tried. With
//    WEIR_SWEEP=all in the environment, as `ctest -C matrix` sets it, none is left out.
//  - For `dear` programs, runs after a failure other than the last of each function: monte_carlo spends its
//    time in its kernels. Each failure is still checked for leaks.
//  - device_open, which only the first use of a device calls; open_test.cpp fails it.
//  - device_count and device_get_info, which are called during discovery, before there are layers;
//    tests/driver has drivers that fail there.
//  - get_extension: the core asks a layer for an extension, never a driver.
//  - stream_wrap and stream_get_native, which the CPU driver does not offer; native_test.cpp fails these.
//  - Code generation, which does not use a driver: code is generated once and cached (support/kept_code.hpp).
//
// If a function that destroys or frees fails, exactly one object of its kind may stay alive.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>

#include "runtime/devices/device_state.hpp"
#include "runtime/results/returned_values.hpp"
#include "support/api.hpp"
#include "support/every_call.hpp"
#include "support/kept_code.hpp"
#include "sweep_programs.hpp"

// The main functions of the examples, renamed.
#define WEIR_EXAMPLE(name) extern "C" int example_##name();
#include "examples.def"
#undef WEIR_EXAMPLE

namespace weir::test {
namespace {

// The program `peers` copies between two devices.
const bool layered = setenv("WEIR_CPU_DEVICES", "2", 1) == 0 && use_layers("validate,fault");

/// Objects of the driver: those that the checks count, or those that the core reports.
struct Held {
  std::uint64_t streams, events, allocations, modules, graphs;

  Held& operator+=(const Held& more) {
    streams += more.streams, events += more.events, allocations += more.allocations;
    modules += more.modules, graphs += more.graphs;
    return *this;
  }
};

Held seen_by(const Layer& checks) {
  return {checks.get("live.stream"), checks.get("live.event"), checks.get("live.allocation"),
          checks.get("live.module"), checks.get("live.graph")};
}

/// The core's pools keep streams and their events; each stream keeps its error record. Nothing else is kept.
Held known_by(const Device& device) {
  detail::DeviceState& state = *device.state();
  std::uint64_t records = 0;
  std::set<const std::byte*> returned;  // memory for returned values, in pieces
  for (std::uint32_t slot = 0; slot < state.streams.size(); ++slot) {
    const detail::StreamState& stream = *state.streams.at(slot);
    records += stream.records.load() != nullptr;
    if (const detail::ValuePieces* pieces = stream.pieces.load())
      for (const detail::ReturnedValues& piece : pieces->all) returned.insert(piece.host - piece.offset);
  }
  const std::uint64_t streams = state.streams.created();
  return {streams, streams + state.events.created(), records + returned.size(), 0, 0};
}

/// Lets the core release its caches.
void settle(const Device& device) {
  device.synchronize();
  device.trim_memory();
  device.synchronize();
  device.trim_memory();
}

std::string differs(const Held& seen, const Held& known) {
  std::string text;
  const auto compare = [&](const char* what, std::uint64_t a, std::uint64_t b) {
    if (a != b)
      text += std::string(" ") + what + ": " + std::to_string(a) + " alive, " + std::to_string(b) + " known;";
  };
  compare("streams", seen.streams, known.streams);
  compare("events", seen.events, known.events);
  compare("allocations", seen.allocations, known.allocations);
  compare("modules", seen.modules, known.modules);
  compare("graphs", seen.graphs, known.graphs);
  return text;
}

constexpr const char* slots[] = {"device_get_memory",
                                 "stream_create",
                                 "stream_flush",
                                 "stream_query",
                                 "stream_synchronize",
                                 "stream_wait_event",
                                 "stream_host_callback",
                                 "event_create",
                                 "event_record",
                                 "event_query",
                                 "event_synchronize",
                                 "event_elapsed",
                                 "memory_allocate",
                                 "memory_allocate_async",
                                 "memory_get_info",
                                 "copy_to_device",
                                 "copy_to_host",
                                 "copy_on_device",
                                 "copy_peer",
                                 "fill",
                                 "module_load",
                                 "module_get_kernel",
                                 "kernel_get_info",
                                 "kernel_launch",
                                 "graph_create",
                                 "graph_update",
                                 "graph_launch"};

/// A function that destroys an object, and the object that stays when it fails.
struct Destroyer {
  const char* slot;
  Held kept;
};
constexpr Destroyer destroyers[] = {
    {"stream_destroy", {1, 0, 0, 0, 0}}, {"event_destroy", {0, 1, 0, 0, 0}},
    {"memory_free", {0, 0, 1, 0, 0}},    {"memory_free_async", {0, 0, 1, 0, 0}},
    {"module_unload", {0, 0, 0, 1, 0}},  {"graph_destroy", {0, 0, 0, 0, 1}}};

struct Program {
  const char* name;
  std::function<void(const Device&)> run;
  bool dear = false;     ///< a run takes long
  bool asserts = false;  ///< it fails an assert on the device, and may end before the assert is reported
  bool peers = false;    ///< it uses a second device
  bool copies_strided = false;  ///< the kernels for that stay loaded
};
void PrintTo(const Program& program, std::ostream* out) {
  *out << program.name;
}

constexpr std::uint64_t all_up_to = 100;

/// The calls to fail of a function that is called `calls` times: all, or all but some in the middle.
std::vector<std::uint64_t> places(std::uint64_t calls) {
  const bool all = every_call();
  constexpr std::uint64_t at_each_end = 30, stretches = all_up_to - 2 * at_each_end;
  std::vector<std::uint64_t> found;
  for (std::uint64_t n = 1; n <= calls; ++n) {
    const bool at_an_end = n <= at_each_end || n > calls - at_each_end;
    const std::uint64_t stretch = calls / stretches;
    if (all || calls <= all_up_to || at_an_end || n % stretch == 0) found.push_back(n);
  }
  return found;
}

/// A program, its devices, and the objects that stayed alive because destroying them failed.
class Sweeper {
 public:
  // An earlier program may have left objects on a second device too.
  explicit Sweeper(const Program& program) : program_(program), devices_{open("cpu")} {
    static bool second_device_used = false;
    second_device_used |= program.peers;
    if (second_device_used) devices_.push_back(open("cpu:1"));
  }

  void sweep() {
    ReportLog::get().take();
    for (int i = 0; i < 2; ++i) {
      run();
      settle_all();
    }
    if (program_.copies_strided) kept_.modules = seen_by(checks_).modules - known().modules;
    faults_.configure("");
    run();
    std::map<std::string, std::uint64_t> calls;
    for (const char* slot : slots) calls[slot] = faults_.get(std::string("calls.") + slot);
    settle_all();
    for (const Destroyer& end : destroyers) calls[end.slot] = faults_.get(std::string("calls.") + end.slot);
    ASSERT_EQ(differs(seen_by(checks_), known()), "");
    for (const char* slot : slots) fail_each(slot, calls[slot], {});
    for (const Destroyer& end : destroyers) fail_each(end.slot, calls[end.slot], end.kept);
    std::printf("%s: %llu calls failed, %llu of them threw\n", program_.name,
                static_cast<unsigned long long>(tried_), static_cast<unsigned long long>(thrown_));
  }

 private:
  void run() { program_.run(devices_[0]); }

  void settle_all() {
    for (const Device& device : devices_) settle(device);
  }

  /// Settles after a program that may have left an unreported failed assert.
  void settle_after_failure() {
    try {
      settle_all();
    } catch (const Error& error) {
      if (!program_.asserts || error.code() != ErrorCode::assertion) throw;
      settle_all();
    }
  }

  Held known() const {
    Held sum = kept_;
    for (const Device& device : devices_) sum += known_by(device);
    return sum;
  }

  /// Expects no live objects other than the core's. `may_stay` may be alive in addition, since destroying it
  /// failed.
  void expect_nothing_leaked(const Held& may_stay) {
    const Held seen = seen_by(checks_);
    const std::string missed = differs(seen, known());
    if (missed.empty()) return;
    Held more = known();
    more += may_stay;
    EXPECT_EQ(differs(seen, more), "");
    kept_ += may_stay;
  }

  void fail_each(const char* slot, std::uint64_t calls, const Held& may_stay) {
    const std::vector<std::uint64_t> chosen = places(calls);
    for (const std::uint64_t n : chosen) {
      if (::testing::Test::HasFailure()) return;
      SCOPED_TRACE(std::string(program_.name) + ", call " + std::to_string(n) + " of " + slot);
      faults_.configure(std::string("call=") + slot + ":nth=" + std::to_string(n));
      ++tried_;
      try {
        run();
      } catch (const Error& error) {
        ++thrown_;
        EXPECT_THAT(error.what(), ::testing::HasSubstr("fault layer: "));
      } catch (const Wrong& wrong) {
        ADD_FAILURE() << "the failure was lost, and the result is wrong: " << wrong.what;
      }
      try {
        // The function under test is also called while settling, and may fail there.
        if (differs(may_stay, Held{}).empty()) faults_.configure("");
        settle_after_failure();
        faults_.configure("");
        expect_nothing_leaked(may_stay);
        if (!program_.dear || n == chosen.back()) run();
      } catch (const std::exception& error) {
        ADD_FAILURE() << "the next run threw: " << error.what();
      } catch (const Wrong& wrong) {
        ADD_FAILURE() << "the next run is wrong: " << wrong.what;
      }
      for (const LayerReport& report : ReportLog::get().take()) ADD_FAILURE() << report.message;
    }
  }

  const Program& program_;
  std::vector<Device> devices_;
  Layer checks_ = layers(devices_[0]).at(0), faults_ = layers(devices_[0]).at(1);
  Held kept_{};
  std::uint64_t tried_ = 0, thrown_ = 0;
};

/// Removes an earlier process's copies of foreign_task_list; see support/kept_compiler.
void forget_kept_code() {
  for (const char* name : {"foreign_task_list_code.c.kept", "foreign_task_list_code.so.kept"})
    std::remove(name);
}

class Sweep : public ::testing::TestWithParam<Program> {};

// proves R19, R34
TEST_P(Sweep, AnyCallMayFail) {
  if (std::string_view(GetParam().name) == "foreign_task_list") forget_kept_code();
  Sweeper(GetParam()).sweep();
}

std::string name_of(const ::testing::TestParamInfo<Program>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(
    Programs, Sweep,
    ::testing::Values(
        Program{"arrays", arrays}, Program{"streams_and_events", streams_and_events},
        Program{"memory_of_many_streams", memory_of_many_streams}, Program{"ready_kernels", ready_kernels},
        Program{"task_lists", task_lists}, Program{"recorded_graphs", recorded_graphs},
        Program{"profiles", profiles},
        Program{.name = "memory_of_the_caller", .run = memory_of_the_caller, .copies_strided = true},
        Program{"kernels_over_streams", kernels_over_streams},
        Program{"kernels_as_graphs", kernels_as_graphs},
        Program{.name = "peers", .run = peers, .peers = true}),
    name_of);

/// Examples catch exceptions, print them and return 1.
void run_example(int (*run)()) {
  std::fflush(nullptr);
  const int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
  FILE* const printed = std::tmpfile();
  dup2(fileno(printed), STDOUT_FILENO);
  dup2(fileno(printed), STDERR_FILENO);
  const int result = run();
  std::fflush(nullptr);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  close(out);
  close(err);
  std::rewind(printed);
  std::string text(1 << 16, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), printed));
  std::fclose(printed);
  if (result == 0) return;
  if (text.find("fault layer: ") == text.npos) throw Wrong{"it ended with 1: " + text};
  throw Error(ErrorCode::system, text);
}

std::vector<Program> examples() {
  return {
#define WEIR_EXAMPLE(example)                                              \
  Program{#example, [](const Device&) { run_example(example_##example); }, \
          /*dear=*/std::string_view(#example) == "monte_carlo",            \
          /*asserts=*/std::string_view(#example) == "small_matrices"},
#include "examples.def"
#undef WEIR_EXAMPLE
  };
}
INSTANTIATE_TEST_SUITE_P(Examples, Sweep, ::testing::ValuesIn(examples()), name_of);

}  // namespace
}  // namespace weir::test
