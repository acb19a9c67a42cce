// SPDX-License-Identifier: Apache-2.0
// Repetitions on the device: conjugate gradients whose test of convergence is on the device, against a host
// loop that tests after every step.
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
#include <weir/kernel.hpp>

#include "device.hpp"
#include "figures.hpp"

namespace weir::bench::gpu {
namespace {

using Field = View<double, 2>;
using Number = View<double, 0>;
using Count = View<int, 0>;

/// The 5-point Laplacian with zeros around the grid.
Value<double> laplacian(const Field& x, const Index& i, const Index& j) {
  const Index n = x.extent(0);
  const auto at = [&](const Value<bool>& inside, const Index& a, const Index& b) {
    return select(inside, x(clamp(a, 0, n - 1), clamp(b, 0, n - 1)), 0.0);
  };
  return 4.0 * x(i, j) - at(i > 0, i - 1, j) - at(i < n - 1, i + 1, j) - at(j > 0, i, j - 1) -
         at(j < n - 1, i, j + 1);
}

Value<double> dot(const Index& rows, const Field& a, const Field& b) {
  return reduce_sum(rows, a.extent(1), [&](Index i, Index j) { return a(i, j) * b(i, j); });
}

/// One step of `rows` rows: all of them, or none once the solution has been found. `rr` is the square of the
/// residual before the step, the result the one after it.
Value<double> step(const Index& rows, const Field& x, const Field& r, const Field& p, const Field& q,
                   const Value<double>& rr) {
  const Index n = x.extent(1);
  range_for(rows, n, [&](Index i, Index j) { q(i, j) = laplacian(p, i, j); });
  const Value<double> alpha = rr / dot(rows, p, q);
  range_for(rows, n, [&](Index i, Index j) {
    x(i, j) = x(i, j) + alpha * p(i, j);
    r(i, j) = r(i, j) - alpha * q(i, j);
  });
  const Value<double> next = dot(rows, r, r);
  const Value<double> beta = next / rr;
  range_for(rows, n, [&](Index i, Index j) { p(i, j) = r(i, j) + beta * p(i, j); });
  return next;
}

constexpr auto begin = [](Field x, Field b, Field r, Field p, Number rr, Count steps) {
  const Index n = x.extent(0);
  range_for(n, n, [&](Index i, Index j) {
    x(i, j) = 0.0;
    r(i, j) = b(i, j);
    p(i, j) = b(i, j);
  });
  rr() = dot(n, r, r);
  steps() = 0;
};

constexpr auto one_step = [](Field x, Field r, Field p, Field q, Number rr) {
  const Value next = step(x.extent(0), x, r, p, q, rr());
  rr() = next;
  return next;
};

/// Until the residual is small, or `most` steps were made: one task.
constexpr auto while_large = [](Field x, Field r, Field p, Field q, Number rr, Count steps,
                                Value<double> limit, Value<int> most) {
  Var<double> left = rr();
  Var<int> made = steps();
  repeat_while([&] { return (left > limit) & (made < most); },
               [&] {
                 left = step(x.extent(0), x, r, p, q, left);
                 made += 1;
               });
  rr() = left;
  steps() = made;
  return Value<double>(left);
};

/// The host submits all repetitions. Those after the last step that is needed have loops without iterations.
constexpr auto many_steps = [](Field x, Field r, Field p, Field q, Number rr, Count steps,
                               Value<double> limit, Value<int> most) {
  Var<double> left = rr();
  Var<int> made = steps();
  repeat(most, [&] {
    const Value<bool> goes_on = left > limit;
    const Value<double> next = step(select(goes_on, x.extent(0), 0), x, r, p, q, left);
    left = select(goes_on, next, left);
    made += select(goes_on, 1, 0);
  });
  rr() = left;
  steps() = made;
  return Value<double>(left);
};

struct Solver {
  std::int64_t n;
  Stream stream = device().create_stream();
  Array<double, 2> b = field(), x = field(), r = field(), p = field(), q = field();
  Array<double, 0> rr = device().array<double>();
  Array<int, 0> steps = device().array<int>();

