// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace weir::demo {

/// About three significant digits: 0.0123, 1.23, 123, 12345, 1.23e-08.
std::string short_number(double value);

/// "42 s", "17 min", "2 h 49 min".
std::string span_of_time(double seconds);

}  // namespace weir::demo
