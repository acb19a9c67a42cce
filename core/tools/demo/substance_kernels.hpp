// SPDX-License-Identifier: Apache-2.0
// The substances in the water and the statistics, in the kernel language: three dyes, sediment and
// statistics, each in a separate stream_parallel block.
#pragma once

#include "flow_kernels.hpp"

namespace weir::demo {

inline constexpr int histogram_bins = 32;
inline constexpr int histogram_copies = 16;       ///< copies used by rows in turn, to reduce contention
inline constexpr float histogram_lowest = 1e-3f;  ///< metres: lower bound of bin 0; two bins per doubling
inline constexpr float wet_depth = 0.01f;         ///< metres: minimum depth of a wet cell

/// Indices into the statistics, all f64.
inline constexpr int stat_volume = 0, stat_outflow = 1, stat_depth = 2, stat_speed = 3, stat_wet = 4,
                     stat_places = 5;

/// Amount carried by the water across the edge to the east (or south). The concentration is that of the side
/// that the water leaves.
inline Value<float> carried(const Value<float>& flux, const Value<float>& here, const Value<float>& there) {
  return flux * select(flux > 0.0f, here, there);
}

/// Concentrations before the step, computed from amounts per area; also in the rows of neighbouring ranks.
inline void concentrate(const Field& amount, const ReadField& depth, const Field& concentration,
                        const Index& rows, const Index& cols,
                        detail::Where where = detail::Where::current()) {
  range_for(
      range(0, rows), range(1, cols - 1),
      [&](Index r, Index c) {
        const Value water = depth(r, c);
        concentration(r, c) = select(water > dry_depth, amount(r, c) / water, 0.0f);
      },
      where);
}

/// An amount per area after transport by the water; 0 where the terrain has a hole.
inline Value<float> advected(const Mask& inside, const Field& amount, const Field& concentration,
                             const ReadField& east, const ReadField& south, const Index& r, const Index& c) {
  const Value here = concentration(r, c);
  const Value in_west = carried(east(r, c - 1), concentration(r, c - 1), here);
  const Value out_east = carried(east(r, c), here, concentration(r, c + 1));
  const Value in_north = carried(south(r - 1, c), concentration(r - 1, c), here);
  const Value out_south = carried(south(r, c), here, concentration(r + 1, c));
  const Value moved = amount(r, c) + ((in_west - out_east) + (in_north - out_south));
  return select(inside(r, c) == 1, moved, 0.0f);
}

/// Silt in kg per square metre. Water transports it, and it settles at all times. The flow picks it up where
/// the shear stress exceeds the critical stress. Silt that leaves the water is added to the bed, which holds
/// the net gain since the start.
struct Silt {
  const ReadField &depth, &qx, &qy;
  const Value<float>&step, &gravity, &manning, &erosion_rate, &critical_stress, &settling_velocity,
      &water_density;

  struct Exchange {
    Value<float> water, bed;
  };
  Exchange exchange(const Value<float>& amount, const Value<float>& bed, const Index& r,
                    const Index& c) const {
    const Value water = depth(r, c);
    const Value deep = water > 1e-3f;  // thinner films carry no silt
    const Value<float> inverse = select(deep, 1.0f / water, 0.0f);
    const Value u = qx(r, c) * inverse, v = qy(r, c) * inverse;
    // Bed shear stress from Manning's friction.
    const Value<float> stress = water_density * gravity * manning * manning * (u * u + v * v) / cbrt(water);
    const Value eroding = erosion_rate * max(stress / critical_stress - 1.0f, 0.0f);
    const Value<float> eroded = select(deep, eroding, 0.0f) * step;
    // Implicit, so that no more than the suspended silt can settle.
    const Value<float> staying = select(deep, 1.0f / (1.0f + settling_velocity * step * inverse), 0.0f);
    const Value suspended = (amount + eroded) * staying;
    const Value<float> kept = select(suspended > negligible, suspended, 0.0f);
    return {kept, bed + (amount - kept)};
  }
};

/// Moves one dye (metres of dyed rain, by the zone where it fell) and sums its amount.
struct Dye {
  const ReadField &before, &east, &south, &rain;
  const Mask &inside, &zone;
  const Index &rows, &cols;

  void move(std::uint8_t number, const Field& dye, const Field& part, const View<double>& total) const {
    concentrate(dye, before, part, rows, cols);
    range_for(range(1, rows - 1), range(1, cols - 1), [&](Index r, Index c) {
      const Value<float> fallen = select(zone(r, c) == number, rain(r, c), 0.0f);
      const Value amount = advected(inside, dye, part, east, south, r, c) + fallen;
      dye(r, c) = select(amount > negligible, amount, 0.0f);
    });
    total[0] = reduce_sum(range(1, rows - 1), range(1, cols - 1),
                          [&](Index r, Index c) { return cast<double>(dye(r, c)); });
  }
};

/// Statistics of the water after the step.
struct Statistics {
  const ReadField &h, &rest, &qx, &qy, &east, &south;
  const Mask& inside;
  const Index &rows, &cols;

