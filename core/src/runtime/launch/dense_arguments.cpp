// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/dense_arguments.hpp"

#include "passes/place_strided.hpp"
#include "runtime/memory/array_use.hpp"

namespace weir::detail {

std::vector<StridedParameter> strided_parameters(std::span<const LaunchArgument> arguments) {
  std::vector<StridedParameter> found;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (const AnyArrayView* const array = arguments[i].array; array && !array->contiguous())
      found.push_back(
          {static_cast<std::uint32_t>(i), array->element(), static_cast<std::uint8_t>(array->rank())});
  return found;
}

DenseArguments::DenseArguments(std::span<const LaunchArgument> given,
                               std::span<const StridedParameter> strided)
    : all_(given.begin(), given.end()) {
  for (const StridedParameter& parameter : strided) {
    const AnyArrayView& array = *given[parameter.parameter].array;
    const ElementType scalar{array.element().scalar};
    const Reach reach = reach_of(array);
    const std::int64_t scalars[] = {static_cast<std::int64_t>(reach.bytes / scalar.size())};
    views_.push_back(array.reinterpreted(reach.begin - array.offset(), scalar, scalars));
    all_[parameter.parameter] = {&views_.back(), nullptr, scalar, {}};
    auto& numbers = numbers_.emplace_back();
    numbers[0] = static_cast<std::int64_t>((array.offset() - reach.begin) / scalar.size());
    for (std::size_t d = 0; d < array.rank(); ++d) {
      numbers[1 + d] = array.extent(d);
      numbers[1 + array.rank() + d] = array.stride(d);
    }
    all_.push_back({nullptr, numbers.data(), passes::strides_type(array.rank()), {}});
  }
}

}  // namespace weir::detail
