// SPDX-License-Identifier: Apache-2.0
// Sums over all ranks, against NCCL called by hand as NVIDIA's nccl-tests do: in place, many calls in a row,
// then one wait.
#include <cmath>
#include <stdexcept>
#include <weir/weir.hpp>

#include "ranks_bench.hpp"
#include "twin_ranks.hpp"

namespace weir::bench::ranks {
namespace {

/// Whether the sum of arrays of rank + 1 is the same on all elements. Collective.
bool is_correct(Member& member, const Array<float>& x) {
  x.fill(member.stream, static_cast<float>(member.world.rank() + 1));
  member.world.all_reduce(member.stream, x, Reduction::sum);
  const auto range = member.device.array<float>(member.stream, 2);
  static const Kernel extremes{"extremes", [](View<const float> values, View<float> found) {
                                 found[0] = reduce_min(values.size(), [&](Index i) { return values[i]; });
                                 found[1] = reduce_max(values.size(), [&](Index i) { return values[i]; });
                               }};
  extremes(member.stream, x, range);
  member.world.synchronize(member.stream);
  const auto found = range.to_host(member.stream);
  const auto n = static_cast<float>(member.world.size());
  const double off = std::abs(found[0] - n * (n + 1) / 2) + std::abs(found[1] - n * (n + 1) / 2);
  return member.largest(off) == 0;
}

std::vector<Row> all_reduce(const Options& options, const std::string& name, std::int64_t bytes, double bar) {
  std::vector<Row> table;
  for (const std::string& communicator : communicators_for(options)) {
    Row row;
    row.name = name + "/" + communicator;
    try {
      const bool judged = communicator == "nccl" && !options.twin.empty();
      // The fastest of the ways to call NCCL by hand.
      int best = 0;
      const auto peer = [&](int variant) {
        double seconds = 0;
        const int result = twin(options).all_reduce(variant, static_cast<int>(options.ranks), bytes,
                                                    options.sample_seconds, &seconds);
        if (result != 0)
          throw std::runtime_error("NCCL by hand, variant " + std::to_string(variant) + ": error " +
                                   std::to_string(result));
        return seconds;
      };
      if (judged) best = peer(1) < peer(0) ? 1 : 0;
      over_ranks(options, communicator, [&](Member& member) {
        const auto x = member.device.array<float>(member.stream, bytes / 4);
        const bool correct = is_correct(member, x);
        x.fill(member.stream, 0.0f);
        const auto submit = [&] { member.world.all_reduce(member.stream, x, Reduction::sum); };
        const int repeats = member.repeats_for(options, submit);
        std::vector<double> ours, theirs, figures;
        for (int sample = 0; sample < options.samples; ++sample) {
          ours.push_back(member.time(repeats, submit));
          // The others wait: the calls by hand use all devices.
          double seconds = 0;
          if (judged && member.world.rank() == 0) seconds = peer(best);
          theirs.push_back(member.largest(seconds));
          figures.push_back(judged ? ours.back() / theirs.back() : 0);
        }
        if (member.world.rank() != 0) return;
        row.ours = median(ours) * 1e6;
        row.wrong = !correct;
        row.words = correct ? "sums are correct" : "SUMS ARE WRONG";
        if (!judged) return;
        char words[32];
        std::snprintf(words, sizeof words, "at most %.2fx", bar);
        row.bar = words;
        row.against = median(theirs) * 1e6;
        row.figure = median(figures);
        row.met = row.figure <= bar;
        row.words +=
            best == 0 ? "; by hand: one thread, grouped calls" : "; by hand: a thread for each device";
      });
    } catch (const std::exception& error) {
      row.words = error.what();
      row.wrong = true;
    }
    table.push_back(row);
  }
  return table;
}

}  // namespace

std::vector<Case> all_reduce_cases(const Options& options) {
  std::vector<Case> cases;
  const auto add = [&](const char* name, std::int64_t bytes, double bar) {
    bytes = std::max<std::int64_t>(bytes / options.smaller / options.smaller, 4);
    cases.push_back({name, [=](const Options& o) { return all_reduce(o, name, bytes, bar); }});
  };
  add("all_reduce_4_B", 4, 1.2);
  add("all_reduce_64_KiB", std::int64_t{64} << 10, 1.05);
  add("all_reduce_256_MiB", std::int64_t{256} << 20, 1.05);
  return cases;
}

}  // namespace weir::bench::ranks
