// SPDX-License-Identifier: Apache-2.0
// Kernels whose PTX the tests inspect.
#pragma once

#include <string>
#include <vector>

namespace weir::test {

inline constexpr const char* saxpy = R"(weir-ir 1
kernel "saxpy"
param @a: f32
param @x: array<f32, 1>
param @y: array<f32, 1>
{
  %zero = const 0 : i64
  %n = extent @y, 0 : i64
  %a = arg @a : f32
  parallel (%i) in (%zero to %n) {
    %x = load @x[%i] : f32
    %y = load @y[%i] : f32
    %p = mul %a, %x : f32
    %s = add %p, %y : f32
    store @y[%i], %s
  }
}
)";

/// Adds f32 and f64 to elements that an index chooses; the old values are not used.
inline constexpr const char* float_sums = R"(weir-ir 1
kernel "float_sums"
param @i: array<i64, 1>
param @v: array<f32, 1>
param @s: array<f32, 1>
param @d: array<f64, 1>
{
  %zero = const 0 : i64
  %n = extent @v, 0 : i64
  parallel (%k) in (%zero to %n) {
    %i = load @i[%k] : i64
    %v = load @v[%k] : f32
    %w = cast %v : f64
    %a = atomic.add @s[%i], %v : f32
    %b = atomic.sub @d[%i], %w : f64
  }
}
)";

inline constexpr const char* triad = R"(weir-ir 1
kernel "triad"
param @s: f32
param @a: array<f32, 1>
param @b: array<f32, 1>
param @c: array<f32, 1>
{
  %zero = const 0 : i64
  %n = extent @a, 0 : i64
  %s = arg @s : f32
  parallel (%i) in (%zero to %n) {
    %x = load @b[%i] : f32
    %y = load @c[%i] : f32
    %p = mul %s, %y : f32
    %q = add %x, %p : f32
    store @a[%i], %q
  }
}
)";

inline constexpr const char* stencil = R"(weir-ir 1
kernel "stencil"
param @from: array<f32, 2>
param @to: array<f32, 2>
{
  %one = const 1 : i64
  %rows = extent @from, 0 : i64
  %columns = extent @from, 1 : i64
  %last_row = sub %rows, %one : i64
  %last_column = sub %columns, %one : i64
  %quarter = const 0.25 : f32
  parallel (%i, %j) in (%one to %last_row, %one to %last_column) {
    %up = sub %i, %one : i64
    %down = add %i, %one : i64
    %left = sub %j, %one : i64
    %right = add %j, %one : i64
    %a = load @from[%up, %j] : f32
    %b = load @from[%down, %j] : f32
    %c = load @from[%i, %left] : f32
    %d = load @from[%i, %right] : f32
    %ab = add %a, %b : f32
    %cd = add %c, %d : f32
    %sum = add %ab, %cd : f32
    %mean = mul %sum, %quarter : f32
    store @to[%i, %j], %mean
  }
}
)";

inline constexpr const char* dot = R"(weir-ir 1
kernel "dot"
param @x: array<f32, 1>
param @y: array<f32, 1>
param @r: array<f32, 1>
{
  %zero = const 0 : i64
  %n = extent @x, 0 : i64
  %t = reduce.sum (%i) in (%zero to %n) : f32 {
    %x = load @x[%i] : f32
    %y = load @y[%i] : f32
    %p = mul %x, %y : f32
    yield %p
  }
  store @r[%zero], %t
}
)";

inline constexpr const char* roots = R"(weir-ir 1
kernel "roots"
param @x: array<f32, 1>
param @y: array<f32, 1>
{
  %zero = const 0 : i64
  %n = extent @x, 0 : i64
  parallel (%i) in (%zero to %n) {
    %a = load @x[%i] : f32
    %b = load @y[%i] : f32
    %s = math.sqrt %a : f32
    %q = div %s, %b : f32
    %m = mul %a, %b : f32
    %r = add %m, %q : f32
    store @y[%i], %r
  }
}
)";

inline constexpr const char* histogram = R"(weir-ir 1
kernel "histogram"
param @x: array<u8, 1>
param @bins: array<u32, 1>
{
  %zero = const 0 : i64
  %one = const 1 : u32
  %n = extent @x, 0 : i64
  parallel (%i) in (%zero to %n) {
    %v = load @x[%i] : u8
    %bin = cast %v : i64
    %old = atomic.add @bins[%bin], %one : u32
  }
}
)";

