// SPDX-License-Identifier: Apache-2.0
// Dependences between two loops, and the reasons that a plan gives for loops that stay apart.
#include "passes/dependence.hpp"

#include <gmock/gmock.h>

#include <cctype>

#include "occurrences.hpp"
#include "plans.hpp"

namespace weir::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// The kernel of two loops over the extents of @m with indices %i1, %j1 and %i2, %j2.
ir::Kernel two_loops(const std::string& first, const std::string& second, const std::string& before = "") {
  const auto over_m = [](const std::string& tag, const std::string& statements) {
    return "parallel (%i" + tag + ", %j" + tag + ") in (%zero to %rows, %zero to %columns) {\n" + statements +
           "\n}\n";
  };
  return kernel(
      "%rows = extent @m, 0 : i64\n%columns = extent @m, 1 : i64\n%two = const 2 : i64\n%d = const "
      "3 : f64\n%f = const 3 : f32\n%c = arg @c : i64\n" +
      before + over_m("1", first) + over_m("2", second));
}

passes::Plan merging(const ir::Kernel& kernel,
                     const passes::FusionAssumptions& known = {.no_alias = true, .index32 = true}) {
  return passes::make_plan(kernel, 8, {passes::Fusion::same_space, known});
}

/// Why the loops stay apart, or "" if they are merged.
std::string why_apart(const std::string& first, const std::string& second, const std::string& before = "") {
  return merging(two_loops(first, second, before)).fusion.at(0).reason;
}

/// Merged loops store to an element and load from it. Returns whether the value stays in a register.
bool is_one_element(const std::string& stored, const std::string& loaded) {
  const ir::Kernel k = two_loops(stored + "\nstore @m[%s1, %j1], %d",
                                 loaded + "\n%v = load @m[%s2, %j2] : f64\nstore @m[%s2, %j2], %v");
  const passes::Plan p = merging(k);
  EXPECT_EQ(p.tasks.size(), 1u) << p.fusion.at(0).reason;
  return occurrences(task_text(k, p.tasks[0]), "load @m") == 0;
}

TEST(Dependence, SumsOfOneValueAreOneIndex) {
  EXPECT_TRUE(is_one_element("%s1 = mul %i1, %two : i64", "%s2 = add %i2, %i2 : i64"));
  EXPECT_TRUE(is_one_element("%s1 = mul %two, %i1 : i64", "%s2 = add %i2, %i2 : i64"));
  EXPECT_TRUE(is_one_element("%n1 = neg %i1 : i64\n%s1 = sub %c, %n1 : i64", "%s2 = add %i2, %c : i64"));
  EXPECT_TRUE(
      is_one_element("%a1 = add %i1, %c : i64\n%s1 = sub %a1, %c : i64", "%s2 = sub %i2, %zero : i64"));
  EXPECT_TRUE(is_one_element("%a1 = add %i1, %one : i64\n%s1 = mul %a1, %two : i64",
                             "%a2 = add %i2, %i2 : i64\n%s2 = add %two, %a2 : i64"));
}

TEST(Dependence, EvenFactorsAreSmall) {
  const auto apart = [](const std::string& factor) {
    return why_apart("%s1 = mul %i1, %factor : i64\nstore @m[%s1, %j1], %d",
                     "%s2 = mul %i2, %factor : i64\n%v = load @m[%s2, %j2] : f64\nstore @m[%s2, %j2], %v",
                     "%factor = const " + factor + " : i64\n");
  };
  EXPECT_EQ(apart("1073741822"), "");
  EXPECT_EQ(apart("-1073741822"), "");
  EXPECT_EQ(apart("17179869185"), "") << "2^34 + 1, which is odd";
  for (const char* const large : {"1073741824", "-1073741824", "17179869184"})
    EXPECT_THAT(apart(large), HasSubstr("@m is stored at")) << large;
}

/// Why two loops over @x with indices %i1 and %i2 stay apart.
std::string why_lines_apart(const std::string& first, const std::string& second,
                            const std::string& options = "") {
  return merging(
             kernel("%two = const 2 : i64\n%d = const 3 : f64\n%f = const 3 : f32\n%t = const true : bool\n"
                    "parallel (%i1) in (%zero to %len) {\n" +
                        first + "\n}\nparallel (%i2) in (%zero to %len) {\n" + second + "\n}\n",
                    options))
      .fusion.at(0)
      .reason;
}

