// SPDX-License-Identifier: Apache-2.0
#include "neighbours.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <weir/sdk/status.hpp>

namespace weir::mpi {
namespace {

struct Address {
  sockaddr_un value{};
  socklen_t size = 0;
};

/// In the abstract namespace, which has no files that could remain.
Address address_of(const std::string& name) {
  Address address;
  address.value.sun_family = AF_UNIX;
  const std::size_t length = std::min(name.size(), sizeof address.value.sun_path - 1);
  std::memcpy(address.value.sun_path + 1, name.data(), length);
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  return address;
}

int new_socket() {
  const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) sdk::fail_system(errno, "cannot create a socket");
  return made;
}

}  // namespace

std::string Neighbours::name_of(std::uint32_t rank) const {
  return sdk::format_text("weir-mpi/%u/%zx/%u", static_cast<unsigned>(getuid()),
                          std::hash<std::string>{}(launch_.job), rank);
}

Neighbours::Neighbours(const Launch& launch) : launch_(launch), sockets_(launch.size, -1) {
  if (launch_.job.empty()) return;
  const int listener = new_socket();  // open until the process ends
  const Address address = address_of(name_of(launch_.rank));
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address.value), address.size) != 0) {
    const int error = errno;
    close(listener);
    if (error == EADDRINUSE)
      sdk::fail(WEIR_ERROR_INVALID,
                "another process has joined as rank %u of this job (%s); only the process that the launcher "
                "started can join, not its children",
                launch_.rank, launch_.by.c_str());
    sdk::fail_system(error, "cannot name a socket");
  }
  // Connections are never accepted, so all of them wait in the queue.
  if (listen(listener, static_cast<int>(launch_.size)) != 0) {
    const int error = errno;
    close(listener);
    sdk::fail_system(error, "cannot listen on a socket");
  }
}

bool Neighbours::connect_to(std::uint32_t rank) {
  const int made = new_socket();
  const Address address = address_of(name_of(rank));
  ucred peer{};
  socklen_t size = sizeof peer;
  if (connect(made, reinterpret_cast<const sockaddr*>(&address.value), address.size) == 0 &&
      getsockopt(made, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == getuid()) {
    sockets_[rank] = made;
    return true;
  }
  close(made);
  return false;
}

std::vector<std::uint32_t> Neighbours::absent() {
  std::vector<std::uint32_t> ranks;
  if (launch_.job.empty()) return ranks;
  for (std::uint32_t rank = 0; rank < launch_.size; ++rank)
    if (rank != launch_.rank && sockets_[rank] < 0 && !connect_to(rank)) ranks.push_back(rank);
  if (!launch_.one_machine) ranks.clear();
  return ranks;
}

std::vector<std::uint32_t> Neighbours::ended() const {
  std::vector<pollfd> polled;
  for (const int socket : sockets_) polled.push_back({socket, 0, 0});  // poll() ignores negative descriptors
  std::vector<std::uint32_t> ranks;
  if (poll(polled.data(), polled.size(), 0) > 0)
    for (std::uint32_t rank = 0; rank < polled.size(); ++rank)
      if (polled[rank].revents & (POLLHUP | POLLERR)) ranks.push_back(rank);
  return ranks;
}

}  // namespace weir::mpi
