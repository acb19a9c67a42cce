// SPDX-License-Identifier: Apache-2.0
// Kernels written in the kernel language against the same loops written with OpenMP.
#include <memory>
#include <random>
#include <vector>
#include <weir/kernel.hpp>
#include <weir/weir.hpp>

#include "paired.hpp"
#include "peers.hpp"

namespace weir::bench {
namespace {

Device& device() {
  static Device one = open("cpu");
  return one;
}
Stream& stream() {
  static Stream one = device().create_stream();
  return one;
}

template <class T>
std::vector<T> random_values(std::size_t n, T low, T high, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<T> values(low, high);
  std::vector<T> result(n);
  for (T& value : result) value = values(engine);
  return result;
}

template <class T>
std::shared_ptr<Array<T>> upload(const std::vector<T>& host) {
  auto array = std::make_shared<Array<T>>(device().array<T>(stream(), host.size()));
  array->copy_from(stream(), host);
  return array;
}

void add_triad() {
  constexpr std::size_t n = std::size_t{32} << 20;
  static Kernel triad{"triad",
                      [](View<float> a, View<const float> b, View<const float> c, Value<float> scale) {
                        range_for(a.size(), [&](Index i) { a[i] = b[i] + scale * c[i]; });
                      }};
  auto b_host = std::make_shared<std::vector<float>>(random_values<float>(n, 0, 1, 1));
  auto c_host = std::make_shared<std::vector<float>>(random_values<float>(n, 0, 1, 2));
  auto a_host = std::make_shared<std::vector<float>>(n);
  auto a = upload(*a_host), b = upload(*b_host), c = upload(*c_host);
  add({.name = "triad_f32_32Mi",
       .bar = "at least 0.95 of g++ -O3 -fopenmp",
       .samples = 31,
       .units = 3.0 * n * sizeof(float),
       .ours =
           [=] {
             triad(stream(), *a, *b, *c, 3.0f);
             stream().synchronize();
           },
       .peer = [=] { peer::triad(a_host->data(), b_host->data(), c_host->data(), 3.0f, n); },
       .higher_is_better = true});
}

void add_stencil() {
  constexpr std::size_t n = 4096;
  constexpr int sweeps = 20;
  static Kernel stencil{
      "stencil", [](View<float, 2> out, View<const float, 2> in) {
        range_for(range(1, in.extent(0) - 1), range(1, in.extent(1) - 1), [&](Index i, Index j) {
          out(i, j) = 0.2f * (in(i, j) + in(i, j - 1) + in(i, j + 1) + in(i - 1, j) + in(i + 1, j));
        });
      }};
  auto host_a = std::make_shared<std::vector<float>>(random_values<float>(n * n, 0, 1, 3));
  auto host_b = std::make_shared<std::vector<float>>(*host_a);
  auto a = std::make_shared<Array<float, 2>>(device().array<float>(stream(), n, n));
  auto b = std::make_shared<Array<float, 2>>(device().array<float>(stream(), n, n));
  a->copy_from(stream(), *host_a);
  b->copy_from(stream(), *host_a);
  add({.name = "stencil_5_point_4096x4096_20_sweeps",
       .bar = "at least 0.95 of g++ -O3 -fopenmp",
       .samples = 15,
       .units = double(sweeps) * n * n,
       .ours =
           [=] {
             for (int sweep = 0; sweep < sweeps; sweep += 2) {
               stencil(stream(), *b, *a);
               stencil(stream(), *a, *b);
             }
             stream().synchronize();
           },
       .peer =
           [=] {
             for (int sweep = 0; sweep < sweeps; sweep += 2) {
               peer::stencil(host_b->data(), host_a->data(), n, n);
               peer::stencil(host_a->data(), host_b->data(), n, n);
             }
           },
       .higher_is_better = true});
}

template <class T>
using Peer = void (*)(T* out, const T* in, std::size_t n);

template <class T, class OurKernel>
void add_map(const std::string& name, const std::string& bar, OurKernel& kernel, Peer<T> peer, T low,
             T high) {
  constexpr std::size_t n = std::size_t{1} << 20;
  auto in_host = std::make_shared<std::vector<T>>(random_values<T>(n, low, high, 4));
  auto out_host = std::make_shared<std::vector<T>>(n);
  auto in = upload(*in_host), out = upload(*out_host);
  add({.name = name,
       .bar = bar,
       .repeats = 4,
       .samples = 31,
       .units = double(n),
       .ours =
           [=, &kernel] {
             kernel(stream(), *out, *in);
             stream().synchronize();
           },
       .peer = [=] { peer(out_host->data(), in_host->data(), n); },
       .higher_is_better = true});
}

/// One function over an array, in fast and in portable mode. `Body` computes one element, so each function
/// has separate kernels.
template <class T, class Body>
void add_map_pair(const std::string& name, Body, Peer<T> peer, T low, T high) {
  constexpr auto body = [](View<T> out, View<const T> in) {
    range_for(out.size(), [&](Index i) { out[i] = Body{}(in[i]); });
  };
  static Kernel fast{name + "_fast", body, KernelOptions{.fast_math = true}},
      portable{name + "_portable", body};
  add_map("map_" + name + "_fast", "at least 1.0 of g++ -Ofast with libmvec", fast, peer, low, high);
  add_map("map_" + name + "_portable", "at least 0.5 of the same", portable, peer, low, high);
}

template <class T>
void add_maps_of(const std::string& type) {
  static constexpr T power = T(2.37);
  const Peer<T> pow_peer = [](T* out, const T* in, std::size_t n) { peer::map_pow(out, in, power, n); };
  add_map_pair<T>("sin_" + type, [](Value<T> x) { return sin(x); }, peer::map_sin, -100, 100);
  add_map_pair<T>("exp_" + type, [](Value<T> x) { return exp(x); }, peer::map_exp, -80, 80);
  add_map_pair<T>("log_" + type, [](Value<T> x) { return log(x); }, peer::map_log, T(0.01), 100);
  add_map_pair<T>("pow_" + type, [](Value<T> x) { return pow(x, power); }, pow_peer, T(0.01), 100);
}

void add_maps() {
  add_maps_of<float>("f32");
  add_maps_of<double>("f64");
}

void add_nbody() {
  constexpr std::size_t n = 4096;
  constexpr float softening = 1e-3f;
  auto body = [](View<float> ax, View<float> ay, View<float> az, View<const float> x, View<const float> y,
                 View<const float> z, View<const float> mass, Value<float> soft) {
    range_for(x.size(), [&](Index i) {
      Var<float> sx = 0.0f, sy = 0.0f, sz = 0.0f;
      for_(0, x.size(), [&](Index j) {
        Value<float> dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
        Value<float> r2 = dx * dx + dy * dy + dz * dz + soft;
        Value<float> f = mass[j] / (r2 * sqrt(r2));
        sx += f * dx;
        sy += f * dy;
        sz += f * dz;
      });
      ax[i] = sx;
      ay[i] = sy;
      az[i] = sz;
    });
  };
  static Kernel fast{"nbody_fast", body, KernelOptions{.fast_math = true}};
  static Kernel portable{"nbody_portable", body};
  auto hosts = std::make_shared<std::vector<std::vector<float>>>();
  for (unsigned seed = 10; seed < 14; ++seed) hosts->push_back(random_values<float>(n, 0.1f, 1, seed));
  for (int i = 0; i < 3; ++i) hosts->emplace_back(n);
  std::vector<std::shared_ptr<Array<float>>> arrays;
  for (const auto& host : *hosts) arrays.push_back(upload(host));
  auto ours = [=](auto& kernel) {
    kernel(stream(), *arrays[4], *arrays[5], *arrays[6], *arrays[0], *arrays[1], *arrays[2], *arrays[3],
           softening);
    stream().synchronize();
  };
  auto peer = [=](auto function) {
    auto& h = *hosts;
    function(h[4].data(), h[5].data(), h[6].data(), h[0].data(), h[1].data(), h[2].data(), h[3].data(), n,
             softening);
  };
  add({.name = "nbody_4096_fast",
       .bar = "at least 0.95 of g++ -Ofast -fopenmp",
       .samples = 31,
       .units = double(n) * n,
       .ours = [=] { ours(fast); },
       .peer = [=] { peer(peer::nbody_fast); },
       .higher_is_better = true});
  add({.name = "nbody_4096_portable",
       .bar = "at least 0.95 of g++ -O3 -fopenmp",
       .samples = 15,
       .units = double(n) * n,
       .ours = [=] { ours(portable); },
       .peer = [=] { peer(peer::nbody); },
       .higher_is_better = true});
}

}  // namespace

void add_compute_cases() {
  add_triad();
  add_stencil();
  add_maps();
  add_nbody();
}

}  // namespace weir::bench
