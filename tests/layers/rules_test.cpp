// SPDX-License-Identifier: Apache-2.0
// The validate layer's rules, each with a planted mistake, through the driver ABI only.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "support/layered_driver.hpp"

namespace weir::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Rules : public ::testing::Test {
 protected:
  static Layered& layered() {
    static Layered instance("validate", "");
    return instance;
  }
  Layered& layer = layered();
  const weir_driver_table& t = layer.table();

  void SetUp() override { layer.take(); }

  /// Expects exactly one report since the last call, and that the refused call returned its message.
  void expect(weir_result result, const Answer& answer, const char* rule,
              const ::testing::Matcher<std::string>& words) {
    EXPECT_EQ(result, WEIR_ERROR_INVALID);
    EXPECT_THAT(std::string(answer.message), words);
    expect_report(rule, words);
  }
  void expect_report(const char* rule, const ::testing::Matcher<std::string>& words) {
    const std::vector<Report> reports = layer.take();
    ASSERT_EQ(reports.size(), 1u) << (reports.empty() ? "nothing was reported" : reports[1].message);
    EXPECT_EQ(reports[0].rule, rule);
    EXPECT_THAT(reports[0].message, words);
  }
};

// proves R35
TEST_F(Rules, ACorrectProgramIsNotReported) {
  {
    Objects objects(t);
    const weir_stream stream = objects.stream();
    const weir_allocation memory = objects.memory(64);
    const std::uint32_t zero = 0;
    EXPECT_EQ(t.fill(stream, memory, 0, 64, &zero, 4, nullptr), WEIR_OK);
    EXPECT_EQ(t.stream_synchronize(stream, nullptr), WEIR_OK);
  }
  EXPECT_TRUE(layer.take().empty());
  EXPECT_EQ(layer.number("live.device"), 0u);
  EXPECT_EQ(layer.number("live.stream"), 0u);
  EXPECT_EQ(layer.number("live.allocation"), 0u);
}

// proves R35
TEST_F(Rules, ANullHandleIsNamed) {
  Answer answer;
  const weir_result result = t.stream_synchronize(nullptr, &answer);
  expect(result, answer, "null", AllOf(HasSubstr("stream_synchronize"), HasSubstr("stream is null")));
}

// proves R35
TEST_F(Rules, ANullOutputIsNamed) {
  Objects objects(t);
  Answer answer;
  const weir_result result = t.stream_create(objects.device, nullptr, nullptr, &answer);
  expect(result, answer, "null", HasSubstr("out_stream is null"));
}

// proves R35
TEST_F(Rules, AHandleOfUnknownOriginIsForeign) {
  Answer answer;
  int nothing = 0;
  const weir_result result = t.stream_flush(reinterpret_cast<weir_stream>(&nothing), &answer);
  expect(result, answer, "foreign",
         HasSubstr("which is no handle of this driver; expected a stream of driver cpu"));
}

// proves R35
TEST_F(Rules, AHandleOfAnotherDriverIsForeign) {
  static Layered other("validate", "");
  Objects objects(other.table());
  const weir_stream stream = objects.stream();
  Answer answer;
  const weir_result result = t.stream_flush(stream, &answer);
  expect(result, answer, "foreign", HasSubstr("stream is a stream of another driver"));
}

// proves R35
TEST_F(Rules, AHandleOfAnotherKindIsNamed) {
  Objects objects(t);
  const weir_event event = objects.event();
  Answer answer;
  const weir_result result = t.stream_flush(reinterpret_cast<weir_stream>(event), &answer);
  expect(result, answer, "kind",
         AllOf(HasSubstr("stream is event "), HasSubstr("of cpu:0"), HasSubstr("expected a stream")));
}

// The address may already belong to another object; the handle is still invalid.
// proves R35
TEST_F(Rules, AnObjectThatWasDestroyedIsDead) {
  Objects objects(t);
  const weir_event event = objects.event();
  EXPECT_EQ(t.event_destroy(event, nullptr), WEIR_OK);
  objects.forget(event);
  const weir_event next = objects.event();
  EXPECT_NE(event, next);
  Answer answer;
  const weir_result result = t.event_query(event, &answer);
  expect(result, answer, "dead",
         AllOf(HasSubstr("event is dead: it was event "), HasSubstr("which event_destroy ended")));
}

