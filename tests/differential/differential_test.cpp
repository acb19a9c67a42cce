// SPDX-License-Identifier: Apache-2.0
// Random kernels, passed through parser, planner, compiler, launcher and CPU driver, produce the results that
// the IR defines.
//
// WEIR_DIFFERENTIAL_SEEDS=FIRST:COUNT runs the given seeds instead of the default ones.
#include <gtest/gtest.h>

#include <cstdlib>
#include <weir/error.hpp>

#include "ir/printer.hpp"
#include "ir/verifier.hpp"
#include "launcher.hpp"
#include "tested_device.hpp"

namespace weir::test {
namespace {

#ifdef WEIR_SANITIZED
constexpr std::uint64_t usual_seeds = 30;
#else
constexpr std::uint64_t usual_seeds = 200;
#endif
constexpr std::uint64_t steps = 1'500'000;
constexpr std::size_t launches = 3;

struct Seeds {
  std::uint64_t first = 0, count = usual_seeds;
};

Seeds wanted_seeds() {
  Seeds seeds;
  if (const char* text = std::getenv("WEIR_DIFFERENTIAL_SEEDS")) {
    char* end = nullptr;
    seeds.first = std::strtoull(text, &end, 10);
    seeds.count = *end == ':' ? std::strtoull(end + 1, nullptr, 10) : 1;
  }
  return seeds;
}

// Runs the kernel on several streams at once, one launch with separate data on each. Returns false if the
// interpreter stopped because the kernel runs too long.
bool compare(std::uint64_t seed, const Device& device, CompiledMath& math) {
  Choices choices(seed);
  const RunnableKernel runnable = runnable_kernel(choices);
  const ir::Kernel& kernel = runnable.kernel;
  const auto wrong = ir::verify(kernel);
  if (!wrong.empty()) {
    ADD_FAILURE() << wrong.front().message << "\n" << ir::print(kernel);
    return false;
  }
  std::vector<Machine> machines;
  std::vector<LaunchData> data;
  for (std::size_t i = 0; i < launches; ++i) {
    data.push_back(random_data(runnable, choices));
    data[i].launch_key = launch_key(seed, i);
    machines.emplace_back(kernel, data[i], std::ref(math));
    try {
      machines[i].run_kernel(steps);
    } catch (const CannotRun&) {
      return false;
    }
  }
  const Program program = Program::parse(ir::print(kernel));
  std::vector<Launch> streams;
  streams.reserve(launches);
  for (std::size_t i = 0; i < launches; ++i) streams.emplace_back(runnable, data[i], device);
  for (std::size_t i = 0; i < launches; ++i) streams[i].submit(program, {seed, i});
  for (std::size_t i = 0; i < launches; ++i) {
    const std::optional<std::string> failure = streams[i].finish();
    EXPECT_EQ(failure.has_value(), machines[i].failed())
        << "launch " << i << " said: " << failure.value_or("nothing") << "\n"
        << ir::print(kernel);
    if (machines[i].failed_between_loops()) continue;
    EXPECT_EQ(difference(runnable, streams[i].components(), components_of(runnable, machines[i])), "")
        << "launch " << i << "\n"
        << ir::print(kernel);
  }
  return true;
}

// proves R8 for random kernels: launches on several streams share nothing
TEST(Differential, RandomKernelsDoWhatTheInterpreterDoes) {
  const Seeds seeds = wanted_seeds();
  const Device device = open(tested_device());
  CompiledMath math(device);
  std::uint64_t ran = 0;
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count && !HasFailure(); ++seed) {
    SCOPED_TRACE("run again with WEIR_DIFFERENTIAL_SEEDS=" + std::to_string(seed));
    try {
      if (compare(seed, device, math)) ++ran;
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
  RecordProperty("kernels", std::to_string(ran));
  if (!HasFailure() && seeds.count >= 100) {
    EXPECT_GT(ran, seeds.count / 2) << "too few kernels ran for a meaningful result";
  }
}

}  // namespace
}  // namespace weir::test