  explicit Solver(std::int64_t side) : n(side) {
    std::vector<double> right(static_cast<std::size_t>(n * n));
    for (std::size_t k = 0; k < right.size(); ++k) right[k] = static_cast<double>(k * 37 % 101) / 101;
    b.copy_from(stream, right);
    stream.synchronize();
  }
  Array<double, 2> field() const { return device().array<double>(n, n); }

  /// Seconds per step of `solve`, from a start at zero.
  template <class Solve>
  double per_step(const Solve& solve) {
    static const Kernel start{"begin", begin};
    start(stream, x, b, r, p, rr, steps);
    stream.synchronize();
    const double from = now();
    const int made = solve();
    return (now() - from) / made;
  }
};

/// A number of steps after which the residual may not yet be small.
struct Limits {
  int most, per_launch;
};

constexpr double largest_residual = 1e-6;  // of the square, per unknown

template <class SolveKernel>
Sides solvers(std::int64_t side, const SolveKernel& solve, const Limits& limits) {
  static const Kernel single{"one_step", one_step};
  const auto ours = std::make_shared<Solver>(side), theirs = std::make_shared<Solver>(side);
  const double limit = largest_residual * static_cast<double>(side * side);
  const LaunchOptions as_graph{.mode = LaunchMode::graph};
  return {.ours =
              [=, &solve] {
                return ours->per_step([&] {
                  double left = limit + 1;
                  for (int made = 0; made < limits.most && left > limit; made += limits.per_launch)
                    left = solve(as_graph, ours->stream, ours->x, ours->r, ours->p, ours->q, ours->rr,
                                 ours->steps, limit, limits.per_launch)
                               .get();
                  return ours->steps.value(ours->stream);
                });
              },
          .peer =
              [=] {
                return theirs->per_step([&] {
                  int made = 0;
                  for (double left = limit + 1; made < limits.most && left > limit; ++made)
                    left = single(as_graph, theirs->stream, theirs->x, theirs->r, theirs->p, theirs->q,
                                  theirs->rr)
                               .get();
                  theirs->steps.fill(theirs->stream, made);
                  return made;
                });
              },
          .check =
              [=] {
                const int a = ours->steps.value(ours->stream), b = theirs->steps.value(theirs->stream);
                if (a != b)
                  throw std::runtime_error(std::to_string(a) + " steps on the device, " + std::to_string(b) +
                                           " with the host");
                if (ours->x.to_host(ours->stream) != theirs->x.to_host(theirs->stream))
                  throw std::runtime_error("the solutions differ");
              }};
}

using SolveKernel = decltype(Kernel{"", while_large});

template <int Thousandths>
void add_one_launch(std::int64_t side, const Limits& limits) {
  add({.name = "conjugate_gradients_in_one_launch/" + std::to_string(side),
       .peer = "a test on the host each step",
       .bar = at_most<Thousandths>(),
       .prepare =
           [=] {
             static const SolveKernel solve{"while_large", while_large};
             return solvers(side, solve, limits);
           },
       .samples = 7});
}

template <int Thousandths>
void add_repeated(std::int64_t side, const Limits& limits) {
  add({.name = "conjugate_gradients_in_launches_of_" + std::to_string(limits.per_launch) + "/" +
               std::to_string(side),
       .peer = "a test on the host each step",
       .bar = at_most<Thousandths>(),
       .prepare =
           [=] {
             static const SolveKernel solve{"many_steps", many_steps};
             return solvers(side, solve, limits);
           },
       .samples = 7});
}

}  // namespace

void add_repetition_cases() {
  add_one_launch<400>(128, {1000, 1000});
  add_one_launch<600>(512, {100, 100});
  add_one_launch<1000>(4096, {32, 32});
  add_repeated<400>(128, {1024, 64});
  add_repeated<600>(512, {1024, 64});
  add_repeated<1000>(4096, {32, 16});
}

}  // namespace weir::bench::gpu
