// SPDX-License-Identifier: Apache-2.0
#include "compilation/protocol.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "weir_build_identity.hpp"

namespace weir::compilation {
namespace {

Transfer wait_for(int descriptor, short events, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return Transfer::late;
    pollfd waited{descriptor, events, 0};
    const int ready = poll(&waited, 1, static_cast<int>(std::min<long long>(left, 1 << 30)));
    if (ready > 0) return waited.revents & POLLNVAL ? Transfer::ended : Transfer::done;
    if (ready < 0 && errno != EINTR) return Transfer::ended;
  }
}

/// Calls `step` on the rest of `bytes` until nothing is left; `step` is a send() or recv() that does not
/// block.
template <class Pointer, class Step>
Transfer transfer(int socket, short events, Pointer bytes, std::size_t size, Clock::time_point until,
                  const Step& step) {
  while (size > 0) {
    const ssize_t moved = step(bytes, size);
    if (moved > 0) {
      bytes += moved;
      size -= static_cast<std::size_t>(moved);
    } else if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (const Transfer waited = wait_for(socket, events, until); waited != Transfer::done) return waited;
    } else if (moved == 0 || errno != EINTR) {
      return Transfer::ended;
    }
  }
  return Transfer::done;
}

Transfer receive_all(int socket, char* bytes, std::size_t size, Clock::time_point until) {
  return transfer(socket, POLLIN, bytes, size, until,
                  [&](char* to, std::size_t left) { return recv(socket, to, left, MSG_DONTWAIT); });
}

}  // namespace

std::string_view greeting() {
  return build_greeting;
}

Transfer send_message(int socket, std::string_view bytes, Clock::time_point until) {
  const std::uint64_t size = bytes.size();
  // Sent together, so that the receiver wakes up once for a small message.
  std::string framed(reinterpret_cast<const char*>(&size), sizeof size);
  framed += bytes;
  return transfer(socket, POLLOUT, framed.data(), framed.size(), until,
                  [&](const char* from, std::size_t left) {
                    return send(socket, from, left, MSG_NOSIGNAL | MSG_DONTWAIT);
                  });
}

Transfer receive_message(int socket, std::string& bytes, Clock::time_point until) {
  std::uint64_t size = 0;
  if (const Transfer got = receive_all(socket, reinterpret_cast<char*>(&size), sizeof size, until);
      got != Transfer::done)
    return got;
  if (size > max_message_bytes) return Transfer::ended;
  bytes.resize(size);
  return receive_all(socket, bytes.data(), bytes.size(), until);
}

Transfer wait_readable(int descriptor, Clock::time_point until) {
  return wait_for(descriptor, POLLIN, until);
}

}  // namespace weir::compilation
