// SPDX-License-Identifier: Apache-2.0
// The kernels of the suite. Drivers that cannot compile this text provide kernels with the same names and
// behaviour, which sdk/docs/conformance.md describes.
#include <charconv>
#include <map>
#include <mutex>
#include <stdexcept>

#include "kernels/kernels.hpp"

namespace weir::conformance {
namespace {

using enum Field;

std::string with_head(const std::string& name, const std::string& rest) {
  return "weir-ir 1\nkernel \"" + name + "\"\n" + rest;
}

/// The sum of `count` values of 8 bytes: argument blocks larger than an inline space may be.
KernelText many_values(const std::string& name, int count) {
  KernelText kernel{name, {array}, "  param @out : array<i64, 1>\n"};
  std::string sum = "    %s0 = arg @v0 : i64\n";
  for (int i = 0; i < count; ++i) {
    const std::string n = std::to_string(i);
    kernel.fields.push_back(i64);
    kernel.text += "  param @v" + n + " : i64\n";
    if (i > 0)
      sum += "    %a" + n + " = arg @v" + n + " : i64\n    %s" + n + " = add %s" + std::to_string(i - 1) +
             ", %a" + n + " : i64\n";
  }
  kernel.text = with_head(kernel.name, kernel.text + R"({
  %zero = const 0 : i64
  %one = const 1 : i64
  parallel (%i) in (%zero to %one) {
)" + sum + "    store @out[%i], %s" + std::to_string(count - 1) +
                                           "\n  }\n}\n");
  return kernel;
}

const std::vector<KernelText>& all_kernels() {
  static const std::vector<KernelText> all = {
      // out[i] = base + i for i < n
      {"iota", {array, i64, i64}, with_head("iota", R"(  param @out : array<i64, 1>
  param @n : i64
  param @base : i64
{
  %zero = const 0 : i64
  %n = arg @n : i64
  %base = arg @base : i64
  parallel (%i) in (%zero to %n) {
    %v = add %base, %i : i64
    store @out[%i], %v
  }
}
)")},
      // out[i] = factor * in[i] + out[i] for i < n
      {"scale_add", {array, array, i64, i64}, with_head("scale_add", R"(  param @out : array<i64, 1>
  param @in : array<i64, 1>
  param @n : i64
  param @factor : i64
{
  %zero = const 0 : i64
  %n = arg @n : i64
  %factor = arg @factor : i64
  parallel (%i) in (%zero to %n) {
    %x = load @in[%i] : i64
    %y = load @out[%i] : i64
    %fx = mul %factor, %x : i64
    %v = add %fx, %y : i64
    store @out[%i], %v
  }
}
)")},
      // log[0] += 1, then log[log[0]] = value, without atomics: correct only if launches run one after the
      // other
      {"append", {array, i64}, with_head("append", R"(  param @log : array<i64, 1>
  param @value : i64
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %value = arg @value : i64
  parallel (%i) in (%zero to %one) {
    %count = load @log[%i] : i64
    %next = add %count, %one : i64
    store @log[%next], %value
    store @log[%i], %next
  }
}
)")},
      // out[0] = x, then `rounds` steps of x = x * 6364136223846793005 + 1442695040888963407: slow, and
      // impossible to shortcut
      {"churn", {array, i64, i64}, with_head("churn", R"(  param @out : array<i64, 1>
  param @x : i64
  param @rounds : i64
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %start = arg @x : i64
  %rounds = arg @rounds : i64
  %a = const 6364136223846793005 : i64
  %c = const 1442695040888963407 : i64
  parallel (%i) in (%zero to %one) {
    local $x : i64
    set $x, %start
    for %k = %zero to %rounds step %one {
      %x = get $x : i64
      %m = mul %x, %a : i64
      %v = add %m, %c : i64
      set $x, %v
    }
    %last = get $x : i64
    store @out[%i], %last
  }
}
)")},
      // flags has `extent` elements. flags[mine] = 1, then polls flags[other] up to `rounds` times;
      // result[mine] = 1 if it became nonzero
      {"meet", {array, array, i64, i64, i64, i64}, with_head("meet", R"(  param @flags : array<i32, 1>
  param @result : array<i32, 1>
  param @mine : i64
  param @other : i64
  param @rounds : i64
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %mine = arg @mine : i64
  %wanted = arg @other : i64
  %rounds = arg @rounds : i64
  %extent = extent @flags, 0 : i64
  %last = sub %extent, %one : i64
  %other = min %wanted, %last : i64
  %none = const 0 : i32
  %raised = const 1 : i32
  parallel (%i) in (%zero to %one) {
    %before = atomic.exchange @flags[%mine], %raised : i32
    for %k = %zero to %rounds step %one {
      %seen = atomic.add @flags[%other], %none : i32
      %met = ne %seen, %none : bool
      if %met {
        store @result[%mine], %raised
        break
      }
    }
  }
}
)")},
      // flags has `extent` elements. Each iteration sets its flag, then polls the flag of iteration (i + by)
      // % extent up to `rounds` times; result[i] = 1 if it became nonzero
      {"ring", {array, array, i64, i64, i64}, with_head("ring", R"(  param @flags : array<i32, 1>
  param @result : array<i32, 1>
  param @by : i64
  param @rounds : i64
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %count = extent @flags, 0 : i64
  %by = arg @by : i64
  %rounds = arg @rounds : i64
  %none = const 0 : i32
  %raised = const 1 : i32
  parallel (%i) in (%zero to %count) {
    %before = atomic.exchange @flags[%i], %raised : i32
    %far = add %i, %by : i64
    %other = rem %far, %count : i64
    for %k = %zero to %rounds step %one {
      %seen = atomic.add @flags[%other], %none : i32
      %met = ne %seen, %none : bool
      if %met {
        store @result[%i], %raised
        break
      }
    }
  }
}
)")},
      // Values of every size in one argument block: out[0..5] = a, b, c, d, bits of e, bits of f
      {"sizes", {array, i64, f64, i32, f32, i16, i8}, with_head("sizes", R"(  param @out : array<i64, 1>
  param @a : i64
  param @e : f64
  param @b : i32
  param @f : f32
  param @c : i16
  param @d : i8
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %two = const 2 : i64
  %three = const 3 : i64
  %four = const 4 : i64
  %five = const 5 : i64
  %a = arg @a : i64
  %e = arg @e : f64
  %b = arg @b : i32
  %f = arg @f : f32
  %c = arg @c : i16
  %d = arg @d : i8
  parallel (%i) in (%zero to %one) {
    store @out[%zero], %a
    %b64 = cast %b : i64
    store @out[%one], %b64
    %c64 = cast %c : i64
    store @out[%two], %c64
    %d64 = cast %d : i64
    store @out[%three], %d64
    %ebits = bitcast %e : i64
    store @out[%four], %ebits
    %fbits = bitcast %f : i32
    %f64 = cast %fbits : i64
    store @out[%five], %f64
  }
}
)")},
      // sum has `extent` elements. Adds i to the last one for each i < n, with atomics
      {"atomic_sum", {array, i64, i64}, with_head("atomic_sum", R"(  param @sum : array<i64, 1>
  param @n : i64
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %n = arg @n : i64
  %extent = extent @sum, 0 : i64
  %last = sub %extent, %one : i64
  parallel (%i) in (%zero to %n) {
    %before = atomic.add @sum[%last], %i : i64
  }
}
)")},
      many_values("sum_values", 100),
      many_values("sum_32", 32),
      many_values("sum_64", 64),
      many_values("sum_128", 128),
      // Their grids and blocks have three dimensions, which IR does not describe: conformance/kernels has
      // them.
      {"shape", {array}, ""},
      {"tally", {array}, ""},
      {"shared", {array, i64}, ""},
      {"shared_meeting", {array, i64}, ""},
      // out[i] = byte i of the argument block for i < bytes
      {"echo", {array, i64}, ""},
      // Has no arguments, so that its argument block is empty.
      {"nothing", {}, ""}};
  return all;
}

/// The kernel "sum_N" for any N; null for another name.
const KernelText* sum_of_any_count(std::string_view name) {
  constexpr std::string_view begin = "sum_";
  int count = 0;
  if (!name.starts_with(begin)) return nullptr;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + begin.size(), end, count);
  if (error != std::errc() || rest != end || count < 1) return nullptr;
  static std::mutex mutex;
  static std::map<int, KernelText> made;
  const std::lock_guard lock(mutex);
  const auto found = made.find(count);
  if (found != made.end()) return &found->second;
  return &made.emplace(count, many_values(std::string(name), count)).first->second;
}

}  // namespace

const KernelText& kernel_text(std::string_view name) {
  for (const KernelText& kernel : all_kernels())
    if (kernel.name == name) return kernel;
  if (const KernelText* const sum = sum_of_any_count(name)) return *sum;
  throw std::logic_error("the suite has no kernel '" + std::string(name) + "'");
}

std::vector<std::string> kernel_names() {
  std::vector<std::string> names;
  for (const KernelText& kernel : all_kernels()) names.push_back(kernel.name);
  return names;
}

}  // namespace weir::conformance
