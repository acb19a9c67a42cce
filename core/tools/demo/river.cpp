// SPDX-License-Identifier: Apache-2.0
#include "river.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "beside_kernels.hpp"
#include "flow_kernels.hpp"

namespace weir::demo {
namespace {

/// rows * cols values inside a ring of `outside`.
template <class T>
std::vector<T> ringed(std::int64_t rows, std::int64_t cols, T outside, const std::vector<T>& inner) {
  std::vector<T> field(static_cast<std::size_t>((rows + 2) * (cols + 2)), outside);
  for (std::int64_t r = 0; r < rows; ++r)
    std::copy_n(inner.begin() + r * cols, cols, field.begin() + (r + 1) * (cols + 2) + 1);
  return field;
}

std::vector<float> without_ring(std::int64_t rows, std::int64_t cols, const std::vector<float>& field) {
  std::vector<float> inner(static_cast<std::size_t>(rows * cols));
  for (std::int64_t r = 0; r < rows; ++r)
    std::copy_n(field.begin() + (r + 1) * (cols + 2) + 1, cols, inner.begin() + r * cols);
  return inner;
}

/// The terrain's inputs to the simulation, computed on the host.
struct Ground {
  std::vector<float> height;  ///< metres; 0 outside
  std::vector<std::uint8_t> inside;
  std::vector<std::uint8_t> zone;   ///< dye of the rain: 0 high ground, 1 slopes, 2 valleys
  std::vector<float> rain_pattern;  ///< rain relative to the mean; 0 outside
};

Ground survey(const Terrain& terrain, const RiverParameters& parameters) {
  std::vector<float> sorted;
  for (float z : terrain.elevation)
    if (!std::isnan(z)) sorted.push_back(z);
  std::sort(sorted.begin(), sorted.end());
  const auto part = [&](double q) {
    return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1))];
  };
  const float low = sorted.front(), high = std::max(sorted.back(), low + 1e-3f);

  Ground ground;
  double sum = 0;
  for (float z : terrain.elevation) {
    const bool inside = !std::isnan(z);
    ground.inside.push_back(inside);
    ground.height.push_back(inside ? z : 0);
    ground.zone.push_back(static_cast<std::uint8_t>(z > part(0.75) ? 0 : z > part(0.40) ? 1 : 2));
    ground.rain_pattern.push_back(inside ? 1 + parameters.orographic * (2 * (z - low) / (high - low) - 1)
                                         : 0);
    sum += ground.rain_pattern.back();
  }
  const float scale = static_cast<float>(static_cast<double>(sorted.size()) / sum);
  for (float& pattern : ground.rain_pattern) pattern *= scale;
  return ground;
}

/// Lower bound of a bin of the histogram, metres.
float class_start(std::size_t bin) {
  return histogram_lowest * std::ldexp(bin % 2 ? 1.5f : 1.0f, static_cast<int>(bin / 2));
}

}  // namespace

double RiverTotals::imbalance() const {
  const double all = initial + rain;
  return all > 0 ? (volume + outflow - all) / all : 0;
}

struct RiverKernels::Set {
  explicit Set(bool regions)
      : flux(flux_kernel(regions)), limit(limit_kernel(regions)), beside(beside_kernel(regions)) {}
  decltype(clock_kernel()) clock = clock_kernel();
  decltype(flux_kernel(true)) flux;
  decltype(limit_kernel(true)) limit;
  decltype(update_kernel()) update = update_kernel();
  decltype(beside_kernel(true)) beside;
};

RiverKernels::RiverKernels(Regions regions) : set_(std::make_unique<Set>(regions == Regions::on)) {}
RiverKernels::RiverKernels(RiverKernels&&) noexcept = default;
RiverKernels::~RiverKernels() = default;

void RiverKernels::prepare(const StreamRef& stream) const {
  for (const Program* program : {&set_->clock.program(), &set_->flux.program(), &set_->limit.program(),
                                 &set_->update.program(), &set_->beside.program()})
    program->prepare(stream);
}

int RiverKernels::loops() const {
  int count = 0;
  for (const Program* program : {&set_->clock.program(), &set_->flux.program(), &set_->limit.program(),
                                 &set_->update.program(), &set_->beside.program()}) {
    const std::string text = program->text();
    for (std::string_view word : {" parallel (", " reduce."})
      for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  }
  return count;
}

