// SPDX-License-Identifier: Apache-2.0
// Levels 3 and 5: cooperative launches, whose blocks wait for one another.
#include <algorithm>
#include <cstddef>
#include <functional>

#include "kernels/graph_nodes.hpp"
#include "kernels/held_kernel.hpp"
#include "kernels/kernels.hpp"

namespace weir::conformance {
namespace {

std::uint32_t max_blocks(const Kernel& kernel, std::uint32_t threads, std::uint32_t shared_bytes = 0) {
  std::uint32_t blocks = ~0u;
  call(table().kernel_max_cooperative_blocks, kernel.handle(), threads, shared_bytes, &blocks);
  return blocks;
}

/// A launch in which each thread waits for the thread half a grid further on. It does not complete if blocks
/// start only when others end.
class Ring {
 public:
  explicit Ring(std::uint32_t blocks)
      : blocks_(blocks),
        threads_(std::int64_t{blocks} * kernel_.ready().block[0]),
        flags_(Memory::of(unset())),
        result_(Memory::of(unset())),
        // Bounded, so that a device that does not hold all blocks fails and does not hang. They may wait one
        // after another, so that all together take the time.
        values_(arguments(flags_, result_, threads_, std::int64_t{blocks / 2} * kernel_.ready().block[0],
                          std::max<std::int64_t>(meeting_rounds(Kernel("meet")) / blocks, 1))) {
    values_.pad_to(kernel_.ready().argument_bytes);
  }

  weir_launch launch(std::uint32_t flags = WEIR_LAUNCH_COOPERATIVE) const {
    weir_launch made = kernel_.launch_of(values_, blocks_);
    made.flags = flags;
    return made;
  }
  void submit(const Stream& stream) const {
    const weir_launch made = launch();
    call(table().kernel_launch, weir_stream(stream), &made);
    stream.flush();
  }
  /// After the launch.
  void expect_met(const char* what) const {
    const auto met = result_.values<std::int32_t>();
    const auto lonely = std::ranges::find(met, 0);
    EXPECT_EQ(lonely, met.end())
        << what << ": thread " << (lonely - met.begin()) << " of " << threads_ << " in " << blocks_
        << " blocks waited in vain for another block, so that they were not resident "
           "at once. Look first at how the launch reaches the vendor's cooperative launch";
  }
  void expect_idle() const {
    EXPECT_EQ(flags_.values<std::int32_t>(), unset()) << "a launch that was refused ran";
  }
  Arguments values() const { return values_; }
  const Kernel& kernel() const { return kernel_; }

 private:
  std::vector<std::int32_t> unset() const {
    return std::vector<std::int32_t>(static_cast<std::size_t>(threads_));
  }

