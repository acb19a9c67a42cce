// SPDX-License-Identifier: Apache-2.0
// A 5-point stencil over rows that are cut over ranks, against one device that holds all rows; and the share
// of the exchange that the interior hides.
#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <weir/distributed.hpp>
#include <weir/weir.hpp>

#include "ranks_bench.hpp"
#include "twin_ranks.hpp"

namespace weir::bench::ranks {
namespace {

/// Rows [begin, end) of a piece. The first and last column keep their values.
const auto& sweep_kernel() {
  static const Kernel kernel{
      "sweep", [](View<const float, 2> from, View<float, 2> to, Index begin, Index end) {
        range_for(range(begin, end), range(1, from.extent(1) - 1), [&](Index i, Index j) {
          to(i, j) = 0.2f * (from(i, j) + from(i, j - 1) + from(i, j + 1) + from(i - 1, j) + from(i + 1, j));
        });
      }};
  return kernel;
}

/// Values that depend on the place in the whole array.
const auto& start_kernel() {
  static const Kernel kernel{"start", [](View<float, 2> x, Index origin) {
                               range_for(x.extent(0), x.extent(1), [&](Index i, Index j) {
                                 const Index place = (origin + i) * x.extent(1) + j;
                                 x(i, j) = cast<float>((place * 2654435761) % 8191) * 0.125f;
                               });
                             }};
  return kernel;
}

const auto& different_kernel() {
  static const Kernel kernel{"different",
                             [](View<const float, 2> a, View<const float, 2> b, View<std::uint32_t> count) {
                               count[0] = reduce_sum(a.extent(0), a.extent(1), [&](Index i, Index j) {
                                 const Value<float> x = a(i, j), y = b(i, j);
                                 return select(bit_cast<std::uint32_t>(x) == bit_cast<std::uint32_t>(y),
                                               Value<std::uint32_t>(0u), Value<std::uint32_t>(1u));
                               });
                             }};
  return kernel;
}

/// The array of one device.
struct Plain {
  Plain(const Device& device, const StreamRef& stream, std::int64_t rows, std::int64_t columns)
      : from(Device(device).array<float>(stream, rows, columns)),
        to(Device(device).array<float>(stream, rows, columns)) {
    start_kernel()(stream, from, 0);
    start_kernel()(stream, to, 0);
  }
  void step(const StreamRef& stream) {
    sweep_kernel()(stream, from, to, 1, from.extent(0) - 1);
    std::swap(from, to);
  }
  Array<float, 2> from, to;
};

Cut cut_with(std::int64_t halo) {
  Cut cut;
  cut.halo = halo;
  return cut;
}

/// The array of all ranks.
struct Shared {
  Shared(Member& on, std::int64_t rows, std::int64_t columns, std::int64_t halo = 1)
      : member(on), from(on.world, on.stream, {rows, columns}, cut_with(halo)), to(on.stream, from) {
    start_kernel()(on.stream, from.local(), from.origin());
    start_kernel()(on.stream, to.local(), to.origin());
  }
  /// Without the first and last row of the whole array, which keep their values.
  void sweep(Rows part) {
    part.begin = std::max(part.begin, 1 - from.origin());
    part.end = std::min(part.end, from.extent(0) - 1 - from.origin());
    if (!part.empty()) sweep_kernel()(member.stream, from.local(), to.local(), part.begin, part.end);
  }
  /// One of `halo` steps exchanges the halos.
  void step() {
    const std::int64_t halo = from.halo(), width = halo - 1 - steps % halo;
    if (steps++ % halo == 0)
      overlap_exchange(
          member.stream, {from}, [&](Rows part) { sweep(part); }, width);
    else
      sweep(from.extended(0, width));
    std::swap(from, to);
  }
  /// Exchanges the halos although they are wider than the step needs.
  void step_with_exchange() {
    overlap_exchange(member.stream, {from}, [&](Rows part) { sweep(part); });
    std::swap(from, to);
  }
  void step_without_exchange() {
    sweep(from.interior());
    for (const Rows& border : from.borders()) sweep(border);
    std::swap(from, to);
  }
  Member& member;
  Distributed<float, 2> from, to;
  std::int64_t steps = 0;
};

/// Elements of all ranks whose bits differ from those of one device after a few steps. Every rank computes
/// the whole array for itself. Collective.
double differences(Member& member, std::int64_t rows, std::int64_t columns, std::int64_t halo) {
  Plain plain(member.device, member.stream, rows, columns);
  Shared shared(member, rows, columns, halo);
  for (std::int64_t i = 0; i < 2 * halo + 6; ++i) {
    plain.step(member.stream);
    shared.step();
  }
  const auto count = member.device.array<std::uint32_t>(member.stream, 1);
  const Rows mine = shared.from.rows();
  different_kernel()(member.stream, shared.from.own(), plain.from.slice(mine.begin, mine.end), count);
  member.world.synchronize(member.stream);
  return member.largest(count.to_host(member.stream)[0]);
}

std::string bits_in_words(double different) {
  return different == 0 ? "bits of one device"
                        : std::to_string(static_cast<long>(different)) + " BITS DIFFER";
}

/// `rows` x `columns` over all ranks, against `alone` x `columns` on one device. A bar of 0 only informs.
std::vector<Row> scaling(const Options& options, const std::string& name, std::int64_t rows,
                         std::int64_t alone, std::int64_t columns, std::int64_t halo, double bar) {
  std::vector<Row> table;
  for (const std::string& communicator : communicators_for(options)) {
    Row row;
    row.name = name + "/" + communicator;
    char words[32];
    std::snprintf(words, sizeof words, "at least %.2fx", bar);
    if (bar > 0) row.bar = words;
    try {
      over_ranks(options, communicator, [&](Member& member) {
        const bool first = member.world.rank() == 0;
        const double different = differences(member, rows, columns, halo);
        std::optional<Plain> plain;
        if (first) plain.emplace(member.device, member.stream, alone, columns);
        Shared shared(member, rows, columns, halo);
        const auto one = [&] {
          if (plain) plain->step(member.stream);
        };
        const auto all = [&] { shared.step(); };
        const int ones = member.repeats_for(options, one), alls = member.repeats_for(options, all);
        std::vector<double> before, after, figures;
        for (int sample = 0; sample < options.samples; ++sample) {
          before.push_back(member.time(ones, one));
          after.push_back(member.time(alls, all));
          figures.push_back(before.back() / after.back());
        }
        if (!first) return;
        row.ours = median(after) * 1e6;
        row.against = median(before) * 1e6;
        row.figure = median(figures);
        row.met = row.figure >= bar;
        row.words = bits_in_words(different);
        row.wrong = different != 0;
      });
    } catch (const std::exception& error) {
      row.words = error.what();
      row.wrong = true;
    }
    table.push_back(row);
  }
  return table;
}

/// The part of the exchange that does not lengthen a step.
std::vector<Row> overlap(const Options& options, const std::string& name, std::int64_t rows,
                         std::int64_t columns, std::int64_t halo) {
  std::vector<Row> table;
  for (const std::string& communicator : communicators_for(options)) {
    Row row;
    row.name = name + "/" + communicator;
    row.bar = "at least 90 %";
    try {
      over_ranks(options, communicator, [&](Member& member) {
        Shared shared(member, rows, columns, halo);
        const auto all = [&] { shared.step_with_exchange(); };
        const auto compute = [&] { shared.step_without_exchange(); };
        const auto exchange = [&] { shared.from.exchange(member.stream); };
        const int alls = member.repeats_for(options, all), computes = member.repeats_for(options, compute),
                  exchanges = member.repeats_for(options, exchange);
        std::vector<double> together, computed, exchanged, figures;
        for (int sample = 0; sample < options.samples; ++sample) {
          together.push_back(member.time(alls, all));
          computed.push_back(member.time(computes, compute));
          exchanged.push_back(member.time(exchanges, exchange));
          figures.push_back(100 * (1 - (together.back() - computed.back()) / exchanged.back()));
        }
        if (member.world.rank() != 0) return;
        row.ours = median(together) * 1e6;
        row.against = median(computed) * 1e6;
        row.figure = median(figures);
        row.met = row.figure >= 90;
        char words[96];
        std::snprintf(words, sizeof words, "%% hidden; the exchange alone %.2f us%s", median(exchanged) * 1e6,
                      median(exchanged) > median(computed) ? ", longer than the interior" : "");
        row.words = words;
      });
    } catch (const std::exception& error) {
      row.words = error.what();
      row.wrong = true;
    }
    table.push_back(row);
  }
  return table;
}

/// The same steps written by hand with CUDA, to show what the machine can do.
std::vector<Row> by_hand(const Options& options, std::int64_t rows, std::int64_t columns) {
  std::vector<Row> table;
  const TwinRanks& functions = twin(options);
  for (int variant = 0;; ++variant) {
    Row row;
    row.name = "stencil_by_hand_" + std::to_string(rows / options.ranks) + "/" + std::to_string(variant);
    const char* words = "";
    double alone = 0, together = 0;
    const int result = functions.stencil(variant, static_cast<int>(options.ranks), static_cast<int>(rows),
                                         static_cast<int>(columns), &alone, &together, &words);
    if (result == -1) return table;
    row.ours = together * 1e6;
    row.against = alone * 1e6;
    if (result == 0) row.figure = alone / together;
    row.words = result == 0 ? words : std::string(words) + ": error " + std::to_string(result);
    row.wrong = result != 0;
    table.push_back(row);
  }
}

}  // namespace

std::vector<Case> stencil_cases(const Options& options) {
  std::vector<Case> cases;
  const auto ranks = static_cast<std::int64_t>(options.ranks);
  const auto add = [&](std::string name, auto run) { cases.push_back({std::move(name), std::move(run)}); };
  // An exchange in each step, and one in `options.halo` steps.
  for (const std::int64_t halo : {std::int64_t{1}, options.halo}) {
    const auto add_scaling = [&](std::string name, std::int64_t size, bool weak, double bar) {
      const std::int64_t n = std::max<std::int64_t>(size / options.smaller, 64);
      name += std::to_string(size) + "_halo_" + std::to_string(halo);
      add(name, [=](const Options& o) {
        return scaling(o, name, weak ? n * ranks : n, n, n, halo, halo == 1 ? 0 : bar);
      });
    };
    for (const auto& [size, bar] : {std::pair(1024, 0.55), std::pair(4096, 0.93), std::pair(16384, 0.99)})
      add_scaling("stencil_weak_", size, true, bar);
    for (const auto& [size, bar] : {std::pair(4096, 1.6), std::pair(16384, 1.95)})
      add_scaling("stencil_strong_", size, false, bar);
  }
  for (const std::int64_t halo : {1, 128}) {
    const std::int64_t n = std::max<std::int64_t>(16384 / options.smaller, 512);
    const std::string name = "overlap_16384_halo_" + std::to_string(halo);
    add(name, [=](const Options& o) { return overlap(o, name, n * ranks, n, halo); });
  }
  if (!options.twin.empty())
    for (const std::int64_t n : {1024, 4096, 16384})
      add("stencil_by_hand_" + std::to_string(n), [=](const Options& o) { return by_hand(o, n * ranks, n); });
  return cases;
}

}  // namespace weir::bench::ranks
