// SPDX-License-Identifier: Apache-2.0
// Planted races between streams, and their absence, through the driver ABI only.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "support/layered_driver.hpp"

namespace weir::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct AddValueBlock {  // the arguments of add_value, followed by the size that its annotation names
  std::uint64_t data;
  std::int64_t count;
  std::int32_t value, padding[3];
  std::uint64_t bytes;
};
constexpr weir_parameter parameters[] = {
    {0, 8, WEIR_PARAMETER_BUFFER}, {8, 8, WEIR_PARAMETER_VALUE}, {16, 4, WEIR_PARAMETER_VALUE}};
constexpr weir_kernel_layout layout{sizeof(weir_kernel_layout), 32, 3, parameters};

class Races : public ::testing::Test {
 protected:
  static constexpr std::uint64_t size = 4096;

  static Layered& layered() {
    static Layered instance("validate", "");
    return instance;
  }
  Layered& layer = layered();
  const weir_driver_table& t = layer.table();
  Objects objects{t};
  weir_stream first = objects.stream(), second = objects.stream();
  weir_allocation memory = objects.memory(size);
  std::uint64_t address = objects.address(memory);
  weir_module module = objects.module();

  void SetUp() override {
    Objects::check(layer.configure(""), "configure");  // clears the reports of earlier races
    layer.take();
  }

  weir_kernel kernel(const char* name, std::uint32_t access, const char* source, std::uint64_t bytes = 0) {
    const void* found = nullptr;
    Objects::check(t.get_extension(WEIR_ANNOTATE_EXTENSION, WEIR_ANNOTATE_VERSION, &found, nullptr),
                   "get_extension");
    const weir_touched touched{0, access, 0, bytes, "field"};
    const weir_kernel_annotation annotation{sizeof annotation, 1, &touched, name, source};
    weir_kernel out = nullptr;
    Objects::check(static_cast<const weir_annotate_table*>(found)->get_kernel(module, name, &layout,
                                                                              &annotation, &out, nullptr),
                   "get_kernel");
    return out;
  }
  void launch(weir_stream stream, weir_kernel kernel, std::uint64_t offset = 0, std::uint64_t bytes = size) {
    const AddValueBlock arguments{address + offset, 0, 1, {}, bytes};
    const weir_launch launch{sizeof launch, {1, 1, 1}, {1, 1, 1}, 0, 40, kernel, &arguments, 0, 0};
    Answer answer;
    ASSERT_EQ(t.kernel_launch(stream, &launch, &answer), WEIR_OK) << answer.message;
  }
  void fill(weir_stream stream, std::uint64_t at = 0, std::uint64_t bytes = size) {
    const std::uint32_t zero = 0;
    ASSERT_EQ(t.fill(stream, memory, at, bytes, &zero, 4, nullptr), WEIR_OK);
  }
  void order(weir_stream before, weir_stream after) {
    const weir_event event = objects.event();
    ASSERT_EQ(t.event_record(event, before, nullptr), WEIR_OK);
    ASSERT_EQ(t.stream_wait_event(after, event, nullptr), WEIR_OK);
  }
  void expect_race(const ::testing::Matcher<std::string>& words) {
    const std::vector<Report> reports = layer.take();
    ASSERT_EQ(reports.size(), 1u);
    EXPECT_EQ(reports[0].rule, "race");
    EXPECT_THAT(reports[0].message, words);
  }
  void expect_none() {
    for (const Report& report : layer.take()) ADD_FAILURE() << report.message;
  }
};

