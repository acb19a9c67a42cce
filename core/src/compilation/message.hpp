// SPDX-License-Identifier: Apache-2.0
// Whole messages over a stream socket, each with its length before it.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace weir::compilation {

using Clock = std::chrono::steady_clock;

enum class Transfer {
  done,
  ended,  ///< the other side has closed the socket, or was not the one that was expected
  late    ///< `until` has passed
};

/// The longest message: far above any kernel or code object.
inline constexpr std::size_t max_message_bytes = std::size_t{1} << 30;

/// Both block until `until` at most, and raise no SIGPIPE.
Transfer send_message(int socket, std::string_view bytes, Clock::time_point until);
Transfer receive_message(int socket, std::string& bytes, Clock::time_point until);

/// Waits until there is something to read or the other side has closed.
Transfer wait_readable(int descriptor, Clock::time_point until);

}  // namespace weir::compilation
