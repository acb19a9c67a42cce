// SPDX-License-Identifier: Apache-2.0
// Arrays in kernels.
// Threads and errors: as in dsl/value.hpp.
#pragma once

#include <weir/dsl/value.hpp>

namespace weir {

template <class T, std::size_t Rank>
class View;

namespace detail {

struct KernelParameters;

/// An array parameter of a kernel, by the trace's number.
struct ParameterOfTrace {
  std::uint32_t trace = 0;
  std::uint32_t parameter = 0;
};
template <class T, std::size_t Rank>
ParameterOfTrace array_of(const View<T, Rank>& view) noexcept {
  return {view.trace_, view.parameter_};
}

}  // namespace detail

/// An array parameter of a kernel: elements T, `Rank` dimensions whose extents are known at the launch.
/// View<const T> is read-only. Elements are in row-major order: the last index varies fastest. Halves are
/// computed as float. The one element of a View<T, 0> is x().
template <class T, std::size_t Rank = 1>
class View {
  static_assert(
      KernelElement<std::remove_const_t<T>>,
      "View<T> holds numbers, bools, Vecs or Mats of these, or with one dimension structs, which are "
      "aggregates that are trivially copyable");
  static_assert(Rank <= max_rank, "arrays have at most 4 dimensions");

 public:
  using element_type = T;
  static constexpr std::size_t rank = Rank;

  View(const View&) = default;
  View& operator=(const View&) = default;
  ~View() {}  // keeps views out of variadic functions, as NoHostCondition does

  /// Length of dimension `dimension`, counted from 0.
  Index extent(std::size_t dimension, detail::Where where = detail::Where::current()) const {
    const detail::Handle extent = detail::emit_extent(trace_, parameter_, dimension, where);
    return detail::Access::value<std::int64_t>(&extent);
  }
  /// Number of elements, over all dimensions.
  Index size(detail::Where where = detail::Where::current()) const {
    if constexpr (Rank == 0) {
      return Index(1, where);
    } else if constexpr (Rank == 1) {
      return extent(0, where);
    } else {
      Index size = extent(0, where);
      const Index rest = rest_size(1, where);
      return size * rest;
    }
  }

  Element<T> operator[](const detail::Subscript& i) const {
    static_assert(Rank != 0, "an array of no dimensions has one element, x()");
    static_assert(Rank <= 1, "an array with several dimensions is indexed as x(i, j), one index for each");
    return at({&i}, 1);
  }
  Element<T> operator()() const {
    static_assert(Rank == 0,
                  "the number of indices in x(i, j, ...) must be the array's number of dimensions");
    return at({}, 0);
  }
  Element<T> operator()(const detail::Subscript& i) const {
    static_assert(Rank == 1,
                  "the number of indices in x(i, j, ...) must be the array's number of dimensions");
    return at({&i}, 1);
  }
  Element<T> operator()(const detail::Subscript& i, const detail::Subscript& j) const {
    static_assert(Rank == 2,
                  "the number of indices in x(i, j, ...) must be the array's number of dimensions");
    return at({&i, &j}, 2);
  }
  Element<T> operator()(const detail::Subscript& i, const detail::Subscript& j,
                        const detail::Subscript& k) const {
    static_assert(Rank == 3,
                  "the number of indices in x(i, j, ...) must be the array's number of dimensions");
    return at({&i, &j, &k}, 3);
  }
  Element<T> operator()(const detail::Subscript& i, const detail::Subscript& j, const detail::Subscript& k,
                        const detail::Subscript& l) const {
    static_assert(Rank == 4,
                  "the number of indices in x(i, j, ...) must be the array's number of dimensions");
    return at({&i, &j, &k, &l}, 4);
  }

 private:
  friend struct detail::KernelParameters;
  template <class U, std::size_t R>
  friend detail::ParameterOfTrace detail::array_of(const View<U, R>& view) noexcept;
  View(std::uint32_t trace, std::uint32_t parameter) noexcept : trace_(trace), parameter_(parameter) {}

  struct Indices {
    const detail::Subscript* at[max_rank];
  };
  WEIR_OUT_OF_LINE Element<T> at(const Indices& indices, std::size_t count) const {
    detail::Place place;
    place.trace = trace_;
    place.id = parameter_;
    place.rank = static_cast<std::uint8_t>(count);
    for (std::size_t d = 0; d < count; ++d) place.index[d] = indices.at[d]->handle();
    if (count > 0) place.where = indices.at[0]->where();
    return detail::Access::element<T>(place);
  }
  Index rest_size(std::size_t dimension, detail::Where where) const {
    Index size = extent(dimension, where);
    if (dimension + 1 == Rank) return size;
    const Index rest = rest_size(dimension + 1, where);
    return size * rest;
  }

  std::uint32_t trace_;
  std::uint32_t parameter_;
};

}  // namespace weir