// proves R8, R35
TEST_F(Races, AMissingWaitIsReportedWithBothKernelsTheArrayAndTheLines) {
  const weir_kernel writer = kernel("add_value", WEIR_ACCESS_READ | WEIR_ACCESS_WRITE, "model.cpp:10");
  const weir_kernel reader = kernel("multiply", WEIR_ACCESS_READ, "view.cpp:20");
  launch(first, writer);
  launch(second, reader);
  expect_race(AllOf(HasSubstr("kernel 'multiply' (view.cpp:20) on stream "), HasSubstr("reads 'field'"),
                    HasSubstr("kernel 'add_value' (model.cpp:10) on stream "), HasSubstr("reads and writes"),
                    HasSubstr("let stream"), HasSubstr("bytes 0 to 4096")));
}

TEST_F(Races, AWaitOrdersThem) {
  const weir_kernel writer = kernel("add_value", WEIR_ACCESS_WRITE, "model.cpp:10");
  launch(first, writer);
  order(first, second);
  launch(second, writer);
  expect_none();
}

TEST_F(Races, AWaitOrdersOnlyWorkBeforeTheRecord) {
  const weir_kernel writer = kernel("add_value", WEIR_ACCESS_WRITE, "model.cpp:10");
  const weir_event event = objects.event();
  ASSERT_EQ(t.event_record(event, first, nullptr), WEIR_OK);
  launch(first, writer);
  ASSERT_EQ(t.stream_wait_event(second, event, nullptr), WEIR_OK);
  launch(second, writer);
  expect_race(HasSubstr("writes"));
}

TEST_F(Races, AnEventThatIsRecordedAgainCoversTheLaterWork) {
  const weir_kernel writer = kernel("add_value", WEIR_ACCESS_WRITE, "model.cpp:10");
  const weir_event event = objects.event();
  ASSERT_EQ(t.event_record(event, first, nullptr), WEIR_OK);
  launch(first, writer);
  ASSERT_EQ(t.event_record(event, first, nullptr), WEIR_OK);
  ASSERT_EQ(t.stream_wait_event(second, event, nullptr), WEIR_OK);
  launch(second, writer);
  expect_none();
}

TEST_F(Races, OrderIsHandedOnThroughThirdStreams) {
  const weir_stream third = objects.stream();
  fill(first);
  order(first, third);
  order(third, second);
  fill(second);
  expect_none();
}

TEST_F(Races, WaitingOnTheHostOrders) {
  fill(first);
  ASSERT_EQ(t.stream_synchronize(first, nullptr), WEIR_OK);
  fill(second);
  const weir_event event = objects.event();
  ASSERT_EQ(t.event_record(event, second, nullptr), WEIR_OK);
  ASSERT_EQ(t.event_synchronize(event, nullptr), WEIR_OK);
  fill(first);
  while (t.stream_query(first, nullptr) == WEIR_NOT_READY) {
  }
  fill(second);
  expect_none();
}

TEST_F(Races, ACallbackOrdersLaterWorkOfTheHost) {
  fill(first);
  std::atomic<bool> reached{false};
  ASSERT_EQ(
      t.stream_host_callback(
          first, [](void* user) { static_cast<std::atomic<bool>*>(user)->store(true); }, &reached, nullptr),
      WEIR_OK);
  ASSERT_EQ(t.stream_flush(first, nullptr), WEIR_OK);
  while (!reached) {
  }
  fill(second);
  expect_none();
}

TEST_F(Races, ReadersDoNotRaceAndAWriterMustWaitForAll) {
  static char bytes[2][size];  // copies may still be in flight when the test ends
  ASSERT_EQ(t.copy_to_host(first, bytes[0], memory, 0, size, nullptr), WEIR_OK);
  ASSERT_EQ(t.copy_to_host(second, bytes[1], memory, 0, size, nullptr), WEIR_OK);
  expect_none();
  const weir_stream third = objects.stream();
  order(first, third);
  fill(third);
  expect_race(AllOf(HasSubstr("fill on stream"), HasSubstr("copy_to_host on stream")));
}

TEST_F(Races, PartsThatDoNotOverlapDoNotRace) {
  const weir_kernel writer = kernel("add_value", WEIR_ACCESS_WRITE, "model.cpp:10");
  launch(first, writer, 0, size / 2);
  launch(second, writer, size / 2, size / 2);
  fill(second, size / 2, 64);
  expect_none();
}

