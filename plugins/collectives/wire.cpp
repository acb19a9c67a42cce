// SPDX-License-Identifier: Apache-2.0
#include "wire.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <set>
#include <string_view>
#include <weir/sdk/status.hpp>

namespace weir::collectives {
namespace {

struct OpenSockets;
OpenSockets& open_sockets();
void close_in_child();

struct OpenSockets {
  OpenSockets() {
    const int error = pthread_atfork([] { open_sockets().mutex.lock(); },
                                     [] { open_sockets().mutex.unlock(); }, &close_in_child);
    if (error != 0) sdk::fail_system(error, "cannot register a fork handler");
  }
  std::mutex mutex;
  std::set<int> descriptors;
};

OpenSockets& open_sockets() {
  static auto* const open = new OpenSockets;  // outlives threads that run at exit
  return *open;
}

void close_in_child() {
  OpenSockets& open = open_sockets();
  for (const int descriptor : open.descriptors) close(descriptor);
  open.mutex.unlock();
}

struct Target {
  sockaddr_storage value{};
  socklen_t size = 0;
  int family() const { return value.ss_family; }
};

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host.starts_with("::ffff:127.") ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == host.npos);
}

/// Of "tcp:HOST:PORT".
std::string_view host_in(std::string_view address) {
  return address.substr(4, address.rfind(':') - 4);
}

std::string number_of(const sockaddr_storage& value, socklen_t size) {
  char host[NI_MAXHOST] = "";
  getnameinfo(reinterpret_cast<const sockaddr*>(&value), size, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
  return host;
}

/// Replaces the address of one interface by that of all. The port stays.
void widen(sockaddr_storage& value) {
  if (value.ss_family == AF_INET6)
    reinterpret_cast<sockaddr_in6*>(&value)->sin6_addr = in6addr_any;
  else
    reinterpret_cast<sockaddr_in*>(&value)->sin_addr.s_addr = INADDR_ANY;
}

in_port_t& port_in(sockaddr_storage& value) {
  return value.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&value)->sin6_port
                                     : reinterpret_cast<sockaddr_in*>(&value)->sin_port;
}

Target resolve(const std::string& address) {
  Target target;
  if (address.starts_with("unix:")) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    const std::size_t length = std::min(address.size() - 5, sizeof name.sun_path - 1);
    std::memcpy(name.sun_path + 1, address.data() + 5, length);
    std::memcpy(&target.value, &name, sizeof name);
    target.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
    return target;
  }
  const std::string host(host_in(address)), port = address.substr(address.rfind(':') + 1);
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  if (const int error = getaddrinfo(host.c_str(), port.c_str(), &wanted, &found); error != 0 || !found)
    sdk::fail(WEIR_ERROR_INVALID,
              "the host '%.200s', where the ranks meet, cannot be found: %s; correct the address",
              host.c_str(), gai_strerror(error));
  std::memcpy(&target.value, found->ai_addr, found->ai_addrlen);
  target.size = found->ai_addrlen;
  freeaddrinfo(found);
  return target;
}

Socket new_socket(int family) {
  Socket made(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made) sdk::fail_system(errno, "cannot create a socket");
  return made;
}

void set_options(const Socket& socket) {
  const int on = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // fails on Unix sockets, without harm
}

bool is_of_this_user(const Socket& socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  sockaddr_storage name{};
  socklen_t length = sizeof name;
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&name), &length) != 0) return false;
  if (name.ss_family != AF_UNIX) return true;  // a token is checked
  return getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

