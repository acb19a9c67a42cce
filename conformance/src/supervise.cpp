// SPDX-License-Identifier: Apache-2.0
#include "supervise.hpp"

#include <algorithm>

#include "child.hpp"
#include "recorded_table.hpp"

namespace weir::conformance {
namespace {

using nlohmann::json;
using Clock = Child::Clock;

/// Tests that need a process of their own: they look at what the first call does.
bool runs_alone(const Requirement& test) {
  return test.group == "FirstCall";
}
constexpr int stress_level = 8;
constexpr std::chrono::seconds exit_limit{30};

class Supervisor {
 public:
  Supervisor(const Supervision& supervision, Run& run) : supervision_(supervision), run_(run) {}

  /// Runs one worker over `tests` and gives back those that it did not come to.
  std::vector<const Requirement*> run_batch(const std::vector<const Requirement*>& tests) {
    std::string names;
    for (const Requirement* test : tests) names += test->test_name() + "\n";
    Child child(supervision_.worker, names);
    std::vector<const Requirement*> left = tests;
    const Requirement* running = nullptr;
    Clock::time_point began{};
    auto finish = [&](Outcome outcome, double milliseconds, std::string message) {
      Result result{running, outcome, milliseconds, std::move(message), {}};
      std::erase(left, running);
      running = nullptr;
      if (supervision_.told) supervision_.told(result);
      run_.results.push_back(std::move(result));
    };
    auto elapsed = [&] { return std::chrono::duration<double, std::milli>(Clock::now() - began).count(); };

    for (std::string line;;) {
      const auto limit = !running                         ? exit_limit
                         : running->level == stress_level ? supervision_.limit * 3
                                                          : supervision_.limit;
      const Child::Event event = child.next(line, (running ? began : Clock::now()) + limit);
      if (event == Child::Event::line) {
        const json told = json::parse(line);
        if (told["event"] == "begin") {
          running = find(left, told["test"]);
          began = Clock::now();
        } else if (told["event"] == "end" && running) {
          add_calls(told["calls"]);
          finish(outcome_of(told["outcome"]), told["milliseconds"], told["message"]);
        } else if (told["event"] == "calls") {
          add_calls(told["calls"]);
        }
        continue;
      }
      const bool late = event == Child::Event::late;
      if (late) child.kill();
      const std::string ending = child.ending();
      if (!running && left.empty() && (late || !ending.empty()))
        run_.driver["exit"] = how(late, ending, limit);
      if (!running && left.empty()) return left;
      if (!running) running = left.front();  // it ended before it began the next one
      finish(Outcome::failed, began == Clock::time_point{} ? 0 : elapsed(), how(late, ending, limit));
      return left;
    }
  }

 private:
  static std::string how(bool late, const std::string& ending, std::chrono::seconds limit) {
    if (late) return "it did not end within " + std::to_string(limit.count()) + " seconds and was killed";
    return "the process " + (ending.empty() ? std::string("ended before its time") : ending);
  }

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

void describe(const Supervision& supervision, Run& run) {
  std::vector<std::string> arguments = supervision.worker;
  arguments.insert(arguments.begin() + 1, "--describe");
  Child child(arguments, {});
  const auto until = Clock::now() + supervision.limit;
  std::string line;
  const Child::Event event = child.next(line, until);
  if (event == Child::Event::line) {
    const json told = json::parse(line);
    run.driver.update(told["driver"]);
    run.device = told["device"];
    if (told.contains("error")) run.driver["error"] = told["error"];
  }
  if (event == Child::Event::late) child.kill();
  const std::string ending = child.ending();
  if (event == Child::Event::late) run.driver["error"] = "the driver did not answer within the time limit";
  if (event == Child::Event::end) run.driver["error"] = "the process that asked the driver " + ending;
}

}  // namespace weir::conformance