// proves R35
TEST_F(Rules, DestroyingTwiceIsNamed) {
  Objects objects(t);
  const weir_stream stream = objects.stream();
  EXPECT_EQ(t.stream_destroy(stream, nullptr), WEIR_OK);
  objects.forget(stream);
  Answer answer;
  const weir_result result = t.stream_destroy(stream, &answer);
  expect(result, answer, "dead", HasSubstr("which stream_destroy ended"));
}

// proves R35
TEST_F(Rules, ARangeOutsideItsAllocationIsRefused) {
  Objects objects(t);
  const weir_stream stream = objects.stream();
  const weir_allocation memory = objects.memory(64);
  char bytes[65] = {};
  Answer answer;
  weir_result result = t.copy_to_device(stream, memory, 32, bytes, 33, &answer);
  expect(result, answer, "argument",
         AllOf(HasSubstr("33 bytes at offset 32 are not inside allocation "), HasSubstr("(64 bytes)")));
  result = t.copy_to_host(stream, bytes, memory, ~std::uint64_t{0}, 2, &answer);
  expect(result, answer, "argument", HasSubstr("source: 2 bytes at offset 18446744073709551615"));
  result = t.copy_on_device(stream, memory, 0, memory, 8, 16, &answer);
  expect(result, answer, "argument", HasSubstr("overlap"));
  result = t.fill(stream, memory, 0, 62, bytes, 4, &answer);
  expect(result, answer, "argument", HasSubstr("not multiples of pattern_size 4"));
  result = t.fill(stream, memory, 0, 60, bytes, 3, &answer);
  expect(result, answer, "argument", HasSubstr("pattern_size is 3; expected 1, 2, 4, 8 or 16"));
}

// proves R35
TEST_F(Rules, MemoryOptionsAreChecked) {
  Objects objects(t);
  weir_memory_options options{sizeof options, WEIR_MEMORY_DEVICE, 0, 0};
  weir_allocation out = nullptr;
  Answer answer;
  weir_result result = t.memory_allocate(objects.device, &options, &out, &answer);
  expect(result, answer, "argument", HasSubstr("options.size is 0"));
  options.size = 8, options.alignment = 48;
  result = t.memory_allocate(objects.device, &options, &out, &answer);
  expect(result, answer, "argument", HasSubstr("options.alignment is 48; expected 0 or a power of two"));
}

/// Waits for a few bytes of work without a call of the driver.
void cpu_wait() {
  const timespec moment{0, 50'000'000};
  nanosleep(&moment, nullptr);
}

struct AddValueArguments {
  std::uint64_t data;
  std::int64_t count;
  std::int32_t value;
};
constexpr weir_parameter add_parameters[] = {
    {0, 8, WEIR_PARAMETER_BUFFER}, {8, 8, WEIR_PARAMETER_VALUE}, {16, 4, WEIR_PARAMETER_VALUE}};
constexpr weir_kernel_layout add_layout{sizeof(weir_kernel_layout), 32, 3, add_parameters};

weir_launch launch_of(weir_kernel kernel, const void* arguments, std::uint32_t bytes) {
  return {sizeof(weir_launch), {1, 1, 1}, {1, 1, 1}, 0, bytes, kernel, arguments, 0, 0};
}

// proves R35
TEST_F(Rules, LaunchesAreChecked) {
  Objects objects(t);
  const weir_stream stream = objects.stream();
  weir_kernel kernel = nullptr;
  ASSERT_EQ(t.module_get_kernel(objects.module(), "add_value", &add_layout, &kernel, nullptr), WEIR_OK);
  alignas(16) std::byte block[32] = {};
  weir_launch launch = launch_of(kernel, block, 32);
  launch.grid[1] = 0;
  Answer answer;
  weir_result result = t.kernel_launch(stream, &launch, &answer);
  expect(result, answer, "argument",
         AllOf(HasSubstr("kernel 'add_value'"), HasSubstr("grid 1 x 0 x 1"), HasSubstr("at least 1")));
  launch = launch_of(kernel, block, 16);
  result = t.kernel_launch(stream, &launch, &answer);
  expect(result, answer, "argument", HasSubstr("argument_bytes is 16; expected 32"));
  launch = launch_of(kernel, nullptr, 32);
  result = t.kernel_launch(stream, &launch, &answer);
  expect(result, answer, "null", HasSubstr("arguments is null; expected 32 bytes"));
}

