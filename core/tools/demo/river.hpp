// SPDX-License-Identifier: Apache-2.0
// A river on a device: its fields, and one time step as a few launches on a stream. Over several ranks, each
// holds consecutive rows of the fields.
//
// With ranks, functions that take a stream are collective. Fields have the same bits with any number of
// ranks. Totals are sums of the ranks' sums, so their last bits differ.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>
#include <weir/weir.hpp>

#include "depth_class.hpp"
#include "ranks.hpp"
#include "river_parameters.hpp"
#include "terrain.hpp"

namespace weir::demo {

/// Whether independent parts of a step are in stream_parallel blocks or run one after the other.
enum class Regions : bool { off, on };

/// Sums over the whole terrain, computed on the device in double precision. The same on all ranks.
struct RiverTotals {
  double time = 0;                        ///< seconds since the start
  double initial = 0;                     ///< cubic metres of water at the start
  double rain = 0;                        ///< cubic metres of rain so far
  double outflow = 0;                     ///< cubic metres that left across the border
  double volume = 0;                      ///< cubic metres at present
  double depth = 0;                       ///< metres, the deepest
  double speed = 0;                       ///< metres per second, the fastest in at least 1 cm of water
  std::int64_t wet = 0;                   ///< cells with at least 1 cm of water
  std::array<double, 3> dye{};            ///< remaining cubic metres of the rain of each zone
  double silt = 0;                        ///< kilograms suspended
  double bed = 0;                         ///< kilograms gained by the bed; negative after erosion
  std::vector<DepthClass> depth_classes;  ///< from 1 mm, two per doubling; the last one is unbounded

  /// Water that appeared (or vanished, if negative), as a fraction of all water so far.
  double imbalance() const;
};

/// Tolerance of a run's water balance. Depths are single precision with a compensated sum, so a step rounds
/// only the change of a cell, by 2^-24 of it; totals are double precision. Such errors have either sign with
/// equal probability: 2000 steps leave about 1e-9, and the tolerance suffices for ten million steps.
inline constexpr double balance_tolerance = 1e-7;

/// The complete input of the next step, on the host. Fields have rows * cols values from the north-west,
/// those of the rank's rows.
struct RiverState {
  double time = 0;                        ///< seconds
  std::vector<float> depth;               ///< metres
  std::vector<float> rest;                ///< metres, rounding error of depth
  std::vector<float> flow_x, flow_y;      ///< square metres per second, to the east and to the south
  std::array<std::vector<float>, 3> dye;  ///< metres of dyed water
  std::vector<float> silt, bed;           ///< kilograms per square metre: suspended, gained by the bed
  friend bool operator==(const RiverState&, const RiverState&) = default;
};

/// The kernels of a step, compiled once for any number of rivers. Ranks that are threads share them.
class RiverKernels {
 public:
  /// `over_ranks`: for rivers over several ranks.
  explicit RiverKernels(Regions regions, bool over_ranks = false);
  RiverKernels(RiverKernels&&) noexcept;
  ~RiverKernels();
  /// Compiles for the device in the background, so that the first step has no compilation time. One entry per
  /// kernel.
  std::vector<Preparation> prepare(const Device& device) const;
  /// Number of loops and reductions in a step.
  int loops() const;

 private:
  friend class River;
  struct Set;
  std::unique_ptr<Set> set_;
};

class River {
 public:
  /// Creates a dry river, or one with `depth` metres of water in each cell (rows * cols values; no water
  /// where the terrain has no data). Over `ranks`, terrain and depth are those of the rank's rows, and their
  /// stream carries the halos.
  River(const Device& device, const Terrain& terrain, const RiverParameters& parameters,
        std::span<const float> depth = {}, const Ranks& ranks = {});
  River(River&&) noexcept;
  ~River();

  /// Submits one step and returns without waiting. The caller passes the same stream for all steps.
  void step(const StreamRef& stream, const RiverKernels& kernels);

  /// Waits for `stream` and copies the totals to the host.
  RiverTotals totals(const StreamRef& stream) const;
  /// Submits a copy of the time in seconds since the start. `time` must stay valid until the copy is
  /// complete.
  void read_time(const StreamRef& stream, std::span<double, 1> time) const;
  RiverState state(const StreamRef& stream) const;
  /// Continues from another state. Totals of rain and outflow keep their values.
  void restore(const StreamRef& stream, const RiverState& state);

 private:
  struct Fields;
  std::unique_ptr<Fields> fields_;
};

}  // namespace weir::demo
