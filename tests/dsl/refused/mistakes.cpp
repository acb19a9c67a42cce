// SPDX-License-Identifier: Apache-2.0
// clang-format off: a mistake and its message are on one line.
// Each line with a comment contains one mistake: `refuse: words` quotes the compiler's message for the line.
// The file is not part of any program; refused_test.cpp passes it to each compiler.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <weir/weir.hpp>

using namespace weir;

// Compilers report some mistakes once per type, so those appear once per type here.
void conditions(View<float> x, View<std::int32_t> n, Value<float> a, Value<double> b, Var<std::int32_t>& c) {
  if (x[0]) {}                             // refuse: use if_(), for_(), while_() or select()
  if (a > 1.0f) {}                         // refuse: use if_(), for_(), while_() or select()
  while (c) {}                             // refuse: use if_(), for_(), while_() or select()
  auto chosen = b ? 1 : 2;                 // refuse: use if_(), for_(), while_() or select()
  (void)chosen;
  and_(a > 0, true) && (b > 0);            // refuse: && cannot skip its right side
  (x[0] > 0) || (n[0] > 0);                // refuse: || cannot skip its right side
  !n[0];                                   // refuse: ! works on booleans
  if_(a > 0, [&](Index) {});               // refuse: a lambda without parameters
  while_(a > 0, [&] {});                   // refuse: is evaluated in every iteration
}

void places(View<float> x, View<double> d, View<std::uint32_t> u, View<Vec<float, 3>> v, View<const float> constant,
            View<Mat<float, 2, 2>> m, View<bool> flags) {
  auto element = x[0];
  element + 1.0f;                          // refuse: write Value p = x[i] to read the element now
  auto other = d[0];
  other = 1.0;                             // refuse: auto p = x[i] refers to the element
  auto copy = other;                       // refuse: use of deleted function|deleted constructor
  auto counter = u[0];
  atomic_add(counter, 1);                  // refuse: write atomic_add(x[i], ...)
  constant[0] = 1.0f;                      // refuse: take View<T> instead of View<const T>
  atomic_add(constant[0], 1.0f);           // refuse: this array is read-only in the kernel
  atomic_add(m[0], 1.0f);                  // refuse: name an entry
  atomic_max(flags[0], true);              // refuse: atomics work on integers and floats
  atomic_compare_exchange(v[0], 1.0f, 2.0f);  // refuse: a Vec is not compared and exchanged as a whole
  atomic_add(x, 1.0f);                     // refuse: an atomic works on one element of an array
  atomic_max(Value(x[0]), 1.0f);           // refuse: an atomic works on one element of an array
  (void)copy;
}

void printed(View<float> x, View<std::int32_t> n, Value<float> a, Var<std::int32_t>& c, Index i) {
  printf("%f", x[i]);                      // refuse: printf cannot print a traced value
  snprintf(nullptr, 0, "%d %f", 1, a);     // refuse: snprintf cannot print a traced value
  fprintf(stderr, "%d", c);                // refuse: fprintf cannot print a traced value
  std::printf("%f", x[i]);  // refuse: std::printf takes numbers of the host: a traced value has none
  std::snprintf(nullptr, 0, "%f", a);      // refuse: std::snprintf takes numbers of the host
  std::cout << n[i];                       // refuse: a traced value has no number while the kernel is built
}

void printed_lines(View<float> x, Index i) {
  print("{} {}", "text", x[i]);  // refuse: print takes traced values and numbers after the format
}

void functions_of_std(View<float> x, View<std::int32_t> n, Value<float> a, Var<std::int32_t>& c, Index i) {
  x[i] = std::sin(x[i]);        // refuse: write sin(...) without std:: for traced values
  x[i] = std::sqrt(a);          // refuse: write sqrt(...) without std:: for traced values
  x[i] = std::pow(a, 2.0f);     // refuse: write pow(...) without std:: for traced values
  x[i] = std::pow(2, x[i]);     // refuse: write pow(...) without std:: for traced values
  n[i] = std::abs(c);           // refuse: write abs(...) without std:: for traced values
  x[i] = std::max(x[i], 1.0f);  // refuse: write max(...) without std:: for traced values
  x[i] = std::min(a, 1.0f);     // refuse: write min(...) without std:: for traced values
  x[i] = std::max(a, a);        // refuse: use if_(), for_(), while_() or select()|write max(...) without
  x[i] = std::clamp(x[i], 0.0f, 1.0f);  // refuse: write clamp(...) without std:: for traced values
  if_(std::isnan(x[i]), [] {});         // refuse: write isnan(...) without std:: for traced values
}

