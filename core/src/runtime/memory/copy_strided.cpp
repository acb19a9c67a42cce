// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory/copy_strided.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <weir/program.hpp>

#include "runtime/memory/array_use.hpp"

namespace weir::detail {
namespace {

/// Of an array with `rank` dimensions, from another one or from an array of one element.
std::string text_of(std::size_t rank, const ElementType& element, bool fill) {
  std::string indices, bounds, extents;
  for (std::size_t d = 0; d < rank; ++d) {
    extents += fmt::format("  %n{0} = extent @to, {0} : i64\n", d);
    indices += fmt::format("{}%i{}", d ? ", " : "", d);
    bounds += fmt::format("{}%zero to %n{}", d ? ", " : "", d);
  }
  std::string body;
  for (std::size_t c = 0; c < element.components(); ++c) {
    const std::string component = element.components() == 1 ? "" : fmt::format(".{}", c);
    body += fmt::format("    %v{} = load @from[{}]{} : {}\n", c, fill ? "%zero" : indices, component,
                        to_string(ElementType{element.scalar}));
    body += fmt::format("    store @to[{}]{}, %v{}\n", indices, component, c);
  }
  return fmt::format(
      "weir-ir 1\nkernel \"{}\"\n  param @to : array<{}, {}>\n  param @from : array<{}, {}>\n{{\n"
      "  %zero = const 0 : i64\n{}  parallel ({}) in ({}) {{\n{}  }}\n}}\n",
      fill ? "fill" : "copy", to_string(element), rank, to_string(element), fill ? 1 : rank, extents, indices,
      bounds, body);
}

const Program& program(std::size_t rank, const ElementType& element, bool fill) {
  using Key = std::tuple<std::size_t, std::uint32_t, bool>;
  static auto& programs = *new std::map<Key, Program>;  // used until the process ends
  static auto& mutex = *new std::mutex;
  const std::lock_guard lock(mutex);
  const Key key{rank, std::bit_cast<std::uint32_t>(element), fill};
  const auto found = programs.find(key);
  if (found != programs.end()) return found->second;
  const Program& made =
      programs.emplace(key, Program::parse(text_of(rank, element, fill), "<copy of a strided array>"))
          .first->second;
  made.debug(false);  // as copies of contiguous arrays, which take elements that nothing has written
  return made;
}

/// Elements of unsigned integers, whose copies keep all bits.
ElementType words_of(ElementType element) {
  static constexpr ScalarType words[] = {ScalarType::u8, ScalarType::u16, ScalarType::u32, ScalarType::u64};
  element.scalar = words[std::bit_width(size_of(element.scalar)) - 1];
  return element;
}

/// The same memory with other elements; `extents` are those of a strided view.
AnyArrayView with_elements(const AnyArrayView& view, const ElementType& element, const Extents& extents) {
  if (view.contiguous()) return view.reinterpreted(0, element, extents);
  std::array<std::int64_t, max_rank> strides{};
  for (std::size_t d = 0; d < view.rank(); ++d) strides[d] = view.stride(d);
  return view.with_strides(0, element, extents, {strides.data(), view.rank()});
}

void launch(const StreamRef& stream, const AnyArrayView& to, const AnyArrayView& from, bool fill) {
  const LaunchArgument arguments[] = {{&to, nullptr, to.element(), {}}, {&from, nullptr, from.element(), {}}};
  program(to.rank(), to.element(), fill).launch(stream, arguments);
}

}  // namespace

void copy_strided(const StreamRef& stream, const AnyArrayView& to, const AnyArrayView& from) {
  const bool both = !to.contiguous() && !from.contiguous();
  if (both && (to.element() != from.element() || Extents(to) != Extents(from))) {
    const AnyArray between(stream, to.element(), Extents(to));
    copy_strided(stream, between, from);
    return copy_strided(stream, to, between);
  }
  const AnyArrayView& strided = to.contiguous() ? from : to;
  const ElementType words = words_of(strided.element());
  const Extents extents(strided);
  launch(stream, with_elements(to, words, extents), with_elements(from, words, extents), false);
}

void fill_strided(const StreamRef& stream, const AnyArrayView& to, const AnyArrayView& element) {
  const ElementType words = words_of(to.element());
  launch(stream, with_elements(to, words, Extents(to)), with_elements(element, words, Extents(element)),
         true);
}

}  // namespace weir::detail