inline constexpr const char* scalars = R"(weir-ir 1
kernel "scalars of every size"
param @a: bool
param @b: f64
param @c: f16
param @d: u8
param @e: vec<f32, 3>
param @f: i16
param @out: array<f64, 1>
{
  %zero = const 0 : i64
  %n = extent @out, 0 : i64
  %a = arg @a : bool
  %b = arg @b : f64
  %c = arg @c : f16
  %d = arg @d : u8
  %e = arg @e.1 : f32
  %f = arg @f : i16
  parallel (%i) in (%zero to %n) {
    %c64 = cast %c : f64
    %d64 = cast %d : f64
    %e64 = cast %e : f64
    %f64 = cast %f : f64
    %s1 = add %b, %c64 : f64
    %s2 = add %d64, %e64 : f64
    %s3 = add %s1, %s2 : f64
    %s4 = add %s3, %f64 : f64
    %r = select %a, %s4, %b : f64
    store @out[%i], %r
  }
}
)";

inline constexpr const char* no_arguments = R"(weir-ir 1
kernel "no arguments"
{
  %zero = const 0 : i64
  %ten = const 10 : i64
  parallel (%i) in (%zero to %ten) {
    %j = add %i, %i : i64
  }
}
)";

inline constexpr const char* large_local = R"(weir-ir 1
kernel "large local"
param @x: array<f32, 1>
{
  %zero = const 0 : i64
  %n = extent @x, 0 : i64
  parallel (%i) in (%zero to %n) {
    local $table : f32[32768]
    %v = load @x[%i] : f32
    set $table[%i], %v
    %w = get $table[%zero] : f32
    store @x[%i], %w
  }
}
)";

inline constexpr const char* nbody = R"(weir-ir 1
kernel "nbody" fast_math
  param @out : array<vec<f32, 4>, 1>
  param @b : array<vec<f32, 4>, 1>
  param @soft : f32
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %n = extent @b, 0 : i64
  %soft = arg @soft : f32
  parallel (%i) in (%zero to %n) {
    %x0 = load @b[%i].0 : f32
    %y0 = load @b[%i].1 : f32
    %z0 = load @b[%i].2 : f32
    local $x : f32
    local $y : f32
    local $z : f32
    for %j = %zero to %n step %one {
      %x1 = load @b[%j].0 : f32
      %y1 = load @b[%j].1 : f32
      %z1 = load @b[%j].2 : f32
      %m = load @b[%j].3 : f32
      %dx = sub %x1, %x0 : f32
      %dy = sub %y1, %y0 : f32
      %dz = sub %z1, %z0 : f32
      %a = mul %dx, %dx : f32
      %b = mul %dy, %dy : f32
      %c = mul %dz, %dz : f32
      %ab = add %a, %b : f32
      %abc = add %ab, %c : f32
      %d = add %abc, %soft : f32
      %inv = math.rsqrt %d : f32
      %f1 = mul %m, %inv : f32
      %f2 = mul %f1, %inv : f32
      %f = mul %f2, %inv : f32
      %gx = get $x : f32
      %gy = get $y : f32
      %gz = get $z : f32
      %px = mul %f, %dx : f32
      %py = mul %f, %dy : f32
      %pz = mul %f, %dz : f32
      %sx = add %gx, %px : f32
      %sy = add %gy, %py : f32
      %sz = add %gz, %pz : f32
      set $x, %sx
      set $y, %sy
      set $z, %sz
    }
    %rx = get $x : f32
    %ry = get $y : f32
    %rz = get $z : f32
    store @out[%i].0, %rx
    store @out[%i].1, %ry
    store @out[%i].2, %rz
    %f0 = const 0.0 : f32
    store @out[%i].3, %f0
  }
}
)";

/// Sums of rows of @a: `loops` sequential loops that read it completely, one after another or each in the
/// last.
inline std::string staged_loops(int loops, bool nested) {
  std::string text = R"(weir-ir 1
kernel "sums"
  param @out : array<f32, 1>
  param @a : array<f32, 1>
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %n = extent @a, 0 : i64
  parallel (%i) in (%zero to %n) {
    local $sum : f32
)";
  const auto loop = [&](int k) {
    const std::string id = std::to_string(k);
    text += "    for %j" + id + " = %zero to %n step %one {\n      %x" + id + " = load @a[%j" + id +
            "] : f32\n      %s" + id + " = get $sum : f32\n      %t" + id + " = add %x" + id + ", %s" + id +
            " : f32\n      set $sum, %t" + id + "\n";
  };
  for (int k = 0; k < loops; ++k) {
    loop(k);
    if (!nested) text += "    }\n";
  }
  for (int k = 0; nested && k < loops; ++k) text += "    }\n";
  return text + "    %r = get $sum : f32\n    store @out[%i], %r\n  }\n}\n";
}

/// The kernels that compile.
inline std::vector<std::string> ptx_kernels() {
  return {saxpy, triad, stencil, dot, roots, histogram, scalars, nbody};
}

}  // namespace weir::test
