// SPDX-License-Identifier: Apache-2.0
#include "process/supervise.hpp"

#include <algorithm>

#include "driver/recorded_table.hpp"
#include "process/child.hpp"

namespace weir::conformance {
namespace {

using nlohmann::json;
using Clock = Child::Clock;

/// Tests that need a process of their own, because they check the effects of a driver's first call.
bool runs_alone(const Requirement& test) {
  return test.group == "FirstCall";
}
constexpr int stress_level = 8;
constexpr std::chrono::seconds start_limit{30};
constexpr std::chrono::seconds check_limit{5};  ///< for finding out whether the device still works

std::string seconds_text(std::chrono::seconds time) {
  return std::to_string(time.count()) + (time.count() == 1 ? " second" : " seconds");
}

/// Describes the unexpected end of a worker.
std::string how(const Child& child, const std::optional<std::string>& ending, std::chrono::seconds limit) {
  if (!ending) return "it did not end within " + seconds_text(limit) + " and was killed";
  if (!ending->empty()) return "the process " + *ending;
  return child.left_a_process() ? "a process that the worker started still holds its descriptors"
                                : "the process exited before it had run all its tests";
}

/// Parses a line of a worker. Returns nullopt for text that the driver wrote, and records it in the report.
std::optional<json> parse_event(const std::string& line, Run& run) {
  json parsed = json::parse(line, nullptr, false);
  if (parsed.is_object() && parsed.contains("event")) return parsed;
  std::string words = line.substr(0, 60);
  std::ranges::replace_if(
      words, [](char c) { return c < ' ' || c > '~'; }, '?');
  run.driver["wrote"] = words;
  return std::nullopt;
}

class Supervisor {
 public:
  Supervisor(const Supervision& supervision, Run& run) : supervision_(supervision), run_(run) {}

  /// Runs one worker over `tests` and returns the tests that it did not reach.
  std::vector<const Requirement*> run_batch(const std::vector<const Requirement*>& tests) {
    std::string names;
    for (const Requirement* test : tests) names += test->test_name() + "\n";
    Child child(supervision_.worker, names);
    std::vector<const Requirement*> left = tests;
    const Requirement* running = nullptr;
    bool checks = false;  ///< after a failure, whether the device still works
    std::optional<long> printed;  ///< bytes before the worker's end
    Clock::time_point began{};
    auto finish = [&](Outcome outcome, double milliseconds, std::string message) {
      Result result{running, outcome, milliseconds, std::move(message), {}};
      std::erase(left, running);
      running = nullptr;
      if (supervision_.on_result) supervision_.on_result(result);
      run_.results.push_back(std::move(result));
    };
    auto take = [&](const json& message) {
      checks = message.at("event") == "check";
      if (message.at("event") == "begin") {
        running = find(left, message.at("test"));
        began = Clock::now();
      } else if (message.at("event") == "end" && running) {
        add_calls(message.at("calls"));
        child.pass_on_output();
        finish(outcome_of(message.at("outcome")), message.at("milliseconds"), message.at("message"));
      } else if (message.at("event") == "calls") {
        add_calls(message.at("calls"));
        printed = message.at("printed").get<long>();
      }
    };
    auto elapsed = [&] { return std::chrono::duration<double, std::milli>(Clock::now() - began).count(); };

    for (std::string line;;) {
      const auto limit = !running && left.empty()         ? supervision_.exit_limit()
                         : checks                         ? check_limit
                         : !running                       ? start_limit
                         : running->level == stress_level ? supervision_.limit * 3
                                                          : supervision_.limit;
      const Child::Event event = child.next(line, (running ? began : Clock::now()) + limit);
      if (event == Child::Event::line) {
        if (const std::optional<json> message = parse_event(line, run_)) take(*message);
        continue;
      }
      // The worker may have closed its end of the pipe and still run.
      const auto ending = event == Child::Event::late ? std::nullopt : child.ending(Clock::now() + limit);
      if (!ending) child.kill();
      if (checks && !left.empty()) return left;
      if (!running && left.empty()) {
        if (!ending || !ending->empty() || child.left_a_process())
          run_.driver["exit"] = how(child, ending, limit);
        else if (supervision_.silent_exit && printed && child.output_size() > *printed)
          run_.driver["exit"] = "the process printed to standard output or standard error";
        child.pass_on_output();
        return left;
      }
      if (!running) running = left.front();  // it exited before it began the next test
      std::string message = how(child, ending, limit);
      for (const std::string& more : {contract_of(running->sentence), child.trace()})
        if (!more.empty()) message += "\n" + more;
      finish(Outcome::failed, began == Clock::time_point{} ? 0 : elapsed(), std::move(message));
      return left;
    }
  }

 private:
  static Outcome outcome_of(const std::string& word) {
    return word == "passed"        ? Outcome::passed
           : word == "unsupported" ? Outcome::unsupported
           : word == "skipped"     ? Outcome::skipped
                                   : Outcome::failed;
  }

  static const Requirement* find(const std::vector<const Requirement*>& among, const std::string& name) {
    for (const Requirement* test : among)
      if (test->test_name() == name) return test;
    return nullptr;
  }

  void add_calls(const json& calls) {
    for (const auto& [slot, results] : calls.items()) {
      for (const auto& [result, count] : results.items())
        run_.calls[slot][result] =
            run_.calls[slot].value(result, std::uint64_t{0}) + count.get<std::uint64_t>();
    }
  }

  const Supervision& supervision_;
  Run& run_;
};

}  // namespace

void supervise(const Supervision& supervision, const std::vector<const Requirement*>& chosen, Run& run) {
  run.calls = json::object();
  for (std::size_t row = 0; row < counted_count; ++row) run.calls[counted_name(row)] = json::object();
  Supervisor supervisor(supervision, run);
  std::vector<const Requirement*> together;
  for (const Requirement* test : chosen)
    if (!runs_alone(*test)) together.push_back(test);
  while (!together.empty()) together = supervisor.run_batch(together);
  for (const Requirement* test : chosen)
    if (runs_alone(*test)) supervisor.run_batch({test});
  std::ranges::sort(run.results, {}, [](const Result& result) { return result.requirement->id; });
}

bool describe(const Supervision& supervision, Run& run) {
  std::vector<std::string> arguments = supervision.worker;
  arguments.insert(arguments.begin() + 1, "--describe");
  Child child(arguments, {});
  const auto until = Clock::now() + supervision.limit;
  std::string line;
  std::optional<json> answer;
  Child::Event event = child.next(line, until);
  for (; event == Child::Event::line; event = child.next(line, until))
    if ((answer = parse_event(line, run))) break;
  if (event == Child::Event::late) {
    run.driver["error"] = "the driver did not answer within " + seconds_text(supervision.limit) +
                          " when it was loaded and asked for its devices";
    return false;
  }
  if (answer) {
    run.driver.update(answer->at("driver"));
    run.device = answer->at("device");
    run.layer_refusal = answer->value("layer_refusal", "");
    run.devices = answer->value("devices", 0u);
    if (answer->contains("error")) run.driver["error"] = answer->at("error");
  }
  const auto limit = supervision.exit_limit();
  const std::optional<std::string> ending = child.ending(Clock::now() + limit);
  const std::string words = how(child, ending, limit);
  if (event == Child::Event::end)
    run.driver["error"] = "of the process that asked the driver: " + words;
  else if (!ending || !ending->empty())
    run.driver["exit"] = words;
  return true;
}

}  // namespace weir::conformance
