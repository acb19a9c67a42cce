// SPDX-License-Identifier: Apache-2.0
// The cost of one launch for the host, the time from a launch to its end, and the total cost of a chain.
//
// Written by hand, a launch is one of two things. `submitted each`: a command buffer of a barrier and the
// dispatch, recorded once, and one vkQueueSubmit2 for each launch, which signals a timeline semaphore.
// `recorded, submitted by 32`: barrier and dispatch are recorded at each launch, as they must be if arguments
// change, and each 32 are submitted, as Weir's driver does.
#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#include <weir/kernel.hpp>

#include "by_hand.hpp"
#include "cases.hpp"
#include "device.hpp"

namespace weir::bench::vulkan {
namespace {

constexpr int launches = 300;
constexpr double busy_microseconds = 8000;

/// Records launches and submits each 32.
class Batches {
 public:
  void launch(VkPipeline pipeline, const Arguments& arguments) {
    ByHand& by_hand = ByHand::get();
    if (recorded_ == 0) {
      if (next_ == buffers_.size()) buffers_.push_back(by_hand.allocate_commands());
      by_hand.begin(buffers_[next_], VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
    }
    by_hand.barrier(buffers_[next_]);
    by_hand.dispatch(buffers_[next_], pipeline, arguments, 1);
    if (++recorded_ == 32) submit();
  }
  void wait() {
    submit();
    ByHand::get().wait();
    next_ = 0;
  }

 private:
  void submit() {
    if (recorded_ == 0) return;
    ByHand& by_hand = ByHand::get();
    by_hand.barrier_to_host(buffers_[next_]);
    by_hand.end(buffers_[next_]);
    by_hand.submit(buffers_[next_]);
    recorded_ = 0;
    ++next_;
  }

  std::vector<VkCommandBuffer> buffers_;
  std::size_t next_ = 0;  ///< the first buffer that is not in use
  int recorded_ = 0;      ///< launches in that buffer
};

/// Host seconds per call of `launch` while the queue is busy with `spin_first`.
template <class Spin, class Launch, class Wait>
double host_time(Spin&& spin_first, Launch&& launch, Wait&& wait) {
  spin_first();
  const double begin = now();
  for (int i = 0; i < launches; ++i) launch();
  const double seconds = (now() - begin) / launches;
  wait();
  return seconds;
}

struct Peer {
  ByHand& by_hand = ByHand::get();
  Buffer number = by_hand.device_buffer(sizeof(std::uint32_t));
  VkCommandBuffer spin_commands = by_hand.record(by_hand.pipeline(spin.by_hand, 1),
                                                 Arguments(number.address, rounds_for(busy_microseconds)));
  VkPipeline pipeline = by_hand.pipeline(take.by_hand, 1);
  Arguments arguments;
  VkCommandBuffer commands = VK_NULL_HANDLE;  ///< barrier and dispatch
  Batches batches;

