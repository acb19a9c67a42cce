// SPDX-License-Identifier: Apache-2.0
// The reduction in the order of one array, against the one in the communicator's order.
#include <bit>
#include <weir/distributed.hpp>
#include <weir/weir.hpp>

#include "ranks_bench.hpp"

namespace weir::bench::ranks {
namespace {

const auto& numbers_kernel() {
  static const Kernel kernel{"start", [](View<float> x, Index origin) {
                               range_for(x.size(), [&](Index i) {
                                 x[i] = cast<float>(((origin + i) * 2654435761) % 8191) * 0.125f - 512.0f;
                               });
                             }};
  return kernel;
}

const auto& sum_kernel() {
  static const Kernel kernel{"sum", [](View<const float> x, View<float> sum) {
                               sum[0] = reduce_sum(x.size(), [&](Index i) { return x[i]; });
                             }};
  return kernel;
}

/// The sum on one device.
float sum_of_one(Member& member, std::int64_t elements) {
  const auto x = member.device.array<float>(member.stream, elements);
  const auto sum = member.device.array<float>(member.stream, 1);
  numbers_kernel()(member.stream, x, 0);
  sum_kernel()(member.stream, x, sum);
  return sum.to_host(member.stream)[0];
}

std::vector<Row> reduction(const Options& options, const std::string& name, std::int64_t elements) {
  std::vector<Row> table;
  for (const std::string& communicator : communicators_for(options)) {
    Row row;
    row.name = name + "/" + communicator;
    row.bar = "at most 1.10x";
    try {
      over_ranks(options, communicator, [&](Member& member) {
        const Distributed<float> x(member.world, member.stream, {elements});
        const auto ordered = member.device.array<float>(member.stream, 1),
                   fast = member.device.array<float>(member.stream, 1);
        numbers_kernel()(member.stream, x.local(), x.origin());
        const auto as_one = [&] { reduce(member.stream, x, ordered); };
        const auto as_engine = [&] { reduce(member.stream, x, fast, Combine::sum, ReduceOrder::fast); };
        as_one();
        member.world.synchronize(member.stream);
        const float mine = ordered.to_host(member.stream)[0];
        const bool same =
            std::bit_cast<std::uint32_t>(mine) == std::bit_cast<std::uint32_t>(sum_of_one(member, elements));
        const bool all_same = member.largest(same ? 0 : 1) == 0;
        const int ordereds = member.repeats_for(options, as_one),
                  fasts = member.repeats_for(options, as_engine);
        std::vector<double> ours, theirs, figures;
        for (int sample = 0; sample < options.samples; ++sample) {
          ours.push_back(member.time(ordereds, as_one));
          theirs.push_back(member.time(fasts, as_engine));
          figures.push_back(ours.back() / theirs.back());
        }
        if (member.world.rank() != 0) return;
        row.ours = median(ours) * 1e6;
        row.against = median(theirs) * 1e6;
        row.figure = median(figures);
        row.met = row.figure <= 1.1;
        row.words = all_same ? "bits of one device" : "BITS DIFFER";
        row.wrong = !all_same;
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

std::vector<Case> reduction_cases(const Options& options) {
  const std::int64_t elements = (std::int64_t{1} << 30) / options.smaller / options.smaller;
  return {
      {"reduce_1_Gi_floats", [=](const Options& o) { return reduction(o, "reduce_1_Gi_floats", elements); }}};
}

}  // namespace weir::bench::ranks