  void compute(const View<double>& statistics) const {
    statistics[stat_volume] = reduce_sum(range(1, rows - 1), range(1, cols - 1), [&](Index r, Index c) {
      return cast<double>(h(r, c)) + cast<double>(rest(r, c));
    });
    // Flow across edges between inside and outside cells in this step.
    statistics[stat_outflow] += reduce_sum(range(1, rows - 1), range(1, cols - 1), [&](Index r, Index c) {
      const Value<float> to_east = select(inside(r, c + 1) == 0, east(r, c), 0.0f);
      const Value<float> to_west = select(inside(r, c - 1) == 0, -east(r, c - 1), 0.0f);
      const Value<float> to_south = select(inside(r + 1, c) == 0, south(r, c), 0.0f);
      const Value<float> to_north = select(inside(r - 1, c) == 0, -south(r - 1, c), 0.0f);
      const Value<float> out = select(inside(r, c) == 1, to_east + to_west + to_south + to_north, 0.0f);
      return cast<double>(out);
    });
    statistics[stat_depth] = cast<double>(
        reduce_max(range(1, rows - 1), range(1, cols - 1), [&](Index r, Index c) { return h(r, c); }));
    statistics[stat_speed] =
        cast<double>(reduce_max(range(1, rows - 1), range(1, cols - 1), [&](Index r, Index c) {
          const Value depth = h(r, c);
          const Value<float> speed = sqrt(qx(r, c) * qx(r, c) + qy(r, c) * qy(r, c)) / depth;
          return select(depth > wet_depth, speed, 0.0f);
        }));
    statistics[stat_wet] =
        cast<double>(reduce_sum(range(1, rows - 1), range(1, cols - 1), [&](Index r, Index c) {
          return select(h(r, c) > wet_depth, Value<std::int32_t>(1), Value<std::int32_t>(0));
        }));
  }

  void count_depths(const View<std::uint32_t, 2>& counts, const View<std::uint32_t>& histogram) const {
    range_for(histogram_copies, histogram_bins, [&](Index copy, Index bin) { counts(copy, bin) = 0; });
    range_for(range(1, rows - 1), range(1, cols - 1), [&](Index r, Index c) {
      const Value depth = h(r, c);
      if_(depth > histogram_lowest, [&] {
        // Exponent and leading mantissa bit of a float: two bins per doubling, without a logarithm.
        const Value bin = (bit_cast<std::uint32_t>(depth / histogram_lowest) >> 22u) - 254u;
        atomic_add(counts(r % histogram_copies, min(bin, static_cast<std::uint32_t>(histogram_bins - 1))),
                   1u);
      });
    });
    range_for(histogram_bins, [&](Index bin) {
      Var<std::uint32_t> sum = 0u;
      for_(0, histogram_copies, [&](Index copy) { sum += counts(copy, bin); });
      histogram[bin] = sum;
    });
  }
};

/// One block for each dye, one for the silt, one for statistics.
inline auto substance_kernel(bool regions) {
  return Kernel{
      "river.substances",
      with_constants(
          [regions](ReadField before, ReadField h, ReadField rest, ReadField qx, ReadField qy, Mask inside,
                    View<const float> clock, ReadField east, ReadField south, ReadField rain, Mask zone,
                    Field dye0, Field dye1, Field dye2, Field part0, Field part1, Field part2,
                    View<double> dye_totals0, View<double> dye_totals1, View<double> dye_totals2, Field silt,
                    Field silt_part, Field bed, View<double> silt_totals, View<double> statistics,
                    View<std::uint32_t, 2> counts, View<std::uint32_t> histogram, Value<float> gravity,
                    Value<float> manning, Value<float> erosion_rate, Value<float> critical_stress,
                    Value<float> settling_velocity, Value<float> water_density) {
            const Index rows = before.extent(0), cols = before.extent(1);
            const Value<float> step = clock[clock_step];

            const Dye dyes{before, east, south, rain, inside, zone, rows, cols};
            concurrent_block(regions, [&] { dyes.move(0, dye0, part0, dye_totals0); });
            concurrent_block(regions, [&] { dyes.move(1, dye1, part1, dye_totals1); });
            concurrent_block(regions, [&] { dyes.move(2, dye2, part2, dye_totals2); });

            concurrent_block(regions, [&] {
              concentrate(silt, before, silt_part, rows, cols);
              range_for(range(1, rows - 1), range(1, cols - 1), [&](Index r, Index c) {
                silt(r, c) = max(advected(inside, silt, silt_part, east, south, r, c), 0.0f);
              });
              const Silt process{h,
                                 qx,
                                 qy,
                                 step,
                                 gravity,
                                 manning,
                                 erosion_rate,
                                 critical_stress,
                                 settling_velocity,
                                 water_density};
              range_for(range(1, rows - 1), range(1, cols - 1), [&](Index r, Index c) {
                const Silt::Exchange result = process.exchange(silt(r, c), bed(r, c), r, c);
                silt(r, c) = result.water;
                bed(r, c) = result.bed;
              });
              silt_totals[0] = reduce_sum(range(1, rows - 1), range(1, cols - 1),
                                          [&](Index r, Index c) { return cast<double>(silt(r, c)); });
              silt_totals[1] = reduce_sum(range(1, rows - 1), range(1, cols - 1),
                                          [&](Index r, Index c) { return cast<double>(bed(r, c)); });
            });

            const Statistics water{h, rest, qx, qy, east, south, inside, rows, cols};
            concurrent_block(regions, [&] {
              water.compute(statistics);
              water.count_depths(counts, histogram);
            });
          }),
      {.parameter_names = {"before",
                           "h",
                           "rest",
                           "qx",
                           "qy",
                           "inside",
                           "clock",
                           "east",
                           "south",
                           "rain",
                           "zone",
                           "dye0",
                           "dye1",
                           "dye2",
                           "part0",
                           "part1",
                           "part2",
                           "dye_totals0",
                           "dye_totals1",
                           "dye_totals2",
                           "silt",
                           "silt_part",
                           "bed",
                           "silt_totals",
                           "statistics",
                           "counts",
                           "histogram",
                           "gravity",
                           "manning",
                           "erosion_rate",
                           "critical_stress",
                           "settling_velocity",
                           "water_density"}}};
}

}  // namespace weir::demo
