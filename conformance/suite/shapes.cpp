// SPDX-License-Identifier: Apache-2.0
// Level 3: grids and blocks of three dimensions, dynamic shared memory, and the limits of both.
#include <functional>
#include <iterator>

#include "kernels/gate.hpp"
#include "kernels/graph_nodes.hpp"
#include "kernels/held_kernel.hpp"
#include "kernels/kernels.hpp"

namespace weir::conformance {
namespace {

using Shape = std::uint32_t[3];

std::string shape_text(const Shape& sizes) {
  return std::to_string(sizes[0]) + " x " + std::to_string(sizes[1]) + " x " + std::to_string(sizes[2]);
}
std::uint32_t volume(const Shape& sizes) {
  return sizes[0] * sizes[1] * sizes[2];
}

bool fits(const Kernel& kernel, const Shape& block) {
  for (int i = 0; i < 3; ++i)
    if (block[i] > info().max_block[i]) return false;
  return volume(block) <= max_threads(kernel);
}

/// Runs "shape" with `run`, which submits the launch, and checks that every thread ran once in its place.
void expect_shape(const Kernel& shape, const Shape& grid, const Shape& block,
                  const std::function<void(const Stream&, const weir_launch&)>& run) {
  const std::uint32_t threads = volume(block), all = volume(grid) * threads;
  const Memory out(std::uint64_t{32} * all);
  const Stream stream;
  fill<std::uint32_t>(stream, out, 0, out.size(), 0);
  Arguments values = arguments(out);
  values.pad_to(shape.ready().argument_bytes);
  run(stream, shape.launch_of(values, grid, block));
  stream.synchronize();
  const auto seen = out.values<std::uint32_t>();
  const auto place = [](std::uint32_t n, const Shape& sizes, int i) {
    return i == 0 ? n % sizes[0] : i == 1 ? n / sizes[0] % sizes[1] : n / sizes[0] / sizes[1];
  };
  std::uint32_t packed = 0;
  for (int i = 0; i < 3; ++i) packed |= (grid[i] & 31) << 5 * i | (block[i] & 31) << (15 + 5 * i);
  for (std::uint32_t i = 0; i < all; ++i) {
    const std::uint32_t* const mine = &seen[std::size_t{8} * i];
    const std::uint32_t n = i / threads, t = i % threads;
    ASSERT_EQ(mine[0], 1u) << "a grid of " << shape_text(grid) << " blocks of " << shape_text(block)
                           << " threads was launched; block " << n << ", thread " << t << " ran " << mine[0]
                           << " times. Look first at how kernel_launch passes grid and block";
    for (int k = 0; k < 3; ++k)
      ASSERT_TRUE(mine[1 + k] == place(n, grid, k) && mine[4 + k] == place(t, block, k))
          << "a grid of " << shape_text(grid) << " blocks of " << shape_text(block) << " threads: block " << n
          << ", thread " << t << ", numbered x fastest, has place " << mine[1 + k] << " and " << mine[4 + k]
          << " in dimension " << k << "; expected " << place(n, grid, k) << " and " << place(t, block, k);
    ASSERT_EQ(mine[7], packed) << "the kernel reads other sizes than " << shape_text(grid) << " and "
                               << shape_text(block);
  }
}

void launch_alone(const Stream& stream, const weir_launch& launch) {
  call(table().kernel_launch, weir_stream(stream), &launch);
}
void launch_in_a_graph(const Stream& stream, const weir_launch& launch) {
  weir_graph_node node{};
  node.struct_size = sizeof node;
  node.kind = WEIR_GRAPH_KERNEL;
  node.launch = &launch;
  const weir_graph_node* const nodes[] = {&node};
  Graph graph;
  call(table().graph_create, device(), 1u, static_cast<const weir_graph_node* const*>(nodes), graph.out());
  conformance::launch(graph, stream);
}

constexpr Shape tried_grids[] = {{3, 5, 7}, {7, 3, 5}, {1, 5, 7}, {5, 1, 7}, {5, 7, 1}, {1, 1, 9}, {1, 9, 1}};
constexpr Shape tried_blocks[] = {{2, 4, 6}, {6, 2, 4}, {4, 6, 2}, {1, 4, 6}, {4, 1, 6},
                                  {4, 6, 1}, {1, 1, 8}, {1, 8, 1}, {8, 1, 1}, {1, 1, 1}};

WEIR_REQUIREMENT(3, 50, Shapes, GridsAndBlocksOfThreeDimensions,
                 "Every thread of a grid and block of three different sizes each runs once, in its place.") {
  const Kernel shape("shape");
  for (const Shape& grid : tried_grids)
    for (const Shape& block : tried_blocks)
      if (fits(shape, block)) {
        expect_shape(shape, grid, block, launch_alone);
        if (testing::Test::HasFatalFailure()) return;
      }
}

WEIR_REQUIREMENT(
    5, 22, Graphs, KernelsOfThreeDimensions,
    "Every thread of a graph's kernel with a grid and block of three different sizes runs once.") {
  needs(WEIR_CAP_GRAPHS);
  const Kernel shape("shape");
  for (const Shape& grid : tried_grids) {
    const Shape& block = fits(shape, tried_blocks[0]) ? tried_blocks[0] : tried_blocks[9];
    expect_shape(shape, grid, block, launch_in_a_graph);
    if (testing::Test::HasFatalFailure()) return;
  }
}

WEIR_REQUIREMENT(
    5, 93, GraphUpdates, ChangeShapes,
    "A kernel node that was updated runs with its new grid and block, also if these have as many blocks "
    "and threads in other dimensions, and also if it was updated while a run waited.") {
  needs(WEIR_CAP_GRAPHS);
  const Kernel shape("shape");
  const Shape shapes[][2] = {
      {{2, 3, 4}, {4, 1, 1}}, {{4, 3, 2}, {1, 4, 1}}, {{24, 1, 1}, {2, 1, 2}}, {{1, 5, 1}, {8, 1, 1}}};
  for (const bool pending : {false, true})
    for (std::size_t i = 1; i < std::size(shapes); ++i) {
      const auto& [old_grid, old_block] = shapes[i - 1];
      const auto& [grid, block] = shapes[i];
      if (!fits(shape, old_block) || !fits(shape, block)) continue;
      const Memory other(std::uint64_t{32} * volume(old_grid) * volume(old_block));
      Arguments elsewhere = arguments(other);
      elsewhere.pad_to(shape.ready().argument_bytes);
      const weir_launch old = shape.launch_of(elsewhere, old_grid, old_block);
      expect_shape(shape, grid, block, [&](const Stream& stream, const weir_launch& launched) {
        GraphNodes nodes, changed;
        for (GraphNodes* one : {&nodes, &changed}) one->kernel(shape, elsewhere);
        nodes[0].launch = &old;
        changed[0].launch = &launched;
        const Graph graph = nodes.make();
        run_after_update(graph, changed, stream, pending);
      });
      if (testing::Test::HasFatalFailure()) {
        ADD_FAILURE() << "the kernel is a node that had a grid of " << shape_text(old_grid) << " blocks of "
                      << shape_text(old_block) << " threads before it was updated while "
                      << (pending ? "a run waited" : "the graph was idle")
                      << ". Look first at which parts of a launch graph_update takes over";
        return;
      }
    }
}

WEIR_REQUIREMENT(3, 51, Shapes, BlocksUpToTheLimits,
                 "Blocks of one below a limit and of exactly that limit run: of each dimension, and of all "
                 "threads in one, two and three dimensions.") {
  const Kernel shape("shape");
  const std::uint32_t max_total = max_threads(shape);
  std::vector<std::array<std::uint32_t, 3>> tried;
  for (std::size_t i = 0; i < 3; ++i)
    for (const std::uint32_t size :
         {info().max_block[i], info().max_block[i] - 1, max_total, max_total - 1}) {
      std::array<std::uint32_t, 3> block{1, 1, 1};
      block[i] = size;
      tried.push_back(block);
      if (size == max_total &&
          max_total % 2 == 0) {  // the same number of threads in two and three dimensions
        block[i] = max_total / 2;
        block[(i + 1) % 3] = 2;
        tried.push_back(block);
        if (max_total % 8 == 0) {
          block[i] = max_total / 8;
          block[(i + 2) % 3] = 4;
          tried.push_back(block);
        }
      }
    }
  for (const auto& block : tried) {
    const Shape sizes = {block[0], block[1], block[2]};
    if (volume(sizes) == 0 || !fits(shape, sizes)) continue;
    expect_shape(shape, {2, 1, 1}, sizes, launch_alone);
    if (testing::Test::HasFatalFailure()) return;
  }
}

WEIR_REQUIREMENT(3, 52, Shapes, BlocksOfOneThreadTooManyAreInvalid,
                 "A block of the fewest threads above max_block_threads that its dimensions allow returns "
                 "WEIR_ERROR_INVALID, and nothing runs.") {
  const Kernel tally("tally");
  const std::uint32_t max_total = info().max_block_threads;
  std::vector<std::array<std::uint32_t, 3>> refused;
  for (std::uint32_t a = 2; a <= 64 && a <= max_total; ++a) {
    const std::uint32_t b = max_total / a + 1;  // a * b is just above
    refused.insert(refused.end(), {{a, b, 1}, {b, 1, a}, {1, a, b}});
  }
  const Memory out = Memory::of(std::vector<std::uint64_t>(3));
  const Stream stream;
  Arguments values = arguments(out);
  values.pad_to(tally.ready().argument_bytes);
  int tries = 0;
  for (const auto& block : refused) {
    if (block[0] > info().max_block[0] || block[1] > info().max_block[1] || block[2] > info().max_block[2])
      continue;
    ++tries;
    const weir_launch launch = tally.launch_of(values, {1, 1, 1}, {block[0], block[1], block[2]});
    refusal(WEIR_ERROR_INVALID, table().kernel_launch, weir_stream(stream), &launch);
  }
  stream.synchronize();
  EXPECT_EQ(out.values<std::uint64_t>()[0], 0u) << "a launch that was refused ran";
  if (!tries) throw Skipped("the largest block is within max_block_threads");
}

/// The result of "tally" for a whole grid.
void expect_tally(const Kernel& tally, const Shape& grid) {
  const Memory out = Memory::of(std::vector<std::uint64_t>(3));
  const Stream stream;
  Arguments values = arguments(out);
  values.pad_to(tally.ready().argument_bytes);
  const weir_launch launch = tally.launch_of(values, grid, {1, 1, 1});
  call(table().kernel_launch, weir_stream(stream), &launch);
  stream.synchronize();
  const std::uint64_t count = std::uint64_t{grid[0]} * grid[1] * grid[2];
  const std::uint64_t sum = count % 2 ? (count - 1) / 2 * count : count / 2 * (count - 1);
  const auto seen = out.values<std::uint64_t>();
  EXPECT_TRUE(seen[0] == count && seen[1] == sum)
      << "a grid of " << shape_text(grid) << " was launched: " << seen[0] << " of " << count
      << " blocks ran, and their numbers add up to " << seen[1] << " instead of " << sum;
}

WEIR_REQUIREMENT(3, 53, Shapes, GridsUpToTheLimits,
                 "Grids of one below a limit and of exactly that limit run whole, in each dimension.") {
  const Kernel tally("tally");
  // A run of the CPU's kernels takes any number of blocks in one step; other devices need time for each
  // block.
  const std::uint32_t patient = tally.ready().format == "elf-x86_64" ? ~0u : 1u << 20;
  for (int i = 0; i < 3; ++i)
    for (const std::uint32_t less : {0u, 1u}) {
      Shape grid = {1, 1, 1};
      grid[i] = info().max_grid[i] - less;
      if (grid[i] && grid[i] <= patient) expect_tally(tally, grid);
    }
  expect_tally(tally, {std::min(info().max_grid[0], 1021u), std::min(info().max_grid[1], 31u),
                       std::min(info().max_grid[2], 7u)});
}

WEIR_REQUIREMENT(
    3, 66, Shapes, KernelsWithoutArgumentsAreLaunched,
    "A kernel without parameters is looked up and launched with null for parameters and arguments.") {
  const ReadyKernel& ready = ready_kernel("nothing");
  const weir_code_object object = ready.code_object();
  Module module;
  call(table().module_load, device(), &object, module.out());
  weir_kernel_layout layout{};
  layout.struct_size = sizeof layout;
  weir_kernel kernel = nullptr;
  call(table().module_get_kernel, weir_module(module), ready.symbol.c_str(),
       static_cast<const weir_kernel_layout*>(&layout), &kernel);
  weir_launch launch{};
  launch.struct_size = sizeof launch;
  launch.kernel = kernel;
  for (int i = 0; i < 3; ++i) launch.grid[i] = launch.block[i] = 1;
  const Stream stream;
  call(table().kernel_launch, weir_stream(stream), static_cast<const weir_launch*>(&launch));
  stream.synchronize();
  const std::uint64_t arguments[2] = {};
  launch.arguments = arguments;
  launch.argument_bytes = sizeof arguments;
  refusal(WEIR_ERROR_INVALID, table().kernel_launch, weir_stream(stream),
          static_cast<const weir_launch*>(&launch));
}

WEIR_REQUIREMENT(3, 65, Shapes, GridsAreCountedIn64Bits,
                 "Grids of 2^32 blocks and of a few more run whole.") {
  const Kernel tally("tally");
  if (tally.ready().format != "elf-x86_64") throw Skipped("the device needs time for each block");
  for (const auto& [x, y] : {std::pair{1u << 17, 1u << 15}, std::pair{(1u << 17) + 1, 1u << 15}})
    if (x <= info().max_grid[0] && y <= info().max_grid[1]) expect_tally(tally, {x, y, 1});
}

/// Launches "shared" with one-dimensional grids and checks its result.
void expect_shared(const Kernel& shared, const Stream& stream, std::uint32_t bytes, std::uint32_t blocks) {
  const Memory out = Memory::of(std::vector<std::int64_t>(blocks, -9));
  Arguments values = arguments(out, std::int64_t{bytes});
  values.pad_to(shared.ready().argument_bytes);
  const weir_launch launch = shared.launch_of(values, {blocks, 1, 1}, {1, 1, 1}, bytes);
  call(table().kernel_launch, weir_stream(stream), &launch);
  stream.synchronize();
  const auto right = out.values<std::int64_t>();
  for (std::size_t n = 0; n < right.size(); ++n)
    ASSERT_EQ(right[n], std::int64_t{bytes})
        << "a launch asked for " << bytes << " bytes of dynamic shared memory in each of " << blocks
        << " blocks; block " << n << " read back " << right[n]
        << " of its bytes (-1: it has no memory, -2: it is not aligned to 64 bytes, -3: run.shared_bytes is "
           "another number). Look first at where the memory of a block comes from, and how it grows";
}

WEIR_REQUIREMENT(3, 54, Shapes, DynamicSharedMemoryOfEverySize,
                 "A block has all the dynamic shared memory that its launch asks for, from 0 bytes to the "
                 "device's limit, in sizes that grow and shrink.") {
  const Kernel shared("shared");
  const Stream stream;
  const std::uint32_t max_bytes = max_dynamic_bytes(shared);
  std::vector<std::uint32_t> sizes = {0, 1};
  for (std::uint32_t size = 2; size < max_bytes && size; size *= 2)
    sizes.insert(sizes.end(), {size - 1, size, size + 1});
  sizes.insert(sizes.end(), {max_bytes - 1, max_bytes, 1, 0, max_bytes, 4095, 4097, max_bytes});
  for (const std::uint32_t size : sizes) {
    if (size > max_bytes) continue;
    expect_shared(shared, stream, size, 64);
    if (testing::Test::HasFatalFailure()) return;
  }
}

WEIR_REQUIREMENT(3, 98, Shapes, BlocksThatRunAtOnceHaveTheirOwnSharedMemory,
                 "Blocks of one launch that run at the same time each have dynamic shared memory of their "
                 "own: they write to theirs, wait for one another for a while, and find what they wrote.") {
  const Kernel meeting("shared_meeting");
  const Stream stream;
  const std::int64_t rounds = std::max<std::int64_t>(meeting_rounds(Kernel("meet")) / 20, 1);
  constexpr std::uint32_t blocks = 2;
  for (const std::uint32_t bytes : {8u, 64u, 512u, 2048u, 4096u, max_dynamic_bytes(meeting)}) {
    int met = 0;  // launches whose blocks ran at the same time
    for (int launches = 0; bytes <= max_dynamic_bytes(meeting) && launches < 24 && met < 3; ++launches) {
      const Memory out = Memory::of(std::vector<std::int64_t>(1 + std::size_t{blocks}, 0));
      Arguments values = arguments(out, rounds);
      values.pad_to(meeting.ready().argument_bytes);
      const weir_launch launch = meeting.launch_of(values, {blocks, 1, 1}, {1, 1, 1}, bytes);
      call(table().kernel_launch, weir_stream(stream), &launch);
      stream.synchronize();
      const auto found = out.values<std::int64_t>();
      ASSERT_FALSE(found[1] == -1 && found[2] == -1) << "both blocks waited for the other in vain";
      met += found[1] != -1 && found[2] != -1;
      for (std::uint32_t n = 0; n < blocks; ++n)
        ASSERT_TRUE(found[1 + n] == n || found[1 + n] == -1)
            << "block " << n << " of " << blocks << " found the number " << found[1 + n] << " in its "
            << bytes
            << " bytes of dynamic shared memory, after it had written its own number there and waited for "
               "the other block. driver.h: each block has memory of its own. Look first at where a thread "
               "that runs blocks takes the memory of its block";
    }
    if (met == 0) break;  // the device runs one block after the other
  }
}

WEIR_REQUIREMENT(3, 55, Shapes, DynamicSharedMemoryPastTheLimitIsInvalid,
                 "More shared memory than max_shared_bytes, static and dynamic together, returns "
                 "WEIR_ERROR_INVALID, and nothing runs.") {
  const Kernel shared("shared");
  const Memory out = Memory::of(std::vector<std::int64_t>{-9});
  const Stream stream;
  const std::uint32_t max_bytes = max_dynamic_bytes(shared);
  for (const std::uint32_t bytes : {max_bytes + 1, max_bytes + 64, 2 * max_bytes, ~0u}) {
    if (bytes <= max_bytes) continue;
    Arguments values = arguments(out, std::int64_t{0});
    values.pad_to(shared.ready().argument_bytes);
    const weir_launch launch = shared.launch_of(values, {1, 1, 1}, {1, 1, 1}, bytes);
    refusal(WEIR_ERROR_INVALID, table().kernel_launch, weir_stream(stream), &launch);
  }
  stream.synchronize();
  EXPECT_EQ(out.values<std::int64_t>()[0], -9) << "a launch that was refused ran";
}

WEIR_REQUIREMENT(3, 56, Shapes, ArgumentBlocksOfAnotherSizeAreInvalid,
                 "argument_bytes other than the layout's returns WEIR_ERROR_INVALID, and nothing runs.") {
  const Kernel iota("iota");
  const Memory out = Memory::of(std::vector<std::int64_t>(64, -1));
  const Stream stream;
  Arguments values = arguments(out, std::int64_t{64}, std::int64_t{1});
  const std::uint32_t right = iota.ready().argument_bytes;
  values.pad_to(2 * right + 16);
  for (const std::uint32_t bytes :
       {0u, 8u, right - 16, right - 8, right - 1, right + 1, right + 8, right + 16, 2 * right}) {
    if (bytes == right) continue;
    weir_launch launch = iota.launch_of(values);
    launch.argument_bytes = bytes;
    const std::string message = refusal(WEIR_ERROR_INVALID, table().kernel_launch, weir_stream(stream),
                                        static_cast<const weir_launch*>(&launch));
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << "a launch with " << bytes << " argument bytes of a kernel whose layout has " << right;
      break;
    }
  }
  stream.synchronize();
  EXPECT_EQ(out.values<std::int64_t>(), std::vector<std::int64_t>(64, -1)) << "a launch that was refused ran";
}

/// A kernel that counts its runs in `out`, and those whose arguments are at an address that is no multiple
/// of 16.
Kernel kernel_that_sees_its_arguments() {
  Kernel tally("tally");
  if (tally.ready().format != "elf-x86_64")
    throw Unsupported("only kernels of the format elf-x86_64 see the address of their arguments");
  return tally;
}

/// Calls `submit` with a launch of that kernel for each of many sizes of its block. `submit` returns the
/// number of runs. Returns their sum.
template <class Submit>
std::uint64_t submit_blocks_of_every_size(const Kernel& tally, const Memory& out, const Submit& submit) {
  std::vector<std::uint8_t> block(info().max_argument_bytes);
  const Arguments values = arguments(out);
  std::ranges::copy(values.bytes(), block.begin());
  std::uint64_t runs = 0;
  for (std::uint32_t bytes = 8; bytes <= info().max_argument_bytes; bytes += bytes < 512 ? 8 : 136) {
    weir_kernel_layout layout = tally.layout();
    layout.argument_bytes = bytes;
    weir_launch launch = tally.launch_of(values);
    call(table().module_get_kernel, tally.module(), tally.ready().symbol.c_str(),
         static_cast<const weir_kernel_layout*>(&layout), &launch.kernel);
    launch.argument_bytes = bytes;
    launch.arguments = block.data();
    runs += submit(launch);
  }
  return runs;
}

void expect_aligned(const Memory& out, std::uint64_t runs, const char* copied_by) {
  EXPECT_EQ(out.values<std::uint64_t>()[0], runs);
  EXPECT_EQ(out.values<std::uint64_t>()[2], 0u)
      << "a kernel read its arguments at an address that is no multiple of 16, which <weir/sdk/cpu_kernel.h> "
         "demands, or a run without struct_size. Look first at where "
      << copied_by << " the arguments to";
}

WEIR_REQUIREMENT(3, 57, Shapes, ArgumentBlocksAreAligned,
                 "The argument block that a kernel of the CPU reads is aligned to 16 bytes, for launches of "
                 "every size of block that wait in queues.") {
  const Kernel tally = kernel_that_sees_its_arguments();
  const Memory out = Memory::of(std::vector<std::uint64_t>(3));
  const Stream stream;
  Delay delay(stream);
  const std::uint64_t runs = submit_blocks_of_every_size(tally, out, [&](const weir_launch& launch) {
    call(table().kernel_launch, weir_stream(stream), &launch);
    return 1;
  });
  delay.end();
  stream.synchronize();
  expect_aligned(out, runs, "kernel_launch copies");
}

WEIR_REQUIREMENT(
    5, 99, Graphs, ArgumentBlocksAreAligned,
    "The argument block that a kernel of the CPU reads in a graph is aligned to 16 bytes, in every "
    "size, also after an update.") {
  needs(WEIR_CAP_GRAPHS);
  const Kernel tally = kernel_that_sees_its_arguments();
  const Memory out = Memory::of(std::vector<std::uint64_t>(3));
  const Stream stream;
  const std::uint64_t runs = submit_blocks_of_every_size(tally, out, [&](const weir_launch& launched) {
    weir_graph_node node{};
    node.struct_size = sizeof node;
    node.kind = WEIR_GRAPH_KERNEL;
    node.launch = &launched;
    const weir_graph_node* const nodes[] = {&node};
    Graph graph;
    call(table().graph_create, device(), 1u, static_cast<const weir_graph_node* const*>(nodes), graph.out());
    launch(graph, stream);
    call(table().graph_update, weir_graph(graph), 0u, static_cast<const weir_graph_node*>(&node));
    launch(graph, stream);
    return 2;
  });
  stream.synchronize();
  expect_aligned(out, runs, "graph_create and graph_update copy");
}

WEIR_REQUIREMENT(
    3, 60, Shapes, ArgumentBlocksUpToTheLimit,
    "Argument blocks of max_argument_bytes and of one less are launched; a larger one is refused with "
    "WEIR_ERROR_INVALID, when the kernel is looked up or launched.") {
  const Kernel iota("iota");
  const std::uint32_t max_bytes = info().max_argument_bytes;
  const Memory out = Memory::of(std::vector<std::int64_t>(64, -1));
  const Stream stream;
  Arguments values = arguments(out, std::int64_t{64}, std::int64_t{5});
  values.pad_to(std::size_t{max_bytes} + 64);
  const auto try_size = [&](std::uint32_t bytes, weir_status& status) {
    weir_kernel_layout layout = iota.layout();
    layout.argument_bytes = bytes;
    weir_launch launch = iota.launch_of(values);
    launch.argument_bytes = bytes;
    const weir_result found = table().module_get_kernel(iota.module(), iota.ready().symbol.c_str(), &layout,
                                                        &launch.kernel, &status);
    return found == WEIR_OK ? table().kernel_launch(stream, &launch, &status) : found;
  };
  for (const std::uint32_t bytes : {max_bytes + 1, max_bytes + 64}) {
    weir_status status = new_status();
    EXPECT_EQ(result_name(try_size(bytes, status)), "WEIR_ERROR_INVALID")
        << bytes << " argument bytes; max_argument_bytes is " << max_bytes << ". " << status.message;
    stream.synchronize();
    EXPECT_EQ(out.values<std::int64_t>()[0], -1) << "a launch that was refused ran";
  }
  // Vendors' runtimes refuse blocks that are larger than the parameters of the kernel.
  if (iota.ready().format != "elf-x86_64") return;
  for (const std::uint32_t bytes : {max_bytes - 1, max_bytes}) {
    fill<std::int64_t>(stream, out, 0, 8 * 64, -1);
    weir_status status = new_status();
    EXPECT_EQ(result_name(try_size(bytes, status)), "WEIR_OK")
        << bytes << " argument bytes; max_argument_bytes is " << max_bytes << ". " << status.message;
    stream.synchronize();
    EXPECT_EQ(out.values<std::int64_t>()[63], 68);
  }
}

WEIR_REQUIREMENT(
    3, 17, Modules, UnknownTargetIsRefused,
    "A code object of a known format for a target that the device does not run returns "
    "WEIR_ERROR_CODE_OBJECT, and the message names format and target, and a target that it runs.") {
  const ReadyKernel& ready = ready_kernel("iota");
  if (ready.target.empty()) throw Skipped("targets of the format " + ready.format + " have no names");
  std::vector<std::string> targets{"no-such-target", "z9999"};
  for (std::uint32_t i = 0; i < info().code_target_count; ++i) {
    const std::string listed = info().code_targets[i].target;
    if (ready.format == info().code_targets[i].format && !listed.empty())
      targets.insert(targets.end(), {listed + "-v9", listed + "9", listed.substr(0, 1)});
  }
  for (const std::string& target : targets) {
    weir_code_object object = ready.code_object();
    object.target = target.c_str();
    weir_module out = nullptr;
    const std::string message = refusal(WEIR_ERROR_CODE_OBJECT, table().module_load, device(),
                                        static_cast<const weir_code_object*>(&object), &out);
    const auto names = [&](const std::string& word) { return message.find(word) != std::string::npos; };
    EXPECT_TRUE(names(target)) << "the message does not name the given target: " << message;
    EXPECT_TRUE(names(ready.format)) << "the message does not name the given format: " << message;
    // The given target may begin with a listed one, and either may be named first.
    std::string others = message;
    for (std::size_t at; target.size() > 1 && (at = others.find(target)) != std::string::npos;)
      others.replace(at, target.size(), "?");
    bool names_a_supported_one = false;
    for (std::uint32_t i = 0; i < info().code_target_count; ++i) {
      const std::string listed = info().code_targets[i].target;
      names_a_supported_one |= !listed.empty() && others.find(listed) != std::string::npos;
    }
    EXPECT_TRUE(names_a_supported_one)
        << "beside the given target the message names none that device_get_info lists; driver.h: it names "
           "the given format and target and the supported ones: "
        << message;
  }
}

}  // namespace
}  // namespace weir::conformance
