// SPDX-License-Identifier: Apache-2.0
// A river on a device: its fields, and one time step as a few launches on a stream.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>
#include <weir/weir.hpp>

#include "depth_class.hpp"
#include "river_parameters.hpp"
#include "terrain.hpp"

namespace weir::demo {

/// Whether the parts of a step that do not depend on one another stand in stream_parallel blocks, or one
/// after the other.
enum class Regions : bool { off, on };

/// Sums over the whole terrain, computed on the device in double precision.
struct RiverTotals {
  double time = 0;                        ///< seconds since the start
  double initial = 0;                     ///< cubic metres of water at the start
  double rain = 0;                        ///< cubic metres fallen
  double outflow = 0;                     ///< cubic metres gone over the border
  double volume = 0;                      ///< cubic metres there now
  double depth = 0;                       ///< metres, the deepest
  double speed = 0;                       ///< metres per second, the fastest in at least 1 cm of water
  std::int64_t wet = 0;                   ///< cells with at least 1 cm of water
  std::array<double, 3> dye{};            ///< cubic metres of rain that fell in each zone and is still there
  double silt = 0;                        ///< kilograms suspended
  double bed = 0;                         ///< kilograms that the bed gained; negative after erosion
  std::vector<DepthClass> depth_classes;  ///< from 1 mm, two for each doubling; the last one has no end

  /// How much water appeared (or vanished, when negative), as a part of all that was ever there.
  double imbalance() const;
};

/// How well the water balance of a run must close. Depths are single precision with a compensated sum, so
/// that a step rounds only the change of a cell, by 2^-24 of it; totals are double precision. Such errors are
/// as often up as down: 2000 steps leave about 1e-9, and the tolerance is enough for ten million.
inline constexpr double balance_tolerance = 1e-7;

/// All that the next step depends on, on the host: fields have rows * cols values from the north-west.
struct RiverState {
  double time = 0;                        ///< seconds
  std::vector<float> depth;               ///< metres
  std::vector<float> rest;                ///< metres that rounding kept out of depth
  std::vector<float> flow_x, flow_y;      ///< square metres per second, to the east and to the south
  std::array<std::vector<float>, 3> dye;  ///< metres of dyed water
  std::vector<float> silt, bed;           ///< kilograms per square metre: suspended, gained by the bed
  friend bool operator==(const RiverState&, const RiverState&) = default;
};

/// The kernels of a step, compiled once for any number of rivers.
class RiverKernels {
 public:
  explicit RiverKernels(Regions regions);
  RiverKernels(RiverKernels&&) noexcept;
  ~RiverKernels();
  /// Compiles for the stream's device now, so that the first step is as fast as the others.
  void prepare(const StreamRef& stream) const;
  /// Number of loops and reductions in a step.
  int loops() const;

 private:
  friend class River;
  struct Set;
  std::unique_ptr<Set> set_;
};

class River {
 public:
  /// A dry river, or with `depth` metres of water in each cell (rows * cols values; none where the terrain
  /// has no data).
  River(const Device& device, const Terrain& terrain, const RiverParameters& parameters,
        std::span<const float> depth = {});
  River(River&&) noexcept;
  ~River();

  /// Submits one step and returns without waiting. All steps go to one stream.
  void step(const StreamRef& stream, const RiverKernels& kernels);

  /// Waits for `stream` and brings the totals to the host.
  RiverTotals totals(const StreamRef& stream) const;
  /// Submits a copy of the time, in seconds since the start. `time` must stay valid until `stream` has passed
  /// it.
  void read_time(const StreamRef& stream, std::span<double, 1> time) const;
  RiverState state(const StreamRef& stream) const;
  /// Goes on from another moment. Totals of what came and went keep counting from where they are.
  void restore(const StreamRef& stream, const RiverState& state);

 private:
  struct Fields;
  std::unique_ptr<Fields> fields_;
};

}  // namespace weir::demo
