// SPDX-License-Identifier: Apache-2.0
// Starts a helper program that is not a child of this process.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "descriptor.hpp"

namespace weir::compilation {

/// The descriptor of the socket to this process in the started program.
inline constexpr int helper_socket_descriptor = 3;

/// A helper program. It is a grandchild of this process: wait() does not find it and it sends no SIGCHLD. The
/// exception is a process that adopts orphans (process 1 of a container, or one that called
/// prctl(PR_SET_CHILD_SUBREAPER)).
class DetachedProcess {
 public:
  DetachedProcess() = default;
  /// Starts `program` in a separate process group. It gets `socket` as helper_socket_descriptor, no other
  /// descriptor, /dev/null as standard streams, default signal dispositions, no blocked signal, and no
  /// environment when this process is elevated. Throws Error{system}. Thread-safe.
  DetachedProcess(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                   int socket);
  DetachedProcess(DetachedProcess&&) = default;
  DetachedProcess& operator=(DetachedProcess&&) = default;
  /// Collects the status of the process if it has ended and was reparented to this process.
  ~DetachedProcess();

 private:
  Descriptor process_;  // a pidfd, because the number may belong to another process later
};

}  // namespace weir::compilation
