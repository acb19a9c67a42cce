// SPDX-License-Identifier: Apache-2.0
// Driver-specific behaviour, which the conformance suite cannot test: the forms of kernels, and messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <weir/weir.hpp>

namespace {

using namespace weir;
using testing::AllOf;
using testing::HasSubstr;

const auto array = KernelParameter::array();
const auto i32 = KernelParameter::of<std::int32_t>();
const auto i64 = KernelParameter::of<std::int64_t>();

class Kernels : public testing::Test {
 protected:
  void SetUp() override {
    for (const Device& found : devices())
      if (found.driver() == "opencl") device.emplace(found);
    ASSERT_TRUE(device) << "there is no device of OpenCL; `weir info` says why";
  }

  Module load(const std::string& text, std::string_view target = "") const {
    return device->load_module({"opencl-c", target, std::as_bytes(std::span(text)), "text"});
  }
  Array<std::int32_t> counting(std::int32_t size) const {
    std::vector<std::int32_t> values;
    for (std::int32_t i = 0; i < size; ++i) values.push_back(i);
    return device->array_of<std::int32_t>(values);
  }
  std::int64_t aligned_elements() const { return device->info().memory_alignment / sizeof(std::int32_t); }

  template <class Do>
  static std::string refusal(ErrorCode expected, Do&& act) {
    try {
      act();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), expected) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "nothing was refused";
    return {};
  }

  std::optional<Device> device;
};

constexpr const char* add = "kernel void add(global int *x, int y) { x[get_global_id(0)] += y; }";
constexpr const char* add_anywhere =
    "kernel void add(global int *m, ulong at, int y) {"
    "  ((global int *)((global char *)m + at))[get_global_id(0)] += y; }";

TEST_F(Kernels, TakeWholeArrays) {
  const auto x = counting(64);
  const Module module = load(add);
  const Stream stream = device->create_stream();
  module.kernel("add", {array, i32}).launch(stream, {.grid = 8, .block = 8}, {x, 1000});
  const auto values = x.to_host(stream);
  for (std::int32_t i = 0; i < 64; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], 1000 + i);
}

TEST_F(Kernels, TakeSlicesAtMultiplesOfTheAlignment) {
  const std::int64_t begin = aligned_elements();
  const auto x = counting(static_cast<std::int32_t>(begin + 64));
  const Module module = load(add);
  const Stream stream = device->create_stream();
  module.kernel("add", {array, i32})
      .launch(stream, {.grid = 4, .block = 8}, {x.slice(begin, begin + 64), 1000});
  const auto values = x.to_host(stream);
  for (std::int64_t i = 0; i < begin + 64; ++i)
    EXPECT_EQ(values[static_cast<std::size_t>(i)], i >= begin && i < begin + 32 ? 1000 + i : i);
}

TEST_F(Kernels, RefuseSlicesInBetweenAndSayWhatToDo) {
  const auto x = counting(64);
  const Module module = load(add);
  const KernelFunction kernel = module.kernel("add", {array, i32});
  const Stream stream = device->create_stream();
  const std::string words = refusal(ErrorCode::unsupported, [&] {
    kernel.launch(stream, {.grid = 1, .block = 8}, {x.slice(1, 9), 1000});
  });
  EXPECT_THAT(words,
              AllOf(HasSubstr("kernel 'add', parameter 0"), HasSubstr("begins at byte 4"),
                    HasSubstr("an ulong after each array"), HasSubstr("CL_MISALIGNED_SUB_BUFFER_OFFSET")));
  kernel.launch(stream, {.grid = 1, .block = 1}, {x, 1});
  EXPECT_EQ(x.to_host(stream)[0], 1) << "the kernel fails after a refusal";
}

TEST_F(Kernels, WithOffsetsTakeSlicesThatBeginAnywhere) {
  const auto x = counting(64);
  const Module module = load(add_anywhere);
  const Stream stream = device->create_stream();
  module.kernel("add", {array, i32}).launch(stream, {.grid = 1, .block = 8}, {x.slice(3, 11), 1000});
  const auto values = x.to_host(stream);
  for (std::int32_t i = 0; i < 64; ++i)
    EXPECT_EQ(values[static_cast<std::size_t>(i)], i >= 3 && i < 11 ? 1000 + i : i);
}

