// SPDX-License-Identifier: Apache-2.0
// The kernels of a step that is cut over ranks: `river.clock` and `river.limit`, each cut where the ranks
// exchange values. Their parts are those of flow_kernels.hpp, so they compute the same bits.
//
// A rank's fields have the rows that it owns between one row of each neighbour, or the ring. Fluxes are
// computed on both sides of a cut; `share` of the neighbour's row is received.
#pragma once

#include "flow_kernels.hpp"

namespace weir::demo {

/// The first part of `river.clock`, for the rank's own rows. The maximum over ranks follows.
inline auto fastest_kernel() {
  return Kernel{
      "river.fastest",
      [](ReadField h, ReadField qx, ReadField qy, View<float> clock, Value<float> dx, Value<float> dy,
         Value<float> gravity) { clock[clock_fastest] = fastest_wave(h, qx, qy, dx, dy, gravity); },
      {.parameter_names = {"h", "qx", "qy", "clock", "dx", "dy", "gravity"}}};
}

/// The second part of `river.clock`.
inline auto advance_kernel() {
  return Kernel{"river.advance",
                [](View<float> clock, View<double> time, Value<float> courant, Value<float> longest,
                   Value<float> rain, Value<float> duration, Value<float> peak) {
                  const Value<float> fastest = clock[clock_fastest];
                  advance_clock(clock, time, fastest, courant, longest, rain, duration, peak);
                },
                {.parameter_names = {"clock", "time", "courant", "longest", "rain", "duration", "peak"}}};
}

/// The first part of `river.limit`. The exchange of `share` follows.
inline auto share_kernel() {
  return Kernel{"river.share",
                [](ReadField h, Field share, Field east, Field south) { find_shares(h, share, east, south); },
                {.parameter_names = {"h", "share", "east", "south"}}};
}

/// The second part of `river.limit`.
inline auto edges_kernel(bool regions) {
  return Kernel{"river.edges",
                with_constants([regions](Field share, Field east, Field south) {
                  apply_shares(regions, share, east, south);
                }),
                {.parameter_names = {"share", "east", "south"}}};
}

}  // namespace weir::demo