/// The CPU driver with kernels that take arrays as weir_buffer_argument; launches are counted and not run.
int launches_that_bind = 0;
const weir_driver_table& table_that_binds() {
  static const weir_driver_table table = [] {
    weir_driver_table made = cpu_table();
    made.module_get_kernel = [](weir_module, const char*, const weir_kernel_layout*, weir_kernel* out,
                                weir_status*) {
      *out = reinterpret_cast<weir_kernel>(&launches_that_bind);
      return weir_result{WEIR_OK};
    };
    made.kernel_launch = [](weir_stream, const weir_launch*, weir_status*) {
      ++launches_that_bind;
      return weir_result{WEIR_OK};
    };
    return made;
  }();
  return table;
}

// proves R35
TEST(RulesOfBuffers, ANullAllocationIsNamedAndNotLaunched) {
  Layered layer("validate", "", table_that_binds());
  Objects objects(layer.table());
  const weir_stream stream = objects.stream();
  constexpr weir_parameter parameters[] = {{0, 16, WEIR_PARAMETER_BUFFER}};
  const weir_kernel_layout layout{sizeof layout, 16, 1, parameters};
  weir_kernel kernel = nullptr;
  ASSERT_EQ(objects.t.module_get_kernel(objects.module(), "k", &layout, &kernel, nullptr), WEIR_OK);
  weir_buffer_argument array{objects.memory(64), 64};
  const weir_launch launch = launch_of(kernel, &array, sizeof array);
  launches_that_bind = 0;
  EXPECT_EQ(objects.t.kernel_launch(stream, &launch, nullptr), WEIR_OK);
  EXPECT_TRUE(layer.take().empty());
  array.allocation = nullptr;
  Answer answer;
  EXPECT_EQ(objects.t.kernel_launch(stream, &launch, &answer), WEIR_ERROR_INVALID);
  EXPECT_THAT(answer.message, HasSubstr("argument 1 of kernel 'k'"));
  const std::vector<Report> reports = layer.take();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].rule, "null");
  EXPECT_EQ(launches_that_bind, 1);
}

// proves R35
TEST_F(Rules, AnAddressInFreedMemoryIsFound) {
  Objects objects(t);
  const weir_stream stream = objects.stream();
  weir_kernel kernel = nullptr;
  ASSERT_EQ(t.module_get_kernel(objects.module(), "add_value", &add_layout, &kernel, nullptr), WEIR_OK);
  const weir_allocation memory = objects.memory(4096);
  alignas(16) std::byte block[32] = {};
  const AddValueArguments arguments{objects.address(memory) + 64, 1, 1};
  std::memcpy(block, &arguments, sizeof arguments);
  EXPECT_EQ(t.memory_free(memory, nullptr), WEIR_OK);
  objects.forget(memory);
  const weir_launch launch = launch_of(kernel, block, 32);
  Answer answer;
  const weir_result result = t.kernel_launch(stream, &launch, &answer);
  expect(result, answer, "dead",
         AllOf(HasSubstr("argument 1 is the address"), HasSubstr("which belonged to allocation "),
               HasSubstr("which memory_free ended")));
}

