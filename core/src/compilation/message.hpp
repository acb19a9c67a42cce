// SPDX-License-Identifier: Apache-2.0
// Complete messages over a stream socket, each preceded by its length.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace weir::compilation {

using Clock = std::chrono::steady_clock;

enum class Transfer {
  done,
  ended,  ///< the other side has closed the socket, or is not the expected one
  late    ///< `until` has passed
};

/// The size limit of messages: far above any kernel or code object.
inline constexpr std::size_t max_message_bytes = std::size_t{1} << 30;

/// Both block no longer than `until`, and raise no SIGPIPE.
Transfer send_message(int socket, std::string_view bytes, Clock::time_point until);
Transfer receive_message(int socket, std::string& bytes, Clock::time_point until);

/// Waits until there is something to read or the other side has closed.
Transfer wait_readable(int descriptor, Clock::time_point until);

}  // namespace weir::compilation