TEST_F(Races, PartsThatLaunchesStateByOffsetAndSizeDoNotRaceUnlessTheyOverlap) {
  const weir_kernel writer = kernel("add_value", WEIR_ACCESS_WRITE, "model.cpp:10", WEIR_TOUCHED_RANGE);
  const auto launch_range = [&](weir_stream stream, std::uint64_t offset, std::uint64_t bytes) {
    struct {
      AddValueBlock block;
      std::uint64_t bytes;
    } const arguments{{address, 0, 1, {}, offset}, bytes};
    const weir_launch launch{sizeof launch, {1, 1, 1}, {1, 1, 1}, 0, 48, writer, &arguments, 0, 0};
    Answer answer;
    return t.kernel_launch(stream, &launch, &answer);
  };
  EXPECT_EQ(launch_range(first, 64, 512), WEIR_OK);
  EXPECT_EQ(launch_range(second, 576, 64), WEIR_OK);
  EXPECT_EQ(launch_range(second, 128, 0), WEIR_OK);
  fill(second, 0, 64);
  expect_none();
  EXPECT_EQ(launch_range(second, 512, 65), WEIR_OK);
  expect_race(HasSubstr("bytes 512 to 576"));
  EXPECT_EQ(launch_range(second, size, 1), WEIR_ERROR_INVALID);
}

TEST_F(Races, PartsThatLaunchesStateByAWindowDoNotRaceUnlessTheWindowsOverlap) {
  const weir_kernel writer = kernel("add_value", WEIR_ACCESS_WRITE, "model.cpp:10", WEIR_TOUCHED_WINDOW);
  const auto launch_window = [&](weir_stream stream, std::uint64_t offset, std::uint64_t bytes,
                                 std::uint64_t pitch, std::uint64_t first, std::uint64_t width) {
    struct {
      AddValueBlock block;
      std::uint64_t bytes, pitch, first, width;
    } const arguments{{address + 64, 0, 1, {}, offset}, bytes, pitch, first, width};
    const weir_launch launch{sizeof launch, {1, 1, 1}, {1, 1, 1}, 0, 72, writer, &arguments, 0, 0};
    Answer answer;
    return t.kernel_launch(stream, &launch, &answer);
  };
  // Rows of 256 bytes, from byte 64 of the allocation on: bytes 100 to 200 of rows 0 to 3.
  EXPECT_EQ(launch_window(first, 0, 1024, 256, 100, 100), WEIR_OK);
  EXPECT_EQ(launch_window(second, 0, 1024, 256, 0, 100), WEIR_OK);
  EXPECT_EQ(launch_window(second, 256, 512, 256, 200, 56), WEIR_OK);
  EXPECT_EQ(launch_window(second, 1024, 256, 256, 100, 100), WEIR_OK) << "another row";
  EXPECT_EQ(launch_window(second, 0, 1024, 256, 100, 0), WEIR_OK) << "nothing";
  fill(second, 64 + 256 + 200, 156);  // to byte 100 of the next row
  expect_none();
  EXPECT_EQ(launch_window(second, 768, 256, 256, 196, 8), WEIR_OK);
  expect_race(HasSubstr("bytes 832 to 1088"));
  fill(second, 64 + 256 + 196, 8);
  expect_race(HasSubstr("fill on stream"));
  const weir_kernel other = kernel("multiply", WEIR_ACCESS_WRITE, "model.cpp:11");
  launch(second, other);
  expect_race(HasSubstr("kernel 'multiply'"));
  Objects::check(layer.configure(""), "configure");  // a race of the same kernels is reported once
  EXPECT_EQ(launch_window(second, 0, 1024, 128, 120, 8), WEIR_OK) << "rows of another length";
  expect_race(HasSubstr("kernel 'add_value'"));
  EXPECT_EQ(launch_window(second, 0, 1024, 256, 200, 57), WEIR_ERROR_INVALID);
  EXPECT_EQ(launch_window(second, size, 1, 256, 0, 1), WEIR_ERROR_INVALID);
}