// proves R35
TEST_F(Rules, CodeToCompileNeedsBytesAndAReceiver) {
  Objects objects(t);
  Answer answer;
  const char bytes[] = "code";
  const weir_code_receiver receive = [](void*, const weir_code_object*) {};
  weir_code_object object{sizeof object, "elf-x86_64", "", bytes, 0, "k"};
  weir_result result = t.code_compile(objects.device, nullptr, receive, nullptr, &answer);
  expect(result, answer, "null", HasSubstr("object is null"));
  result = t.code_compile(objects.device, &object, receive, nullptr, &answer);
  expect(result, answer, "argument", HasSubstr("object has 0 bytes"));
  object.size = sizeof bytes;
  result = t.code_compile(objects.device, &object, nullptr, nullptr, &answer);
  expect(result, answer, "null", HasSubstr("receive is null"));
  EXPECT_EQ(t.code_compile(objects.device, &object, receive, nullptr, nullptr), WEIR_ERROR_UNSUPPORTED);
}

// proves R35
TEST_F(Rules, ExternalMemoryIsChecked) {
  Objects objects(t);
  weir_allocation out = nullptr;
  Answer answer;
  weir_result result = t.memory_wrap(objects.device, nullptr, &out, &answer);
  expect(result, answer, "null", HasSubstr("memory is null"));
  weir_external_memory memory{sizeof memory, 7, 4096, 64};
  result = t.memory_wrap(objects.device, &memory, &out, &answer);
  expect(result, answer, "argument", HasSubstr("memory.kind is 7"));
  for (const auto& [address, size] :
       {std::pair(0ull, 64ull), std::pair(4096ull, 0ull), std::pair(4096ull, ~0ull)}) {
    memory = {sizeof memory, WEIR_EXTERNAL_DEVICE, address, size};
    result = t.memory_wrap(objects.device, &memory, &out, &answer);
    expect(result, answer, "argument", HasSubstr("an address other than 0"));
  }
}

// proves R35
TEST_F(Rules, ExternalMemoryIsKnownUntilItIsFreed) {
  alignas(64) static std::int32_t values[64] = {};
  Objects objects(t);
  const weir_stream stream = objects.stream();
  weir_kernel kernel = nullptr;
  ASSERT_EQ(t.module_get_kernel(objects.module(), "add_value", &add_layout, &kernel, nullptr), WEIR_OK);
  const auto wrap = [&](const std::int32_t* begin, std::uint64_t size) {
    const weir_external_memory memory{sizeof memory, WEIR_EXTERNAL_HOST,
                                      reinterpret_cast<std::uint64_t>(begin), size};
    weir_allocation out = nullptr;
    EXPECT_EQ(t.memory_wrap(objects.device, &memory, &out, nullptr), WEIR_OK);
    EXPECT_EQ(objects.address(out), memory.address);
    return out;
  };
  // The second is inside the first.
  const weir_allocation whole = wrap(values, sizeof values), part = wrap(values + 16, 64);
  alignas(16) std::byte block[32] = {};
  const AddValueArguments arguments{reinterpret_cast<std::uint64_t>(values + 40), 1, 1};
  std::memcpy(block, &arguments, sizeof arguments);
  const weir_launch launch = launch_of(kernel, block, 32);
  EXPECT_EQ(t.memory_free(part, nullptr), WEIR_OK);
  EXPECT_EQ(t.kernel_launch(stream, &launch, nullptr), WEIR_OK);
  EXPECT_EQ(t.stream_synchronize(stream, nullptr), WEIR_OK);
  EXPECT_EQ(values[40], 1);
  EXPECT_TRUE(layer.take().empty());
  EXPECT_EQ(t.memory_free(whole, nullptr), WEIR_OK);
  Answer answer;
  const weir_result result = t.kernel_launch(stream, &launch, &answer);
  expect(result, answer, "dead", HasSubstr("which memory_free ended"));
}

// proves R35
TEST_F(Rules, AKernelDiesWithItsModule) {
  Objects objects(t);
  const weir_stream stream = objects.stream();
  const weir_module module = objects.module();
  weir_kernel kernel = nullptr;
  ASSERT_EQ(t.module_get_kernel(module, "add_value", &add_layout, &kernel, nullptr), WEIR_OK);
  EXPECT_EQ(t.module_unload(module, nullptr), WEIR_OK);
  objects.forget(module);
  alignas(16) std::byte block[32] = {};
  const weir_launch launch = launch_of(kernel, block, 32);
  Answer answer;
  const weir_result result = t.kernel_launch(stream, &launch, &answer);
  expect(result, answer, "dead", AllOf(HasSubstr("('add_value')"), HasSubstr("which module_unload ended")));
}