bool wait_for(const Socket& socket, short events, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd ready{socket.get(), events, 0};
    const int count = poll(&ready, 1, static_cast<int>(std::clamp<long long>(left, 0, 60'000)));
    if (count > 0) return true;
    if (left <= 0 || (count < 0 && errno != EINTR)) return false;
  }
}

}  // namespace

Socket::Socket(int descriptor) : descriptor_(descriptor) {
  if (descriptor < 0) return;
  OpenSockets& open = open_sockets();
  const std::lock_guard lock(open.mutex);
  open.descriptors.insert(descriptor);
}

Socket::~Socket() {
  if (descriptor_ < 0) return;
  OpenSockets& open = open_sockets();
  const std::lock_guard lock(open.mutex);
  open.descriptors.erase(descriptor_);
  close(descriptor_);
}

Socket listen_on(const std::string& address) {
  Target target = resolve(address);
  if (target.family() != AF_UNIX && is_loopback(number_of(target.value, target.size)) &&
      !is_loopback(host_in(address)))
    widen(target.value);
  Socket made = new_socket(target.family());
  if (const int on = 1; target.family() != AF_UNIX)
    setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(made.get(), reinterpret_cast<const sockaddr*>(&target.value), target.size) != 0) {
    if (errno == EADDRINUSE) return {};
    sdk::fail_system(errno, "cannot listen on %.200s", address.c_str());
  }
  if (listen(made.get(), 4096) != 0) sdk::fail_system(errno, "cannot listen on %.200s", address.c_str());
  return made;
}

Socket listen_like(const Socket& like, const std::string& meeting, std::string& address) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (getsockname(like.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0)
    sdk::fail_system(errno, "cannot read a socket's address");
  if (own.ss_family == AF_UNIX) {
    std::uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) != sizeof random) sdk::fail_system(errno, "no random number");
    address = sdk::format_text("unix:weir-rank/%u/%llx", static_cast<unsigned>(getpid()),
                               static_cast<unsigned long long>(random));
    return listen_on(address);
  }
  std::string host = number_of(own, size);
  if (host == "0.0.0.0" || host == "::")
    host = own.ss_family == AF_INET6 ? "::1" : "127.0.0.1";
  else if (is_loopback(host) && !is_loopback(host_in(meeting)))
    widen(own);
  port_in(own) = 0;
  Socket made = new_socket(own.ss_family);
  if (bind(made.get(), reinterpret_cast<sockaddr*>(&own), size) != 0 || listen(made.get(), 4096) != 0 ||
      getsockname(made.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0)
    sdk::fail_system(errno, "cannot listen on %s", host.c_str());
  address = sdk::format_text("tcp:%s:%u", host.c_str(), static_cast<unsigned>(ntohs(port_in(own))));
  return made;
}

std::string reached_host(const Socket& connection) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (getsockname(connection.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0 ||
      own.ss_family == AF_UNIX)
    return {};
  std::string host = number_of(own, size);
  return is_loopback(host) ? std::string() : host;
}

std::string with_host(const std::string& address, const std::string& host) {
  if (!address.starts_with("tcp:") || !is_loopback(host_in(address))) return address;
  return "tcp:" + host + address.substr(address.rfind(':'));
}

Socket connect_to(const std::string& address) {
  const Target target = resolve(address);
  Socket made = new_socket(target.family());
  set_options(made);
  if (connect(made.get(), reinterpret_cast<const sockaddr*>(&target.value), target.size) != 0) {
    if (errno != EINPROGRESS || !wait_for(made, POLLOUT, Clock::now() + std::chrono::seconds(1))) return {};
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(made.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) return {};
  }
  if (!is_of_this_user(made)) return {};
  return made;
}

Socket accept_from(const Socket& listener) {
  Socket made(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!made || !is_of_this_user(made)) return {};
  set_options(made);
  return made;
}

bool wait_readable(const Socket& socket, Clock::time_point until) {
  return wait_for(socket, POLLIN, until);
}

bool send_all(const Socket& socket, const void* data, std::size_t size, Clock::time_point until) {
  for (std::size_t done = 0; done < size;) {
    const ssize_t sent =
        send(socket.get(), static_cast<const std::byte*>(data) + done, size - done, MSG_NOSIGNAL);
    if (sent > 0)
      done += static_cast<std::size_t>(sent);
    else if ((errno != EAGAIN && errno != EINTR) || !wait_for(socket, POLLOUT, until))
      return false;
  }
  return true;
}

bool receive_all(const Socket& socket, void* data, std::size_t size, Clock::time_point until) {
  for (std::size_t done = 0; done < size;) {
    const ssize_t got = recv(socket.get(), static_cast<std::byte*>(data) + done, size - done, 0);
    if (got > 0)
      done += static_cast<std::size_t>(got);
    else if (got == 0 || (errno != EAGAIN && errno != EINTR) || !wait_for(socket, POLLIN, until))
      return false;
  }
  return true;
}

}  // namespace weir::collectives
