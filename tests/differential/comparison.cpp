// SPDX-License-Identifier: Apache-2.0
#include "comparison.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <weir/error.hpp>

#include "ir/printer.hpp"
#include "ir/verifier.hpp"
#include "runtime/prints/print_sites.hpp"
#include "stepped_groups.hpp"
#include "taken_lines.hpp"

namespace weir::test {
namespace {

using ir::Block;
using ir::Statement;

constexpr std::uint64_t max_steps = 1'500'000;
constexpr std::uint64_t strided_one_in = 4;  // each is compiled twice

std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Keeps what the interpreter prints.
class PrintObserver final : public interpreter::Observer {
 public:
  explicit PrintObserver(const ir::Kernel& kernel)
      : sites_(std::make_shared<const detail::PrintSites>(kernel)) {}

  void outside(const interpreter::Machine&, const ir::Statement&) override {}
  void false_assert(const interpreter::Machine&, const ir::Statement&) override {}
  void access(const interpreter::Machine&, const ir::Statement&, interpreter::Access, std::size_t,
              std::size_t) override {}
  void computed(const interpreter::Machine&, const ir::Statement&, std::span<const ScalarType>,
                std::span<const std::uint64_t>, std::uint64_t) override {}
  void printed(const interpreter::Machine& machine, const ir::Statement& s) override {
    detail::Printed one{0, {sites_, sites_->find(s)}, {}, {}};
    if (machine.iteration().loop) std::ranges::copy(machine.iteration().indices, one.index.begin());
    for (const ir::ValueId id : s.operands) one.values.push_back(machine.bits(id));
    for (const ir::ValueId id : one.site->repetitions) one.values.push_back(machine.bits(id));
    printed_.push_back(std::move(one));
  }
  Lines lines() const { return detail::lines_in_order(printed_); }

