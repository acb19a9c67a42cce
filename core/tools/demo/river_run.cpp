// SPDX-License-Identifier: Apache-2.0
#include "river_run.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iomanip>
#include <iterator>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <system_error>
#include <weir/distributed_profile.hpp>

#include "conditioning.hpp"
#include "maps.hpp"
#include "progress.hpp"
#include "ranks.hpp"
#include "river.hpp"

namespace weir::demo {
namespace {

using Clock = std::chrono::steady_clock;

constexpr float deepest_cut = 60;  // metres, limit for open_hollows
/// The longest wait of a rank for the others: the first one opens the hollows of the largest terrain
/// meanwhile.
constexpr std::chrono::minutes rank_limit{2};
constexpr std::int64_t min_rows = 2;  // of a rank; maps need as many of the neighbours

/// About three significant digits: 0.0123, 1.23, 123, 12345, 1.23e-08.
std::string short_number(double value) {
  char text[40];
  const double size = std::abs(value);
  if (size >= 1000 && size < 1e7)
    std::snprintf(text, sizeof text, "%.0f", value);
  else
    std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

/// "42 s", "17 min", "2 h 49 min".
std::string span_of_time(double seconds) {
  const auto minutes = static_cast<long long>(seconds / 60);
  if (seconds < 60) return std::to_string(static_cast<long long>(seconds)) + " s";
  if (minutes < 60) return std::to_string(minutes) + " min";
  return std::to_string(minutes / 60) + " h " + std::to_string(minutes % 60) + " min";
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void write_profile(const std::filesystem::path& path, const Device& device, const Profile& profile,
                   const Ranks& ranks) {
  const std::vector<TaskTime> times = profile.results();
  const std::string title = "weir demo river on " + device.name() + " (" + device.info().name + ")";
  if (ranks.alone())
    write_trace(path, times, title);
  else
    write_trace(ranks.world(), ranks.stream(), path, times, title);
}

void make_folder(const std::filesystem::path& folder) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::system, folder.string() + ": cannot write to the output folder: " + why +
                                       "; choose another with --out");
  };
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!std::filesystem::is_directory(folder)) refuse(error ? error.message() : "it is not a folder");
  if (access(folder.c_str(), W_OK | X_OK) != 0) refuse(std::strerror(errno));
}

/// The terrain as read from the file, for the maps, and as conditioned for the flow.
struct Land {
  Terrain shown, wet;
};

/// Water follows paths across the whole map, so one rank opens the hollows for all.
Conditioning open_hollows(Terrain& piece, const std::filesystem::path& path, const RiverOptions& options,
                          const Ranks& ranks) {
  if (ranks.alone()) return open_hollows(piece, deepest_cut);
  Terrain whole;
  Conditioning done;
  if (ranks.first()) {
    whole = read_terrain(path, options.units);
    done = open_hollows(whole, deepest_cut);
  }
  piece.elevation = ranks.scatter(whole.elevation, piece.rows, piece.cols);
  return done;
}

Land prepare_land(const RiverOptions& options, const Ranks& ranks, std::ostream& log) {
  const std::filesystem::path path = options.terrain.empty() ? shipped_terrain() : options.terrain;
  Land land{read_terrain(path, options.units, ranks), {}};
  if (land.shown.rows < min_rows * ranks.size() && !ranks.alone())
    throw Error(ErrorCode::invalid, path.string() + ": " + std::to_string(land.shown.rows) +
                                        " rows are too few for " + std::to_string(ranks.size()) +
                                        " ranks; use fewer ranks, of " + std::to_string(min_rows) +
                                        " rows or more each");
  land.wet = land.shown;
  double low = std::numeric_limits<double>::max(), high = std::numeric_limits<double>::lowest();
  for (const double z : land.shown.elevation)
    if (!std::isnan(z)) low = std::min(low, z), high = std::max(high, z);
  ranks.reduce(std::span(&low, 1), Reduction::minimum);
  ranks.reduce(std::span(&high, 1), Reduction::maximum);
  log << "terrain   " << path.filename().string() << ": " << land.shown.rows << " x " << land.shown.cols
      << " cells of " << short_number(land.shown.cell_height) << " x " << short_number(land.shown.cell_width)
      << " m, " << short_number(low) << " to " << short_number(high) << " m high\n";
  if (!options.keep_hollows) {
    const Conditioning done = open_hollows(land.wet, path, options, ranks);
    log << "          opened " << done.pits << " hollows by lowering " << done.cells
        << " cells, the deepest cut " << short_number(done.deepest_cut) << " m\n";
  }
  return land;
}

