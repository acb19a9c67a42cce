// SPDX-License-Identifier: Apache-2.0
// Parts that the kernels of several algorithms share.
#pragma once

#include <limits>
#include <map>
#include <mutex>
#include <weir/algorithms.hpp>
#include <weir/kernel.hpp>

namespace weir::algorithms {

/// The kernels of one signature by a number, each traced at its first use. Use it as a static object that is
/// never destroyed, because threads may launch while the process ends. Thread-safe.
template <class Signature>
class KernelCache {
 public:
  template <class Build>
  const Kernel<Signature>& get(std::uint32_t variant, const Build& build) {
    const std::lock_guard lock(mutex_);
    const auto found = kernels_.find(variant);
    if (found != kernels_.end()) return found->second;
    return kernels_.emplace(variant, build()).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::uint32_t, Kernel<Signature>> kernels_;  // its nodes do not move
};

/// Writes each element's index.
template <class I>
const Kernel<void(View<I>)>& count_up_kernel() {
  static const auto& kernel = *new Kernel<void(View<I>)>(
      "count_up", [](View<I> x) { range_for(x.size(), [&](Index i) { x[i] = cast<I>(i); }); });
  return kernel;
}

/// Calls action(T()) for the host type T of `scalar`, among the types of arithmetic.
template <class Action>
void for_number_type(ScalarType scalar, const Action& action) {
  switch (scalar) {
    case ScalarType::i8:
      return action(std::int8_t());
    case ScalarType::i16:
      return action(std::int16_t());
    case ScalarType::i32:
      return action(std::int32_t());
    case ScalarType::i64:
      return action(std::int64_t());
    case ScalarType::u8:
      return action(std::uint8_t());
    case ScalarType::u16:
      return action(std::uint16_t());
    case ScalarType::u32:
      return action(std::uint32_t());
    case ScalarType::u64:
      return action(std::uint64_t());
    case ScalarType::f32:
      return action(float());
    case ScalarType::f64:
      return action(double());
    case ScalarType::boolean:
    case ScalarType::f16:
      break;
  }
  throw Error(ErrorCode::invalid,
              "an algorithm on numbers was given an array of bool or half; convert it first");
}

/// As for_number_type, also for bool and half.
template <class Action>
void for_element_type(ScalarType scalar, const Action& action) {
  if (scalar == ScalarType::boolean) return action(false);
  if (scalar == ScalarType::f16) return action(half());
  for_number_type(scalar, action);
}

/// Calls action(U()) for the unsigned type U of a view from as_words().
template <class Action>
void for_word_type(const AnyArrayView& words, const Action& action) {
  switch (words.element().size()) {
    case 1:
      return action(std::uint8_t());
    case 2:
      return action(std::uint16_t());
    case 4:
      return action(std::uint32_t());
    default:
      return action(std::uint64_t());
  }
}

/// The identity element.
template <class T>
T identity(Combine combine) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::integral<T>)
    if (combine == Combine::bit_and) return T(~std::uint64_t{0});
  if (combine != Combine::min && combine != Combine::max) return T(0);
  if constexpr (std::floating_point<T>) {
    return combine == Combine::min ? Limits::infinity() : -Limits::infinity();
  } else {
    return combine == Combine::min ? Limits::max() : Limits::lowest();
  }
}

template <class T>
Value<T> combined(Combine combine, const Value<T>& a, const Value<T>& b) {
  if constexpr (std::integral<T>) {
    if (combine == Combine::bit_and) return a & b;
    if (combine == Combine::bit_or) return a | b;
    if (combine == Combine::bit_xor) return a ^ b;
  }
  return combine == Combine::sum ? a + b : combine == Combine::min ? min(a, b) : max(a, b);
}

/// A size that only the device knows, or an empty view.
using Size = View<const std::int64_t>;

/// For the bounds of parallel loops and reductions, if there is such a size.
inline Index at_most(const Index& n, const Size& size) {
  return max(min(Index(size[0]), n), Index(0));
}
/// For kernels that may have one: the elements to process out of `n`.
inline Index elements_of(const Index& n, const Size& size) {
  Var<std::int64_t> elements = n;
  if_(size.size() > 0, [&] { elements = at_most(n, size); });
  return elements;
}

/// Runs body(i) for all `n` elements of chunk `chunk`, in order. The inner loop has a constant length, so
/// that the estimated cost of a chunk is high enough for a thread of its own.
template <class Body>
void for_chunk(const Index& chunk, const Index& size, const Index& n, const Body& body) {
  constexpr std::int64_t strip = 256;
  const Index begin = chunk * size;
  const Index end = min(begin + size, n);
  const Index whole = end - (end - begin) % strip;
  for_(begin, whole, strip, [&](Index first) { for_(0, strip, [&](Index j) { body(first + j); }); });
  for_(whole, end, [&](Index i) { body(i); });
}

}  // namespace weir::algorithms