TEST_F(Races, AnOrderedWriteOfOtherColumnsHidesNoEarlierWrite) {
  const weir_kernel writer = kernel("add_value", WEIR_ACCESS_WRITE, "model.cpp:10", WEIR_TOUCHED_WINDOW);
  const auto columns = [&](weir_stream stream, std::uint64_t from, std::uint64_t width) {
    struct {
      AddValueBlock block;
      std::uint64_t bytes, pitch, first, width;
    } const arguments{{address, 0, 1, {}, 0}, 1024, 256, from, width};
    const weir_launch launch{sizeof launch, {1, 1, 1}, {1, 1, 1}, 0, 72, writer, &arguments, 0, 0};
    Answer answer;
    ASSERT_EQ(t.kernel_launch(stream, &launch, &answer), WEIR_OK) << answer.message;
  };
  columns(first, 0, 64);
  columns(first, 64, 64);
  columns(second, 0, 8);
  expect_race(HasSubstr("bytes 0 to 1024"));
}

TEST_F(Races, SharedUpdatesDoNotRaceWithOneAnother) {
  const weir_kernel atomics = kernel("add_value", WEIR_ACCESS_SHARED, "model.cpp:10");
  launch(first, atomics);
  launch(second, atomics);
  expect_none();
  fill(second);
  expect_race(HasSubstr("updates"));
}

TEST_F(Races, TheHostsMemoryOfCopiesIsWatchedToo) {
  static char bytes[size];
  const weir_allocation other = objects.memory(size);
  ASSERT_EQ(t.copy_to_host(first, bytes, memory, 0, size, nullptr), WEIR_OK);
  ASSERT_EQ(t.copy_to_device(second, other, 0, bytes, size, nullptr), WEIR_OK);
  expect_race(HasSubstr("host memory at 0x"));
}

// Kernels without access information are not assumed to race, unless `races=all` is set.
TEST_F(Races, OfKernelsWithoutAccessInformationAreReportedOnRequest) {
  const weir_kernel one = kernel("add_value", WEIR_ACCESS_UNKNOWN, "");
  launch(first, one);
  launch(second, one);
  expect_none();
  Objects::check(layer.configure("races=all"), "configure");
  launch(first, one);
  expect_race(HasSubstr("possible race: kernel 'add_value'"));
}

TEST_F(Races, OfAKernelWithoutAccessInformationWithAFillAreCertain) {
  fill(first);
  launch(second, kernel("add_value", WEIR_ACCESS_UNKNOWN, ""));
  expect_race(AllOf(HasSubstr("takes 'field'"), HasSubstr("fill")));
}

TEST_F(Races, ThatAreIntendedCanBeExcluded) {
  Objects::check(layer.configure("ignore=add_value"), "configure");
  const weir_kernel writer = kernel("add_value", WEIR_ACCESS_WRITE, "model.cpp:10");
  launch(first, writer);
  launch(second, writer);
  expect_none();
}

TEST_F(Races, MemoryIsNotUsedBeforeItsAllocationInAnotherStreamsOrder) {
  const weir_memory_options options{sizeof options, WEIR_MEMORY_DEVICE, 64, 0};
  weir_allocation made = nullptr;
  ASSERT_EQ(t.memory_allocate_async(first, &options, &made, nullptr), WEIR_OK);
  const std::uint32_t zero = 0;
  ASSERT_EQ(t.fill(second, made, 0, 64, &zero, 4, nullptr), WEIR_OK);
  expect_race(AllOf(HasSubstr("fill on stream"), HasSubstr("before its allocation on stream")));
  order(second, first);
  ASSERT_EQ(t.memory_free_async(first, made, nullptr), WEIR_OK);
  expect_none();
}

