// SPDX-License-Identifier: Apache-2.0
// Costs of tasks, in additions, and the memory traffic of an iteration.
#include <gtest/gtest.h>

#include "plans.hpp"

namespace weir::test {
namespace {

constexpr std::uint32_t most = 1'000'000'000;

/// The task of a loop over @x with these statements.
passes::PlannedTask loop_of(const std::string& statements, const std::string& before = "") {
  return plan("%a = arg @a : f32\n%c = arg @c : i64\n" + before + "parallel (%i) in (%zero to %len) {\n" +
              statements + "\n}\n")
      .tasks.back();
}

std::uint32_t cost_of(const std::string& statements, const std::string& before = "") {
  return loop_of(statements, before).task.cost;
}

bool is_exact(const std::string& statements, const std::string& before = "") {
  return loop_of(statements, before).cost_is_exact;
}

const std::string put_a = "store @x[%i], %a\n";

TEST(TaskCost, OfAnIterationIsTheSumOfItsOperations) {
  const auto more = [](const std::string& statements) {
    return cost_of(statements + "store @x[%i], %v\n") - cost_of(put_a);
  };
  EXPECT_EQ(cost_of(put_a), 2u);
  EXPECT_EQ(more("%v = load @y[%i] : f32\n"), 2u);
  EXPECT_EQ(more("%v = add %a, %a : f32\n"), 1u);
  EXPECT_EQ(more("%v = div %a, %a : f32\n"), 8u);
  EXPECT_EQ(more("%v = rem %a, %a : f32\n"), 8u);
  EXPECT_EQ(more("%v = math.sqrt %a : f32\n"), 16u);
  EXPECT_EQ(more("%v = const 2 : f32\n"), 0u);
  EXPECT_EQ(more("%n = arg @c : i64\n%v = cast %n : f32\n"), 1u);
  EXPECT_EQ(more("%n = extent @y, 0 : i64\n%v = cast %n : f32\n"), 1u);
  EXPECT_EQ(more("%k = launch_key : u64\n%v = cast %k : f32\n"), 1u);
  EXPECT_EQ(more("%u = cast %c : u32\n%p = philox.0 %u, %u, %u, %u, %u, %u : u32\n%v = cast %p : f32\n"),
            42u);
  EXPECT_EQ(cost_of("%w = const 1 : i32\n%o = atomic.add @n[%i], %w : i32\n"), 16u);
  EXPECT_EQ(cost_of("print \"{}\", %i\n"), 16u);
  EXPECT_EQ(cost_of("local $s : f32\nset $s, %a\n%v = get $s : f32\nstore @x[%i], %v\n"), 5u);
  EXPECT_EQ(cost_of(put_a, "%v = math.sin %a : f32\nstore @y[%zero], %v\n"), 2u);
}

TEST(TaskCost, OfABranchIsThatOfItsLongerSide) {
  const std::string test = "%t = lt %i, %c : bool\n", three = put_a + put_a + put_a;
  EXPECT_EQ(cost_of(test + "if %t {\n" + put_a + "}\n"), 4u);
  EXPECT_EQ(cost_of(test + "if %t {\n" + three + "} else {\n" + put_a + "}\n"), 8u);
  EXPECT_EQ(cost_of(test + "if %t {\n" + put_a + "} else {\n" + three + "}\n"), 8u);
  EXPECT_EQ(cost_of(test + "if %t {\nprint \"{}\", %i\n}\n"), 2u) << "rare";
  EXPECT_TRUE(is_exact(test + "if %t {\n" + three + "}\n"));
}

TEST(TaskCost, OfALoopOfKnownLengthIsExact) {
  const auto loop_from = [](const std::string& low, const std::string& high, const std::string& step) {
    const std::string statements = "%low = const " + low + " : i64\n%high = const " + high +
                                   " : i64\n%step = const " + step +
                                   " : i64\nfor %k = %low to %high step %step {\n" + put_a + "}\n" + put_a;
    EXPECT_TRUE(is_exact(statements)) << statements;
    return cost_of(statements) - 2;
  };
  EXPECT_EQ(loop_from("0", "5", "1"), 15u) << "each iteration costs one more than its statements";
  EXPECT_EQ(loop_from("-2", "5", "1"), 21u);
  EXPECT_EQ(loop_from("0", "7", "3"), 9u);
  EXPECT_EQ(loop_from("0", "6", "3"), 6u);
  EXPECT_EQ(loop_from("5", "5", "1"), 0u);
  EXPECT_EQ(loop_from("5", "5", "3"), 0u);
  EXPECT_EQ(loop_from("5", "4", "1"), 0u);
  EXPECT_EQ(loop_from("0", "5", "0"), 0u);
  EXPECT_EQ(loop_from("0", "5", "-1"), 0u);
  EXPECT_EQ(cost_of("for %k = %zero to %five step %one {\n" + put_a + "}\n", "%five = const 5 : i64\n"), 15u)
      << "constants before the loop";
}

TEST(TaskCost, OfALoopOfUnknownLengthIsThatOfSixteenIterations) {
  for (const char* const range : {"%zero to %c step %one", "%c to %len step %one", "%zero to %one step %c"}) {
    const std::string statements = "for %k = " + std::string(range) + " {\n" + put_a + "}\n";
    EXPECT_EQ(cost_of(statements), 48u) << range;
    EXPECT_FALSE(is_exact(statements)) << range;
  }
  const std::string loop =
      "while {\n%v = load @y[%i] : f32\n%t = lt %v, %a : bool\nyield %t\n} do {\n" + put_a + "}\n";
  EXPECT_EQ(cost_of(loop), 112u) << "16 times load, comparison, yield and store, and one";
  EXPECT_FALSE(is_exact(loop));
}

TEST(TaskCost, IsLimited) {
  const std::string count = "%many = const 100000000000 : i64\n";
  const std::string loop = "for %k = %zero to %many step %one {\n" + put_a + "}\n";
  EXPECT_EQ(cost_of(count + loop), most);
  EXPECT_EQ(cost_of(count + put_a + loop + put_a), most);
  EXPECT_EQ(cost_of("%low = const -9223372036854775808 : i64\n%high = const 9223372036854775807 : i64\n"
                    "for %k = %low to %high step %one {\n" +
                    put_a + "}\n"),
            most);
  EXPECT_EQ(cost_of("%t = lt %i, %c : bool\nif %t {\ncontinue\n}\n" + put_a), 5u);
}

TEST(TaskCost, OfStatementsAndOfACombination) {
  const passes::Plan p = plan(
      "%s = reduce.sum (%i) in (%zero to %len) : f32 {\n%v = load @x[%i] : f32\nyield %v\n}\n"
      "store @y[%zero], %s\n" +
      fill("x", "1") + "%v1 = load @y[%zero] : f32\n%w = div %v1, %v1 : f32\nstore @z[%zero], %w\n");
  ASSERT_EQ(p.tasks.size(), 4u);
  EXPECT_EQ(p.tasks[0].task.cost, 3u);
  EXPECT_EQ(p.tasks[1].task.cost, ir::reduce_max_chunks + 4) << "each chunk, then a load and a store";
  EXPECT_EQ(p.tasks[3].task.cost, 12u);
}

// Values that threads exchange cost as much as atomics, 16. The statements around them are other ones, too.
TEST(TaskCost, OfThreadsOfAGroup) {
  const auto cost = [](const std::string& statements) {
    return plan(
               "%threads = const 32 : i64\nparallel (%g, %i) in (%zero to %one, %zero to %threads) group 32 "
               "{\n"
               "shared $s : i32[32]\n%w = const 1 : i32\nlocal $v : i32\nset $v, %w\n" +
               statements + "store @n[%i], %x\n}\n")
        .tasks[0]
        .task.cost;
  };
  const std::uint32_t load = cost("%x = get $v : i32\n");
  EXPECT_EQ(cost("%x = shared_atomic.add $s[%i], %w : i32\n"), load + 14);
  EXPECT_EQ(cost("%x = shuffle.32 $v, %w : i32\n"), load + 18);
  EXPECT_EQ(cost("local $b : bool\n%t = const true : bool\nset $b, %t\n%y = ballot.32 $b : u32\n%x = cast %y "
                 ": i32\n"),
            load + 19);
}

TEST(TaskCost, OfPhasesIsExactWithoutUnknownLoops) {
  const auto exact = [](const std::string& high) {
    return passes::make_plan(
               kernel("%c = arg @c : i64\n%two = const 2 : i64\n" + fill("y", "0") +
                      "parallel (%i) in (%zero to %len) {\n%f = const 1 : f32\nfor %k = %zero to " + high +
                      " step %one {\nstore @x[%i], %f\n}\n}\n"),
               8, {.phases = true})
        .tasks.at(0)
        .cost_is_exact;
  };
  EXPECT_TRUE(exact("%two"));
  EXPECT_FALSE(exact("%c"));
}

// ---- memory traffic

std::string traffic_of(const passes::PlannedTask& planned) {
  std::string text;
  for (const passes::ArrayTraffic& array : planned.traffic) {
    const auto bytes = [](std::uint32_t number) {
      return number == passes::ArrayTraffic::whole ? "all" : std::to_string(number);
    };
    text += std::to_string(array.parameter) + ": " + bytes(array.read) + " " + bytes(array.written) + "\n";
  }
  return text;
}

TEST(Traffic, CountsEachElementOfAnIterationOnce) {
  EXPECT_EQ(traffic_of(loop_of("%v = load @x[%i] : f32\n%w = load @x[%i] : f32\n%u = load @x[%zero] : f32\n"
                               "%s = add %v, %w : f32\n%r = add %s, %u : f32\nstore @y[%i], %r\n"
                               "store @y[%i], %u\n%o = const 1 : i32\n%old = atomic.add @n[%i], %o : i32\n")),
            "0: 8 0\n1: 0 4\n3: 4 4\n");
}

TEST(Traffic, OfConditionsCountsAndOfInnerLoopsIsUnknown) {
  EXPECT_EQ(traffic_of(loop_of("%t = lt %i, %c : bool\nif %t {\n" + put_a + "}\n")), "0: 0 4\n");
  const auto in_loop = [](const std::string& statement) {
    return loop_of("for %k = %zero to %c step %one {\n" + statement + "}\nstore @y[%i], %a\n");
  };
  const passes::PlannedTask known = in_loop("local $s : f32\nset $s, %a\n"),
                            unknown = in_loop("store @x[%k], %a\n");
  EXPECT_EQ(traffic_of(known), "1: 0 4\n");
  EXPECT_EQ(traffic_of(unknown), "0: 0 all\n1: 0 4\n");
  EXPECT_EQ(passes::bytes_per_iteration(known), 4u);
  EXPECT_EQ(passes::bytes_per_iteration(unknown), std::nullopt);
  EXPECT_EQ(passes::bytes_per_iteration(
                loop_of("%v = load @y[%i] : f32\n%d = load @m[%i, %i] : f64\n%f = cast %d : "
                        "f32\n%s = add %v, %f : f32\nstore @x[%i], %s\n")),
            16u);
  EXPECT_EQ(traffic_of(loop_of("%t = const true : bool\nwhile {\nyield %t\n} do {\n" + put_a + "break\n}\n")),
            "0: 0 all\n");
  EXPECT_EQ(traffic_of(in_loop("%v = load @x[%k] : f32\nstore @x[%i], %v\n")), "0: all all\n1: 0 4\n");
}

TEST(Plan, FindsTheTaskOfALoopByItsPlace) {
  const passes::Plan p =
      plan("%v = load @z[%zero] : f32\nstore @z[%one], %v\n" + fill("x", "1") +
           "%s = reduce.sum (%i) in (%zero to %len) : f32 {\n%e = load @x[%i] : f32\nyield %e\n}\n"
           "store @y[%zero], %s\n");
  for (const std::size_t task : {1u, 2u}) {
    const ir::Location place = p.tasks[task].task.location;
    EXPECT_EQ(passes::find_loop(p, place), &p.tasks[task]);
    EXPECT_EQ(passes::find_loop(p, {place.file, place.line + 1, place.column}), nullptr);
  }
  EXPECT_EQ(passes::find_loop(p, p.tasks[0].task.location), nullptr) << "statements are no loop";
}

}  // namespace
}  // namespace weir::test