/// Submits steps and keeps the host at most two batches ahead of the device, so that the reported progress is
/// accurate.
class Pacer {
 public:
  Pacer(const Device& device, const Ranks& ranks)
      : ranks_(ranks),
        marks_{device.create_event(), device.create_event()},
        times_(device.pinned_array<double>(2)) {}

  /// Submits `steps` steps; calls `reached(n, time)` when the device has completed the first n.
  template <class Reached>
  void run(River& river, const RiverKernels& kernels, const StreamRef& stream, std::int64_t steps,
           Reached reached) {
    constexpr std::int64_t batch = 8;
    std::int64_t submitted = 0;
    for (std::size_t turn = 0; submitted < steps; ++turn) {
      const std::size_t slot = turn % marks_.size();
      if (turn >= marks_.size()) {
        marks_[slot].synchronize();
        reached(submitted - batch, times_[slot]);
      }
      for (std::int64_t i = 0; i < batch && submitted < steps; ++i, ++submitted) river.step(stream, kernels);
      last_ = slot;
      river.read_time(stream, std::span<double, 1>(times_.data() + slot, 1));
      marks_[slot].record(stream);
      stream.flush();
    }
    ranks_.synchronize(stream);
    reached(steps, times_[last_]);
  }

 private:
  Ranks ranks_;
  std::array<Event, 2> marks_;
  PinnedArray<double> times_;
  std::size_t last_ = 0;
};

/// Every rank draws, because each samples its rows of the fields for all; the first one writes.
void draw_maps(const Relief& relief, const River& river, const StreamRef& stream, std::int64_t steps,
               std::span<const DepthClass> depth_classes, const std::filesystem::path& folder,
               const Ranks& ranks) {
  const RiverState state = river.state(stream);
  std::vector<float> concentration(state.depth.size());
  std::array<std::vector<float>, 3> dye;
  for (std::vector<float>& part : dye) part.resize(state.depth.size());
  for (std::size_t i = 0; i < state.depth.size(); ++i) {
    if (state.depth[i] < 1e-3f) continue;
    concentration[i] = state.silt[i] / state.depth[i];
    for (std::size_t k = 0; k < dye.size(); ++k) dye[k][i] = state.dye[k][i] / state.depth[i];
  }
  const RiverFields fields{state.depth,
                           concentration,
                           {dye[0], dye[1], dye[2]},
                           depth_classes,
                           std::to_string(steps) + (steps == 1 ? " step, " : " steps, ") +
                               span_of_time(state.time) + " after the rain began"};
  const auto write = [&](const Image& map, const char* name) {
    if (ranks.first()) write_png(map, folder / name);
  };
  write(draw_water_map(relief, fields), "water.png");
  write(draw_sediment_map(relief, fields), "sediment.png");
  write(draw_dye_map(relief, fields, {"on high ground", "on slopes", "in valleys"}), "dye.png");
}

/// Runs the same steps with and without regions, in turn, and keeps the best time of each, to reduce the
/// effect of other programs.
void compare(const Device& device, const Terrain& terrain, const RiverOptions& options,
             const RiverState& start, const StreamRef& stream,
             const std::array<const RiverKernels*, 2>& off_on, const Ranks& ranks, RiverReport& report) {
  constexpr int rounds = 4;
  const std::int64_t steps = std::clamp<std::int64_t>(options.steps / 20, 1, 50);
  std::array<double, 2> seconds;
  seconds.fill(std::numeric_limits<double>::infinity());
  std::array<RiverState, 2> end;
  River river(device, terrain, options.parameters, {}, ranks);
  Pacer pacer(device, ranks);
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t on : {1, 0}) {
      river.restore(stream, start);
      ranks.synchronize(stream);
      ranks.meet();
      const Clock::time_point begin = Clock::now();
      pacer.run(river, *off_on[on], stream, steps, [](std::int64_t, double) {});
      seconds[on] = std::min(seconds[on], seconds_since(begin));
      if (round == 0) end[on] = river.state(stream);
    }
  }
  double different = end[0] == end[1] ? 0 : 1;
  ranks.reduce(std::span(&different, 1), Reduction::maximum);
  ranks.reduce(seconds, Reduction::maximum);
  report.steps_per_second_on = static_cast<double>(steps) / seconds[1];
  report.steps_per_second_off = static_cast<double>(steps) / seconds[0];
  report.same_bits = different == 0;
}