  const Kernel kernel_{"ring"};
  std::uint32_t blocks_;
  std::int64_t threads_;
  Memory flags_, result_;
  Arguments values_;
};

std::uint32_t most_of_ring() {
  const Kernel ring("ring");
  return max_blocks(ring, ring.ready().block[0], ring.ready().shared_bytes);
}

WEIR_REQUIREMENT(
    3, 77, Cooperative, AllBlocksAreResident,
    "A cooperative launch of as many blocks as kernel_max_cooperative_blocks returns runs them all at "
    "once: each sees the one half a grid further on before it ends.") {
  needs(WEIR_CAP_COOPERATIVE_LAUNCH);
  const Stream stream;
  for (const std::uint32_t blocks : {most_of_ring(), 1u}) {
    const Ring ring(blocks);
    ring.submit(stream);
    stream.synchronize();
    ring.expect_met("a cooperative launch");
  }
}

WEIR_REQUIREMENT(
    3, 78, Cooperative, LargerGridsAreInvalid,
    "A cooperative launch of more blocks than the device holds at once returns WEIR_ERROR_INVALID, its "
    "message names both numbers, and nothing runs.") {
  needs(WEIR_CAP_COOPERATIVE_LAUNCH);
  const std::uint32_t most = most_of_ring();
  const Stream stream;
  const Ring ring(1);
  for (const std::uint32_t blocks : {most + 1, 2 * most + 5}) {
    if (blocks > info().max_grid[0]) continue;
    weir_launch launch = ring.launch();
    launch.grid[0] = blocks;
    const std::string message = refusal(WEIR_ERROR_INVALID, table().kernel_launch, weir_stream(stream),
                                        static_cast<const weir_launch*>(&launch));
    for (const std::uint32_t number : {blocks, most})
      EXPECT_NE(message.find(std::to_string(number)), std::string::npos)
          << "the message does not name " << number << ": " << message;
  }
  constexpr std::uint32_t wide[3] = {1u << 12, 1u << 10, 1u << 10};  // 0 blocks, if counted in 32 bits
  if (std::ranges::equal(wide, info().max_grid, std::less_equal())) {
    weir_launch launch = ring.launch();
    std::ranges::copy(wide, launch.grid);
    refusal(WEIR_ERROR_INVALID, table().kernel_launch, weir_stream(stream),
            static_cast<const weir_launch*>(&launch));
  }
  stream.synchronize();
  ring.expect_idle();
}

WEIR_REQUIREMENT(
    3, 79, Cooperative, TheLimitIsThatOfTheWholeDevice,
    "kernel_max_cooperative_blocks returns the same number at every call, not more for larger blocks or "
    "more shared memory, and at least a block of one thread for each multiprocessor.") {
  needs(WEIR_CAP_COOPERATIVE_LAUNCH);
  const Kernel ring("ring");
  const std::uint32_t small = max_blocks(ring, 1);
  EXPECT_GE(small, info().multiprocessors) << "of the whole device, or of one multiprocessor?";
  EXPECT_EQ(max_blocks(ring, 1), small);
  EXPECT_LE(max_blocks(ring, 1, info().max_shared_bytes / 4), small);
  EXPECT_LE(max_blocks(ring, max_threads(ring)), small);
  EXPECT_EQ(max_blocks(ring, 1), small) << "after calls for other blocks";
  if (!has(WEIR_CAP_HOST_CALLBACK)) return;
  const Stream stream;
  HeldKernel held;
  held.launch(stream);
  if (!held.starts()) return;
  EXPECT_EQ(max_blocks(ring, 1), small)
      << "while a kernel runs. driver.h: the number is the same at every call";
}

WEIR_REQUIREMENT(
    3, 80, Cooperative, BlocksThatNoLaunchMayHaveAreInvalid,
    "kernel_max_cooperative_blocks returns WEIR_ERROR_INVALID for blocks without threads, for more "
    "threads than a launch may have, and for too many shared bytes.") {
  needs(WEIR_CAP_COOPERATIVE_LAUNCH);
  const Kernel ring("ring");
  std::uint32_t blocks = 7;
  const auto refuse = [&](std::uint32_t threads, std::uint32_t shared_bytes) {
    refusal(WEIR_ERROR_INVALID, table().kernel_max_cooperative_blocks, ring.handle(), threads, shared_bytes,
            &blocks);
    EXPECT_EQ(blocks, 7u) << "the output of a call that failed";
  };
  refuse(0, 0);
  refuse(info().max_block_threads + 1, 0);
  if (info().max_shared_bytes < ~0u) refuse(1, info().max_shared_bytes + 1);
  EXPECT_GE(max_blocks(ring, 1, max_dynamic_bytes(ring)), 1u)
      << "a block may have as many shared bytes as the device allows";
}

WEIR_REQUIREMENT(
    3, 89, Cooperative, EachBlockHasItsOwnSharedMemory,
    "Each block of a cooperative launch has dynamic shared memory of its own: all blocks write to theirs, "
    "meet, and find what they wrote.") {
  needs(WEIR_CAP_COOPERATIVE_LAUNCH);
  const Kernel meeting("shared_meeting");
  const Stream stream;
  for (const std::uint32_t bytes : {8u, 4096u, max_dynamic_bytes(meeting)}) {
    if (bytes < 8 || bytes > max_dynamic_bytes(meeting)) continue;
    const std::uint32_t blocks = std::min(max_blocks(meeting, 1, bytes), 8u);
    if (blocks == 0) continue;
    const Memory out = Memory::of(std::vector<std::int64_t>(1 + std::size_t{blocks}, 0));
    Arguments values = arguments(out, std::max<std::int64_t>(meeting_rounds(Kernel("meet")) / blocks, 1));
    values.pad_to(meeting.ready().argument_bytes);
    weir_launch launch = meeting.launch_of(values, {blocks, 1, 1}, {1, 1, 1}, bytes);
    launch.flags = WEIR_LAUNCH_COOPERATIVE;
    call(table().kernel_launch, weir_stream(stream), static_cast<const weir_launch*>(&launch));
    stream.synchronize();
    const auto found = out.values<std::int64_t>();
    for (std::uint32_t n = 0; n < blocks; ++n)
      ASSERT_EQ(found[1 + n], n)
          << "is what block " << n << " of " << blocks << " of a cooperative launch with " << bytes
          << " bytes of dynamic shared memory found there. Each block wrote its number, waited until all had "
             "done so, and read it back (-1: the others did not come). driver.h: each block has shared "
             "memory of its own. Look first at where a cooperative launch takes the memory of each block";
  }
}

/// A launch of `iota` with 64 elements, for its flags.
struct FlaggedLaunch {
  FlaggedLaunch() { values.pad_to(iota.ready().argument_bytes); }