void generic(View<float> x, View<double> d, View<std::int32_t> n, Index i) {
  auto sum = [&](auto k) { auto s = x[k] + n[k]; return s; };  // refuse: write cast<T>(...) around one of them
  auto less = [&](auto k) { auto s = x[k] < d[k]; return s; }; // refuse: write cast<T>(...) around one of them
  sum(i), less(i);
  x[i] = cast<float>(3);                   // refuse: write static_cast<To>(x) for a number of the host
  Index j(n[i]);                           // refuse: write cast<T>(...) around it
  Value<float> w{d[i]};                    // refuse: write cast<T>(...) around it
  (void)j, (void)w;
}

void swapped(View<float> x, View<double> d, Index i) {
  swap(x[i], d[i]);                        // refuse: swap exchanges places of one type
}

void steps(View<float> x, View<std::int32_t> n, Value<float> a, Var<std::int32_t>& c) {
  x[0]++;                                  // refuse: kernels have no ++ and --: write x[i] += 1
  --n[0];                                  // refuse: kernels have no ++ and --: write x[i] += 1
  ++c;                                     // refuse: kernels have no ++ and --: write x[i] += 1
  a--;                                     // refuse: kernels have no ++ and --: write x[i] += 1
}

void compound(View<float> x, View<std::int32_t> n, View<double> d, Value<float> a, Var<std::int32_t>& c, Index i) {
  x[i] += n[i];                            // refuse: an assignment have different types: write cast<T>(...) around the value
  d[i] -= x[i];                            // refuse: an assignment have different types: write cast<T>(...) around the value
  c *= x[i];                               // refuse: an assignment have different types: write cast<T>(...) around the value
  n[i] <<= i;                              // refuse: an assignment have different types: write cast<T>(...) around the value
  i += 1;                                  // refuse: a Value never changes: make it a Var<T>
  a /= x[i];                               // refuse: a Value never changes: make it a Var<T>
  auto element = x[i];
  element += 1.0f;                         // refuse: auto p = x[i] refers to the element
  enum Kind { fluid };
  c |= fluid;                              // refuse: write static_cast<int>(...) around the enumerator
  float sum = 0;
  sum += x[i];                             // refuse: declare the variable as Var<T>, or use a reduction
  int count = 0;
  count -= c;                              // refuse: declare the variable as Var<T>, or use a reduction
}

// h[i] and v[i] get the compilers' own words; see kernel-language.md.
void host_arrays(View<float> x, View<std::int32_t> n, Index i, const float* p, const std::vector<float>& v) {
  float h[4] = {};
  x[i] = *(p + i);                         // refuse: take the array as a parameter View<const T>
  x[i] = *(h + n[i]);                      // refuse: take the array as a parameter View<const T>
  x[i] = *(n[i] + p);                      // refuse: take the array as a parameter View<const T>
  p += i;                                  // refuse: take the array as a parameter View<const T>
  p -= n[i];                               // refuse: take the array as a parameter View<const T>
  x[i] = h[i];                             // refuse: no match for|no viable overloaded operator[]
  x[i] = v[i];                             // refuse: no match for|no viable overloaded operator[]
}

// clang quotes the comment of the explicit constructor; g++ prints its own words only.
void declared(View<float> x, View<std::int32_t> n, Value<double> b, Var<std::int32_t>& c, Index i) {
  Index j = n[i];                          // refuse: another type: write cast<T>(...) around it|to non-scalar type
  Value<float> w = b;                      // refuse: another type: write cast<T>(...) around it|to non-scalar type
  Value<std::int8_t> u = c;                // refuse: another type: write cast<T>(...) around it|to non-scalar type
  Var<float> v = n[i];                     // refuse: another type: write cast<T>(...) around it|to non-scalar type
  Var<double> z(x[i]);                     // refuse: than this Var<T>: write cast<T>(...) around it
  Var<std::int32_t> k{x[i]};               // refuse: than this Var<T>: write cast<T>(...) around it
  Function next{"next", [](Index m) { return m + 1; }};
  next(n[i]);                              // refuse: have the types of its lambda's parameters: write cast<T>(...)
  next(i, i);                              // refuse: have the types of its lambda's parameters
  (void)j, (void)w, (void)u;
}

