// SPDX-License-Identifier: Apache-2.0
#include "comparison.hpp"

#include <chrono>
#include <weir/error.hpp>

#include "ir/printer.hpp"
#include "ir/verifier.hpp"

namespace weir::test {
namespace {

constexpr std::uint64_t most_steps = 1'500'000;

std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
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
  try {
    machine.run_kernel(most_steps);
  } catch (const CannotRun&) {
    return {};
  }
  // The interpreter stops at a failure between loops. Devices continue, for any number of iterations.
  if (machine.failed_between_loops()) return {};
  const Components expected = components_of(runnable, machine);
  const Program program = Program::parse(ir::print(kernel));
  for (const Device& device : devices_) {
    const std::string name =
        device.info().name.empty() ? device.driver() : device.driver() + " (" + device.info().name + ")";
    try {
      Launch launch(runnable, data, device);
      launch.submit(program, {seed, 0});
      const std::optional<std::string> failure = launch.finish();
      if (failure.has_value() != machine.failed())
        return {true, name + (failure ? ": " + *failure : ": no failure, though one was expected")};
      if (coverage)
        for (const CompiledVariant& variant : program.variants(launch.stream()))
          coverage->add(runnable, variant, device.info().kind);
      if (const std::string words = difference(runnable, launch.components(), expected); !words.empty())
        return {true, name + ": " + words};
    } catch (const std::exception& error) {
      return {true, name + ": " + error.what()};
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
