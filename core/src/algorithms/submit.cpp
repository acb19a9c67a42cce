// SPDX-License-Identifier: Apache-2.0
#include "algorithms/submit.hpp"

namespace weir::algorithms {

namespace {

Combine combine_of(ir::ReduceKind kind) noexcept {
  static_assert(static_cast<int>(ir::ReduceKind::sum) == static_cast<int>(Combine::sum) &&
                static_cast<int>(ir::ReduceKind::min) == static_cast<int>(Combine::min) &&
                static_cast<int>(ir::ReduceKind::max) == static_cast<int>(Combine::max) &&
                static_cast<int>(ir::ReduceKind::bit_and) == static_cast<int>(Combine::bit_and) &&
                static_cast<int>(ir::ReduceKind::bit_or) == static_cast<int>(Combine::bit_or) &&
                static_cast<int>(ir::ReduceKind::bit_xor) == static_cast<int>(Combine::bit_xor));
  return static_cast<Combine>(kind);
}

}  // namespace

void submit(const WorkTarget& target, const ir::Algorithm& algorithm, std::span<const AnyArrayView> arrays) {
  using enum ir::AlgorithmKind;
  const auto array = [&](std::size_t i) -> const AnyArrayView& { return arrays[i]; };
  const Combine combine = combine_of(algorithm.combine);
  const SortOrder order = algorithm.descending ? SortOrder::descending : SortOrder::ascending;
  switch (algorithm.kind) {
    case reduce:
      return detail::reduce(target, array(0), array(1), combine);
    case arg_min:
    case arg_max:
      return detail::arg_extreme(target, array(0), array(1), algorithm.kind == arg_max);
    case inclusive_scan:
    case exclusive_scan:
      return detail::scan(target, array(0), array(1), combine, algorithm.kind == inclusive_scan);
    case sort:
      return detail::sort(target, array(0), order);
    case sort_by_key:
      return detail::sort_by_key(target, array(0), array(1), order);
    case compact:
    case partition:
      return detail::select(target, array(0), array(1), array(2), array(3), algorithm.kind == partition);
    case unique:
      return detail::unique(target, array(0), array(1), array(2));
    case reduce_by_key:
      return detail::reduce_by_key(target, array(0), array(1), array(2), array(3), array(4), combine);
    case histogram:
      return detail::histogram(target, array(0), algorithm.low, algorithm.high, array(1));
    case gather:
      return detail::gather(target, array(0), array(1), array(2));
    case scatter:
      return detail::scatter(target, array(0), array(1), array(2));
  }
}

}  // namespace weir::algorithms
