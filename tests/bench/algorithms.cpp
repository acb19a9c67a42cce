// SPDX-License-Identifier: Apache-2.0
// Algorithms on arrays against oneTBB and a scan in two passes by hand.
#include <cstdint>
#include <memory>
#include <random>
#include <vector>
#include <weir/weir.hpp>

#include "paired.hpp"
#include "peers.hpp"

namespace weir::bench {
namespace {

using Word = std::uint32_t;

/// The arrays of one case, made when the case runs, because the cases together would take a gigabyte.
struct Arrays {
  explicit Arrays(std::size_t n) : host(n), host_result(n) {
    std::mt19937 engine(1);
    for (Word& value : host) value = static_cast<Word>(engine());
    x = device.array<Word>(stream, n);
    result = device.array<Word>(stream, n);
    x.copy_from(stream, host);
  }

  Device device = open("cpu");
  Stream stream = device.create_stream();
  std::vector<Word> host, host_result;
  Array<Word> x, result;
};

/// `ours` and `peer` take the Arrays of `n` elements.
template <class Ours, class Peer>
void add_case(const std::string& name, const std::string& bar, std::size_t n, Ours ours, Peer peer) {
  const auto kept = std::make_shared<std::unique_ptr<Arrays>>();
  const auto arrays = [=]() -> Arrays& {
    if (!*kept) *kept = std::make_unique<Arrays>(n);
    return **kept;
  };
  add({.name = name,
       .bar = bar,
       .samples = 15,
       .units = double(n),
       .ours =
           [=] {
             ours(arrays());
             arrays().stream.synchronize();
           },
       .peer = [=] { peer(arrays()); },
       .higher_is_better = true});
}

}  // namespace

void add_algorithm_cases() {
  add_case(
      "sort_u32_16Mi", "at least 2.0 of tbb::parallel_sort",
      std::size_t{1} << 24,  // both copy the keys first
      [](Arrays& a) {
        a.result.copy_from(a.stream, a.x);
        sort(a.stream, a.result);
      },
      [](Arrays& a) {
        a.host_result = a.host;
        peer::parallel_sort(a.host_result.data(), a.host_result.size());
      });
  add_case(
      "exclusive_scan_u32_64Mi", "at least 1.0 of two passes, g++ -O3 -fopenmp", std::size_t{1} << 26,
      [](Arrays& a) { exclusive_scan(a.stream, a.x, a.result); },
      [](Arrays& a) { peer::exclusive_scan(a.host_result.data(), a.host.data(), a.host.size()); });
}

}  // namespace weir::bench