// An index may have the value of a constant, of an argument, or of a product.
TEST(Dependence, AnIndexMayHaveAnyValue) {
  const std::string own = "%c = arg @c : i64\n%p = mul %i, %i : i64\n";
  const auto named = [](std::string text, const std::string& tag) {
    for (const char* const name : {"%i", "%p", "%c", "%v"})
      for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += 3)
        if (!std::isalnum(text[at + 2])) text.insert(at + 2, tag);
    return text;
  };
  for (const std::string index : {"%two", "%c", "%p"}) {
    const std::string store = own + "store @y[%i], %f",
                      load = own + "%v = load @y[" + index + "] : f32\nstore @z[%i], %v";
    const std::string put = own + "store @y[" + index + "], %f",
                      take = own + "%v = load @y[%i] : f32\nstore @z[%i], %v";
    EXPECT_THAT(why_lines_apart(named(store, "1"), named(load, "2")), HasSubstr("@y is stored at")) << index;
    EXPECT_THAT(why_lines_apart(named(put, "1"), named(take, "2")), HasSubstr("@y is stored at")) << index;
  }
}

// The product of two indices is any number, so an even multiple of it may be equal for different ones.
TEST(Dependence, EvenMultiplesOfOtherValuesMayBeEqual) {
  const auto square = [](const std::string& tag, const std::string& factor) {
    return "%p" + tag + " = mul %i" + tag + ", %i" + tag + " : i64\n%e" + tag + " = mul %p" + tag + ", " +
           factor + " : i64\n%o" + tag + " = add %p" + tag + ", %i" + tag + " : i64\n";
  };
  const auto apart = [&](const std::string& factor) {
    return why_lines_apart(square("1", factor) + "store @m[%e1, %o1], %d",
                           square("2", factor) + "%v = load @m[%e2, %o2] : f64\nstore @m[%e2, %o2], %v");
  };
  EXPECT_THAT(apart("%two"), HasSubstr("@m is stored at"));
  EXPECT_EQ(apart("%one"), "") << "equal squares, and so equal indices";
  EXPECT_THAT(
      why_lines_apart("%p1 = mul %i1, %i1 : i64\nstore @m[%p1, %zero], %d",
                      "%p2 = mul %i2, %i2 : i64\n%v = load @m[%p2, %zero] : f64\nstore @m[%p2, %one], %v"),
      HasSubstr("@m is stored at"));
}

// Sums of floats are rounded, and equal bits of another type are another number.
TEST(Dependence, OnlySumsOfWideIntegersAreCompared) {
  const auto row = [](const std::string& tag, const std::string& values) {
    return values + "\n%r" + tag + " = add %i" + tag + ", %k" + tag + " : i64\n";
  };
  const auto apart = [&](const std::string& first, const std::string& second) {
    return why_lines_apart(row("1", first) + "store @m[%r1, %zero], %d",
                           row("2", second) + "%v = load @m[%r2, %zero] : f64\nstore @m[%r2, %one], %v");
  };
  const std::string real1 = "%a1 = arg @a : f32\n", real2 = "%a2 = arg @a : f32\n";
  EXPECT_EQ(apart(real1 + "%k1 = cast %a1 : i64", real2 + "%k2 = cast %a2 : i64"), "");
  EXPECT_NE(apart(real1 + "%k1 = cast %a1 : i64", real2 + "%b2 = add %a2, %f : f32\n%c2 = sub %b2, %f : f32\n"
                                                          "%k2 = cast %c2 : i64"),
            "");
  const std::string wide1 = "%c1 = arg @c : i64\n%u1 = cast %c1 : u64\n",
                    wide2 = "%c2 = arg @c : i64\n%u2 = cast %c2 : u64\n";
  EXPECT_EQ(apart(wide1 + "%s1 = add %u1, %u1 : u64\n%k1 = cast %s1 : i64",
                  wide2 + "%w2 = const 2 : u64\n%s2 = mul %u2, %w2 : u64\n%k2 = cast %s2 : i64"),
            "");
  EXPECT_NE(apart("%n1 = const -1 : i64\n%p1 = cast %n1 : f64\n%k1 = cast %p1 : i64",
                  "%n2 = const 18446744073709551615 : u64\n%p2 = cast %n2 : f64\n%k2 = cast %p2 : i64"),
            "");
}

// A value that is loaded before both loops, or in the repetition or the stream block around them.
TEST(Dependence, ValuesBeforeTheLoopsAreEqualInBoth) {
  const std::string load = "%l0 = load @n[%zero] : i32\n%l = cast %l0 : i64\n%next = add %l, %one : i64\n";
  const std::string loops =
      "parallel (%i1) in (%zero to %len) {\nstore @m[%l, %i1], %d\n}\n"
      "parallel (%i2) in (%zero to %len) {\n%v = load @m[%next, %zero] : f64\nstore @m[%next, %i2], %v\n}\n";
  const std::string d = "%d = const 3 : f64\n";
  for (const std::string& body : {d + load + loops, d + "repeat (%k) to %len {\n" + load + loops + "}\n",
                                  d + "region {\n" + load + loops + "} and {\n" + fill("x", "9") + "}\n"})
    EXPECT_EQ(merging(kernel(body)).fusion.at(0).reason, "") << body;
}

