// SPDX-License-Identifier: Apache-2.0
#include "passes/place_strided.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>

#include "ordinals.hpp"
#include "passes/index_writer.hpp"

namespace weir::passes {

namespace {

using ir::Op;
using ir::Statement;
using ir::ValueId;

std::string unused_name(const ir::Kernel& kernel, std::string name) {
  while (std::ranges::count(kernel.parameters, name, &ir::Parameter::name)) name += "_";
  return name;
}

class StridedPlacement {
 public:
  StridedPlacement(ir::Kernel& kernel, std::span<const ir::StructParameter> structs,
                   std::span<const std::uint32_t> strided, bool check)
      : kernel_(kernel), write_(kernel), structs_(structs), arrays_(kernel.parameters.size()), check_(check) {
    for (const std::uint32_t p : strided) {
      ir::Parameter& parameter = kernel.parameters[p];
      arrays_[p] = {static_cast<std::uint32_t>(kernel.parameters.size()), parameter.rank};
      ir::Parameter strides{unused_name(kernel, parameter.name + "_strides"), ir::Parameter::Kind::scalar,
                            strides_type(parameter.rank), 0, parameter.location};
      parameter.element = ElementType{parameter.element.scalar};
      parameter.rank = 1;
      kernel.parameters.push_back(std::move(strides));
    }
  }

  void run() {
    write_.each(kernel_.body, [&](Statement& s) {
      if (s.op != Op::extent && !is_access(s)) return;
      const Strided& array = arrays_[s.index];
      if (array.rank == 0) return;
      if (is_access(s)) return access(s, array);
      s.op = Op::argument;
      s.index = array.strides;
      s.component = static_cast<decltype(s.component)>(1 + s.component);
    });
  }

 private:
  struct Strided {
    std::uint32_t strides = 0;  ///< the parameter that describes it
    std::uint8_t rank = 0;      ///< 0 for other parameters
  };

  void access(Statement& s, const Strided& array) {
    ValueId place = write_.argument(array.strides);
    for (std::uint32_t d = 0; d < array.rank; ++d) {
      const ValueId index = s.operands[d];
      if (check_)
        write_.check(index, write_.argument(array.strides, 1 + d),
                     std::string("an index is outside the ") + ordinals[d] + " dimension of " +
                         ir::describe_array(kernel_, structs_, s.index));
      place = write_.add(place, index, write_.argument(array.strides, 1 + array.rank + d));
    }
    if (s.component != 0) place = write_.operation(Op::add, place, write_.constant(s.component));
    IndexWriter::replace_indices(s, array.rank, {place});
  }

  ir::Kernel& kernel_;
  IndexWriter write_;
  std::span<const ir::StructParameter> structs_;
  std::vector<Strided> arrays_;  // by parameter
  bool check_;
};

}  // namespace

ElementType strides_type(std::size_t rank) noexcept {
  return {ScalarType::i64, ElementType::Shape::vector, static_cast<std::uint8_t>(1 + 2 * rank), 1};
}

std::vector<std::int64_t> strided_indices(std::span<const std::int64_t> numbers, std::int64_t place) {
  const std::size_t rank = (numbers.size() - 1) / 2;
  const auto extents = numbers.subspan(1, rank), strides = numbers.subspan(1 + rank, rank);
  std::vector<std::size_t> order;
  std::int64_t rest = place - numbers[0];
  for (std::size_t d = 0; d < rank; ++d) {
    order.push_back(d);
    if (strides[d] < 0) rest -= strides[d] * (extents[d] - 1);
  }
  // Each stride is longer than all shorter ones reach together. An extent of 1 may have any stride.
  std::ranges::sort(order, std::greater<>(),
                    [&](std::size_t d) { return extents[d] == 1 ? 0 : std::abs(strides[d]); });
  std::vector<std::int64_t> indices(rank, 0);
  for (const std::size_t d : order) {
    if (extents[d] == 1) continue;
    const std::int64_t index = rest / std::abs(strides[d]);
    rest %= std::abs(strides[d]);
    indices[d] = strides[d] < 0 ? extents[d] - 1 - index : index;
  }
  return indices;
}

void place_strided(ir::Kernel& kernel, std::span<const ir::StructParameter> structs,
                   std::span<const std::uint32_t> strided, bool check) {
  StridedPlacement(kernel, structs, strided, check).run();
}

}  // namespace weir::passes
