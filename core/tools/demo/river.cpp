// SPDX-License-Identifier: Apache-2.0
#include "river.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <string>

#include "flow_kernels.hpp"
#include "rank_kernels.hpp"
#include "substance_kernels.hpp"

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

/// The elevations of all ranks in ascending order, of which each rank holds some.
class SortedElevations {
 public:
  SortedElevations(const Terrain& terrain, const Ranks& ranks) : ranks_(ranks) {
    for (float z : terrain.elevation)
      if (!std::isnan(z)) mine_.push_back(z + 0.0f);  // -0 becomes 0, so that both orders agree
    std::sort(mine_.begin(), mine_.end());
    size_ = total(mine_.size());
  }
  double size() const noexcept { return size_; }

  /// The element of index `q` times the last index, rounded down.
  float at(double q) const {
    const double index = std::floor(q * (size_ - 1));
    // The largest float with at most `index` elements below it, one bit of its order after the other.
    std::uint32_t found = 0;
    for (std::uint32_t bit = 1u << 31; bit != 0; bit >>= 1) {
      const auto below = std::lower_bound(mine_.begin(), mine_.end(), in_order(found | bit),
                                          [](float a, float b) { return order(a) < order(b); });
      if (total(static_cast<std::size_t>(below - mine_.begin())) <= index) found |= bit;
    }
    return in_order(found);
  }

 private:
  double total(std::size_t count) const {
    double sum = static_cast<double>(count);
    ranks_.reduce(std::span(&sum, 1), Reduction::sum);
    return sum;
  }
  /// Orders floats as their values do.
  static std::uint32_t order(float z) {
    const auto bits = std::bit_cast<std::uint32_t>(z);
    return bits >> 31 ? ~bits : bits | 1u << 31;
  }
  static float in_order(std::uint32_t place) {
    return std::bit_cast<float>(place >> 31 ? place & ~(1u << 31) : ~place);
  }

  const Ranks& ranks_;
  std::vector<float> mine_;
  double size_ = 0;
};

