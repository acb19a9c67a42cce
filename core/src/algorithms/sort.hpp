// SPDX-License-Identifier: Apache-2.0
// Parts that both forms of the radix sort share.
#pragma once

#include "algorithms/kernels.hpp"
#include "algorithms/steps.hpp"

namespace weir::algorithms {

/// Bits of a digit, and values of the digit of one pass.
inline constexpr std::int64_t digit_bits = 8, digits = 1 << digit_bits;

/// The order of a key by its bits.
struct KeyOrder {
  ScalarType type;
  bool descending;
  std::uint32_t number() const { return static_cast<std::uint32_t>(type) * 2 + descending; }
};

template <class U>
inline constexpr U infinity_bits = U(sizeof(U) == 2   ? 0x7c00
                                     : sizeof(U) == 4 ? 0x7f800000
                                                      : 0x7ff0000000000000);

/// Unsigned numbers in the ascending order of the keys. NaNs are the largest number. Bytes of bools other
/// than 0, which external memory may have, are true.
template <class U>
Value<U> ascending(ScalarType type, const Value<U>& key) {
  constexpr U sign = U(U(1) << (8 * sizeof(U) - 1)), all = U(~U(0));
  if (type == ScalarType::boolean) return select(key != U(0), U(1), U(0));
  if (!is_float(type)) return is_signed(type) ? key ^ sign : key;
  const Value<U> number = select((key & sign) != U(0), key ^ all, key | sign);
  return select((key & U(sign - 1)) > infinity_bits<U>, Value<U>(all), number);
}

/// A key that no other follows.
template <class U>
U last_key(const KeyOrder& order) {
  constexpr U sign = U(U(1) << (8 * sizeof(U) - 1)), all = U(~U(0));
  if (order.type == ScalarType::boolean) return U(!order.descending);
  if (is_float(order.type)) return order.descending ? U(sign | infinity_bits<U>) : U(all ^ sign);
  const U greatest = is_signed(order.type) ? U(all ^ sign) : all;
  return order.descending ? U(~greatest) : greatest;
}

template <class U>
Index digit_of(const KeyOrder& order, const Value<U>& key, const Value<U>& shift) {
  const Value<U> up = ascending<U>(order.type, key);
  const Value<U> number = order.descending ? ~up : up;
  return cast<std::int64_t>((number >> shift) & U(digits - 1));
}

/// If the steps have a size: keys after the first size[0] become those that no others follow, so that they
/// stay behind. To be called before the first pass.
template <class U>
void fill_rest(const Steps& steps, const KeyOrder& order, const AnyArrayView& keys) {
  static auto& cache = *new KernelCache<void(View<U>, Size)>;
  const AnyArrayView used = steps.size(keys);
  if (used.empty()) return;
  const auto& kernel = cache.get(order.number(), [&] {
    return Kernel<void(View<U>, Size)>("sort_fill_rest", with_constants([order](View<U> x, Size size) {
                                         range_for(range(at_most(x.size(), size), x.size()),
                                                   [&](Index i) { x[i] = last_key<U>(order); });
                                       }));
  });
  steps.launch(kernel, keys, used);
}

/// A pair of arrays that the passes read and write in turn.
struct Buffers {
  AnyArrayView from, to;
};

/// Sorts `keys`, words of at least two keys, by groups, and moves values[i] with keys[i] unless `values` is
/// null.
void submit_group_sort(const Steps& steps, const KeyOrder& order, const AnyArrayView& keys,
                       const AnyArrayView* values);

}  // namespace weir::algorithms
