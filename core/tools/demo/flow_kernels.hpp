// SPDX-License-Identifier: Apache-2.0
// Shallow water flow over land, in the kernel language: a first-order finite-volume scheme with HLL fluxes
// (Harten, Lax and van Leer 1983). Water depths are reconstructed at each edge (Audusse et al. 2004, SIAM J.
// Sci. Comput. 25) in the form of Chen and Noelle 2017 (SIAM J. Numer. Anal. 55), which also follows gravity
// where a thin film runs down a step. Lakes at rest stay at rest, depths stay positive, and outflow of a cell
// enters its neighbour.
//
// All fields have one ring of cells around the terrain; the ring is outside, as are the terrain's holes. Cell
// (r, c) has the neighbours (r, c + 1) in the east and (r + 1, c) in the south. Edge fields at (r, c) belong
// to the edge towards that neighbour.
#pragma once

#include <cstdint>
#include <weir/kernel.hpp>

namespace weir::demo {

using Field = View<float, 2>;
using ReadField = View<const float, 2>;
using Mask = View<const std::uint8_t, 2>;  ///< 1 inside, 0 outside

inline constexpr float dry_depth = 1e-6f;  ///< metres; shallower water does not move
/// Momentum (m^2/s) and other values below this become 0: subnormal numbers are slow and physically
/// meaningless here.
inline constexpr float negligible = 1e-12f;

/// A concurrent block, or the same work in program order, so that the two can be compared.
template <class Body>
void concurrent_block(bool regions, Body&& body, detail::Where where = detail::Where::current()) {
  if (regions)
    stream_parallel(body, where);
  else
    body();
}

/// Indices into the clock: values of a step that the host reads and that kernels share.
inline constexpr int clock_step = 0, clock_rain = 1;  // seconds; metres of mean rain in this step
inline constexpr int clock_fastest = 2;               // see fastest_wave(); for the reduction over ranks
inline constexpr int clock_places = 3;

/// Cells crossed per second by the fastest wave, summed over both axes.
inline Value<float> fastest_wave(const ReadField& h, const ReadField& qx, const ReadField& qy,
                                 const Value<float>& dx, const Value<float>& dy,
                                 const Value<float>& gravity) {
  const Index rows = h.extent(0), cols = h.extent(1);
  return reduce_max(range(1, rows - 1), range(1, cols - 1), [&](Index r, Index c) {
    const Value depth = h(r, c);
    const Value<float> inverse = select(depth > dry_depth, 1.0f / depth, 0.0f);
    const Value wave = sqrt(gravity * depth);
    return (abs(qx(r, c)) * inverse + wave) / dx + (abs(qy(r, c)) * inverse + wave) / dy;
  });
}

/// Chooses the time step from the fastest wave, advances the time and looks up the rain.
inline void advance_clock(const View<float>& clock, const View<double>& time, const Value<float>& fastest,
                          const Value<float>& courant, const Value<float>& longest, const Value<float>& rain,
                          const Value<float>& duration, const Value<float>& peak) {
  const Value step = min(courant / fastest, longest);
  const Value<double> now = time[0];
  // The triangular storm profile at the middle of the step, as a fraction of the duration.
  const Value at = cast<float>(now + 0.5 * cast<double>(step)) / duration;
  const Value<float> rising = at / peak, falling = (1.0f - at) / (1.0f - peak);
  const Value intensity = max(min(rising, falling), 0.0f) * 2.0f * rain / duration;
  clock[clock_step] = step;
  clock[clock_rain] = intensity * step;
  time[0] = now + cast<double>(step);
}

inline auto clock_kernel() {
  return Kernel{"river.clock",
                [](ReadField h, ReadField qx, ReadField qy, View<float> clock, View<double> time,
                   Value<float> dx, Value<float> dy, Value<float> gravity, Value<float> courant,
                   Value<float> longest, Value<float> rain, Value<float> duration, Value<float> peak) {
                  const Value fastest = fastest_wave(h, qx, qy, dx, dy, gravity);
                  advance_clock(clock, time, fastest, courant, longest, rain, duration, peak);
                },
                {.parameter_names = {"h", "qx", "qy", "clock", "time", "dx", "dy", "gravity", "courant",
                                     "longest", "rain", "duration", "peak"}}};
}

/// Water on one side of an edge: depth, and velocity across and along the edge.
struct Side {
  Value<float> depth, across, along;
};

inline Side side_of(const ReadField& h, const ReadField& q_across, const ReadField& q_along, const Index& r,
                    const Index& c) {
  const Value depth = h(r, c);
  const Value<float> inverse = select(depth > dry_depth, 1.0f / depth, 0.0f);
  return {depth, q_across(r, c) * inverse, q_along(r, c) * inverse};
}

/// Flux across an edge per metre of its length: water (m^2/s), and momentum (m^3/s^2) for each side. The
/// sides differ by the force of the step in the ground.
struct EdgeFlux {
  Value<float> water, first, second, along;
};

/// `step_up`: height of the second side's ground above the first side's, metres.
inline EdgeFlux edge_flux(const Side& a, const Side& b, const Value<float>& step_up,
                          const Value<float>& gravity) {
  // Ground at the edge, relative to the first side's: the higher ground, but below both water levels. The
  // relative height keeps the precision of thin films on high mountains.
  const Value edge = min(max(step_up, 0.0f), min(a.depth, step_up + b.depth));
  const Value ha = max(min(a.depth - edge, a.depth), 0.0f);
  const Value hb = max(min(step_up + b.depth - edge, b.depth), 0.0f);
  const Value ca = sqrt(gravity * ha), cb = sqrt(gravity * hb);
  const Value slowest = min(min(a.across - ca, b.across - cb), 0.0f);
  const Value fastest = max(max(a.across + ca, b.across + cb), 0.0f);
  const Value spread = fastest - slowest;
  const Value<float> inverse = select((spread > 1e-6f) & (ha + hb > 0.0f), 1.0f / spread, 0.0f);
  const Value qa = ha * a.across, qb = hb * b.across;
  const Value half = 0.5f * gravity;
  const Value water = (fastest * qa - slowest * qb + fastest * slowest * (hb - ha)) * inverse;
  const Value momentum = (fastest * (qa * a.across + half * ha * ha) -
                          slowest * (qb * b.across + half * hb * hb) + fastest * slowest * (qb - qa)) *
                         inverse;
  return {water, momentum + half * (a.depth + ha) * edge, momentum + half * (b.depth + hb) * (edge - step_up),
          water * select(water > 0.0f, a.along, b.along)};
}

/// The flux across an edge that may be at a border. There, the other side mirrors this one. At an open border
/// (`open` 1) water flows out freely and never in; a closed border (`open` 0) reflects it.
inline EdgeFlux border_flux(const Side& a, const Side& b, const Value<std::uint8_t>& a_inside,
                            const Value<std::uint8_t>& b_inside, const Value<float>& step_up,
                            const Value<float>& gravity, const Value<float>& open) {
  const Value a_in = a_inside == 1, b_in = b_inside == 1;
  const Value<bool> is_open = open > 0.0f;
  const Side first{select(a_in, a.depth, b.depth),
                   select(a_in, a.across, select(is_open, min(b.across, 0.0f), -b.across)),
                   select(a_in, a.along, b.along)};
  const Side second{select(b_in, b.depth, a.depth),
                    select(b_in, b.across, select(is_open, max(a.across, 0.0f), -a.across)),
                    select(b_in, b.along, a.along)};
  const EdgeFlux flux = edge_flux(first, second, select(a_in & b_in, step_up, 0.0f), gravity);
  const Value outwards = select(a_in, max(flux.water, 0.0f), min(flux.water, 0.0f)) * open;
  return {select(a_in & b_in, flux.water, select(a_in | b_in, outwards, 0.0f)), flux.first, flux.second,
          flux.along};
}

/// Fluxes across all edges, times the time step over the cell's width: metres of water, m^2/s of momentum.
/// Also computes the rain of this step, concurrently.
inline auto flux_kernel(bool regions) {
  return Kernel{
      "river.flux",
      with_constants([regions](ReadField h, ReadField qx, ReadField qy, ReadField ground, Mask inside,
                               View<const float> clock, Field east, Field east_first, Field east_second,
                               Field east_along, Field south, Field south_first, Field south_second,
                               Field south_along, ReadField rain_pattern, Field rain, View<double> rain_total,
                               Value<float> dx, Value<float> dy, Value<float> gravity, Value<float> open) {
        const Index rows = h.extent(0), cols = h.extent(1);
        const Value<float> step = clock[clock_step], shower = clock[clock_rain];
        const Value per_x = step / dx, per_y = step / dy;
        concurrent_block(regions, [&] {
          range_for(range(1, rows - 1), range(0, cols - 1), [&](Index r, Index c) {
            const EdgeFlux flux =
                border_flux(side_of(h, qx, qy, r, c), side_of(h, qx, qy, r, c + 1), inside(r, c),
                            inside(r, c + 1), ground(r, c + 1) - ground(r, c), gravity, open);
            east(r, c) = flux.water * per_x;
            east_first(r, c) = flux.first * per_x;
            east_second(r, c) = flux.second * per_x;
            east_along(r, c) = flux.along * per_x;
          });
        });
        concurrent_block(regions, [&] {
          range_for(range(0, rows - 1), range(1, cols - 1), [&](Index r, Index c) {
            const EdgeFlux flux =
                border_flux(side_of(h, qy, qx, r, c), side_of(h, qy, qx, r + 1, c), inside(r, c),
                            inside(r + 1, c), ground(r + 1, c) - ground(r, c), gravity, open);
            south(r, c) = flux.water * per_y;
            south_first(r, c) = flux.first * per_y;
            south_second(r, c) = flux.second * per_y;
            south_along(r, c) = flux.along * per_y;
          });
        });
        concurrent_block(regions, [&] {
          range_for(range(1, rows - 1), range(1, cols - 1),
                    [&](Index r, Index c) { rain(r, c) = rain_pattern(r, c) * shower; });
          rain_total[0] += reduce_sum(range(1, rows - 1), range(1, cols - 1),
                                      [&](Index r, Index c) { return cast<double>(rain(r, c)); });
        });
      }),
      {.parameter_names = {"h",     "qx",          "qy",           "ground",      "inside",
                           "clock", "east",        "east_first",   "east_second", "east_along",
                           "south", "south_first", "south_second", "south_along", "rain_pattern",
                           "rain",  "rain_total",  "dx",           "dy",          "gravity",
                           "open"}}};
}

/// The share of its outflow that a cell can give without losing more water than it has. Only films that run
/// dry give less than all.
inline void find_shares(const ReadField& h, const Field& share, const Field& east, const Field& south,
                        detail::Where where = detail::Where::current()) {
  range_for(
      range(1, h.extent(0) - 1), range(1, h.extent(1) - 1),
      [&](Index r, Index c) {
        const Value out = max(east(r, c), 0.0f) + max(-east(r, c - 1), 0.0f) + max(south(r, c), 0.0f) +
                          max(-south(r - 1, c), 0.0f);
        // Slightly less than all, so that rounding cannot remove more water than exists.
        share(r, c) = select(out > h(r, c), 0.999999f * h(r, c) / out, 1.0f);
      },
      where);
}

/// Multiplies the flux of water across each edge by the share of the cell that it leaves.
inline void apply_shares(bool regions, const Field& share, const Field& east, const Field& south) {
  const Index rows = share.extent(0), cols = share.extent(1);
  concurrent_block(regions, [&] {
    range_for(range(1, rows - 1), range(0, cols - 1), [&](Index r, Index c) {
      const Value flux = east(r, c);
      east(r, c) = flux * select(flux > 0.0f, share(r, c), share(r, c + 1));
    });
  });
  concurrent_block(regions, [&] {
    range_for(range(0, rows - 1), range(1, cols - 1), [&](Index r, Index c) {
      const Value flux = south(r, c);
      south(r, c) = flux * select(flux > 0.0f, share(r, c), share(r + 1, c));
    });
  });
}

/// Reduces the outflow of cells that would lose more water than they have.
inline auto limit_kernel(bool regions) {
  return Kernel{"river.limit",
                with_constants([regions](ReadField h, Field share, Field east, Field south) {
                  find_shares(h, share, east, south);
                  apply_shares(regions, share, east, south);
                }),
                {.parameter_names = {"h", "share", "east", "south"}}};
}

/// Moves water and momentum, adds the rain, and applies Manning's friction implicitly, so that it cannot
/// reverse a film's flow. `rest` holds the rounding error of h (a compensated sum): the exact water depth is
/// h + rest.
inline auto update_kernel() {
  return Kernel{"river.update",
                [](Field h, Field rest, Field before, Field qx, Field qy, Mask inside,
                   View<const float> clock, ReadField east, ReadField east_first, ReadField east_second,
                   ReadField east_along, ReadField south, ReadField south_first, ReadField south_second,
                   ReadField south_along, ReadField rain, Value<float> gravity, Value<float> manning) {
                  const Index rows = h.extent(0), cols = h.extent(1);
                  const Value drag = clock[clock_step] * gravity * manning * manning;
                  range_for(range(1, rows - 1), range(1, cols - 1), [&](Index r, Index c) {
                    const Value in = inside(r, c) == 1;
                    const Value depth = h(r, c);
                    const Value change = (east(r, c - 1) - east(r, c)) + (south(r - 1, c) - south(r, c)) +
                                         rain(r, c) + rest(r, c);
                    const Value sum = select(in, max(depth + change, 0.0f), 0.0f);
                    before(r, c) = depth;
                    rest(r, c) = select(in, change - (sum - depth), 0.0f);
                    h(r, c) = sum;

                    const Value pushed_x = qx(r, c) + (east_second(r, c - 1) - east_first(r, c)) +
                                           (south_along(r - 1, c) - south_along(r, c));
                    const Value pushed_y = qy(r, c) + (south_second(r - 1, c) - south_first(r, c)) +
                                           (east_along(r, c - 1) - east_along(r, c));
                    // The root of q' = q - k |q'| q', k = dt g n^2 / h^(7/3).
                    const Value flow = sqrt(pushed_x * pushed_x + pushed_y * pushed_y);
                    const Value k = drag / (sum * sum * cbrt(sum));
                    const Value slowed = 2.0f / (1.0f + sqrt(1.0f + 4.0f * k * flow));
                    const Value moving = in & (sum > dry_depth) & (flow > negligible);
                    qx(r, c) = select(moving, pushed_x * slowed, 0.0f);
                    qy(r, c) = select(moving, pushed_y * slowed, 0.0f);
                  });
                },
                {.parameter_names = {"h", "rest", "before", "qx", "qy", "inside", "clock", "east",
                                     "east_first", "east_second", "east_along", "south", "south_first",
                                     "south_second", "south_along", "rain", "gravity", "manning"}}};
}

}  // namespace weir::demo