// A kernel of the driver that is looked up with and without an annotation is two kernels of the layer.
TEST_F(Rules, AKernelThatWasLookedUpInTwoWaysDiesWithItsModule) {
  Objects objects(t);
  const weir_stream stream = objects.stream();
  const weir_module module = objects.module();
  const void* found = nullptr;
  ASSERT_EQ(t.get_extension(WEIR_ANNOTATE_EXTENSION, WEIR_ANNOTATE_VERSION, &found, nullptr), WEIR_OK);
  const void* of_the_next_version = nullptr;
  EXPECT_EQ(
      t.get_extension(WEIR_ANNOTATE_EXTENSION, WEIR_ANNOTATE_VERSION + 1, &of_the_next_version, nullptr),
      WEIR_ERROR_NOT_FOUND);
  const auto* const annotate = static_cast<const weir_annotate_table*>(found);
  const weir_touched touched{0, WEIR_ACCESS_WRITE, 0, 0, "x"};
  const weir_kernel_annotation annotation{sizeof annotation, 1, &touched, nullptr, nullptr};
  weir_kernel plain = nullptr, annotated = nullptr, again = nullptr;
  ASSERT_EQ(t.module_get_kernel(module, "add_value", &add_layout, &plain, nullptr), WEIR_OK);
  ASSERT_EQ(annotate->get_kernel(module, "add_value", &add_layout, &annotation, &annotated, nullptr),
            WEIR_OK);
  ASSERT_EQ(t.module_get_kernel(module, "add_value", &add_layout, &again, nullptr), WEIR_OK);
  EXPECT_EQ(again, plain) << "one layout gives one kernel";
  EXPECT_EQ(t.module_unload(module, nullptr), WEIR_OK);
  objects.forget(module);
  alignas(16) std::byte block[48] = {};
  for (const weir_kernel kernel : {plain, annotated}) {
    const weir_launch launch = launch_of(kernel, block, kernel == plain ? 32 : 40);
    Answer answer;
    const weir_result result = t.kernel_launch(stream, &launch, &answer);
    expect(result, answer, "dead", HasSubstr("which module_unload ended"));
  }
}

// proves R35
TEST_F(Rules, TimesOfPlainEventsAreRefused) {
  Objects objects(t);
  const weir_event plain = objects.event(), timed = objects.event(WEIR_EVENT_TIMED);
  double nanoseconds = 0;
  Answer answer;
  weir_result result = t.event_elapsed(plain, timed, &nanoseconds, &answer);
  expect(result, answer, "argument", HasSubstr("has no times; expected one made with WEIR_EVENT_TIMED"));
  result = t.event_elapsed(timed, timed, &nanoseconds, &answer);
  expect(result, answer, "argument", HasSubstr("which was never recorded"));
}

// proves R35
TEST_F(Rules, ObjectsAtTheClosingOfTheirDeviceAreNamed) {
  weir_device device = nullptr;
  ASSERT_EQ(t.device_open(0, &device, nullptr), WEIR_OK);
  weir_event event = nullptr;
  ASSERT_EQ(t.event_create(device, WEIR_EVENT_PLAIN, &event, nullptr), WEIR_OK);
  const weir_memory_options options{sizeof options, WEIR_MEMORY_DEVICE, 100, 0};
  weir_allocation memory = nullptr;
  ASSERT_EQ(t.memory_allocate(device, &options, &memory, nullptr), WEIR_OK);
  t.device_close(device, nullptr);
  expect_report("leak", AllOf(HasSubstr("2 objects are alive at the last closing of device cpu:0"),
                              HasSubstr("event "), HasSubstr("(100 bytes)")));
}