TEST_F(Kernels, GetLocalMemoryAsTheirLastParameter) {
  const auto x = counting(16);
  const Module module = load(
      "kernel void turn(global int *x, local int *t) {"
      "  const uint i = get_local_id(0), n = get_local_size(0); t[i] = x[get_global_id(0)];"
      "  barrier(CLK_LOCAL_MEM_FENCE); x[get_global_id(0)] = t[n - 1 - i]; }");
  const KernelFunction turn = module.kernel("turn", {array});
  const Stream stream = device->create_stream();
  turn.launch(stream, {.grid = 2, .block = 8, .shared_bytes = 32}, {x});
  EXPECT_EQ(x.to_host(stream),
            (std::vector<std::int32_t>{7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8}));
  EXPECT_THAT(refusal(ErrorCode::invalid, [&] { turn.launch(stream, {.grid = 2, .block = 8}, {x}); }),
              HasSubstr("takes local memory"));
  EXPECT_THAT(refusal(ErrorCode::invalid,
                      [&] {
                        load(add)
                            .kernel("add", {array, i32})
                            .launch(stream, {.grid = 1, .block = 1, .shared_bytes = 32}, {x, 1});
                      }),
              HasSubstr("no pointer to local memory"));
}

TEST_F(Kernels, AreComparedWithTheirLayout) {
  const Module module = load(add);
  EXPECT_THAT(refusal(ErrorCode::invalid,
                      [&] {
                        module.kernel("add", {array, i32, i32, i32});
                      }),
              HasSubstr("takes 2 parameters; expected the 4 of its layout, or 5 with"));
  EXPECT_THAT(refusal(ErrorCode::invalid, [&] { module.kernel("add", {array}); }),
              HasSubstr("no ulong after parameter 0"));
  EXPECT_THAT(refusal(ErrorCode::invalid,
                      [&] {
                        module.kernel("add", {i32, array});
                      }),
              HasSubstr("parameter 0: the layout says a value, the kernel takes an array"));
  EXPECT_THAT(refusal(ErrorCode::invalid,
                      [&] {
                        module.kernel("add", {array, i64});
                      }),
              HasSubstr("parameter 1: it does not take a value of 8 bytes"));
}

TEST_F(Kernels, OfUnknownNamesAreToldFromThoseThatAre) {
  EXPECT_THAT(refusal(ErrorCode::not_found, [&] { load(add).kernel("sub", {array}); }),
              AllOf(HasSubstr("'sub'"), HasSubstr("it has add")));
}

// proves R34
TEST_F(Kernels, ThatDoNotCompileComeWithTheCompilersLog) {
  EXPECT_THAT(
      refusal(ErrorCode::code_object, [&] { load("kernel void k(global int *x) { x[0] = nobody; }"); }),
      AllOf(HasSubstr("'text'"), HasSubstr("CL_BUILD_PROGRAM_FAILURE"), HasSubstr("nobody")));
  EXPECT_THAT(refusal(ErrorCode::code_object, [&] { load("// nothing"); }), HasSubstr("no kernel"));
  EXPECT_THAT(refusal(ErrorCode::code_object, [&] { load(add, "sm_90"); }),
              AllOf(HasSubstr("sm_90"), HasSubstr("opencl-c")));
  EXPECT_THAT(refusal(ErrorCode::code_object, [&] { load(std::string("kernel\0", 7)); }),
              HasSubstr("byte 6 is 0"));
  load(add, "CL1.2").kernel("add", {array, i32});
}

// proves R8 R10 R23
TEST_F(Kernels, KeepTheArgumentsOfThreadsApart) {
  constexpr int thread_count = 8, launches = 200;
  const Module module = load(add_anywhere);
  const KernelFunction kernel = module.kernel("add", {array, i32});
  const auto x = device->array<std::int32_t>(thread_count);
  x.fill(0);
  device->synchronize();
  std::vector<std::thread> threads;
  for (int t = 0; t < thread_count; ++t)
    threads.emplace_back([&, t] {
      const Stream stream = device->create_stream();
      for (int i = 0; i < launches; ++i)
        kernel.launch(stream, {.grid = 1, .block = 1}, {x.slice(t, t + 1), t * 1000 + i});
      stream.synchronize();
    });
  for (std::thread& thread : threads) thread.join();
  const auto values = x.to_host();
  for (int t = 0; t < thread_count; ++t)
    EXPECT_EQ(values[static_cast<std::size_t>(t)], launches * t * 1000 + launches * (launches - 1) / 2);
}

}  // namespace