void indices(View<float> x, View<float, 2> m, View<Vec<float, 3>> v, Value<float> a, Value<bool> flag, Index i,
             View<std::int8_t, 0> z, ArrayView<std::int8_t, 0> host, ArrayView<std::int8_t> line) {
  z[0] = 1;                                // refuse: an array of no dimensions has one element, x()
  z(i) = 1;                                // refuse: the number of indices in x(i, j, ...)
  host.slice(0, 1);                        // refuse: constraints not satisfied|no matching
  line.value();                            // refuse: constraints not satisfied|no matching
  x[a];                                    // refuse: indices and bounds are integers: use cast<std::int64_t>(...)
  x[1.5];                                  // refuse: indices and bounds are integers
  x[flag];                                 // refuse: indices and bounds are integers: use cast<std::int64_t>(...)
  m[0];                                    // refuse: is indexed as x(i, j), one index for each
  m(0, 1, 2);                              // refuse: must be the array's number of dimensions
  v[0][x[0]];                              // refuse: indices and bounds are integers: use cast<std::int64_t>(...)
  v[0][1.9];                               // refuse: the index of a component is an integer
  v[0][true];                              // refuse: the index of a component is an integer
  x[0][0];                                 // refuse: only a Vec has components
}

void types(View<float> x, Value<float> a, Value<double> b, Value<std::int32_t> n, Value<bool> flag, Index i) {
  a + b;                                   // refuse: different types: write cast<T>(...) around one of them
  i < n;                                   // refuse: different types: write cast<T>(...) around one of them
  enum Kind { fluid };
  enum class State { solid };
  n == fluid;                              // refuse: write static_cast<int>(...) around the enumerator
  State::solid != n;                       // refuse: write static_cast<int>(...) around the enumerator
  x[i] = fluid;                            // refuse: write static_cast<int>(...) around the enumerator
  Var<std::int64_t> kind;
  kind = fluid;                            // refuse: write static_cast<int>(...) around the enumerator
  n + fluid;                               // refuse: write static_cast<int>(...) around the enumerator
  Value<std::int16_t> nothing;             // refuse: write Value<T> v = ..., or Var<T> v
  (void)nothing;
  x[i] = n;                                // refuse: write cast<T>(...) around the value
  n + 0.5;                                 // refuse: a floating constant meets a traced integer
  flag == 1;                               // refuse: a number and a boolean do not mix
  flag + flag;                             // refuse: booleans are not added
  a & a;                                   // refuse: & works on integers and booleans
  a << 2;                                  // refuse: << shifts integers only
  sin(n);                                  // refuse: the functions of the math library take floats
  pow(a, b);                               // refuse: the operands of a function have different types
  popcount(b);                             // refuse: popcount counts the bits of integers
  bit_cast<float>(b);                      // refuse: a number type of the same size
  bit_cast<std::int8_t>(flag);             // refuse: bit_cast takes no booleans
  cast<half>(a);                           // refuse: halves are rounded when they are stored
  random<std::int8_t>();                   // refuse: random<T>() draws float, double
  atomic_and(x[0], 1.0f);                  // refuse: atomic_and, atomic_or and atomic_xor work on integers
  Var<half> h;                             // refuse: kernels compute halves as float: write Var<float>
}

void variables(Value<float> a, Value<double> b) {
  a = 1.0f;                                // refuse: make it a Var<T> to assign to it
  Var<float> v = a;
  auto w = v;                              // refuse: a Var is not copied
  v = b;                                   // refuse: write cast<T>(...) around the value
  Var<double> u = b;
  auto by_copy = [u] {};                   // refuse: capture it by reference
  LocalArray<float, 4> l;
  auto m = l;                              // refuse: use of deleted function|deleted constructor
  vec(1.0f, 2.0f, 3.0f);                   // refuse: write Vec<float, 3>{1, 2, 3} for a constant
  mat<2, 2>(1.0f, 2.0f, 3.0f, 4.0f);       // refuse: write Mat<float, 2, 2>{1, 2, 3, 4} for a constant
  (void)w, (void)m, (void)by_copy;
}

void loops(View<float> x) {
  range_for(x.size(), [&](Index, Index) {});                                   // refuse: takes 1 index
  range_for(4, 4, [&](Index) {});                                              // refuse: takes 2 indices
  range_for(4.0f, [&](Index) {});                                               // refuse: indices and bounds are integers
  range_for(x.size(), [&](Index i) { return x[i] + 1; });                      // refuse: the body of a loop or branch returns nothing
  if_(x[0] > 0, [&] { return x.size(); });                                     // refuse: the body of a loop or branch returns nothing
  reduce_any(4, [&](Index i) { return x[i]; });                                // refuse: take a condition
  reduce_sum(4, [&](Index i) { return x[i] > 0; });                            // refuse: are reduced with reduce_any
  reduce_sum(4, [&](Index i) { Value y = x[i]; return mat<1, 1>(y); });        // refuse: reduce a Mat by its entries
  reduce_xor(4, [&](Index i) { return x[i]; });                                // refuse: work on integers
  arg_min(4, [&](Index i) { Value y = x[i]; return vec(y, y); });              // refuse: arg_min and arg_max returns one number
}

