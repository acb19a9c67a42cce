// SPDX-License-Identifier: Apache-2.0
#include "process/worker.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "api.hpp"
#include "driver/driver_under_test.hpp"
#include "driver/recorded_table.hpp"
#include "driver/trace.hpp"
#include "objects.hpp"
#include "process/diverted.hpp"
#include "requirement.hpp"

namespace weir::conformance {
namespace {

using nlohmann::json;

/// Closes the descriptor in programs that the driver starts: some vendors' runtimes start services.
void keep_from_programs(int output) {
  fcntl(output, F_SETFD, FD_CLOEXEC);
}

void write_line(int output, const json& object) {
  // The leading line break separates this line from text that a driver wrote to this descriptor.
  const std::string line = "\n" + object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  for (std::size_t written = 0; written < line.size();) {
    const ssize_t count = ::write(output, line.data() + written, line.size() - written);
    if (count <= 0) _exit(3);  // the reader is gone
    written += static_cast<std::size_t>(count);
  }
}

std::string full_name(const testing::TestInfo& test) {
  return std::string(test.test_suite_name()) + "." + test.name();
}

/// The calls since the last report, so that a crash loses the counts of one test only.
json new_calls() {
  static CallCounts reported{};
  json calls = json::object();
  const CallCounts counts = call_counts();
  for (std::size_t row = 0; row < counted_count; ++row)
    for (std::size_t result = 0; result < result_count; ++result)
      if (const std::uint64_t count = counts[row][result] - reported[row][result])
        calls[counted_name(row)]
             [result < result_count - 1 ? result_name(static_cast<weir_result>(result)) : "other"] = count;
  reported = counts;
  return calls;
}

/// Whether the device does no work any more.
bool device_is_lost() {
  if (!device_is_open()) return false;  // the next requirement reports why
  const weir_driver_table& driver = quick_table();
  weir_status status = new_status();
  bool lost = false;
  const auto works = [&](weir_result result) {
    lost = lost || result == WEIR_ERROR_DEVICE_LOST;
    return result == WEIR_OK;
  };
  const weir_stream_options options{sizeof options, 0};
  const weir_memory_options bytes = memory_options(4096);
  weir_stream stream = nullptr;
  weir_allocation memory = nullptr;
  const std::uint8_t zero = 0;
  if (works(driver.stream_create(device(), &options, &stream, &status))) {
    if (works(driver.memory_allocate(device(), &bytes, &memory, &status))) {
      works(driver.fill(stream, memory, 0, 4096, &zero, 1, &status));
      works(driver.stream_synchronize(stream, &status));
      works(driver.memory_free(memory, &status));
    }
    works(driver.stream_destroy(stream, &status));
  }
  return lost;
}

/// Tests that fork while the device is in use. Some vendors' libraries share the device with the child: when
/// it ends, the parent's device is lost, which only a later call may report.
bool forks(const testing::TestInfo& test) {
  return test.test_suite_name() == std::string_view("Process");
}

/// Ends the process after a failure that cost the device, or that may have, so that the remaining tests run
/// in a new one. Whatever happens here, the supervisor blames no test for it.
void check_device(int output, const testing::TestInfo& failed) {
  if (subject() != Subject::driver) return;
  if (!judged().layer.library.empty()) return;  // it counts calls, and tests rely on the numbers
  write_line(output, {{"event", "check"}});
  try {
    if (forks(failed) || device_is_lost()) _exit(0);
  } catch (const std::exception&) {  // there is no device
  }
  begin_trace();
}

/// Reports the start and end of each test.
class Reporter : public testing::EmptyTestEventListener {
 public:
  explicit Reporter(int output) : output_(output) {}

  void OnTestStart(const testing::TestInfo& test) override {
    begin_trace();
    (void)take_printed();
    calls_.clear();
    write_line(output_, {{"event", "begin"}, {"test", full_name(test)}});
  }

  void OnTestPartResult(const testing::TestPartResult& part) override {
    if (part.failed() && calls_.empty()) calls_ = trace_text();
  }