Ground survey(const Terrain& terrain, const RiverParameters& parameters, const Ranks& ranks) {
  const SortedElevations sorted(terrain, ranks);
  const float low = sorted.at(0), high = std::max(sorted.at(1), low + 1e-3f);
  const float slopes = sorted.at(0.40), peaks = sorted.at(0.75);

  Ground ground;
  for (float z : terrain.elevation) {
    const bool inside = !std::isnan(z);
    ground.inside.push_back(inside);
    ground.height.push_back(inside ? z : 0);
    ground.zone.push_back(static_cast<std::uint8_t>(z > peaks ? 0 : z > slopes ? 1 : 2));
    ground.rain_pattern.push_back(inside ? 1 + parameters.orographic * (2 * (z - low) / (high - low) - 1)
                                         : 0);
  }
  const double sum = ranks.in_turn(0.0, [&](double before) {
    for (float pattern : ground.rain_pattern) before += pattern;
    return before;
  });
  const float scale = static_cast<float>(sorted.size() / sum);
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

/// The kernels that replace `clock` and `limit` over ranks.
struct RankKernels {
  explicit RankKernels(bool regions) : edges(edges_kernel(regions)) {}
  decltype(fastest_kernel()) fastest = fastest_kernel();
  decltype(advance_kernel()) advance = advance_kernel();
  decltype(share_kernel()) share = share_kernel();
  decltype(edges_kernel(true)) edges;
};

struct RiverKernels::Set {
  Set(bool regions, bool cut)
      : flux(flux_kernel(regions)), limit(limit_kernel(regions)), substances(substance_kernel(regions)) {
    if (cut) over_ranks.emplace(regions);
  }
  decltype(clock_kernel()) clock = clock_kernel();
  decltype(flux_kernel(true)) flux;
  decltype(limit_kernel(true)) limit;
  decltype(update_kernel()) update = update_kernel();
  decltype(substance_kernel(true)) substances;
  std::optional<RankKernels> over_ranks;

  std::vector<const Program*> programs() const {
    if (over_ranks)
      return {&over_ranks->fastest.program(), &over_ranks->advance.program(), &flux.program(),
              &over_ranks->share.program(),   &over_ranks->edges.program(),   &update.program(),
              &substances.program()};
    return {&clock.program(), &flux.program(), &limit.program(), &update.program(), &substances.program()};
  }
};

RiverKernels::RiverKernels(Regions regions, bool over_ranks)
    : set_(std::make_unique<Set>(regions == Regions::on, over_ranks)) {}
RiverKernels::RiverKernels(RiverKernels&&) noexcept = default;
RiverKernels::~RiverKernels() = default;

std::vector<Preparation> RiverKernels::prepare(const Device& device) const {
  std::vector<Preparation> all;
  for (const Program* program : set_->programs()) all.push_back(program->prepare(device));
  return all;
}

int RiverKernels::loops() const {
  int count = 0;
  for (const Program* program : set_->programs()) {
    const std::string text = program->text();
    for (std::string_view word : {" parallel (", " reduce."})
      for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  }
  return count;
}

struct River::Fields {
  using Plane = ArrayView<float, 2>;
  using Halos = std::vector<std::reference_wrapper<const AnyDistributed>>;
  Ranks ranks;
  std::int64_t rows = 0, cols = 0;  ///< of this rank, without the ring
  float cell_width = 0, cell_height = 0;
  RiverParameters parameters;
  double initial = 0;

  ArrayView<std::uint8_t, 2> inside, zone;
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

  std::vector<std::shared_ptr<const void>> owners;  ///< of the planes' memory
  std::shared_ptr<const AnyDistributed> layout;     ///< of all planes, over ranks
  Halos at_begin, in_limit;                         ///< exchanged by each step

  /// A field of zeros: the rank's rows, and around them the ring or a row of each neighbour. `exchanged` is
  /// the list that it joins.
  template <class T>
  ArrayView<T, 2> plane(const Device& device, Halos* exchanged = nullptr) {
    ArrayView<T, 2> field;
    if (ranks.alone()) {
      auto owner = std::make_shared<Array<T, 2>>(device.array<T>(rows + 2, cols + 2));
      field = *owner;
      owners.push_back(std::move(owner));
    } else {
      auto owner = std::make_shared<Distributed<T, 2>>(ranks.stream(), *layout);
      field = owner->local();
      if (exchanged) exchanged->push_back(*owner);
      owners.push_back(std::move(owner));
    }
    field.fill(T{});
    return field;
  }
  template <class T>
  ArrayView<T, 2> plane_of(const Device& device, const std::vector<T>& inner, Halos* exchanged = nullptr) {
    const ArrayView<T, 2> field = plane<T>(device, exchanged);
    field.copy_from(ringed(rows, cols, T{}, inner));
    return field;
  }
  /// Cuts the fields of `total` rows, whose ring belongs to the first and the last rank.
  void cut_rows(std::int64_t total) {
    rows = ranks.rows(total).size();
    if (ranks.alone()) return;
    Cut cut;
    cut.halo = 1;
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank)
      cut.rows.push_back(ranks.rows(total, rank).size() + (rank == 0) + (rank + 1 == ranks.size()));
    const std::array<std::int64_t, 2> extents{total + 2, cols + 2};
    layout = std::make_shared<Distributed<std::uint8_t, 2>>(ranks.world(), ranks.stream(), extents, cut);
  }
  double cell_area() const { return static_cast<double>(cell_width) * static_cast<double>(cell_height); }
};