TEST(Dependence, EvenFactorsOfTheSecondIndexToo) {
  EXPECT_EQ(why_apart("%s1 = mul %j1, %two : i64\nstore @m[%i1, %s1], %d",
                      "%s2 = mul %j2, %two : i64\n%v = load @m[%i2, %s2] : f64\nstore @m[%i2, %s2], %v"),
            "");
}

// In the first equation there are two unknown indices; the second one leaves one of them.
TEST(Dependence, EquationsAreSolvedUntilNoneYieldsMore) {
  const auto access = [](const std::string& tag) {
    return "%s" + tag + " = add %i" + tag + ", %j" + tag + " : i64\n";
  };
  EXPECT_EQ(why_apart(access("1") + "store @m[%s1, %j1], %d",
                      access("2") + "%v = load @m[%s2, %j2] : f64\nstore @m[%s2, %j2], %v"),
            "");
}

TEST(Dependence, AtomicsOnFloatsKeepTheirOrder) {
  const auto add = [](const std::string& array, const std::string& tag, const std::string& type) {
    return "%w" + tag + " = const 1 : " + type + "\n%o" + tag + " = atomic.add @" + array + "[%i" + tag +
           "], %w" + tag + " : " + type;
  };
  EXPECT_EQ(why_apart(add("n", "1", "i32"), add("n", "2", "i32")), "");
  EXPECT_THAT(why_apart(add("x", "1", "f32"), add("x", "2", "f32")),
              AllOf(HasSubstr("@x is changed atomically at"), HasSubstr("and changed atomically at")));
}

TEST(Dependence, AtomicsAndOtherAccessesToOneArrayKeepTheirOrder) {
  const std::string add = "%w1 = const 1 : i32\n%o1 = atomic.add @n[%i1], %w1 : i32";
  EXPECT_THAT(why_lines_apart(add, "%v = load @n[%i2] : i32\n%e = cast %v : f64\nstore @m[%i2, %zero], %e"),
              AllOf(HasSubstr("@n is changed atomically at"), HasSubstr("and loaded at")));
  EXPECT_THAT(why_lines_apart("%v = load @n[%i1] : i32\n%e = cast %v : f64\nstore @m[%i1, %zero], %e",
                              "%w1 = const 1 : i32\n%o1 = atomic.add @n[%i2], %w1 : i32"),
              AllOf(HasSubstr("@n is loaded at"), HasSubstr("and changed atomically at")));
}

TEST(Dependence, AtomicsWhoseOldValueIsUsedKeepTheirOrder) {
  const auto add = [](const std::string& tag, bool used, const std::string& kind = "add") {
    const std::string operands = kind == "compare_exchange" ? "%w" + tag + ", %w" + tag : "%w" + tag;
    return "%w" + tag + " = const 1 : i32\n%o" + tag + " = atomic." + kind + " @n[%i" + tag + "], " +
           operands + " : i32\n" +
           (used ? "%q" + tag + " = cast %o" + tag + " : f32\nstore @" + (tag == "1" ? "x" : "y") + "[%i" +
                       tag + "], %q" + tag + "\n"
                 : "");
  };
  EXPECT_EQ(why_lines_apart(add("1", false), add("2", false)), "");
  EXPECT_NE(why_lines_apart(add("1", true), add("2", false)), "");
  EXPECT_NE(why_lines_apart(add("1", false), add("2", true)), "");
  EXPECT_NE(why_lines_apart(add("1", false, "compare_exchange"), add("2", false, "compare_exchange")), "");
}

