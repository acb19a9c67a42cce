// SPDX-License-Identifier: Apache-2.0
// Conjugate gradients until the residual is small, in one launch: the device computes when it is done, and
// the host never waits in between. The same steps with a test on the host after each one give the same bits.
#include <chrono>
#include <cstdio>
#include <vector>
#include <weir/weir.hpp>

using namespace weir;

namespace {

using Field = View<double, 2>;

// The 5-point Laplacian with zeros around the grid.
Value<double> laplacian(const Field& x, const Index& i, const Index& j, Index n) {
  const auto at = [&](const Value<bool>& inside, const Index& a, const Index& b) {
    return select(inside, x(clamp(a, 0, n - 1), clamp(b, 0, n - 1)), 0.0);
  };
  return 4.0 * x(i, j) - at(i > 0, i - 1, j) - at(i < n - 1, i + 1, j) - at(j > 0, i, j - 1) -
         at(j < n - 1, i, j + 1);
}

Value<double> dot(const Field& a, const Field& b) {
  return reduce_sum(a.extent(0), a.extent(1), [&](Index i, Index j) { return a(i, j) * b(i, j); });
}

void begin(const Field& x, const Field& b, const Field& r, const Field& p) {
  const Index n = x.extent(0);
  range_for(n, n, [&](Index i, Index j) {
    x(i, j) = 0.0;
    r(i, j) = b(i, j);
    p(i, j) = b(i, j);
  });
}

// One step; `rr` is the square of the residual before it, the result the one after it.
Value<double> step(const Field& x, const Field& r, const Field& p, const Field& q, const Value<double>& rr) {
  const Index n = x.extent(0);
  range_for(n, n, [&](Index i, Index j) { q(i, j) = laplacian(p, i, j, n); });
  const Value<double> alpha = rr / dot(p, q);
  range_for(n, n, [&](Index i, Index j) {
    x(i, j) = x(i, j) + alpha * p(i, j);
    r(i, j) = r(i, j) - alpha * q(i, j);
  });
  const Value<double> next = dot(r, r);
  const Value<double> beta = next / rr;
  range_for(n, n, [&](Index i, Index j) { p(i, j) = r(i, j) + beta * p(i, j); });
  return next;
}

}  // namespace

int main() try {
  Device device = open();
  Stream stream = device.create_stream();
  CurrentStream scope{stream};

  const Kernel solve{"solve", [](Field x, Field b, Field r, Field p, Field q, Value<double> limit) {
                       begin(x, b, r, p);
                       Var<double> rr = dot(r, r);
                       Var<int> steps = 0;
                       repeat_while(
                           1000, [&] { return rr > limit; },
                           [&] {
                             rr = step(x, r, p, q, rr);
                             steps = steps + 1;
                           });
                       return Value<int>(steps);
                     }};
  const Kernel start{"start", [](Field x, Field b, Field r, Field p) {
                       begin(x, b, r, p);
                       return dot(r, r);
                     }};
  const Kernel one_step{
      "one_step", [](Field x, Field r, Field p, Field q, Value<double> rr) { return step(x, r, p, q, rr); }};

  constexpr std::int64_t n = 64;
  constexpr double limit = 1e-16;
  const auto field = [&] { return device.array<double>(n, n); };
  auto x = field(), b = field(), r = field(), p = field(), q = field();
  std::vector<double> right(n * n);
  for (std::int64_t k = 0; k < n * n; ++k) right[k] = static_cast<double>(k * 37 % 101) / 101;
  b.copy_from(right);

  using Clock = std::chrono::steady_clock;
  const auto on_device = [&] { return solve(stream, x, b, r, p, q, limit).get(); };
  const auto on_host = [&] {
    int steps = 0;
    double rr = start(stream, x, b, r, p).get();
    for (; rr > limit && steps < 1000; ++steps) rr = one_step(stream, x, r, p, q, rr).get();
    return steps;
  };
  const auto timed = [&](const auto& run, int& steps, std::vector<double>& result) {
    run();  // compiles the kernels
    const auto begin = Clock::now();
    steps = run();
    const double microseconds = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    result = x.to_host();
    return microseconds / steps;
  };
  int device_steps = 0, host_steps = 0;
  std::vector<double> device_x, host_x;
  const double device_time = timed(on_device, device_steps, device_x),
               host_time = timed(on_host, host_steps, host_x);
  if (device_steps != host_steps || device_x != host_x) {
    std::fprintf(stderr, "conjugate_gradients: %d steps on the device and %d with the host, or other bits\n",
                 device_steps, host_steps);
    return 1;
  }
  std::printf(
      "conjugate_gradients: %d steps of %lld unknowns; %.1f us each, with a test on the host %.1f us\n",
      device_steps, (long long)(n * n), device_time, host_time);
} catch (const Error& error) {
  std::fprintf(stderr, "conjugate_gradients: %s\n", error.what());
  return 1;
}
