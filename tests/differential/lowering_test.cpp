// SPDX-License-Identifier: Apache-2.0
// Code generation's description of its code.
#include <gtest/gtest.h>

#include <weir/compile.hpp>
#include <weir/program.hpp>
#include <weir/weir.hpp>

namespace weir::test {
namespace {

// A loop over `rank` dimensions of @x and @y, which share their extents.
std::string loop(const std::string& rank, const std::string& indices, const std::string& bounds,
                 const std::string& body, const std::string& more = "") {
  return "weir-ir 1\nkernel \"k\"\n  param @x : array<f32, " + rank + ">\n  param @y : array<f32, " + rank +
         ">\n" + more + "{\n  %zero = const 0 : i64\n  %one = const 1 : i64\n  %n = extent @x, 0 : i64\n" +
         (rank == "2" ? "  %m = extent @x, 1 : i64\n" : "") + "  parallel (" + indices + ") in (" + bounds +
         ") {\n" + body + "  }\n}\n";
}

const std::string add = loop("1", "%i", "%zero to %n",
                             "    %a = load @x[%i] : f32\n    %b = add %a, %a : f32\n    store @y[%i], %b\n");
const std::string odd =
    loop("1", "%i", "%zero to %n",
         "    %a = load @x[%i] : f32\n    %c = lt %a, %a : bool\n    local $0 : f32\n"
         "    while {\n      %v = get $0 : f32\n      %l = lt %v, %a : bool\n      yield %l\n    } do {\n"
         "      %w = get $0 : f32\n      %u = add %w, %a : f32\n      set $0, %u\n    }\n"
         "    %r = get $0 : f32\n    store @y[%i], %r\n");
const std::string stencil =
    loop("2", "%i, %j", "%one to %n, %zero to %m",
         "    %u = sub %i, %one : i64\n    %a = load @x[%i, %j] : f32\n    %b = load @x[%u, %j] : f32\n"
         "    %s = add %a, %b : f32\n    store @y[%i, %j], %s\n");
const std::string staged =
    loop("1", "%i", "%zero to %n",
         "    local $0 : f32\n    for %k = %zero to %n step %one {\n      %e = load @x[%k] : f32\n"
         "      %s = get $0 : f32\n      %t = add %s, %e : f32\n      set $0, %t\n    }\n"
         "    %r = get $0 : f32\n    store @y[%i], %r\n");
const std::string counting =
    loop("1", "%i", "%zero to %n",
         "    %a = load @x[%i] : f32\n    %k = cast %a : i64\n    %o = const 1 : i32\n"
         "    %old = atomic.add @bins[%k], %o : i32\n",
         "  param @bins : array<i32, 1>\n");
const std::string sum =
    "weir-ir 1\nkernel \"k\"\n  param @x : array<f32, 1>\n  param @y : array<f32, 1>\n{\n  %zero = const 0 : "
    "i64\n"
    "  %n = extent @x, 0 : i64\n  %s = reduce.sum (%i) in (%zero to %n) : f32 {\n    %a = load @x[%i] : f32\n"
    "    yield %a\n  }\n  store @y[%zero], %s\n}\n";

const std::string sum_and_store = [] {
  std::string text = sum;
  const std::string yield = "    yield %a\n";
  return text.replace(text.find(yield), yield.size(), "    store @y[%i], %a\n" + yield);
}();

/// A loop that adds to @y, whose index and value are at the end.
std::string adding(const std::string& index, const std::string& more = "", const std::string& option = "") {
  std::string text = loop("1", "%i", "%zero to %n",
                          "    %a = load @x[%i] : f32\n    %k = const 1 : i64\n    %old = atomic.add @y[" +
                              index + "], %a : f32\n" + more);
  return text.insert(text.find("\"k\"") + 3, option);
}

/// The description of each task, separated by " | ".
std::string code_of(const std::string& text, const std::string& format, const std::string& cpu,
                    const std::string& assume) {
  std::string words;
  const CompiledProgram compiled = compile(Program::parse(text), {format, cpu, "", assume});
  for (const CompiledProgram::Task& task : compiled.tasks)
    words += (words.empty() ? "" : " | ") + to_string(task.lowering);
  return words;
}

std::string on_cpu(const std::string& text, const std::string& assume = "") {
  return code_of(text, "elf-x86_64", "x86-64-v3", assume);
}
std::string on_gpu(const std::string& text, const std::string& assume) {
  return code_of(text, "ptx", "sm_90", assume);
}

TEST(Lowering, OfACpuSaysWhetherLoopsBecameVectors) {
  EXPECT_EQ(on_cpu(add), "vector loop of 8");
  EXPECT_EQ(on_cpu(odd), "scalar loop");
  EXPECT_NE(on_cpu(staged).find("lane loop"), std::string::npos) << on_cpu(staged);
}

TEST(Lowering, OfACpuCountsInPrivateMemoryWhereNoArrayIsAnother) {
  EXPECT_EQ(on_cpu(counting), "scalar loop");
  EXPECT_EQ(on_cpu(counting, "no_alias"), "scalar loop, private counters, direct counters");
}

TEST(Lowering, AddsToOneElementInRegistersWhereNoArrayIsAnother) {
  EXPECT_EQ(on_cpu(adding("%k"), "no_alias"), "scalar loop, private sums");
  EXPECT_EQ(on_cpu(adding("%one"), "no_alias"), "scalar loop, private sums");
  EXPECT_EQ(on_gpu(adding("%k"), "no_alias"), "thread loop, private sums");
  EXPECT_EQ(on_cpu(adding("%k", "    %o = atomic.add @y[%i], %a : f32\n"), "no_alias"),
            "scalar loop, private sums");
  const std::string plain = "scalar loop";
  EXPECT_EQ(on_cpu(adding("%k")), plain);
  EXPECT_EQ(on_cpu(adding("%i"), "no_alias"), plain) << "an element for each iteration";
  EXPECT_EQ(on_cpu(adding("%k", "    store @x[%i], %old\n"), "no_alias"), plain) << "uses the old value";
  EXPECT_EQ(on_cpu(adding("%k", "    %b = load @y[%i] : f32\n    store @x[%i], %b\n"), "no_alias"), plain)
      << "reads the array";
  EXPECT_EQ(on_cpu(adding("%k", "    %o = atomic.max @y[%i], %a : f32\n"), "no_alias"), plain)
      << "has other atomics";
  EXPECT_EQ(on_cpu(adding("%k", "", " check_bounds"), "no_alias"), plain);
}

TEST(Lowering, OfAGpuSaysHowThreadsShareALoop) {
  EXPECT_EQ(on_gpu(add, ""), "thread loop");
  EXPECT_EQ(on_gpu(add, "no_alias,index32,aligned"), "packets of 4, packet edges");
  EXPECT_EQ(on_gpu(stencil, ""), "thread loop, tiles");
  EXPECT_EQ(on_gpu(stencil, "aligned"), "packets of 4, packet edges, tile packets");
  EXPECT_EQ(on_gpu(staged, "no_alias"), "thread loop, staged reads");
  EXPECT_EQ(on_gpu(staged, ""), "packets of 2, packet edges, shared loops");
  EXPECT_EQ(on_gpu(counting, "no_alias"), "thread loop, private counters, direct counters");
  EXPECT_EQ(on_gpu(counting, ""), "thread loop");
}

TEST(Lowering, OfReductionsHasBothTasks) {
  EXPECT_EQ(on_gpu(sum, ""), "reduce blocks | reduce final");
  EXPECT_EQ(on_gpu(sum_and_store, ""), "reduce strips | reduce final");
  EXPECT_NE(on_cpu(sum).find("reduce chunks"), std::string::npos);
  EXPECT_NE(on_cpu(sum).find("reduce final"), std::string::npos) << on_cpu(sum);
  EXPECT_EQ(on_gpu("weir-ir 1\nkernel \"k\"\n  param @x : array<i64, 1>\n{\n  %z = const 0 : i64\n"
                   "  store @x[%z], %z\n}\n",
                   ""),
            "serial");
}

TEST(Lowering, IsKnownOfWhatLaunchesMade) {
  const Device device = open("cpu");
  const Stream stream = device.create_stream();
  const Program program = Program::parse(add);
  EXPECT_TRUE(program.variants(stream).empty());
  program.prepare(stream);
  const std::vector<CompiledVariant> variants = program.variants(stream);
  ASSERT_EQ(variants.size(), 1u);
  EXPECT_EQ(variants[0].assume, "");
  ASSERT_EQ(variants[0].tasks.size(), 1u);
  EXPECT_TRUE(variants[0].tasks[0].lowering.takes(LoweringPath::vector_loop));
}

TEST(Lowering, OfACpuPrintsAfterALoopThatIsAVectorLoop) {
  const Stream stream = open("cpu").create_stream();
  const auto takes_vectors = [&](const std::string& before, const std::string& after) {
    const Program program = Program::parse(loop(
        "1", "%i", "%zero to %n",
        "    %a = load @x[%i] : f32\n    %b = add %a, %a : f32\n" + before +
            "    %c = lt %b, %a : bool\n    if %c {\n      print \"{} below {}\", %b, %a\n    }\n" + after));
    program.prepare(stream);
    return program.variants(stream).at(0).tasks.at(0).lowering.takes(LoweringPath::vector_loop);
  };
  EXPECT_TRUE(takes_vectors("    store @y[%i], %b\n", ""));
  EXPECT_FALSE(takes_vectors("", "    store @x[%i], %b\n")) << "would print the new value";
  // A condition that decides what is printed is loaded from @y.
  const auto takes_vectors_after = [&](const std::string& store) {
    const Program program = Program::parse(
        loop("1", "%i", "%zero to %n",
             "    %a = load @x[%i] : f32\n    %w = load @y[%i] : f32\n    %p = lt %w, %a : bool\n    local "
             "$0 : f32\n"
             "    if %p {\n      set $0, %a\n    }\n    %v = get $0 : f32\n    %c = lt %v, %a : bool\n"
             "    if %c {\n      print \"{}\", %v\n    }\n" +
                 store));
    program.prepare(stream);
    return program.variants(stream).at(0).tasks.at(0).lowering.takes(LoweringPath::vector_loop);
  };
  EXPECT_TRUE(takes_vectors_after(""));
  EXPECT_FALSE(takes_vectors_after("    store @y[%i], %a\n")) << "would take the other branch";
}

TEST(Lowering, OfCountersOnACpuIsPreparedForArraysThatAreNotTheSame) {
  const Stream stream = open("cpu").create_stream();
  const Program program = Program::parse(counting);
  program.prepare(stream);
  const std::vector<CompiledVariant> variants = program.variants(stream);
  ASSERT_EQ(variants.size(), 1u);
  EXPECT_EQ(variants[0].assume, "no_alias");
  EXPECT_TRUE(variants[0].tasks.at(0).lowering.takes(LoweringPath::private_counters));
}

}  // namespace
}  // namespace weir::test