struct River::Fields {
  using Plane = Array<float, 2>;
  std::int64_t rows = 0, cols = 0;
  float cell_width = 0, cell_height = 0;
  RiverParameters parameters;
  double initial = 0;

  Array<std::uint8_t, 2> inside, zone;
  Plane ground, rain_pattern;
  Plane h, rest, before, qx, qy, share, rain;
  Plane east, east_first, east_second, east_along, south, south_first, south_second, south_along;
  std::array<Plane, 3> dye, dye_part;
  Plane silt, silt_part, bed;
  Array<float> clock;
  Array<double> time, rain_total, statistics, silt_totals;
  std::array<Array<double>, 3> dye_totals;
  Array<std::uint32_t, 2> counts;
  Array<std::uint32_t> histogram;

  Plane plane(const Device& device) const {
    Plane field = device.array<float>(rows + 2, cols + 2);
    field.fill(0.0f);
    return field;
  }
  double cell_area() const { return static_cast<double>(cell_width) * static_cast<double>(cell_height); }
};

River::River(const Device& device, const Terrain& terrain, const RiverParameters& parameters,
             std::span<const float> depth)
    : fields_(std::make_unique<Fields>()) {
  Fields& f = *fields_;
  f.rows = terrain.rows, f.cols = terrain.cols;
  f.cell_width = static_cast<float>(terrain.cell_width),
  f.cell_height = static_cast<float>(terrain.cell_height);
  f.parameters = parameters;
  if (!depth.empty() && depth.size() != terrain.elevation.size()) {
    throw Error(ErrorCode::invalid, "River: the initial depth has " + std::to_string(depth.size()) +
                                        " values, expected " + std::to_string(terrain.elevation.size()) +
                                        " like the terrain");
  }

  for (Fields::Plane* field :
       {&f.ground,     &f.rain_pattern, &f.h,           &f.rest,         &f.before,      &f.qx,
        &f.qy,         &f.share,        &f.rain,        &f.east,         &f.east_first,  &f.east_second,
        &f.east_along, &f.south,        &f.south_first, &f.south_second, &f.south_along, &f.dye[0],
        &f.dye[1],     &f.dye[2],       &f.dye_part[0], &f.dye_part[1],  &f.dye_part[2], &f.silt,
        &f.silt_part,  &f.bed})
    *field = f.plane(device);
  const Ground ground = survey(terrain, parameters);
  f.ground.copy_from(ringed(f.rows, f.cols, 0.0f, ground.height));
  f.rain_pattern.copy_from(ringed(f.rows, f.cols, 0.0f, ground.rain_pattern));
  f.inside = device.array<std::uint8_t>(f.rows + 2, f.cols + 2);
  f.inside.copy_from(ringed<std::uint8_t>(f.rows, f.cols, 0, ground.inside));
  f.zone = device.array<std::uint8_t>(f.rows + 2, f.cols + 2);
  f.zone.copy_from(ringed<std::uint8_t>(f.rows, f.cols, 0, ground.zone));

  if (!depth.empty()) {
    std::vector<float> water(depth.begin(), depth.end());
    for (std::size_t i = 0; i < water.size(); ++i) {
      if (!ground.inside[i]) water[i] = 0;
      f.initial += static_cast<double>(water[i]);
    }
    f.initial *= f.cell_area();
    f.h.copy_from(ringed(f.rows, f.cols, 0.0f, water));
  }

  f.clock = device.array<float>(clock_places);
  f.clock.fill(0);
  const auto zeros = [&](int count) {
    Array<double> totals = device.array<double>(count);
    totals.fill(0);
    return totals;
  };
  f.time = zeros(1), f.rain_total = zeros(1), f.statistics = zeros(stat_places), f.silt_totals = zeros(2);
  for (Array<double>& totals : f.dye_totals) totals = zeros(1);
  f.counts = device.array<std::uint32_t>(histogram_copies, histogram_bins);
  f.histogram = device.array<std::uint32_t>(histogram_bins);
  f.histogram.fill(0);
}

River::River(River&&) noexcept = default;
River::~River() = default;

