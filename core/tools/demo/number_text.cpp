// SPDX-License-Identifier: Apache-2.0
#include "number_text.hpp"

#include <cmath>
#include <cstdio>

namespace weir::demo {

std::string short_number(double value) {
  char text[40];
  const double size = std::abs(value);
  if (size >= 1000 && size < 1e7)
    std::snprintf(text, sizeof text, "%.0f", value);
  else
    std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::string span_of_time(double seconds) {
  const auto minutes = static_cast<long long>(seconds / 60);
  if (seconds < 60) return std::to_string(static_cast<long long>(seconds)) + " s";
  if (minutes < 60) return std::to_string(minutes) + " min";
  return std::to_string(minutes / 60) + " h " + std::to_string(minutes % 60) + " min";
}

}  // namespace weir::demo
