// SPDX-License-Identifier: Apache-2.0
// What the kernel language offers beyond loops, against the same by hand: prints, structs, groups.
#include <cstdint>
#include <memory>
#include <vector>
#include <weir/weir.hpp>

#include "paired.hpp"
#include "peers.hpp"

namespace weir::bench {
namespace {

/// Made when the case runs.
template <class T>
class Kept {
 public:
  template <class... A>
  T& operator()(const A&... arguments) {
    if (!kept_) kept_ = std::make_unique<T>(arguments...);
    return *kept_;
  }

 private:
  std::unique_ptr<T> kept_;
};

struct Device1 {
  Device device = open("cpu");
  Stream stream = device.create_stream();
};

// ---- a print that prints nothing

struct TwoArrays : Device1 {
  explicit TwoArrays(std::size_t n) : x(device.array<float>(stream, n)), y(device.array<float>(stream, n)) {
    x.fill(stream, 1.0f);
    y.fill(stream, 2.0f);
  }
  Array<float> x, y;
};

const Kernel<void(View<const float>, View<float>)>& plain_kernel() {
  static const Kernel kernel{"plain", [](View<const float> x, View<float> y) {
                               range_for(x.size(), [&](Index i) { y[i] = y[i] * 0.5f + x[i]; });
                             }};
  return kernel;
}
const Kernel<void(View<const float>, View<float>)>& printing_kernel() {
  static const Kernel kernel{"printing", [](View<const float> x, View<float> y) {
                               range_for(x.size(), [&](Index i) {
                                 y[i] = y[i] * 0.5f + x[i];
                                 if_(x[i] < 0.0f, [&] { print("x[{}] = {}", i, x[i]); });
                               });
                             }};
  return kernel;
}

void add_print(const std::string& name, std::size_t n) {
  const auto arrays = std::make_shared<Kept<TwoArrays>>();
  const auto run = [=](const Kernel<void(View<const float>, View<float>)>& kernel) {
    TwoArrays& a = (*arrays)(n);
    kernel(a.stream, a.x, a.y);
    a.stream.synchronize();
  };
  add({.name = "print_nothing_" + name,
       .bar = "at most 1.02 of the kernel without it",
       .repeats = static_cast<int>((std::size_t{1} << 24) / n),  // several milliseconds for a sample
       .samples = 31,
       .units = double(n),
       .ours = [=] { run(printing_kernel()); },
       .peer = [=] { run(plain_kernel()); }});
}

// ---- one member of structs

struct Body {
  Vec<float, 3> position, velocity;
  float mass;
  std::int32_t id;
};

struct Bodies : Device1 {
  Bodies(std::size_t n, const Layout& layout) : bodies(stream, n, layout), by_hand(n * 8), masses(n, 1.0f) {
    bodies.copy_from(stream, std::vector<Body>(n));
  }
  StructArray<Body> bodies;
  std::vector<float> by_hand, masses;
};

void add_member(const std::string& name, const Layout& layout, bool of_structs) {
  constexpr std::size_t n = std::size_t{1} << 22;
  const auto kept = std::make_shared<Kept<Bodies>>();
  static const Kernel kernel{"member", [](View<Body> bodies) {
                               range_for(bodies.size(), [&](Index i) { bodies[i][&Body::mass] *= 1.5f; });
                             }};
  add({.name = "one_member_of_" + name,
       .bar = "at least 1.0 of the same layout by hand, g++ -O3 -fopenmp",
       .samples = 31,
       .units = double(n),
       .ours =
           [=] {
             Bodies& b = (*kept)(n, layout);
             kernel(b.stream, b.bodies);
             b.stream.synchronize();
           },
       .peer =
           [=] {
             Bodies& b = (*kept)(n, layout);
             if (of_structs)
               peer::scale_member(b.by_hand.data() + 6, 8, n);
             else
               peer::scale_member(b.masses.data(), 1, n);
           },
       .higher_is_better = true});
}

// ---- a matrix product by groups

struct Matrices : Device1 {
  explicit Matrices(std::size_t n)
      : host_a(n * n, 0.5f),
        host_b(n * n, 0.25f),
        host_c(n * n),
        a(device.array<float>(stream, n, n)),
        b(device.array<float>(stream, n, n)),
        c(device.array<float>(stream, n, n)) {
    a.copy_from(stream, std::span<const float>(host_a));
    b.copy_from(stream, std::span<const float>(host_b));
  }
  std::vector<float> host_a, host_b, host_c;
  Array<float, 2> a, b, c;
};

void add_product() {
  constexpr std::size_t n = 4096;
  static_assert(n % peer::tile == 0);
  constexpr std::int64_t tile = peer::tile;
  static const Kernel kernel{
      "product", [](View<const float, 2> a, View<const float, 2> b, View<float, 2> c) {
        group_for(groups(c.extent(0) / tile, c.extent(1) / tile), threads<peer::tile, peer::tile>,
                  [&](Index gi, Index gj, Index ti, Index tj) {
                    Shared<float, peer::tile, peer::tile> tile_a, tile_b;
                    Var<float> sum = 0.0f;
                    const Index i = gi * tile + ti, j = gj * tile + tj;
                    for_(0, a.extent(1), tile, [&](Index k0) {
                      tile_a(ti, tj) = a(i, k0 + tj);
                      tile_b(ti, tj) = b(k0 + ti, j);
                      barrier();
                      for_(0, tile, [&](Index k) { sum = fma(tile_a(ti, k), tile_b(k, tj), sum); });
                      barrier();
                    });
                    c(i, j) = sum;
                  });
      }};
  const auto kept = std::make_shared<Kept<Matrices>>();
  add({.name = "matrix_product_by_groups_4096",
       .bar = "at least 0.9 of the same tiles, g++ -O3 -fopenmp",
       .samples = 3,
       .units = 2.0 * n * n * n,
       .ours =
           [=] {
             Matrices& m = (*kept)(n);
             kernel(m.stream, m.a, m.b, m.c);
             m.stream.synchronize();
           },
       .peer =
           [=] {
             Matrices& m = (*kept)(n);
             peer::tiled_product(m.host_c.data(), m.host_a.data(), m.host_b.data(), n);
           },
       .higher_is_better = true});
}

}  // namespace

void add_language_cases() {
  add_print("64Ki", std::size_t{1} << 16);
  add_print("1Mi", std::size_t{1} << 20);
  add_print("16Mi", std::size_t{1} << 24);
  add_member("array_of_structs", Layout::array_of_structs(), true);
  add_member("struct_of_arrays", Layout::struct_of_arrays(), false);
  add_product();
}

}  // namespace weir::bench
