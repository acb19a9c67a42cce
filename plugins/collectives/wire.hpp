// SPDX-License-Identifier: Apache-2.0
// Sockets between ranks: Unix sockets on one machine, TCP otherwise. No call raises SIGPIPE.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

namespace weir::collectives {

using Clock = std::chrono::steady_clock;

/// Owns a descriptor. A forked child closes its copies, because other ranks detect the end of a process by
/// the end of its connections.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor);
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket();

  int get() const noexcept { return descriptor_; }
  explicit operator bool() const noexcept { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

/// Listens on "unix:NAME" or "tcp:HOST:PORT". A machine's name may be a loopback address in its own list of
/// hosts (Debian: 127.0.1.1), which other machines cannot reach; then listens on all interfaces. Returns no
/// socket if the address is taken; throws for other failures.
Socket listen_on(const std::string& address);
/// Listens for the other ranks where those of `like` can connect: a socket connected to `meeting`, or one
/// that listens there. Sets the address: a loopback one if `meeting` is on this machine.
Socket listen_like(const Socket& like, const std::string& meeting, std::string& address);
/// The number of the host at which the other side has reached this connection; empty for a Unix socket or a
/// loopback address.
std::string reached_host(const Socket& connection);
/// Replaces the host of a loopback address.
std::string with_host(const std::string& address, const std::string& host);
/// Returns no socket if nothing listens there, or if the listener is of another user.
Socket connect_to(const std::string& address);
/// Returns no socket if no connection waits, or if it is of another user.
Socket accept_from(const Socket& listener);

// Until the deadline; false if it has passed or the other side has closed the connection.
bool send_all(const Socket& socket, const void* data, std::size_t size, Clock::time_point until);
bool receive_all(const Socket& socket, void* data, std::size_t size, Clock::time_point until);
/// Waits until the socket can be read.
bool wait_readable(const Socket& socket, Clock::time_point until);

}  // namespace weir::collectives
