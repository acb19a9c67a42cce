// SPDX-License-Identifier: Apache-2.0
// Level 3: launches and their arguments.
#include <bit>
#include <cstring>
#include <functional>

#include "end_of_memory.hpp"
#include "kernels/argument_blocks.hpp"
#include "kernels/gate.hpp"
#include "kernels/graph_nodes.hpp"
#include "kernels/held_kernel.hpp"
#include "kernels/kernels.hpp"

namespace weir::conformance {
namespace {

using I64s = std::vector<std::int64_t>;

I64s counting_up(std::int64_t n, std::int64_t base) {
  I64s values(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) values[static_cast<std::size_t>(i)] = base + i;
  return values;
}

WEIR_REQUIREMENT(3, 30, Launches, EveryGridDoesAllTheWork,
                 "Every block of the grid runs, in grids from 1 to thousands.") {
  const Kernel iota("iota");
  const Stream stream;
  constexpr std::int64_t n = 100'003;
  for (const std::uint32_t blocks : {1u, 2u, 3u, 7u, 64u, 1000u, 4097u}) {
    const Memory out(8 * n);
    fill<std::int64_t>(stream, out, 0, 8 * n, -1);
    iota.launch(stream, arguments(out, n, std::int64_t{blocks}), std::min(blocks, info().max_grid[0]));
    stream.synchronize();
    ASSERT_TRUE(out.values<std::int64_t>() == counting_up(n, blocks)) << "with a grid of " << blocks;
  }
}

WEIR_REQUIREMENT(3, 31, Launches, EveryBlockRunsOnce, "No block runs twice: sums by atomics are exact.") {
  const Kernel sum("atomic_sum");
  const Stream stream;
  for (const std::uint32_t blocks : {1u, 5u, 333u}) {
    const Memory out = Memory::of(I64s{0});
    sum.launch(stream, arguments(out, std::int64_t{1}, std::int64_t{10'000}),
               std::min(blocks, info().max_grid[0]));
    stream.synchronize();
    EXPECT_EQ(out.values<std::int64_t>().front(), 10'000 * 9'999 / 2) << "with a grid of " << blocks;
  }
}

WEIR_REQUIREMENT(3, 32, Launches, ArgumentsAreCopied,
                 "The argument block is copied before kernel_launch returns: it may be overwritten while the "
                 "launch waits.") {
  const Kernel iota("iota");
  const Memory out(8 * 64);
  const Stream stream;
  Arguments values = arguments(out, std::int64_t{64}, std::int64_t{500});
  values.pad_to(iota.ready().argument_bytes);
  std::vector<std::uint8_t> block = values.bytes();
  weir_launch launch = iota.launch_of(values);
  launch.arguments = block.data();
  {
    Delay delay(stream);
    call(table().kernel_launch, weir_stream(stream), static_cast<const weir_launch*>(&launch));
    std::ranges::fill(block, std::uint8_t{0});
    launch = {};
    delay.end();
    stream.synchronize();
  }
  EXPECT_EQ(out.values<std::int64_t>(), counting_up(64, 500));
}

WEIR_REQUIREMENT(3, 33, Launches, EachHasItsOwnArguments,
                 "Launches of one kernel that wait in a queue keep their own arguments.") {
  const Kernel append("append");
  const Memory log = Memory::of(I64s(501, 0));
  const Stream stream;
  {
    Delay delay(stream);
    for (std::int64_t i = 0; i < 500; ++i) append.launch(stream, arguments(log, i * i));
    delay.end();
    stream.synchronize();
  }
  I64s expected{500};
  for (std::int64_t i = 0; i < 500; ++i) expected.push_back(i * i);
  EXPECT_EQ(log.values<std::int64_t>(), expected);
}

WEIR_REQUIREMENT(3, 34, Launches, ValuesOfEverySizeArrive,
                 "Values of 1, 2, 4 and 8 bytes and floats arrive as they were packed.") {
  const Kernel sizes("sizes");
  const Memory out(8 * 6);
  const Stream stream;
  const double e = -1.0 / 3;
  const float f = 2.7182818f;
  sizes.launch(stream, arguments(out, std::int64_t{-0x123456789abcdef}, e, std::int32_t{-0x1234567}, f,
                                 std::int16_t{-12345}, std::int8_t{-77}));
  stream.synchronize();
  EXPECT_EQ(out.values<std::int64_t>(),
            (I64s{-0x123456789abcdef, -0x1234567, -12345, -77, std::bit_cast<std::int64_t>(e),
                  std::int64_t{std::bit_cast<std::int32_t>(f)}}));
}

WEIR_REQUIREMENT(3, 35, Launches, LargeArgumentBlocksArrive,
                 "An argument block of more than 800 bytes arrives whole, also while launches wait.") {
  const Kernel sum("sum_values");
  if (info().max_argument_bytes < sum.ready().argument_bytes)
    throw Unsupported("max_argument_bytes is too small for this argument block");
  const Memory out(8 * 20);
  const Stream stream;
  {
    Delay delay(stream);
    for (std::int64_t k = 0; k < 20; ++k) {
      Arguments values;
      values.add(out, static_cast<std::uint64_t>(8 * k));
      for (std::int64_t i = 0; i < 100; ++i) values.add(i * i + k);
      sum.launch(stream, values);
    }
    delay.end();
    stream.synchronize();
  }
  I64s expected;
  for (std::int64_t k = 0; k < 20; ++k) expected.push_back(328'350 + 100 * k);
  EXPECT_EQ(out.values<std::int64_t>(), expected);
}

WEIR_REQUIREMENT(3, 62, Launches, ArgumentBlocksAbovePowersOfTwoArrive,
                 "Argument blocks just larger than 256, 512 and 1024 bytes arrive whole.") {
  const struct {
    const char* name;
    std::int64_t values;
  } kernels[] = {{"sum_32", 32}, {"sum_64", 64}, {"sum_128", 128}};
  for (const auto& [name, count] : kernels) {
    const Kernel sum(name);
    if (info().max_argument_bytes < sum.ready().argument_bytes) return;
    const Memory out(8);
    const Stream stream;
    Arguments values = arguments(out);
    for (std::int64_t i = 0; i < count; ++i) values.add(i + 1);
    sum.launch(stream, values);
    stream.synchronize();
    EXPECT_EQ(out.values<std::int64_t>()[0], count * (count + 1) / 2)
        << "the sum of 1 to " << count << ", given as values in an argument block of "
        << sum.ready().argument_bytes << " bytes. Look first at how kernel_launch copies arguments";
  }
}

WEIR_REQUIREMENT(
    3, 68, Launches, ArgumentBlocksOfManySizesArrive,
    "Argument blocks of each size up to 520 bytes, around powers of two and of the device's limit "
    "arrive whole, also while launches wait.") {
  const std::vector<BlockKernel> kernels = block_kernels();
  const Stream stream;
  constexpr std::size_t together = 200;  // a driver may block at 500 submissions
  for (std::size_t first = 0; first < kernels.size(); first += together) {
    const std::size_t count = std::min(together, kernels.size() - first);
    const std::uint64_t room = std::uint64_t{info().max_argument_bytes} + 8;
    const Memory out(count * room);
    std::vector<Bytes> blocks;
    const EndOfMemory end(info().max_argument_bytes);  // for blocks behind which nothing is readable
    {
      Delay delay(stream);
      for (std::size_t i = 0; i < count; ++i) {
        const BlockKernel& kernel = kernels[first + i];
        Bytes block = kernel.block(out, i * room, static_cast<std::uint32_t>(first + i + 1));
        blocks.push_back(block);
        weir_launch launch = kernel.launch_of(block);
        // Blocks of other sizes would lie at odd addresses there.
        if (block.size() % 8 == 0) launch.arguments = end.last(block);
        weir_status status = new_status();
        if (const weir_result result = table().kernel_launch(stream, &launch, &status); result != WEIR_OK) {
          delay.end();
          stream.synchronize();
          FAIL()
              << "kernel_launch with " << kernel.bytes() << " argument bytes returned " << result_name(result)
              << ": " << status.message
              << ". The kernel was looked up with a layout of that size, and others of the same name with "
                 "other sizes. Look first at which kernel module_get_kernel returns for another layout, and "
                 "then at kernel_launch";
        }
        std::ranges::fill(block, std::uint8_t{0xcc});
        std::ranges::fill(end.last(block.size()), end.last(0), std::uint8_t{0xcc});
      }
      delay.end();
      stream.synchronize();
    }
    const Bytes found = out.read();
    for (std::size_t i = 0; i < count; ++i) {
      const BlockKernel& kernel = kernels[first + i];
      ASSERT_TRUE(
          same_bytes(std::span(found).subspan(i * room, kernel.result_bytes()), kernel.result(blocks[i])))
          << "in the result of a launch with " << kernel.bytes()
          << " argument bytes, which shows its whole block. Look first at how kernel_launch copies arguments";
    }
  }
}

WEIR_REQUIREMENT(
    3, 36, Launches, ArraysMayBeginInsideAnAllocation,
    "An array argument that begins inside an allocation is read and written there and nowhere else.") {
  const Kernel iota("iota");
  const Memory out = Memory::of(I64s(100, -5));
  const Stream stream;
  Arguments values;
  values.add(out, 8 * 32).add(std::int64_t{10}).add(std::int64_t{70});
  iota.launch(stream, values, 3);
  stream.synchronize();
  I64s expected(100, -5);
  std::ranges::copy(counting_up(10, 70), expected.begin() + 32);
  EXPECT_EQ(out.values<std::int64_t>(), expected);
}

WEIR_REQUIREMENT(3, 37, Launches, SeveralArraysAreToldApart, "Several arrays of one launch are distinct.") {
  const Kernel scale_add("scale_add");
  const Memory a = Memory::of(counting_up(1000, 1)), b = Memory::of(counting_up(1000, 1'000'000));
  const Stream stream;
  scale_add.launch(stream, arguments(a, b, std::int64_t{1000}, std::int64_t{3}), 8);
  stream.synchronize();
  const I64s values = a.values<std::int64_t>();
  for (std::int64_t i = 0; i < 1000; ++i)
    ASSERT_EQ(values[static_cast<std::size_t>(i)], 3 * (1'000'000 + i) + 1 + i);
  EXPECT_EQ(b.values<std::int64_t>(), counting_up(1000, 1'000'000));
}

void expect_refused(const std::function<void(weir_launch&)>& spoil) {
  const Kernel iota("iota");
  const Memory out = Memory::of(I64s(64, -1));
  const Stream stream;
  Arguments values = arguments(out, std::int64_t{64}, std::int64_t{1});
  values.pad_to(iota.ready().argument_bytes);
  weir_launch launch = iota.launch_of(values);
  spoil(launch);
  refusal(WEIR_ERROR_INVALID, table().kernel_launch, weir_stream(stream),
          static_cast<const weir_launch*>(&launch));
  stream.synchronize();
  EXPECT_EQ(out.values<std::int64_t>(), I64s(64, -1)) << "a launch that was refused ran";
}

WEIR_REQUIREMENT(3, 97, Launches, ArgumentsBeginAnywhere,
                 "The argument block of a launch, and of a graph's node, begins at any address.") {
  const Kernel iota("iota");
  const Memory out(8 * 64), of_node(8 * 64);
  const Stream stream;
  const auto moved = [&](const Memory& memory, std::int64_t base, std::size_t offset, Bytes& copy) {
    Arguments values = arguments(memory, std::int64_t{64}, base);
    values.pad_to(iota.ready().argument_bytes);
    weir_launch launch = iota.launch_of(values);
    copy.assign(launch.argument_bytes + offset + 64, 0xa5);
    const auto begin = reinterpret_cast<std::uintptr_t>(copy.data());
    std::uint8_t* const place = copy.data() + ((begin + 31) / 32 * 32 - begin) + offset;
    std::memcpy(place, launch.arguments, launch.argument_bytes);
    launch.arguments = place;
    return launch;
  };
  Bytes copy;
  for (const std::size_t offset : {1u, 2u, 3u, 4u, 7u, 8u, 15u, 17u}) {
    const auto base = static_cast<std::int64_t>(1000 * offset);
    const weir_launch launch = moved(out, base, offset, copy);
    call(table().kernel_launch, weir_stream(stream), &launch);
    stream.synchronize();
    EXPECT_EQ(out.values<std::int64_t>(), iota_values(64, base))
        << "the arguments began " << offset << " bytes after an address that 32 divides. Look first at how "
        << "kernel_launch reads them";
    if (!has(WEIR_CAP_GRAPHS)) continue;
    GraphNodes nodes;
    nodes.kernel(iota, arguments(of_node, std::int64_t{64}, base));
    weir_launch node = moved(of_node, base, offset, copy);
    nodes[0].launch = &node;
    const Graph graph = nodes.make();
    weir::conformance::launch(graph, stream);
    stream.synchronize();
    EXPECT_EQ(of_node.values<std::int64_t>(), iota_values(64, base))
        << "the arguments of a node began " << offset
        << " bytes after an address that 32 divides. Look first "
        << "at how graph_create reads them";
    if (HasFailure()) return;
  }
}

WEIR_REQUIREMENT(3, 38, Launches, EmptyGridsAreInvalid,
                 "A grid dimension of 0 returns WEIR_ERROR_INVALID, and nothing runs.") {
  for (int i = 0; i < 3; ++i) expect_refused([i](weir_launch& launch) { launch.grid[i] = 0; });
}

WEIR_REQUIREMENT(3, 39, Launches, EmptyBlocksAreInvalid,
                 "A block dimension of 0 returns WEIR_ERROR_INVALID, and nothing runs.") {
  for (int i = 0; i < 3; ++i) expect_refused([i](weir_launch& launch) { launch.block[i] = 0; });
}

WEIR_REQUIREMENT(3, 40, Launches, GridsPastTheLimitsAreInvalid,
                 "A grid dimension past the device's limit returns WEIR_ERROR_INVALID, and nothing runs.") {
  int tried = 0;
  for (int i = 0; i < 3; ++i) {
    if (info().max_grid[i] == ~0u) continue;
    ++tried;
    expect_refused([i](weir_launch& launch) { launch.grid[i] = info().max_grid[i] + 1; });
  }
  if (!tried) throw Skipped("the device has no limit on grids");
}

WEIR_REQUIREMENT(3, 41, Launches, BlocksPastTheLimitsAreInvalid,
                 "A block dimension past the device's limit returns WEIR_ERROR_INVALID, and nothing runs.") {
  for (int i = 0; i < 3; ++i) {
    if (info().max_block[i] == ~0u) continue;
    expect_refused([i](weir_launch& launch) {
      launch.block[0] = launch.block[1] = launch.block[2] = 1;
      launch.block[i] = info().max_block[i] + 1;
    });
  }
}

WEIR_REQUIREMENT(3, 42, Launches, BlocksOfTooManyThreadsAreInvalid,
                 "A block whose dimensions are allowed but whose threads are more than max_block_threads "
                 "returns WEIR_ERROR_INVALID.") {
  const std::uint64_t product =
      std::uint64_t{info().max_block[0]} * info().max_block[1] * info().max_block[2];
  if (product <= info().max_block_threads) throw Skipped("the largest block is within max_block_threads");
  expect_refused([](weir_launch& launch) { std::ranges::copy(info().max_block, launch.block); });
}

WEIR_REQUIREMENT(3, 43, Launches, RunInTheStreamsOrder,
                 "Kernels, copies and fills of one stream run in order.") {
  const Kernel iota("iota"), scale_add("scale_add");
  constexpr std::int64_t n = 10'000;
  const Memory a(8 * n), b(8 * n);
  const HostMemory host(8 * n);
  const Stream stream;
  {
    Delay delay(stream);
    fill<std::int64_t>(stream, b, 0, 8 * n, 2);
    iota.launch(stream, arguments(a, n, std::int64_t{0}), 16);
    scale_add.launch(stream, arguments(a, b, n, std::int64_t{5}), 16);  // a = i + 10
    fill<std::int64_t>(stream, b, 0, 8 * n, 100);
    scale_add.launch(stream, arguments(b, a, n, std::int64_t{1}), 16);  // b = i + 110
    fill<std::int64_t>(stream, a, 0, 8 * n, 0);
    call(table().copy_to_host, weir_stream(stream), static_cast<void*>(host.data()), weir_allocation(b),
         std::uint64_t{0}, std::uint64_t{8 * n});
    fill<std::int64_t>(stream, b, 0, 8 * n, 0);
    delay.end();
    stream.synchronize();
  }
  I64s seen(n);
  std::memcpy(seen.data(), host.data(), 8 * n);
  EXPECT_TRUE(seen == counting_up(n, 110));
}

WEIR_REQUIREMENT(3, 44, Launches, EventsOrderKernelsOfStreams,
                 "A kernel after a wait sees the writes of kernels before the event on another stream.") {
  const Kernel append("append"), churn("churn");
  const Memory log = Memory::of(I64s(41, 0)), scratch(8);
  const Stream streams[2];
  const Event events[2];
  for (std::int64_t i = 0; i < 40; ++i) {
    const Stream& stream = streams[i % 2];
    if (i > 0) stream.wait(events[(i + 1) % 2]);
    if (i % 8 == 0)
      churn.launch(stream, arguments(scratch, i, std::int64_t{200'000}));  // exposes a missing wait
    append.launch(stream, arguments(log, i));
    events[i % 2].record(stream);
  }
  for (const Stream& stream : streams) stream.synchronize();
  I64s expected{40};
  for (std::int64_t i = 0; i < 40; ++i) expected.push_back(i);
  EXPECT_EQ(log.values<std::int64_t>(), expected);
}

WEIR_REQUIREMENT(3, 45, Launches, ReturnAtOnce,
                 "kernel_launch returns while earlier work of the stream is held back.") {
  const Kernel iota("iota");
  const Memory out(8 * 64);
  const Stream stream;
  Gate gate;
  gate.hold(stream);
  for (std::int64_t i = 0; i < 200; ++i) iota.launch(stream, arguments(out, std::int64_t{64}, i));
  EXPECT_FALSE(stream.done()) << "stream_query returned WEIR_OK while a host callback held back 200 launches";
  gate.open();
  stream.synchronize();
  EXPECT_EQ(out.values<std::int64_t>(), counting_up(64, 199));
}

WEIR_REQUIREMENT(3, 46, Launches, OfTwoStreamsRunAtOnce,
                 "Kernels of two streams run at the same time: each sees the other before it ends.") {
  needs(WEIR_CAP_CONCURRENT_STREAMS);
  const Kernel meet("meet");
  const Memory flags = Memory::of(std::vector<std::int32_t>{0, 0}),
               result = Memory::of(std::vector<std::int32_t>{0, 0});
  const Stream streams[2];
  // Bounded by time, so that a device that runs kernels one at a time fails and does not hang.
  const std::int64_t rounds = meeting_rounds(meet);
  for (std::int64_t i = 0; i < 2; ++i) {
    meet.launch(streams[i], arguments(flags, result, std::int64_t{2}, i, 1 - i, rounds));
    streams[i].flush();
  }
  for (const Stream& stream : streams) stream.synchronize();
  EXPECT_EQ(result.values<std::int32_t>(), (std::vector<std::int32_t>{1, 1}));
}

WEIR_REQUIREMENT(3, 47, Launches, SynchronizeWaitsForKernels,
                 "stream_synchronize and event_synchronize return after kernels have ended.") {
  const Kernel churn("churn");
  const Memory out(8);
  const HostMemory host(8);
  const Stream stream;
  const Event event;
  auto expected = [](std::int64_t x, std::int64_t rounds) {
    auto state = static_cast<std::uint64_t>(x);
    for (std::int64_t i = 0; i < rounds; ++i) state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::int64_t>(state);
  };
  for (std::int64_t i = 1; i <= 6; ++i) {
    churn.launch(stream, arguments(out, i, 300'000 * i));
    call(table().copy_to_host, weir_stream(stream), static_cast<void*>(host.data()), weir_allocation(out),
         std::uint64_t{0}, std::uint64_t{8});
    if (i % 2) {
      event.record(stream);
      event.synchronize();
    } else {
      stream.synchronize();
    }
    std::int64_t seen = 0;
    std::memcpy(&seen, host.data(), 8);
    ASSERT_EQ(seen, expected(i, 300'000 * i)) << "in round " << i;
  }
}

WEIR_REQUIREMENT(
    3, 48, Launches, NullAddressesReachTheKernel,
    "An address of 0 for an array is no error: it reaches the kernel, which does not follow it.") {
  if (info().argument_style != WEIR_ARGUMENT_ADDRESS)
    throw Skipped("the device takes arrays as weir_buffer_argument");
  const Kernel scale_add("scale_add");
  const Memory a = Memory::of(counting_up(10, 1));
  const Stream stream;
  Arguments values = arguments(a);
  values.add_null_array().add(std::int64_t{0}).add(std::int64_t{3});
  scale_add.launch(stream, values, 2);
  scale_add.launch(stream, arguments(a, a, std::int64_t{10}, std::int64_t{1}));
  stream.synchronize();
  I64s expected = counting_up(10, 1);
  for (std::int64_t& value : expected) value *= 2;
  EXPECT_EQ(a.values<std::int64_t>(), expected);
}

WEIR_REQUIREMENT(
    3, 49, Launches, NullAllocationsAreInvalid,
    "A null allocation in a weir_buffer_argument returns WEIR_ERROR_INVALID, and nothing runs.") {
  if (info().argument_style != WEIR_ARGUMENT_BUFFER) throw Skipped("the device takes arrays as addresses");
  const Kernel scale_add("scale_add");
  const Memory a = Memory::of(counting_up(10, 1));
  const Stream stream;
  for (const std::int64_t n : {std::int64_t{10}, std::int64_t{0}}) {
    Arguments values = arguments(a);
    values.add_null_array().add(n).add(std::int64_t{3});
    values.pad_to(scale_add.ready().argument_bytes);
    const weir_launch launch = scale_add.launch_of(values);
    refusal(WEIR_ERROR_INVALID, table().kernel_launch, weir_stream(stream), &launch);
  }
  stream.synchronize();
  EXPECT_EQ(a.values<std::int64_t>(), counting_up(10, 1)) << "a launch that was refused ran";
}

}  // namespace
}  // namespace weir::conformance