void branches(View<float> x, View<std::int32_t> n) {
  for_(x.size(), [&](Index i) { x[i] = 1.0f; });                               // refuse: write for_(0, n, [&](Index k) { ... })
  range_for(x, [&](Index i) { x[i] = 1.0f; });                                 // refuse: write range_for(x.size(), [&](Index i) { ... })
  if_(x[0] > 0, [&] { x[0] = 1.0f; }, [&] { x[0] = 2.0f; });                   // refuse: write if_(c, [&] { ... }).else_([&] { ... })
  if_(n[0], [&] { x[0] = 1.0f; });                                             // refuse: if_ takes a condition: write if_(x != 0, [&] { ... })
}

void group_loops(View<float> x, View<double> d, Index i) {
  group_for(x.size(), threads<64>, [&](Index, Index) {});                      // refuse: write group_for(groups(n), threads<64>
  group_for(groups(4), 64, [&](Index, Index) {});                              // refuse: which are a constant
  group_for(groups(4), threads<2048>, [&](Index, Index) {});                   // refuse: a group has at most 1024 threads
  group_for(groups(4), threads<8, 0>, [&](Index, Index, Index) {});           // refuse: each of 1 or more
  group_for(groups(4), threads<64>, [&](Index) {});                            // refuse: takes 2 indices
  group_for(groups(4, 4, 4), threads<8, 8>, [&](Index, Index, Index, Index, Index) {});  // refuse: at most 4 indices
  group_for(groups(4), threads<32>, [&](Index, Index t) { return x[t]; });     // refuse: the body of a loop or branch returns nothing
  Shared<float, 4, 8> tile;
  tile[i] = 1.0f;                                                              // refuse: name all indices: s(i, j)
  tile(i) = 1.0f;                                                              // refuse: takes as many indices as Shared<T, N...> has dimensions
  tile(i, i) = d[i];                                                           // refuse: write cast<T>(...) around the value
  auto other = tile;                                                           // refuse: use of deleted function|deleted constructor
  atomic_add(tile, 1.0f);                                                      // refuse: an atomic works on one element of an array
  lane<5>();                                                                   // refuse: the width of a sub-group is 1, 2, 4, 8, 16 or 32
  subgroup_barrier<12>();  // refuse: the width of a sub-group is 1, 2, 4, 8, 16 or 32
  shuffle<64>(x[i], 1);                                                        // refuse: the width of a sub-group is 1, 2, 4, 8, 16 or 32
  shuffle<32>(x[i], i);                                                        // refuse: the number of a lane is an i32
  ballot<32>(x[i]);                                                            // refuse: ballot takes a condition
  subgroup_any<32>(x[i]);                                                      // refuse: subgroup_any takes a condition
  subgroup_all<32>(x[i]);                                                      // refuse: subgroup_all takes a condition
  (void)other;
}

void products(Value<Mat<float, 2, 3>> m, Value<Mat<double, 2, 2>> d, Value<Vec<float, 4>> v) {
  m * v;                                   // refuse: as many columns on the left as there are rows
  cross(v, v);                             // refuse: takes vectors of 3 components
  determinant(m);                          // refuse: determinant and inverse take square matrices
  qr(m);                                   // refuse: qr takes matrices with at least as many rows as columns
  lu(m);                                   // refuse: this factorisation takes square matrices
  m * d;                                   // refuse: write cast<T>(...) around one of them
  m[0];                                    // refuse: a Mat has m(row, column)
}

struct Particle {
  float mass;
  std::int32_t kinds[2];
};
struct Other {
  float mass;
};
struct WithPointer {
  float* data;
};
struct WithEnum {
  enum class Kind { solid } kind;
  float mass;
};
struct WithConstructor {
  explicit WithConstructor(float m);
  float mass;
};
struct WithBits {
  int a : 3;
  int b : 5;
  float mass;
};
#pragma pack(push, 1)
struct Packed {
  std::uint8_t kind;
  Vec<float, 3> position;
};
#pragma pack(pop)
struct WithPacked {
  Packed packed;
  float mass;
};
struct TooLong {
  float mass[1024];
};
struct Deep {
  float mass[1][1][1][1];
};