void River::step(const StreamRef& stream, const RiverKernels& kernels) {
  Fields& f = *fields_;
  const RiverParameters& p = f.parameters;
  const RiverKernels::Set& k = *kernels.set_;
  k.clock(stream, f.h, f.qx, f.qy, f.clock, f.time, f.cell_width, f.cell_height, p.gravity, p.courant,
          p.longest_step, p.rain, p.rain_duration, p.rain_peak);
  k.flux(stream, f.h, f.qx, f.qy, f.ground, f.inside, f.clock, f.east, f.east_first, f.east_second,
         f.east_along, f.south, f.south_first, f.south_second, f.south_along, f.rain_pattern, f.rain,
         f.rain_total, f.cell_width, f.cell_height, p.gravity, p.open_border ? 1.0f : 0.0f);
  k.limit(stream, f.h, f.share, f.east, f.south);
  k.update(stream, f.h, f.rest, f.before, f.qx, f.qy, f.inside, f.clock, f.east, f.east_first, f.east_second,
           f.east_along, f.south, f.south_first, f.south_second, f.south_along, f.rain, p.gravity, p.manning);
  k.beside(stream, f.before, f.h, f.rest, f.qx, f.qy, f.inside, f.clock, f.east, f.south, f.rain, f.zone,
           f.dye[0], f.dye[1], f.dye[2], f.dye_part[0], f.dye_part[1], f.dye_part[2], f.dye_totals[0],
           f.dye_totals[1], f.dye_totals[2], f.silt, f.silt_part, f.bed, f.silt_totals, f.statistics,
           f.counts, f.histogram, p.gravity, p.manning, p.erosion_rate, p.critical_stress,
           p.settling_velocity, p.water_density);
}

RiverTotals River::totals(const StreamRef& stream) const {
  const Fields& f = *fields_;
  const std::vector<double> statistics = f.statistics.to_host(stream), silt = f.silt_totals.to_host(stream);
  RiverTotals totals;
  totals.time = f.time.to_host(stream)[0];
  totals.initial = f.initial;
  totals.rain = f.rain_total.to_host(stream)[0] * f.cell_area();
  totals.outflow = statistics[stat_outflow] * f.cell_area();
  totals.volume = totals.time > 0 ? statistics[stat_volume] * f.cell_area() : f.initial;
  totals.depth = statistics[stat_depth];
  totals.speed = statistics[stat_speed];
  totals.wet = static_cast<std::int64_t>(statistics[stat_wet]);
  for (std::size_t k = 0; k < totals.dye.size(); ++k)
    totals.dye[k] = f.dye_totals[k].to_host(stream)[0] * f.cell_area();
  totals.silt = silt[0] * f.cell_area();
  totals.bed = silt[1] * f.cell_area();
  const std::vector<std::uint32_t> histogram = f.histogram.to_host(stream);
  for (std::size_t bin = 0; bin < histogram.size(); ++bin)
    totals.depth_classes.push_back(
        {class_start(bin), class_start(bin + 1), static_cast<double>(histogram[bin])});
  return totals;
}

void River::read_time(const StreamRef& stream, std::span<double, 1> time) const {
  fields_->time.copy_to_async(stream, time);
}

RiverState River::state(const StreamRef& stream) const {
  const Fields& f = *fields_;
  const auto read = [&](const Fields::Plane& field) {
    return without_ring(f.rows, f.cols, field.to_host(stream));
  };
  return {f.time.to_host(stream)[0],
          read(f.h),
          read(f.rest),
          read(f.qx),
          read(f.qy),
          {read(f.dye[0]), read(f.dye[1]), read(f.dye[2])},
          read(f.silt),
          read(f.bed)};
}

void River::restore(const StreamRef& stream, const RiverState& state) {
  Fields& f = *fields_;
  const auto write = [&](const Fields::Plane& field, const std::vector<float>& values) {
    field.copy_from(stream, ringed(f.rows, f.cols, 0.0f, values));
  };
  write(f.h, state.depth), write(f.rest, state.rest), write(f.qx, state.flow_x), write(f.qy, state.flow_y);
  for (std::size_t k = 0; k < f.dye.size(); ++k) write(f.dye[k], state.dye[k]);
  write(f.silt, state.silt), write(f.bed, state.bed);
  f.time.fill(stream, state.time);
}

}  // namespace weir::demo
