// SPDX-License-Identifier: Apache-2.0
#include "ir/round_trip.hpp"

#include <algorithm>
#include <weir/error.hpp>

#include "ir/parser.hpp"
#include "ir/printer.hpp"

namespace weir::ir {

namespace {

[[noreturn]] void fail(const Kernel& kernel, const std::string& what) {
  throw Error(ErrorCode::unknown, "internal error: the text form of kernel '" + kernel.name +
                                      "' does not read back: " + what + "; report this with the kernel");
}

std::string read_back(const Kernel& kernel, const std::string& text, bool with_locations) {
  try {
    return print(parse(text), with_locations);
  } catch (const Error& error) {
    fail(kernel, error.what());
  }
}

}  // namespace

std::string first_difference(std::string_view text, std::string_view back) {
  if (text == back) return {};
  const auto line_of = [](std::string_view in, std::size_t from) {
    return std::string(in.substr(from, in.find('\n', from) - from));
  };
  const auto differs = std::mismatch(text.begin(), text.end(), back.begin(), back.end()).first;
  const auto at = static_cast<std::size_t>(differs - text.begin());
  const std::size_t newline = text.substr(0, at).rfind('\n');
  const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
  const auto number = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin), '\n') + 1;
  return "line " + std::to_string(number) + " is '" + line_of(text, begin) + "' and reads back as '" +
         line_of(back, begin) + "'";
}

void check_round_trip(const Kernel& kernel) {
  for (const bool with_locations : {false, true}) {
    const std::string text = print(kernel, with_locations);
    if (text.size() > max_text_bytes) continue;
    const std::string difference = first_difference(text, read_back(kernel, text, with_locations));
    if (!difference.empty()) fail(kernel, difference);
  }
}

}  // namespace weir::ir
