// SPDX-License-Identifier: Apache-2.0
#include "runtime/prints/print_sites.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <weir/element.hpp>
#include <weir/sdk/floating_point.hpp>

namespace weir::detail {
namespace {

std::string format_value(const std::string& specification, ScalarType type, std::uint64_t bits) {
  const sdk::DefaultFloatingPoint floating_point;  // comparisons take denormals for 0 in some programs
  const std::string text = "{:" + ir::specification_of(specification, type) + "}";
  const auto with = [&](const auto& value) { return fmt::vformat(text, fmt::make_format_args(value)); };
  // The sign of a computed NaN depends on the processor.
  const auto real = [&](auto number) {
    return with(number == number ? number : std::numeric_limits<decltype(number)>::quiet_NaN());
  };
  switch (type) {
    case ScalarType::boolean:
      return with(bits != 0);
    case ScalarType::f16:
      return real(static_cast<float>(half::from_bits(static_cast<std::uint16_t>(bits))));
    case ScalarType::f32:
      return real(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    case ScalarType::f64:
      return real(std::bit_cast<double>(bits));
    default:
      break;
  }
  const unsigned unused = 64 - 8 * static_cast<unsigned>(size_of(type));
  if (is_signed(type)) return with(static_cast<std::int64_t>(bits << unused) >> unused);
  return with(bits << unused >> unused);
}

std::int64_t repetition(const Printed& printed, std::size_t depth) noexcept {
  const std::size_t repeats = printed.site->repetitions.size();
  if (printed.values.size() < repeats) return 0;
  return static_cast<std::int64_t>(printed.values[printed.values.size() - repeats + depth]);
}

bool is_before(const Printed& a, const Printed& b) noexcept {
  if (a.launch != b.launch) return a.launch < b.launch;
  const std::vector<std::uint32_t>&one = a.site->orders, &other = b.site->orders;
  const std::size_t both = std::min(one.size(), other.size());
  for (std::size_t depth = 0; depth < both; ++depth) {
    if (one[depth] != other[depth]) return one[depth] < other[depth];
    if (depth + 1 == both) break;  // different statements have different orders: both are in the same one
    const std::int64_t first = repetition(a, depth), second = repetition(b, depth);
    if (first != second) return first < second;
  }
  return a.index < b.index;
}

}  // namespace

PrintSites::PrintSites(const ir::Kernel& kernel) : types_(kernel.value_count) {
  gather(kernel, kernel.body, true);
}

void PrintSites::gather(const ir::Kernel& kernel, const ir::Block& block, bool becomes_tasks) {
  for (const ir::ValueId id : block.arguments) types_[id] = ScalarType::i64;
  for (const ir::Statement& s : block.statements) {
    if (becomes_tasks) ++order_;
    if (s.result != ir::no_value) types_[s.result] = s.type;
    if (s.op == ir::Op::print) add(kernel, s);
    const bool repeats = s.op == ir::Op::repeat;
    if (repeats) {
      repeats_.push_back(order_);
      repetitions_.push_back(s.bodies[0].arguments[0]);
    }
    for (const ir::Block& body : s.bodies)
      gather(kernel, body, becomes_tasks && (repeats || s.op == ir::Op::region));
    if (repeats) {
      repeats_.pop_back();
      repetitions_.pop_back();
    }
  }
}

void PrintSites::add(const ir::Kernel& kernel, const ir::Statement& print) {
  PrintSite site{ir::parse_print_format(kernel.strings[print.index]), {}, repeats_, repetitions_};
  site.orders.push_back(order_);
  for (const ir::ValueId id : print.operands) site.types.push_back(types_[id]);
  sites_.emplace(print.index, std::move(site));
}

const PrintSite* PrintSites::find(const ir::Statement& print) const noexcept {
  const auto found = sites_.find(print.index);
  return print.op == ir::Op::print && found != sites_.end() ? &found->second : nullptr;
}

std::string format_line(const PrintSite& site, std::span<const std::uint64_t> values) {
  std::string line;
  std::size_t i = 0;
  for (const ir::PrintPiece& piece : site.format.pieces) {
    if (!piece.is_value)
      line += piece.text;
    else if (i < values.size() && i < site.types.size()) {
      line += format_value(piece.text, site.types[i], values[i]);
      ++i;
    }
  }
  return line;
}

std::vector<std::string> lines_in_order(std::vector<Printed> all) {
  std::stable_sort(all.begin(), all.end(), is_before);
  std::vector<std::string> lines;
  lines.reserve(all.size());
  for (const Printed& one : all) lines.push_back(format_line(*one.site, one.values));
  return lines;
}

}  // namespace weir::detail
