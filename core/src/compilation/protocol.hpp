// SPDX-License-Identifier: Apache-2.0
// The protocol between libweir and weir-codegen, except requests and replies (request.hpp).
//
//  - weir-codegen first sends the greeting over its socket, a SOCK_SEQPACKET.
//  - For each worker, libweir sends one byte with two descriptors over that socket: the worker's end of a
//    stream socket for messages, and the writing end of a pipe.
//  - When a worker has ended, weir-codegen writes one WorkerEnd to that pipe. When libweir closes its end of
//    the pipe, weir-codegen ends the worker.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace weir::compilation {

/// "weir-codegen of Weir 0.1.0 (6f1ed002ab559585)": differs between builds that write messages differently.
std::string_view greeting();
inline constexpr std::size_t max_greeting_bytes = 256;

/// How a worker ended.
struct WorkerEnd {
  /// Fits in one atomic write to a pipe.
  static constexpr std::size_t max_words = 2000;

  int status = 0;              ///< the status from wait(); -1 when no process could be started
  int error = 0;               ///< of fork(), when the status is -1
  char words[max_words] = {};  ///< the end of its standard error output, terminated by 0
};

// Messages are complete texts over a stream socket, each preceded by its length.

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