River::River(const Device& device, const Terrain& terrain, const RiverParameters& parameters,
             std::span<const float> depth, const Ranks& ranks)
    : fields_(std::make_unique<Fields>()) {
  Fields& f = *fields_;
  f.ranks = ranks;
  f.cols = terrain.cols;
  f.cell_width = static_cast<float>(terrain.cell_width),
  f.cell_height = static_cast<float>(terrain.cell_height);
  f.parameters = parameters;
  if (!depth.empty() && depth.size() != terrain.elevation.size()) {
    throw Error(ErrorCode::invalid, "River: the initial depth has " + std::to_string(depth.size()) +
                                        " values, expected " + std::to_string(terrain.elevation.size()) +
                                        " like the terrain");
  }

  f.cut_rows(terrain.rows);
  for (Fields::Plane* field : {&f.rest, &f.before, &f.rain, &f.east, &f.east_first, &f.east_second,
                               &f.east_along, &f.south, &f.south_first, &f.south_second, &f.south_along,
                               &f.dye_part[0], &f.dye_part[1], &f.dye_part[2], &f.silt_part, &f.bed})
    *field = f.plane<float>(device);
  for (Fields::Plane* field : {&f.h, &f.qx, &f.qy, &f.dye[0], &f.dye[1], &f.dye[2], &f.silt})
    *field = f.plane<float>(device, &f.at_begin);
  f.share = f.plane<float>(device, &f.in_limit);
  const Ground ground = survey(terrain, parameters, ranks);
  Fields::Halos still;  // never changes, so it is exchanged once
  f.ground = f.plane_of(device, ground.height, &still);
  f.inside = f.plane_of(device, ground.inside, &still);
  f.rain_pattern = f.plane_of(device, ground.rain_pattern);
  f.zone = f.plane_of(device, ground.zone);
  if (!ranks.alone()) exchange_halos(ranks.stream(), still);

  if (!depth.empty()) {
    std::vector<float> water(depth.begin(), depth.end());
    for (std::size_t i = 0; i < water.size(); ++i) {
      if (!ground.inside[i]) water[i] = 0;
      f.initial += static_cast<double>(water[i]);
    }
    ranks.reduce(std::span(&f.initial, 1), Reduction::sum);
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
  if (f.ranks.alone()) {
    k.clock(stream, f.h, f.qx, f.qy, f.clock, f.time, f.cell_width, f.cell_height, p.gravity, p.courant,
            p.longest_step, p.rain, p.rain_duration, p.rain_peak);
  } else {
    exchange_halos(stream, f.at_begin);
    for (const std::int64_t row : {std::int64_t{0}, f.rows + 1})
      f.before.slice(row, row + 1).copy_from(stream, f.h.slice(row, row + 1));
    k.over_ranks->fastest(stream, f.h, f.qx, f.qy, f.clock, f.cell_width, f.cell_height, p.gravity);
    f.ranks.world().all_reduce(stream, f.clock.slice(clock_fastest, clock_fastest + 1), Reduction::maximum);
    k.over_ranks->advance(stream, f.clock, f.time, p.courant, p.longest_step, p.rain, p.rain_duration,
                          p.rain_peak);
  }
  k.flux(stream, f.h, f.qx, f.qy, f.ground, f.inside, f.clock, f.east, f.east_first, f.east_second,
         f.east_along, f.south, f.south_first, f.south_second, f.south_along, f.rain_pattern, f.rain,
         f.rain_total, f.cell_width, f.cell_height, p.gravity, p.open_border ? 1.0f : 0.0f);
  if (f.ranks.alone()) {
    k.limit(stream, f.h, f.share, f.east, f.south);
  } else {
    k.over_ranks->share(stream, f.h, f.share, f.east, f.south);
    exchange_halos(stream, f.in_limit);
    k.over_ranks->edges(stream, f.share, f.east, f.south);
  }
  k.update(stream, f.h, f.rest, f.before, f.qx, f.qy, f.inside, f.clock, f.east, f.east_first, f.east_second,
           f.east_along, f.south, f.south_first, f.south_second, f.south_along, f.rain, p.gravity, p.manning);
  k.substances(stream, f.before, f.h, f.rest, f.qx, f.qy, f.inside, f.clock, f.east, f.south, f.rain, f.zone,
               f.dye[0], f.dye[1], f.dye[2], f.dye_part[0], f.dye_part[1], f.dye_part[2], f.dye_totals[0],
               f.dye_totals[1], f.dye_totals[2], f.silt, f.silt_part, f.bed, f.silt_totals, f.statistics,
               f.counts, f.histogram, p.gravity, p.manning, p.erosion_rate, p.critical_stress,
               p.settling_velocity, p.water_density);
}

RiverTotals River::totals(const StreamRef& stream) const {
  const Fields& f = *fields_;
  const std::vector<double> statistics = f.statistics.to_host(stream), silt = f.silt_totals.to_host(stream);
  const std::vector<std::uint32_t> histogram = f.histogram.to_host(stream);
  std::vector<double> sums = {f.rain_total.to_host(stream)[0],
                              statistics[stat_outflow],
                              statistics[stat_volume],
                              statistics[stat_wet],
                              f.dye_totals[0].to_host(stream)[0],
                              f.dye_totals[1].to_host(stream)[0],
                              f.dye_totals[2].to_host(stream)[0],
                              silt[0],
                              silt[1]};
  const std::size_t first_bin = sums.size();
  sums.insert(sums.end(), histogram.begin(), histogram.end());
  std::array<double, 2> largest{statistics[stat_depth], statistics[stat_speed]};
  f.ranks.reduce(sums, Reduction::sum);
  f.ranks.reduce(largest, Reduction::maximum);

  RiverTotals totals;
  totals.time = f.time.to_host(stream)[0];
  totals.initial = f.initial;
  totals.rain = sums[0] * f.cell_area();
  totals.outflow = sums[1] * f.cell_area();
  totals.volume = totals.time > 0 ? sums[2] * f.cell_area() : f.initial;
  totals.depth = largest[0];
  totals.speed = largest[1];
  totals.wet = static_cast<std::int64_t>(sums[3]);
  for (std::size_t k = 0; k < totals.dye.size(); ++k) totals.dye[k] = sums[4 + k] * f.cell_area();
  totals.silt = sums[7] * f.cell_area();
  totals.bed = sums[8] * f.cell_area();
  for (std::size_t bin = 0; bin < histogram.size(); ++bin)
    totals.depth_classes.push_back({class_start(bin), class_start(bin + 1), sums[first_bin + bin]});
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