  weir_launch with(std::uint32_t flags) const {
    weir_launch launch = iota.launch_of(values);
    launch.flags = flags;
    return launch;
  }
  void expect_refusal(weir_result expected, std::uint32_t flags) const {
    const weir_launch launch = with(flags);
    refusal(expected, table().kernel_launch, weir_stream(stream), &launch);
  }
  void expect_not_run() const {
    stream.synchronize();
    EXPECT_EQ(out.values<std::int64_t>(), std::vector<std::int64_t>(64, -1))
        << "a launch that was refused ran";
  }

  const Kernel iota{"iota"};
  const Memory out = Memory::of(std::vector<std::int64_t>(64, -1));
  const Stream stream;
  Arguments values = arguments(out, std::int64_t{64}, std::int64_t{1});
};

WEIR_REQUIREMENT(
    3, 81, Cooperative, UnknownFlagsAreInvalid,
    "kernel_launch with a flag that the header does not list returns WEIR_ERROR_INVALID, and nothing "
    "runs.") {
  needs_version(4);
  const FlaggedLaunch flagged;
  for (const std::uint32_t flags : {2u, 3u, 0x80000000u}) flagged.expect_refusal(WEIR_ERROR_INVALID, flags);
  flagged.expect_not_run();
}

WEIR_REQUIREMENT(3, 82, Cooperative, UnclaimedLaunchesAreRefused,
                 "Without COOPERATIVE_LAUNCH, kernel_launch with WEIR_LAUNCH_COOPERATIVE and "
                 "kernel_max_cooperative_blocks return WEIR_ERROR_UNSUPPORTED.") {
  needs_version(4);
  if (has(WEIR_CAP_COOPERATIVE_LAUNCH)) throw Skipped("the device offers COOPERATIVE_LAUNCH");
  const FlaggedLaunch flagged;
  flagged.expect_refusal(WEIR_ERROR_UNSUPPORTED, WEIR_LAUNCH_COOPERATIVE);
  std::uint32_t blocks = 7;
  refusal(WEIR_ERROR_UNSUPPORTED, table().kernel_max_cooperative_blocks, flagged.iota.handle(), 1u, 0u,
          &blocks);
  EXPECT_EQ(blocks, 7u);
  flagged.expect_not_run();
}

WEIR_REQUIREMENT(3, 83, Cooperative, OlderLaunchesHaveNoFlags,
                 "kernel_launch reads no flags past struct_size.") {
  needs_version(1);
  const FlaggedLaunch flagged;
  weir_launch launch = flagged.with(~0u);
  launch.struct_size = offsetof(weir_launch, flags);
  call(table().kernel_launch, weir_stream(flagged.stream), static_cast<const weir_launch*>(&launch));
  flagged.stream.synchronize();
  EXPECT_EQ(flagged.out.values<std::int64_t>()[63], 64);
}

WEIR_REQUIREMENT(3, 84, Cooperative, LaunchesOfTwoStreamsComplete,
                 "Cooperative launches that each fill the device complete when they are submitted to several "
                 "streams, with ordinary launches in between.") {
  needs(WEIR_CAP_COOPERATIVE_LAUNCH);
  const std::uint32_t most = most_of_ring();
  const Ring rings[] = {Ring(most), Ring(most), Ring(most)};
  const Kernel iota("iota");
  const Memory out = Memory::of(std::vector<std::int64_t>(64, -1));
  const Stream streams[3];
  for (int i = 0; i < 3; ++i) {
    iota.launch(streams[i], arguments(out, std::int64_t{64}, std::int64_t{1}));
    rings[i].submit(streams[i]);
    iota.launch(streams[i], arguments(out, std::int64_t{64}, std::int64_t{1}));
    streams[i].flush();
  }
  for (const Stream& stream : streams) stream.synchronize();
  for (const Ring& ring : rings) ring.expect_met("one of three cooperative launches");
}

/// Throws Unsupported if the vendor's graphs hold no cooperative launches.
Graph make_graph(const GraphNodes& nodes) {
  weir_graph made = nullptr;
  const auto pointers = nodes.pointers();
  weir_status status = new_status();
  const weir_result result = table().graph_create(device(), nodes.size(), pointers.data(), &made, &status);
  if (result == WEIR_ERROR_UNSUPPORTED) throw Unsupported(status.message);
  EXPECT_EQ(result_name(result), "WEIR_OK") << status.message;
  Graph graph;
  *graph.out() = made;
  return graph;
}

WEIR_REQUIREMENT(5, 75, Cooperative, NodesOfGraphsAreResident,
                 "A node with WEIR_LAUNCH_COOPERATIVE runs all its blocks at once, also after an update; or "
                 "graph_create returns WEIR_ERROR_UNSUPPORTED.") {
  needs(WEIR_CAP_GRAPHS);
  needs(WEIR_CAP_COOPERATIVE_LAUNCH);
  const std::uint32_t most = most_of_ring();
  const Ring first(most), second(most);
  const weir_launch launch = first.launch(), changed = second.launch();
  GraphNodes nodes;
  nodes.kernel(first.kernel(), first.values());
  nodes[0].launch = &launch;
  const Graph graph = make_graph(nodes);
  const Stream stream;
  conformance::launch(graph, stream);
  stream.synchronize();
  first.expect_met("a node of a graph");
  weir_launch same_kernel = changed;
  same_kernel.kernel = first.kernel().handle();
  nodes[0].launch = &same_kernel;
  const weir_result updated =
      result_of(table().graph_update, weir_graph(graph), 0u, static_cast<const weir_graph_node*>(&nodes[0]));
  if (updated == WEIR_ERROR_UNSUPPORTED) return;
  conformance::launch(graph, stream);
  stream.synchronize();
  second.expect_met("an updated node of a graph");
}

WEIR_REQUIREMENT(
    5, 76, Cooperative, UpdatesKeepTheFlags,
    "graph_update with other launch flags returns WEIR_ERROR_INVALID, and a node with a cooperative "
    "grid that the device does not hold is refused.") {
  needs(WEIR_CAP_GRAPHS);
  needs(WEIR_CAP_COOPERATIVE_LAUNCH);
  const Ring ring(1);
  const weir_launch launch = ring.launch();
  weir_launch plain = ring.launch(0), large = ring.launch();
  large.grid[0] = most_of_ring() + 1;
  GraphNodes nodes;
  nodes.kernel(ring.kernel(), ring.values());
  nodes[0].launch = &plain;
  const Graph ordinary = make_graph(nodes);
  const auto refuse = [&](weir_graph graph, const weir_launch& changed) {
    nodes[0].launch = &changed;
    refusal(WEIR_ERROR_INVALID, table().graph_update, graph, 0u,
            static_cast<const weir_graph_node*>(&nodes[0]));
  };
  refuse(ordinary, launch);
  nodes[0].launch = &launch;
  const Graph graph = make_graph(nodes);
  refuse(graph, plain);
  refuse(graph, large);
}

}  // namespace
}  // namespace weir::conformance