 private:
  std::shared_ptr<const detail::PrintSites> sites_;
  std::vector<detail::Printed> printed_;
};

/// How the lines of a device differ from `expected`, or "". Only their number is compared if some did not
/// fit.
std::string difference_of_lines(const Lines& lines, const Lines& expected) {
  if (!lines.empty() && lines.back().starts_with("weir: ")) {
    const std::size_t lost = std::stoul(lines.back().substr(6)), all = lines.size() - 1 + lost;
    if (all == expected.size()) return {};
    return "prints " + std::to_string(all) + " lines, expected " + std::to_string(expected.size());
  }
  const auto [found, wanted] = std::ranges::mismatch(lines, expected);
  if (found == lines.end() && wanted == expected.end()) return {};
  return "line " + std::to_string(found - lines.begin()) + " of " + std::to_string(lines.size()) + " is \"" +
         (found == lines.end() ? "missing" : *found) + "\", expected \"" +
         (wanted == expected.end() ? "no more" : *wanted) + "\"";
}

/// How the interpreter's arrays differ from those of SteppedMachine, or "".
std::string difference_in_steps(const RunnableKernel& runnable, const LaunchData& data,
                                const MathLibrary& math, const Machine& machine, const Components& expected) {
  if (!has_only_stepped_loops(runnable.kernel)) return {};
  SteppedMachine steps(runnable.kernel, data, math);
  steps.run();
  if (steps.failed() != machine.failed())
    return machine.failed() ? "fails, though its threads in step do not" : "does not fail";
  Components found(expected.size());
  for (std::size_t p = 0; p < found.size(); ++p)
    if (!expected[p].empty()) found[p] = steps.components(p);
  return difference(runnable, expected, found);
}

}  // namespace

Comparison Comparer::compare(const RunnableKernel& runnable, std::uint64_t seed, Coverage* coverage) {
  const ir::Kernel& kernel = runnable.kernel;
  if (const auto wrong = ir::verify(kernel); !wrong.empty())
    return {true, "the verifier refuses it: " + wrong.front().message};
  Choices choices(mixed(seed));
  LaunchData data = random_data(runnable, choices);
  // The runtime's launch key for the seed and launch number 0.
  const auto finished = [](std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  };
  data.launch_key = finished(finished(seed + 0x9e3779b97f4a7c15u));
  Machine machine(kernel, data, std::ref(math_));
  PrintObserver prints(kernel);
  machine.observe(&prints);
  try {
    machine.run_kernel(max_steps);
  } catch (const CannotRun&) {
    return {};
  }
  // The interpreter stops at a failure between loops. Devices continue, for any number of iterations.
  if (machine.failed_between_loops()) return {};
  const Components expected = components_of(runnable, machine);
  if (const std::string words = difference_in_steps(runnable, data, std::ref(math_), machine, expected);
      !words.empty())
    return {true, "the interpreter: " + words};
  const Lines lines = prints.lines();
  const Program program = Program::parse(ir::print(kernel));
  /// How a launch on the device differs, or "". Its arrays are strided if there are `strides`.
  const auto difference_on = [&](const Device& device, Choices* strides) -> std::string {
    TakenLines taken;
    Launch launch(runnable, data, device, strides);
    launch.submit(program, {seed, 0});
    const std::optional<std::string> failure = launch.finish();
    if (failure.has_value() != machine.failed())
      return failure ? *failure : "no failure, though one was expected";
    if (coverage && !strides)
      for (const CompiledVariant& variant : program.variants(launch.stream()))
        coverage->add(runnable, variant, device.info().kind);
    if (std::string words = difference(runnable, launch.components(), expected); !words.empty()) return words;
    if (strides && !launch.gaps_are_unchanged()) return "the memory between elements has changed";
    return difference_of_lines(taken.take(), lines);
  };
  for (const Device& device : devices_) {
    const std::string name =
        device.info().name.empty() ? device.driver() : device.driver() + " (" + device.info().name + ")";
    try {
      if (const std::string words = difference_on(device, nullptr); !words.empty())
        return {true, name + ": " + words};
    } catch (const std::exception& error) {
      return {true, name + ": " + error.what()};
    }
    if (mixed(seed) % strided_one_in != 0) continue;
    try {
      Choices strides(mixed(seed + 1));
      if (const std::string words = difference_on(device, &strides); !words.empty())
        return {true, name + ", strided arrays: " + words};
    } catch (const Error& error) {
      // Stream blocks that access different parts of one array take contiguous arrays.
      if (error.code() != ErrorCode::unsupported) return {true, name + ", strided arrays: " + error.what()};
    }
  }
  return {true, ""};
}

namespace {

/// For each statement in turn, starting with the last, calls `f` with a copy that lacks it. Keeps the copy if
/// `f` returns true.
class Shrinking {
 public:
  Shrinking(RunnableKernel& runnable, const std::function<bool(const RunnableKernel&)>& differs)
      : runnable_(runnable), differs_(differs) {}

  bool round() {
    changed_ = false;
    visit(runnable_.kernel.body);
    return changed_ && !late();
  }

 private:
  bool late() const { return std::chrono::steady_clock::now() - began_ > std::chrono::seconds(20); }

  void visit(Block& block) {
    for (std::size_t i = block.statements.size(); i-- > 0 && !late();) {
      Statement kept = block.statements[i];
      block.statements.erase(block.statements.begin() + std::ptrdiff_t(i));
      if (ir::verify(runnable_.kernel).empty() && differs_(runnable_)) {
        changed_ = true;
        continue;
      }
      block.statements.insert(block.statements.begin() + std::ptrdiff_t(i), std::move(kept));
      for (Block& body : block.statements[i].bodies) visit(body);
    }
  }

  RunnableKernel& runnable_;
  const std::function<bool(const RunnableKernel&)>& differs_;
  bool changed_ = false;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace

RunnableKernel reduced(RunnableKernel runnable, const std::function<bool(const RunnableKernel&)>& differs) {
  Shrinking shrinking(runnable, differs);
  while (shrinking.round()) {
  }
  return runnable;
}

}  // namespace weir::test