void structs(const StreamRef& stream, View<Particle> p, View<const Particle> constant, Value<Particle> value,
             const StructArray<Other>& other, const Array<float>& vector, const StructArrayView<Particle>& particles, Index i) {
  sizeof(View<WithPointer>);               // refuse: a member of a struct in an array is a number
  sizeof(StructArrayView<WithEnum>);       // refuse: pointers, enums, characters, unions and other classes are not
  sizeof(View<WithConstructor>);           // refuse: or with one dimension structs
  sizeof(StructArrayView<float>);          // refuse: a struct array holds structs
  sizeof(StructArrayView<WithBits>);       // refuse: bit-field
  sizeof(StructArrayView<Packed>);         // refuse: remove the packing of the struct
  sizeof(View<WithPacked>);                // refuse: remove the packing of the struct
  sizeof(View<TooLong>);                   // refuse: fewer than 1,024 elements: write std::array for long ones
  sizeof(View<Deep>);                      // refuse: at most three arrays around one another
  auto kept = p[i];
  kept[&Particle::mass] = 1;               // refuse: auto p = particles[i] refers to the struct
  constant[i] = value;                     // refuse: take View<T> instead of View<const T>
  constant[i][&Particle::kinds][0] = 1;    // refuse: take View<T> instead of View<const T>
  value = p[i];                            // refuse: a Value never changes: assign to the struct's element
  p[i][&Other::mass] = 1;                  // refuse: the member named is one of another struct
  value[&Other::mass];                     // refuse: the member named is one of another struct
  value[&Particle::kinds][i];              // refuse: an array in a Value of a struct takes a constant index
  particles.member(&Particle::kinds, &Other::mass);                            // refuse: one of another struct
  Kernel whole{"whole", [](Value<Particle> x) {}};                             // refuse: structs come as View<T>
  Kernel kernel{"kernel", [](View<Particle> x) { x[0][&Particle::mass] = 1; }};
  kernel(stream, other);                                                       // refuse: takes a StructArray<T> or StructArrayView<T> of the same struct
  kernel(stream, vector);                                                      // refuse: takes a StructArray<T> or StructArrayView<T> of the same struct
}

void kernels(const StreamRef& stream, const Array<double>& wrong, const Array<float, 2>& flat,
             const Array<float>& vector, const std::vector<float>& host) {
  float k = 2;
  Kernel captures{"captures", [&](View<float> x) { x[0] = k; }};               // refuse: wrap the lambda in with_constants(...)
  Kernel generic{"generic", [](auto x) { x[0] = 1; }};                         // refuse: View<T> or Value<T>, not auto
  Kernel returns{"returns", [](View<float> x) { return 1.0f; }};               // refuse: a kernel returns nothing, or values that it has computed
  Kernel large{"large", [](Value<Mat<double, 16, 16>> m) { return std::tuple(m, m, m); }};  // refuse: a kernel returns at most 4096 bytes of values
  Kernel sum{"sum", [](View<const float> x) { return Value(x[0]); }};
  Kernel plain{"plain", [](float* x) { x[0] = 1; }};                           // refuse: are View<T, Rank> and Value<T>
  Kernel right{"right", [](View<float> x) { x[0] = 1.0f; }};
  right(stream, wrong);                                                        // refuse: element type differs from the kernel's View<T>
  Kernel scalars{"scalars", [](View<float> x, Value<int> n, Value<bool> b) { x[0] = select(b, 1.0f, 0.0f) * cast<float>(n); }};
  scalars(stream, vector, 1.5, true);                                          // refuse: is not converted to an integer implicitly
  scalars(stream, vector, 1, 1);                                               // refuse: a Value<bool> takes a bool
  right(stream, flat);                                                         // refuse: number of dimensions differs
  right(stream, host);                                                         // refuse: takes a device array
  right(stream);                                                               // refuse: too few arguments: after the stream
  right();                                                                     // refuse: too few or too many arguments
  right(vector, vector);                                                       // refuse: too many arguments, or its first one is no stream
  scalars(stream, vector, "one", true);                                        // refuse: takes a T, or a number that becomes one
  scalars(vector);                                                             // refuse: too few or too many arguments
  scalars(stream, vector, sum(vector), true);                                  // refuse: a Value<T> is a host number: pass future.get()
  right(stream, sum(vector));                                                  // refuse: let the earlier kernel store to an Array<T, 0>
  GraphBuilder(stream.device()).launch(sum, vector);                           // refuse: and then an Array<T, 0> for each value
  Array<float> copy = vector;                                                  // refuse: arrays are moved; make another one|deleted
}