  void OnTestEnd(const testing::TestInfo& test) override {
    const testing::TestResult& result = *test.result();
    std::string failures, skip;
    for (int i = 0; i < result.total_part_count(); ++i) {
      const testing::TestPartResult& part = result.GetTestPartResult(i);
      if (part.failed()) failures += (failures.empty() ? "" : "\n") + std::string(part.message());
      if (part.skipped()) skip = part.message();
    }
    if (!failures.empty())
      for (const std::string& more : {contract_of(sentence_of(test) + " " + failures), calls_})
        if (!more.empty()) failures += "\n" + more;
    // GoogleTest puts a blank line before some messages.
    skip.erase(0, skip.find_first_not_of('\n'));
    const bool lacking = skip.starts_with(unsupported_mark);
    if (lacking) skip.erase(0, unsupported_mark.size());
    const char* outcome = result.Failed()    ? "failed"
                          : lacking          ? "unsupported"
                          : result.Skipped() ? "skipped"
                                             : "passed";
    write_line(output_, {{"event", "end"},
                         {"test", full_name(test)},
                         {"outcome", outcome},
                         {"milliseconds", result.elapsed_time()},
                         {"message", result.Failed() ? failures : skip},
                         {"calls", new_calls()}});
    if (result.Failed()) check_device(output_, test);
  }

 private:
  static std::string sentence_of(const testing::TestInfo& test) {
    for (const Requirement& one : requirements())
      if (one.test_name() == full_name(test)) return one.sentence;
    return {};
  }

  int output_;
  std::string calls_;  ///< before the first failure of the test
};

std::string version_text(std::uint32_t version) {
  return std::to_string(WEIR_ABI_MAJOR(version)) + "." + std::to_string(WEIR_ABI_MINOR(version));
}

json described_device() {
  const weir_device_info& filled = info();
  json capabilities = json::array(), targets = json::array();
  for (std::uint64_t bit = 1; bit <= WEIR_CAP_COOPERATIVE_LAUNCH; bit <<= 1)
    if (has(bit)) capabilities.push_back(capability_name(static_cast<weir_capability>(bit)));
  for (std::uint32_t i = 0; i < filled.code_target_count && i < WEIR_MAX_CODE_TARGETS; ++i)
    targets.push_back(std::string(filled.code_targets[i].format) + " for " + filled.code_targets[i].target);
  return {{"index", judged().device},
          {"count", device_count()},
          {"name", filled.name},
          {"vendor", filled.vendor},
          {"driver_version", filled.driver_version},
          {"location", filled.location},
          {"memory", filled.total_memory},
          {"capabilities", capabilities},
          {"code_targets", targets},
          {"notes", filled.notes}};
}

/// A call that replaces the signal mask by an empty one would not show in a thread that blocks nothing.
void block_one_signal() {
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
}

}  // namespace

int run_worker(int output) {
  block_one_signal();
  keep_from_programs(output);
  use_shared_output();
  if (subject() == Subject::driver) add_driver_to_search_path();
  std::string filter;
  for (std::string name; std::getline(std::cin, name);) filter += (filter.empty() ? "" : ":") + name;
  testing::InitGoogleTest();
  GTEST_FLAG_SET(filter, filter);
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new Reporter(output));
  const int failed = RUN_ALL_TESTS();
  (void)take_printed();
  write_line(output, {{"event", "calls"}, {"calls", new_calls()}, {"printed", bytes_taken()}});
  return failed;
}

int describe_driver(int output) {
  keep_from_programs(output);
  json described = {{"event", "described"}, {"driver", json::object()}, {"device", json::object()}};
  try {
    const weir_driver_table& given = table();
    described["driver"] = {{"name", given.name ? given.name : ""},
                           {"version", given.version ? given.version : ""},
                           {"vendor", given.vendor ? given.vendor : ""},
                           {"abi", version_text(given.abi_version)}};
    described["devices"] = device_count();
    if (device_count() == 0) throw Skipped("device_count returned 0");
    if (judged().device < device_count()) described["device"] = described_device();
  } catch (const LayerRefused& refused) {
    described["layer_refusal"] = refused.what();
  } catch (const Skipped& none) {
    described["driver"]["no_device"] = none.what();
  } catch (const std::exception& error) {
    described["error"] = error.what();
  }
  write_line(output, described);
  return 0;
}

}  // namespace weir::conformance