/// FNV-1a hash of the bits of every field, one field after the other, each from the first row to the last. It
/// is equal on all devices and ranks with equal results.
std::uint64_t hash_of(const RiverState& state, const Ranks& ranks) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](std::span<const float> values) {
    hash = ranks.in_turn(hash, [&](std::uint64_t before) {
      for (const std::byte byte : std::as_bytes(values))
        before = (before ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
      return before;
    });
  };
  const auto time = std::bit_cast<std::array<float, 2>>(state.time);
  add(ranks.first() ? std::span<const float>(time) : std::span<const float>());
  for (const auto* field : {&state.depth, &state.rest, &state.flow_x, &state.flow_y, &state.dye[0],
                            &state.dye[1], &state.dye[2], &state.silt, &state.bed})
    add(*field);
  return hash;
}

void print_balance(std::ostream& log, const RiverTotals& totals) {
  const double million = 1e6;
  log << "water     " << short_number(totals.rain / million) << " million m3 of rain, "
      << short_number(totals.volume / million) << " there, " << short_number(totals.outflow / million)
      << " gone over the border; off by " << short_number(std::abs(totals.imbalance())) << " of all (at most "
      << short_number(balance_tolerance) << ")\n"
      << "          deepest " << short_number(totals.depth) << " m, fastest " << short_number(totals.speed)
      << " m/s, " << totals.wet << " wet cells\n"
      << "silt      " << short_number(totals.silt / 1e6) << " thousand tonnes in the water, "
      << short_number(totals.bed / 1e6) << " gained by the bed\n";
}

/// Runs all steps, with a timeline of a few in the middle; returns false if the device cannot time them.
bool flow(River& river, const RiverKernels& kernels, const Device& device, const StreamRef& stream,
          const RiverOptions& options, const Ranks& ranks, std::ostream& log, bool terminal) {
  const bool timed = device.info().has(Capability::timed_events);
  const std::int64_t before = options.steps / 2;
  const std::int64_t watched = timed ? std::min<std::int64_t>(options.steps - before, 5) : 0;
  Progress progress(log, terminal, "river    ", options.steps);
  Pacer pacer(device, ranks);
  const Clock::time_point start = Clock::now();
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    pacer.run(river, kernels, stream, end - begin, [&](std::int64_t done, double time) {
      progress.show(begin + done, seconds_since(start), span_of_time(time) + " of flow");
    });
  };
  run(0, before);
  if (timed) {
    ranks.meet();  // the times of each rank begin here
    const Profile profile(device);
    run(before, before + watched);
    write_profile(options.out / "trace.json", device, profile, ranks);
  }
  run(before + watched, options.steps);
  return timed;
}

/// Kernels of all ranks. Those for the comparison are made when the first rank comes to it.
class BothKernels {
 public:
  explicit BothKernels(bool over_ranks) : with_regions(Regions::on, over_ranks), over_ranks_(over_ranks) {}

  const RiverKernels with_regions;
  const RiverKernels& without_regions() const {
    std::call_once(once_, [this] { without_regions_.emplace(Regions::off, over_ranks_); });
    return *without_regions_;
  }

 private:
  bool over_ranks_;
  mutable std::once_flag once_;
  mutable std::optional<RiverKernels> without_regions_;
};

/// Compiles on the first rank, whose code the others find: ready, or in the cache. Returns the seconds.
double prepare(const RiverKernels& kernels, const Device& device, const Ranks& ranks, std::ostream& log,
               bool terminal) {
  const Clock::time_point start = Clock::now();
  for (const bool turn : {true, false}) {
    if (ranks.first() == turn) {
      const std::vector<Preparation> all = kernels.prepare(device);
      Progress progress(log, terminal, "compiling", std::ssize(all));
      for (std::size_t ready = 0; ready < all.size(); ++ready) {
        // A line for each tenth would be too much for the seconds that this takes.
        if (terminal && turn) progress.show(static_cast<std::int64_t>(ready), seconds_since(start));
        all[ready].wait();
      }
      if (terminal && turn) progress.show(std::ssize(all), seconds_since(start));
    }
    ranks.meet();
  }
  return seconds_since(start);
}

