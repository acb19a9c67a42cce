// SPDX-License-Identifier: Apache-2.0
#include "dlpack/strided_copy.hpp"

#include <array>
#include <cstring>
#include <weir/kernel.hpp>

namespace weir::dlpack {
namespace {

using Number = Value<std::int64_t>;

/// Dimensions after the first, whose index needs no division.
constexpr std::size_t inner_dimensions = max_rank + 1;

template <class U>
using CopyKernel = void(View<const U>, View<U>, Number, Number, Number, Number, Number, Number, Number,
                        Number, Number, Number, Number, Number);

/// `begin` is the place of the first scalar in `from`; e1 to e5 are the extents after the first dimension.
template <class U>
const Kernel<CopyKernel<U>>& copy_kernel() {
  static const auto& kernel =
      *new Kernel<CopyKernel<U>>("dlpack_copy", [](View<const U> from, View<U> to, Number begin, Number s0,
                                                   Number e1, Number s1, Number e2, Number s2, Number e3,
                                                   Number s3, Number e4, Number s4, Number e5, Number s5) {
        range_for(to.size(), [&](Index i) {
          Var<std::int64_t> rest(i), place(begin);
          const auto step = [&](const Number& extent, const Number& stride) {
            place = place + rest % extent * stride;
            rest = rest / extent;
          };
          step(e5, s5);
          step(e4, s4);
          step(e3, s3);
          step(e2, s2);
          step(e1, s1);
          to[i] = from[place + rest * s0];
        });
      });
  return kernel;
}

struct Dimension {
  std::int64_t extent = 1, stride = 0;
};

/// Aligned at the end: missing dimensions are of extent 1.
std::array<Dimension, inner_dimensions + 1> dimensions_of(const Layout& layout) {
  std::array<Dimension, inner_dimensions + 1> all;
  const std::size_t skipped = all.size() - layout.shape.size();
  for (std::size_t d = 0; d < layout.shape.size(); ++d)
    all[skipped + d] = {layout.shape[d], layout.strides[d]};
  return all;
}

}  // namespace

void copy_strided(const StreamRef& stream, const Layout& layout, const AnyArrayView& memory,
                  const AnyArrayView& result) {
  const auto d = dimensions_of(layout);
  const auto begin = static_cast<std::int64_t>((layout.address - layout.range().begin) / layout.scalar_bytes);
  const auto launch = [&]<class U>(U) {
    copy_kernel<U>()(stream, memory, result, begin, d[0].stride, d[1].extent, d[1].stride, d[2].extent,
                     d[2].stride, d[3].extent, d[3].stride, d[4].extent, d[4].stride, d[5].extent,
                     d[5].stride);
  };
  switch (layout.scalar_bytes) {
    case 1:
      return launch(std::uint8_t());
    case 2:
      return launch(std::uint16_t());
    case 4:
      return launch(std::uint32_t());
    default:
      return launch(std::uint64_t());
  }
}

std::vector<std::byte> gather_on_host(const Layout& layout) {
  const auto d = dimensions_of(layout);
  std::vector<std::byte> bytes(layout.bytes());
  std::byte* to = bytes.data();
  const auto copy = [&](const auto& self, std::size_t dimension, std::uint64_t from) -> void {
    if (dimension == d.size()) {
      std::memcpy(to, reinterpret_cast<const void*>(from), layout.scalar_bytes);
      to += layout.scalar_bytes;
      return;
    }
    for (std::int64_t i = 0; i < d[dimension].extent; ++i)
      self(self, dimension + 1,
           from + static_cast<std::uint64_t>(i * d[dimension].stride) * layout.scalar_bytes);
  };
  copy(copy, 0, layout.address);
  return bytes;
}

}  // namespace weir::dlpack
