// SPDX-License-Identifier: Apache-2.0
// The gain of stream blocks: four kernels of one block each, compared with the same kernels in sequence.
#include <memory>
#include <stdexcept>
#include <vector>

#include "cases.hpp"
#include "device.hpp"

namespace weir::bench::vulkan {
namespace {

constexpr int blocks = 4;

struct Spins {
  Stream stream = device().create_stream();
  Array<std::uint32_t> numbers = device().array<std::uint32_t>(stream, 2 * blocks);
  TaskList concurrent{device()}, sequential{device()};

  Spins() {
    const KernelFunction spin = load_spin();
    const std::uint32_t rounds = rounds_for(1000);
    for (int i = 0; i < blocks; ++i) {
      concurrent.add(spin, {}, {numbers.slice(i, i + 1), rounds}, {0, i});
      sequential.add(spin, {}, {numbers.slice(blocks + i, blocks + i + 1), rounds});
    }
    numbers.fill(stream, 0u);
    stream.synchronize();
  }
  double run(const TaskList& tasks) const {
    return per_run(
        4, [&] { tasks.launch(stream); }, [&] { stream.synchronize(); });
  }
  void compare() const {
    for (const std::uint32_t number : numbers.to_host(stream))
      if (number == 0 || number != numbers.slice(0, 1).to_host(stream)[0])
        throw std::runtime_error("the kernels of the stream blocks have different results");
  }
};

}  // namespace

void add_stream_cases() {
  add({.name = "four_one_block_kernels_in_four_blocks",
       .peer = "one stream",
       .bar = at_least<3500>(),
       .prepare =
           [] {
             auto state = std::make_shared<Spins>();
             return Sides{.ours = [=] { return state->run(state->concurrent); },
                          .peer = [=] { return state->run(state->sequential); },
                          .check = [=] { state->compare(); }};
           },
       .samples = 15});
}

}  // namespace weir::bench::vulkan
