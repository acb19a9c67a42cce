// SPDX-License-Identifier: Apache-2.0
// print: lines from kernels.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <weir/dsl/operand.hpp>

namespace weir {
namespace detail {

/// The format of a print and the line of its call.
struct PrintText {
  template <std::convertible_to<std::string_view> T>
  PrintText(const T& format, Where at = Where::current()) : text(format), where(at) {}
  std::string_view text;
  Where where;
};

/// The type that a host number is printed as.
template <class U>
struct PrintedNumber {
  using type = std::conditional_t<std::signed_integral<U>, std::int64_t, std::uint64_t>;
};
template <std::floating_point U>
struct PrintedNumber<U> {
  using type = std::conditional_t<sizeof(U) == 4, float, double>;
};
template <>
struct PrintedNumber<bool> {
  using type = bool;
};

template <class A>
struct PrintedAs {
  using type = std::remove_cvref_t<A>;
};
template <Traced A>
struct PrintedAs<A> {
  using type = traced_t<A>;
};
template <HostNumber A>
struct PrintedAs<A> {
  using type = typename PrintedNumber<std::remove_cvref_t<A>>::type;
};

/// Reads an argument when the print runs.
template <class T>
class PrintedValue {
 public:
  template <class A>
  PrintedValue(A&& argument, Where where) : operand_(std::forward<A>(argument), where) {}
  PrintArgument argument() const {
    PrintArgument result;
    result.components = operand_.components();
    result.rows = ElementOf<T>::value.rows;
    result.columns = ElementOf<T>::value.cols;
    result.is_vector = is_vec<T>;
    result.is_matrix = is_mat<T>;
    return result;
  }

 private:
  Operand<T> operand_;
};

template <class... P>
void print_all(const PrintText& format, const P&... arguments) {
  const std::array<PrintArgument, sizeof...(P)> all{arguments.argument()...};
  emit_print(format.text, all.data(), all.size(), format.where);
}

}  // namespace detail

/// Prints a line where the kernel runs: print("step {}: x = {:.3f}", i, x[i]). `format` is a subset of {fmt}:
/// {} takes the next argument, {:8}, {:<8}, {:08.3f} or {:x} format it, and {{ is a brace. Arguments are
/// traced values and host numbers; a Vec is printed as (1, 2), a Mat as ((1, 2), (3, 4)). The kernel's
/// constructor throws Error{kernel} with this line when format and arguments do not fit.
///
/// Lines appear at the host's next wait for the stream, in the order of launch, loop, iteration and
/// statement. They go to standard output, or to the function of on_print (<weir/on_print.hpp>). A stream
/// keeps 1 MiB of lines between two waits, or WEIR_PRINT_BYTES; later ones are lost and counted.
template <class... A>
void print(detail::PrintText format, A&&... arguments) {
  constexpr bool prints = (KernelElement<typename detail::PrintedAs<A>::type> && ...);
  static_assert(
      prints,
      "print takes traced values and numbers after the format: print(\"x = {}\", x[i]); texts belong "
      "in the format, and members of a struct are printed one by one");
  if constexpr (prints)
    detail::print_all(format, detail::PrintedValue<typename detail::PrintedAs<A>::type>(
                                  std::forward<A>(arguments), format.where)...);
}

}  // namespace weir
