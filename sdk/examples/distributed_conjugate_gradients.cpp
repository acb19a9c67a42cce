// SPDX-License-Identifier: Apache-2.0
// Poisson's equation on a plate that is cut over ranks, solved by conjugate gradients. A product of the
// matrix needs the neighbours' rows, and each step needs two scalar products over all ranks, which stay on
// the device. Three ways to start it, which give the same bits:
//
//   distributed_conjugate_gradients                      one rank
//   WEIR_RANKS=4 distributed_conjugate_gradients         four threads
//   mpirun -np 4 distributed_conjugate_gradients         four processes
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <weir/distributed.hpp>
#include <weir/weir.hpp>

using namespace weir;

namespace {

constexpr std::int64_t rows = 44, columns = 36;
constexpr int steps = 150;

Value<bool> is_rim(const Index& row, const Index& j) {
  return (row == 0) | (row == rows - 1) | (j == 0) | (j == columns - 1);
}

// Rows [begin, end) of a rank's piece, of which row 0 is row `origin` of the plate. On the rim all fields are
// 0.

/// q = A p, and the terms of p . q.
Kernel apply{"apply", [](View<const double, 2> p, View<double, 2> q, View<double, 2> terms, Index begin,
                         Index end, Index origin) {
               range_for(range(begin, end), p.extent(1), [&](Index i, Index j) {
                 if_(is_rim(origin + i, j), [&] {
                   q(i, j) = 0.0;
                   terms(i, j) = 0.0;
                 }).else_([&] {
                   const Value product =
                       4.0 * p(i, j) - p(i - 1, j) - p(i + 1, j) - p(i, j - 1) - p(i, j + 1);
                   q(i, j) = product;
                   terms(i, j) = p(i, j) * product;
                 });
               });
             }};

/// x += a p and r -= a q, with a = r . r / p . q, and the terms of the new r . r.
Kernel advance{"advance", [](View<double, 2> x, View<double, 2> r, View<const double, 2> p,
                             View<const double, 2> q, View<double, 2> terms, View<const double> rr,
                             View<const double> pq, Index begin, Index end) {
                 const Value<double> a = rr[0] / pq[0];
                 range_for(range(begin, end), x.extent(1), [&](Index i, Index j) {
                   x(i, j) += a * p(i, j);
                   const Value rest = r(i, j) - a * q(i, j);
                   r(i, j) = rest;
                   terms(i, j) = rest * rest;
                 });
               }};

/// p = r + b p, with b = the new r . r / the one before.
Kernel turn{"turn", [](View<double, 2> p, View<const double, 2> r, View<double> rr, View<const double> next,
                       Index begin, Index end) {
              const Value<double> b = next[0] / rr[0];
              range_for(range(begin, end), p.extent(1),
                        [&](Index i, Index j) { p(i, j) = r(i, j) + b * p(i, j); });
              rr[0] = Value<double>(next[0]);
            }};

/// The right side, a load on a quarter of the plate, as the first residual and direction.
Kernel start{"start", [](View<double, 2> x, View<double, 2> r, View<double, 2> p, View<double, 2> terms,
                         Index begin, Index end, Index origin) {
               range_for(range(begin, end), x.extent(1), [&](Index i, Index j) {
                 const Index row = origin + i;
                 const Value<bool> loaded = (row < rows / 2) & (j < columns / 2);
                 const Value<double> load = select(loaded, 1.0, 0.0);
                 const Value<double> value = select(is_rim(row, j), 0.0, load);
                 x(i, j) = 0.0;
                 r(i, j) = value;
                 p(i, j) = value;
                 terms(i, j) = value * value;
               });
             }};

Kernel sum_of{"sum_of", [](View<const double, 2> terms, View<double> sum) {
                sum[0] = reduce_sum(terms.extent(0), terms.extent(1),
                                    [&](Index i, Index j) { return terms(i, j); });
              }};

using Field = ArrayView<double, 2>;

/// The fields of a rank and what differs between one device and several ranks.
struct Plate {
  Field x, r, p, q, terms;
  Rows own;             ///< rows of the fields to compute
  std::int64_t origin;  ///< row of the plate that is row 0 of the fields
  /// Computes body(rows) for all rows, with the neighbours' rows of p.
  std::function<void(const std::function<void(Rows)>& body)> with_halos_of_p;
  /// The sum of all terms, over all ranks.
  std::function<void(ArrayView<double> sum)> sum;
};

/// r . r after `steps` steps.
double solve(const StreamRef& stream, const Plate& plate) {
  const auto& [x, r, p, q, terms, own, origin, with_halos_of_p, sum] = plate;
  const Device device = stream.device();
  const auto rr = device.array<double>(stream, 1), pq = device.array<double>(stream, 1),
             next = device.array<double>(stream, 1);
  start(stream, x, r, p, terms, own.begin, own.end, origin);
  sum(rr);
  for (int step = 0; step < steps; ++step) {
    with_halos_of_p([&](Rows part) { apply(stream, p, q, terms, part.begin, part.end, origin); });
    sum(pq);
    advance(stream, x, r, p, q, terms, rr, pq, own.begin, own.end);
    sum(next);
    turn(stream, p, r, rr, next, own.begin, own.end);
  }
  return rr.to_host(stream).front();
}

double solve_alone(const StreamRef& stream) {
  const Device device = stream.device();
  const auto field = [&] { return device.array<double>(stream, rows, columns); };
  const auto x = field(), r = field(), p = field(), q = field(), terms = field();
  const Rows all{0, rows};
  return solve(stream, {x, r, p, q, terms, all, 0, [&](const auto& body) { body(all); },
                        [&](ArrayView<double> sum) { sum_of(stream, terms, sum); }});
}

double solve_together(const Communicator& world, const StreamRef& stream) {
  Cut cut;
  cut.halo = 1;
  const Distributed<double, 2> x(world, stream, {rows, columns}, cut);
  const Distributed<double, 2> r(stream, x), p(stream, x), q(stream, x), terms(stream, x);
  const double rest =
      solve(stream, {x.local(), r.local(), p.local(), q.local(), terms.local(), x.owned(), x.origin(),
                     [&](const auto& body) { overlap_exchange(stream, {p}, body); },
                     [&](ArrayView<double> sum) { reduce(stream, terms, sum); }});
  world.synchronize(stream);  // throws if another rank failed
  return rest;
}

void run_rank() {
  const Communicator world = join();
  const Device device = open();
  const Stream stream = device.create_stream();
  const double found = solve_together(world, stream);
  if (world.rank() != 0) return;
  const double expected = solve_alone(stream);
  if (std::memcmp(&found, &expected, sizeof found) != 0)
    throw Error(ErrorCode::unknown, "the residual is " + std::to_string(std::sqrt(found)) +
                                        ", on one device " + std::to_string(std::sqrt(expected)));
  if (!(std::sqrt(found) < 1e-8))
    throw Error(ErrorCode::unknown, "the residual is " + std::to_string(std::sqrt(found)) + ", expected 0");
  std::printf(
      "distributed_conjugate_gradients: residual %.3g after %d steps over %u ranks, the bits of one device\n",
      std::sqrt(found), steps, world.size());
}

}  // namespace

int main() try { run_ranks(run_rank); } catch (const Error& error) {
  std::fprintf(stderr, "distributed_conjugate_gradients: %s\n", error.what());
  return 1;
}