  explicit Peer(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      if (i < arrays_of_take(count))
        arguments.append(number.address);
      else
        arguments.append(std::uint32_t{7});
    commands = by_hand.record(pipeline, arguments);
  }
};

std::function<double()> submitted_each(std::size_t count) {
  return [peer = std::make_shared<Peer>(count)] {
    return host_time([&] { peer->by_hand.submit(peer->spin_commands); },
                     [&] { peer->by_hand.submit(peer->commands); }, [&] { peer->by_hand.wait(); });
  };
}

std::function<double()> submitted_in_batches(std::size_t count) {
  return [peer = std::make_shared<Peer>(count)] {
    return host_time([&] { peer->by_hand.submit(peer->spin_commands); },
                     [&] { peer->batches.launch(peer->pipeline, peer->arguments); },
                     [&] { peer->batches.wait(); });
  };
}

using Launch = std::function<void(const Stream&)>;

template <std::size_t... I>
Launch launch_of(const KernelFunction& function, const std::shared_ptr<Array<std::uint32_t>>& array,
                 std::index_sequence<I...>) {
  return [function, array](const Stream& stream) {
    [[maybe_unused]] const auto argument = [&](std::size_t i) {
      return i < arrays_of_take(sizeof...(I)) ? KernelArgument(*array) : KernelArgument(std::uint32_t{7});
    };
    function.launch(stream, {}, {argument(I)...});
  };
}

template <std::size_t Count>
Sides launch_sides(std::function<double()> (*peer)(std::size_t)) {
  struct State {
    Stream stream = device().create_stream();
    std::shared_ptr<Array<std::uint32_t>> array =
        std::make_shared<Array<std::uint32_t>>(device().array<std::uint32_t>(stream, 1));
    KernelFunction spin = load_spin();
    std::uint32_t rounds = rounds_for(busy_microseconds);
  };
  auto state = std::make_shared<State>();
  const Launch launch = launch_of(load_take(Count), state->array, std::make_index_sequence<Count>());
  return {.ours =
              [=] {
                return host_time(
                    [&] {
                      state->spin.launch(state->stream, {}, {*state->array, state->rounds});
                    },
                    [&] { launch(state->stream); }, [&] { state->stream.synchronize(); });
              },
          .peer = peer(Count)};
}

template <std::size_t Count>
void add_launch() {
  const std::string arguments = std::to_string(Count) + "_arguments";
  add({.name = "launch_ready_kernel/" + arguments,
       .peer = "submitted each",
       .bar = at_most<1100>(),
       .prepare = [] { return launch_sides<Count>(submitted_each); },
       .samples = 21});
  add({.name = "launch_ready_kernel_in_batches/" + arguments,
       .peer = "recorded, submitted by 32",
       .bar = at_most<1100>(),
       .prepare = [] { return launch_sides<Count>(submitted_in_batches); },
       .samples = 21});
}

/// Kernels that add 1 to a number: ours with a Weir stream, theirs by hand.
struct Bumps {
  Stream stream = device().create_stream();
  KernelFunction ours = load_bump();
  Array<std::uint32_t> number = device().array<std::uint32_t>(stream, 1);
  ByHand& by_hand = ByHand::get();
  Buffer their_number = by_hand.mapped_buffer(sizeof(std::uint32_t));
  VkPipeline theirs = by_hand.pipeline(bump.by_hand, 1);
  Arguments arguments{their_number.address};
  VkCommandBuffer commands = by_hand.record(theirs, arguments);
  Batches batches;

  Bumps() {
    number.fill(stream, 0u);
    stream.synchronize();
    *static_cast<volatile std::uint32_t*>(their_number.host) = 0;
  }
  void compare() const {
    const std::uint32_t a = number.to_host(stream)[0];
    const std::uint32_t b = *static_cast<const volatile std::uint32_t*>(their_number.host);
    if (a == 0 || a != b)
      throw std::runtime_error("the launches counted " + std::to_string(a) + " and " + std::to_string(b));
  }
};

void add_wait() {
  add({.name = "launch_and_wait",
       .peer = "submitted each",
       .bar = at_most<1100>(),
       .prepare =
           [] {
             constexpr int repeats = 100;
             auto state = std::make_shared<Bumps>();
             return Sides{.ours =
                              [=] {
                                return per_run(
                                    repeats,
                                    [&] {
                                      state->ours.launch(state->stream, {}, {state->number});
                                      state->stream.synchronize();
                                    },
                                    [] {});
                              },
                          .peer =
                              [=] {
                                return per_run(
                                    repeats,
                                    [&] {
                                      state->by_hand.submit(state->commands);
                                      state->by_hand.wait();
                                    },
                                    [] {});
                              },
                          .check = [=] { state->compare(); }};
           },
       .samples = 21});
}

void add_chain() {
  add({.name = "chain_of_1000_launches",
       .peer = "recorded, submitted by 32",
       .bar = at_most<1100>(),
       .prepare =
           [] {
             constexpr int length = 1000;
             auto state = std::make_shared<Bumps>();
             return Sides{.ours =
                              [=] {
                                return per_run(
                                    length, [&] { state->ours.launch(state->stream, {}, {state->number}); },
                                    [&] { state->stream.synchronize(); });
                              },
                          .peer =
                              [=] {
                                return per_run(
                                    length, [&] { state->batches.launch(state->theirs, state->arguments); },
                                    [&] { state->batches.wait(); });
                              },
                          .check = [=] { state->compare(); }};
           },
       .samples = 21});
}

}  // namespace

void add_launch_cases() {
  add_launch<0>();
  add_launch<4>();
  add_launch<19>();
  add_wait();
  add_chain();
}

}  // namespace weir::bench::vulkan
