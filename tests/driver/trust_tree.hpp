// SPDX-License-Identifier: Apache-2.0
// A tree of folders, files and links with any rights; its destructor removes it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "driver/trust/trust.hpp"
#include "run_apart.hpp"
#include "temporary_folder.hpp"

namespace weir::test {

/// Users and groups that no system assigns to an account.
constexpr uid_t eve = 400'001, mallory = 400'002;
constexpr gid_t strangers = 400'003;

class TrustTree {
 public:
  TrustTree() { chmod(root_.c_str(), 0755); }

  std::filesystem::path operator/(const std::string& name) const { return root_ / name; }

  std::filesystem::path folder(const std::string& name, mode_t mode = 0755) const {
    std::filesystem::create_directories(root_ / name);
    return with_mode(name, mode);
  }
  std::filesystem::path file(const std::string& name, mode_t mode = 0644) const {
    std::ofstream(root_ / name) << "{}";
    return with_mode(name, mode);
  }
  std::filesystem::path link(const std::string& name, const std::filesystem::path& target) const {
    std::filesystem::create_symlink(target, root_ / name);
    return root_ / name;
  }
  std::filesystem::path with_mode(const std::string& name, mode_t mode) const {
    check(chmod((root_ / name).c_str(), mode), name);
    return root_ / name;
  }
  /// For root only. Changes a link, not its target.
  std::filesystem::path give(const std::string& name, uid_t owner, gid_t group = 0) const {
    check(lchown((root_ / name).c_str(), owner, group), name);
    return root_ / name;
  }
  /// `options` and `entry` as arguments of setfacl: "-m u:7:rw".
  std::filesystem::path with_acl(const std::string& name, const std::string& options_and_entry) const {
    const std::string said = output_of("setfacl " + options_and_entry + " '" + (root_ / name).string() + "'");
    if (!said.empty()) throw std::runtime_error(said);
    return root_ / name;
  }

 private:
  static void check(int result, const std::string& name) {
    if (result != 0) throw std::runtime_error(name + ": " + std::strerror(errno));
  }

  const TemporaryFolder temporary_;
  const std::filesystem::path root_ = temporary_.path();
};

/// The reason of the refusal; "" if the file is accepted.
inline std::string judged(const std::filesystem::path& file) {
  try {
    open_trusted(file);
  } catch (const Error& refusal) {
    return refusal.what();
  }
  return {};
}

/// The same in a separate process, in which `prepare` has changed the user.
template <class Prepare>
std::string judged_after(Prepare prepare, const std::filesystem::path& file) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
  const pid_t child = fork();
  if (child == 0) {
    const std::string words = prepare() ? judged(file) : std::string("the user was not changed");
    const bool written = write(ends[1], words.data(), words.size()) == static_cast<ssize_t>(words.size());
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  std::string words;
  char buffer[1024];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    words.append(buffer, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? words : words + " (ended with status " + std::to_string(status) + ")";
}

}  // namespace weir::test