RiverReport run_rank(const RiverOptions& options, const BothKernels& kernels, const Device& device,
                     const Communicator* world, std::ostream& log, bool terminal) {
  const Stream stream = device.create_stream();
  const CurrentStream current(stream);
  const Ranks ranks = world ? Ranks(*world, stream) : Ranks();
  const Land land = prepare_land(options, ranks, log);
  if (ranks.first()) make_folder(options.out);

  const double compiling = prepare(kernels.with_regions, device, ranks, log, terminal);
  log << "device    " << device.name() << " (" << device.info().name << "), "
      << (ranks.alone() ? "" : std::to_string(ranks.size()) + " ranks over " + ranks.world().name() + ", ")
      << kernels.with_regions.loops() << " loops per step, compiled in " << short_number(compiling) << " s\n"
      << std::flush;

  River river(device, land.wet, options.parameters, {}, ranks);
  const Clock::time_point start = Clock::now();
  const bool timed = flow(river, kernels.with_regions, device, stream, options, ranks, log, terminal);
  const double seconds = seconds_since(start);
  const RiverTotals totals = river.totals(stream);
  print_balance(log, totals);
  log << "time      " << span_of_time(totals.time) << " of flow in " << short_number(seconds) << " s\n"
      << std::flush;
  draw_maps(Relief(land.shown, ranks), river, stream, options.steps, totals.depth_classes, options.out,
            ranks);

  RiverReport report;
  report.imbalance = totals.imbalance();
  const RiverState end = river.state(stream);
  log << "state     " << std::hex << std::setw(16) << std::setfill('0') << hash_of(end, ranks) << std::dec
      << std::setfill(' ') << ", a hash of all fields\n";
  const RiverKernels& without_regions = kernels.without_regions();
  prepare(without_regions, device, ranks, log, terminal);
  compare(device, land.wet, options, end, stream, {&without_regions, &kernels.with_regions}, ranks, report);
  log << "speed     " << short_number(report.steps_per_second_on) << " steps per second with regions, "
      << short_number(report.steps_per_second_off) << " without, "
      << (report.same_bits ? "the same bits" : "NOT the same bits") << '\n'
      << std::flush;
  conclude(report, log,
           std::string("water.png, sediment.png, dye.png") + (timed ? " and trace.json" : "") + " to " +
               options.out.string());
  return report;
}

}  // namespace

std::filesystem::path shipped_terrain() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return (program.parent_path() / WEIR_DATA_FROM_PROGRAM / "valley.asc").lexically_normal();
}

void check_options(const RiverOptions& options) {
  if (options.steps < 1 || options.steps > max_steps) {
    throw Error(ErrorCode::invalid, "--steps is " + std::to_string(options.steps) +
                                        ", expected a number from 1 to " + std::to_string(max_steps));
  }
  const RiverParameters& p = options.parameters;
  const auto in_range = [](const char* name, double value, double low, double high, const char* unit) {
    if (!(value >= low && value <= high)) {
      throw Error(ErrorCode::invalid, std::string(name) + " is " + short_number(value) + ", expected " +
                                          short_number(low) + " to " + short_number(high) + " " + unit);
    }
  };
  in_range("--rain", p.rain * 1000, 0, 10000, "mm");
  in_range("--hours", p.rain_duration / 3600, 0.01, 1000, "hours");
  in_range("--manning", p.manning, 0, 1, "s/m^(1/3)");
}

void conclude(const RiverReport& report, std::ostream& log, const std::string& written) {
  if (!(std::abs(report.imbalance) <= balance_tolerance)) {
    throw Error(ErrorCode::unknown,
                "the water balance is off by " + short_number(report.imbalance) +
                    " of all the water, expected at most " + short_number(balance_tolerance) +
                    "; the device computes incorrectly; choose another with --device, and report it");
  }
  if (!report.same_bits)
    throw Error(ErrorCode::unknown,
                "the results with and without regions differ; the device computes incorrectly; choose "
                "another with --device, and report it");
  log << "wrote     " << written << '\n' << std::flush;
}

RiverReport run_river(const RiverOptions& options, std::ostream& log, bool terminal) {
  check_options(options);
  const std::uint32_t requested = requested_ranks();
  const std::uint32_t count = options.ranks != 0 ? options.ranks : requested;
  const bool alone = count == 1 && requested == 1;
  const BothKernels kernels(!alone);
  if (alone) return run_rank(options, kernels, open_for_rank(options.device), nullptr, log, terminal);
  RiverReport report;
  run_ranks(count, [&] {
    const Device device = open_for_rank(options.device);
    const Communicator world = join(device, rank_limit);
    std::ostream silent(nullptr);
    if (world.rank() == 0)
      report = run_rank(options, kernels, device, &world, log, terminal);
    else
      run_rank(options, kernels, device, &world, silent, false);
  });
  return report;
}

}  // namespace weir::demo