// proves R35
TEST_F(Rules, FreeingMemoryInUseIsReported) {
  Objects objects(t);
  const weir_stream stream = objects.stream();
  const weir_allocation memory = objects.memory(64);
  const std::uint32_t zero = 0;
  EXPECT_EQ(t.fill(stream, memory, 0, 64, &zero, 4, nullptr), WEIR_OK);
  cpu_wait();  // completed, so the free is harmless; the layer only considers waits of the caller
  EXPECT_EQ(t.memory_free(memory, nullptr), WEIR_OK);
  objects.forget(memory);
  expect_report("busy", AllOf(HasSubstr("is freed while fill on stream "), HasSubstr("may still use it")));
}

struct FromCallback {
  const weir_driver_table* t;
  weir_stream stream;
  weir_result result;
};

// proves R35
TEST_F(Rules, ACallbackThatCallsTheDriverIsRefused) {
  Objects objects(t);
  const weir_stream stream = objects.stream();
  FromCallback call{&t, stream, WEIR_OK};
  ASSERT_EQ(t.stream_host_callback(
                stream,
                [](void* user) {
                  auto& c = *static_cast<FromCallback*>(user);
                  c.result = c.t->stream_flush(c.stream, nullptr);
                },
                &call, nullptr),
            WEIR_OK);
  t.stream_synchronize(stream, nullptr);
  EXPECT_EQ(call.result, WEIR_ERROR_INVALID);
  expect_report("callback", HasSubstr("stream_flush: a host callback calls the driver"));
}

// proves R35
TEST_F(Rules, NodesOfAGraphAreChecked) {
  Objects objects(t);
  const weir_allocation memory = objects.memory(64);
  const std::uint32_t zero = 0, forward[] = {1};
  weir_graph_node node{};
  node.struct_size = sizeof node;
  node.kind = WEIR_GRAPH_FILL;
  node.destination = memory;
  node.size = 128;
  node.pattern = &zero;
  node.pattern_size = 4;
  const weir_graph_node* nodes[] = {&node};
  weir_graph graph = nullptr;
  Answer answer;
  weir_result result = t.graph_create(objects.device, 1, nodes, &graph, &answer);
  expect(result, answer, "argument", HasSubstr("128 bytes at offset 0 are not inside"));
  node.size = 64;
  node.dependencies = forward;
  node.dependency_count = 1;
  result = t.graph_create(objects.device, 1, nodes, &graph, &answer);
  expect(result, answer, "argument", HasSubstr("node 0 depends on node 1; expected a node before it"));
}

// proves R35
TEST_F(Rules, AGraphThatNamesFreedMemoryIsNotLaunched) {
  Objects objects(t);
  const weir_stream stream = objects.stream();
  const weir_allocation memory = objects.memory(64);
  const std::uint32_t zero = 0;
  weir_graph_node node{};
  node.struct_size = sizeof node;
  node.kind = WEIR_GRAPH_FILL;
  node.destination = memory;
  node.size = 64;
  node.pattern = &zero;
  node.pattern_size = 4;
  const weir_graph_node* nodes[] = {&node};
  weir_graph graph = nullptr;
  ASSERT_EQ(t.graph_create(objects.device, 1, nodes, &graph, nullptr), WEIR_OK);
  objects.keep(graph);
  EXPECT_EQ(t.memory_free(memory, nullptr), WEIR_OK);
  objects.forget(memory);
  Answer answer;
  const weir_result result = t.graph_launch(graph, stream, &answer);
  expect(result, answer, "dead", AllOf(HasSubstr("node 0 names allocation "), HasSubstr("which is gone")));
}

// proves R35
TEST_F(Rules, WrongOptionsAreQuoted) {
  const Layered wrong("validate", "races=perhaps");
  EXPECT_EQ(wrong.result, WEIR_ERROR_INVALID);
  EXPECT_STREQ(wrong.answer.message, "layer validate: races is 'perhaps'; expected off, known or all");
  const Layered unknown("validate", "speed=3");
  EXPECT_STREQ(unknown.answer.message,
               "layer validate: there is no option 'speed'; the options are races, leaks, ignore");
  Answer answer;
  EXPECT_EQ(layer.configure("leaks=maybe", &answer), WEIR_ERROR_INVALID);
  EXPECT_STREQ(answer.message, "layer validate: leaks is 'maybe'; expected on or off");
}

}  // namespace
}  // namespace weir::test