TEST_F(Races, MemoryIsNotFreedInOneStreamsOrderWhileAnotherUsesIt) {
  const weir_memory_options options{sizeof options, WEIR_MEMORY_DEVICE, 64, 0};
  weir_allocation made = nullptr;
  ASSERT_EQ(t.memory_allocate_async(first, &options, &made, nullptr), WEIR_OK);
  order(first, second);
  const std::uint32_t zero = 0;
  ASSERT_EQ(t.fill(second, made, 0, 64, &zero, 4, nullptr), WEIR_OK);
  const timespec moment{0, 50'000'000};
  nanosleep(&moment, nullptr);  // so that the race is harmless
  ASSERT_EQ(t.memory_free_async(first, made, nullptr), WEIR_OK);
  expect_race(AllOf(HasSubstr("memory_free_async on stream"), HasSubstr("fill on stream")));
}

// Work of a destroyed stream is still checked.
TEST_F(Races, OutliveTheirStreams) {
  fill(first);
  const weir_event filled = objects.event();
  ASSERT_EQ(t.event_record(filled, first, nullptr), WEIR_OK);
  ASSERT_EQ(t.stream_destroy(first, nullptr), WEIR_OK);
  objects.forget(first);
  fill(objects.stream());
  expect_race(HasSubstr("fill"));
  ASSERT_EQ(t.event_synchronize(filled, nullptr), WEIR_OK);  // before the memory is freed
}

class GraphRaces : public Races {
 protected:
  std::uint32_t zero = 0;
  weir_graph_node fill_node() {
    weir_graph_node node{};
    node.struct_size = sizeof node;
    node.kind = WEIR_GRAPH_FILL;
    node.destination = memory;
    node.size = size;
    node.pattern = &zero;
    node.pattern_size = 4;
    return node;
  }
  weir_graph graph_of(std::initializer_list<const weir_graph_node*> nodes) {
    weir_graph out = nullptr;
    Objects::check(t.graph_create(objects.device, static_cast<std::uint32_t>(nodes.size()), nodes.begin(),
                                  &out, nullptr),
                   "graph_create");
    objects.keep(out);
    return out;
  }
};

TEST_F(GraphRaces, NodesThatDoNotDependOnOneAnother) {
  const weir_graph_node one = fill_node(), two = fill_node();
  graph_of({&one, &two});
  expect_race(AllOf(HasSubstr("nodes 0 and 1 of graph"), HasSubstr("neither depends on the other")));
}

TEST_F(GraphRaces, DependenciesOrderThroughOtherNodes) {
  const std::uint32_t on_first[] = {0}, on_second[] = {1};
  const weir_graph_node one = fill_node();
  weir_graph_node between{};
  between.struct_size = sizeof between;
  between.dependency_count = 1;
  between.dependencies = on_first;
  weir_graph_node last = fill_node();
  last.dependency_count = 1;
  last.dependencies = on_second;
  graph_of({&one, &between, &last});
  expect_none();
}

TEST_F(GraphRaces, AGraphRacesAsAWholeWithOtherStreams) {
  const weir_graph_node one = fill_node();
  const weir_graph graph = graph_of({&one});
  fill(first);
  ASSERT_EQ(t.graph_launch(graph, second, nullptr), WEIR_OK);
  expect_race(HasSubstr("fill on stream"));
}

TEST_F(GraphRaces, RunsOfOneGraphNeverOverlap) {
  const weir_graph_node one = fill_node();
  const weir_graph graph = graph_of({&one});
  ASSERT_EQ(t.graph_launch(graph, first, nullptr), WEIR_OK);
  ASSERT_EQ(t.graph_launch(graph, second, nullptr), WEIR_OK);
  expect_none();
}

}  // namespace
}  // namespace weir::test
