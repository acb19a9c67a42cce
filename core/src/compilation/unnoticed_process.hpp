// SPDX-License-Identifier: Apache-2.0
// Starts a helper program that is no child of this process.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "compilation/private_descriptor.hpp"

namespace weir::compilation {

/// The descriptor on which the started program finds the socket to this process.
inline constexpr int helper_socket_descriptor = 3;

/// A helper program. The kernel's grandchild, not a child: wait() does not find it and it sends no SIGCHLD,
/// unless this process is the one that orphans are handed to (process 1 of a container, or one that called
/// prctl(PR_SET_CHILD_SUBREAPER)).
class UnnoticedProcess {
 public:
  UnnoticedProcess() = default;
  /// Starts `program` in a process group of its own, with `socket` as helper_socket_descriptor, no other
  /// descriptor, standard streams that are /dev/null, default signal dispositions, no blocked signal, and no
  /// environment where this process is elevated. Throws Error{system}. Thread-safe.
  UnnoticedProcess(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                   int socket);
  UnnoticedProcess(UnnoticedProcess&&) = default;
  UnnoticedProcess& operator=(UnnoticedProcess&&) = default;
  /// Collects the status of the process if it has ended and was handed to this one as an orphan.
  ~UnnoticedProcess();

 private:
  PrivateDescriptor process_;  // a pidfd, because the number may belong to another process later
};

}  // namespace weir::compilation