// With checked indices each access can fail, and only the last of merged loops may.
TEST(Dependence, LoopsThatCanFailAreTheLast) {
  const auto fails = [](const std::string& statements, const std::string& options = "check_bounds") {
    const std::string reason =
        why_lines_apart("print \"{}\", %i1\n" + statements, "print \"{}\", %i2", options);
    EXPECT_TRUE(reason.empty() || reason.find("can fail") != std::string::npos) << reason;
    return !reason.empty();
  };
  const std::string array = "local $l : f32[2]\n", variable = "local $l : f32\n";
  EXPECT_FALSE(fails("%p = mul %i1, %i1 : i64\n"));
  EXPECT_TRUE(fails("%v = load @x[%i1] : f32\nprint \"{}\", %v\n"));
  EXPECT_TRUE(fails("store @x[%i1], %f\n"));
  EXPECT_TRUE(fails("%w = const 1 : i32\n%o = atomic.add @n[%i1], %w : i32\n"));
  EXPECT_TRUE(fails("if %t {\nstore @x[%i1], %f\n}\n"));
  EXPECT_TRUE(fails("if %t {\n} else {\nstore @x[%i1], %f\n}\n"));
  EXPECT_TRUE(fails(array + "set $l[%i1], %f\n"));
  EXPECT_TRUE(fails(array + "%g = get $l[%i1] : f32\nprint \"{}\", %g\n"));
  EXPECT_FALSE(fails(variable + "set $l, %f\n"));
  EXPECT_FALSE(fails(variable + "%g = get $l : f32\nprint \"{}\", %g\n"));
  EXPECT_TRUE(fails("assert %t, \"no\"\n", ""));
  EXPECT_FALSE(fails("store @x[%i1], %f\n", ""));
}

// The pair of accesses with the fewest equal indices, and of those the first.
TEST(Dependence, TheReasonNamesTheAccessesThatKeepLoopsApart) {
  const std::string values = "%next = add %i2, %one : i64\n%after = add %i2, %two : i64\n";
  const std::string own = "%v0 = load @m[%i2, %j2] : f64\nstore @m[%i2, %j2], %v0\n";
  const std::string row = "%v1 = load @m[%i2, %zero] : f64\n%v2 = load @m[%i2, %one] : f64\n";
  const std::string other = "%v3 = load @m[%next, %zero] : f64\n%v4 = load @m[%after, %zero] : f64\n";
  const std::string sums = "%v5 = add %v1, %v2 : f64\nstore @y[%i2], %f\n";
  const std::string first = "store @m[%i1, %j1], %d";
  EXPECT_THAT(why_apart(first, values + own + row + sums),
              AllOf(HasSubstr("@m is stored at k.weir:21:1 and loaded at k.weir:28:1"),
                    HasSubstr(", possibly by different iterations")));
  EXPECT_THAT(why_apart(first, values + own + other), HasSubstr("and loaded at k.weir:28:1"));
  EXPECT_THAT(why_apart(first, values + row + own + other), HasSubstr("and loaded at k.weir:30:1"));
  EXPECT_EQ(why_apart(first, values + own), "");
}

TEST(Dependence, OtherArraysMayBeTheSameMemory) {
  const ir::Kernel k = two_loops("store @x[%i1], %f", "%v = load @y[%i2] : f32\nstore @z[%j2], %v");
  EXPECT_EQ(merging(k).fusion.at(0).reason, "");
  EXPECT_EQ(merging(k, {.index32 = true}).fusion.at(0).reason,
            "@x is stored at k.weir:21:1 and @y, which may be the same memory, loaded at k.weir:24:1");
}

// One element at each index: other components are other memory, and other elements of a constant index.
TEST(Dependence, ComponentsAndConstantIndicesAreApart) {
  EXPECT_EQ(
      why_apart("store @m[%zero, %zero], %d", "%v = load @m[%one, %zero] : f64\nstore @m[%one, %one], %v"),
      "");
  EXPECT_EQ(why_apart("store @m[%zero, %c], %d", "%v = load @m[%one, %c] : f64\nstore @m[%one, %c], %v"), "");
  EXPECT_NE(why_apart("store @m[%zero, %c], %d", "%v = load @m[%zero, %c] : f64\nstore @m[%one, %c], %v"),
            "");
  EXPECT_NE(why_apart("store @m[%zero, %c], %d", "%v = load @m[%c, %zero] : f64\nstore @m[%one, %c], %v"),
            "");
  const std::string vectors =
      "weir-ir 1\nkernel \"k\"\n  param @v : array<vec<f32, 2>, 1>\n{\n%zero = const 0 : i64\n%f = const 1 : "
      "f32\n%n = extent @v, 0 : i64\nparallel (%i) in (%zero to %n) {\nstore @v[%zero].0, %f\n}\n"
      "parallel (%j) in (%zero to %n) {\n%g = load @v[%zero].";
  const auto apart = [&](const std::string& component) {
    return merging(ir::parse(vectors + component + " : f32\nstore @v[%j].1, %g\n}\n}\n", "v"))
        .fusion.at(0)
        .reason;
  };
  EXPECT_EQ(apart("1"), "");
  EXPECT_THAT(apart("0"), HasSubstr("@v is stored at v:9:1 and loaded at v:12:1"));
}

}  // namespace
}  // namespace weir::test
