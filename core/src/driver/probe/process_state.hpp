// SPDX-License-Identifier: Apache-2.0
// The state of a process that a driver must not change. Captured before the driver's library is loaded and
// compared after each of its functions. Comparing allocates no memory and needs no new descriptor, because
// the driver may have lowered every limit.
#pragma once

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ios>
#include <streambuf>
#include <string>
#include <string_view>
#include <vector>

#include "driver/probe/side_effect.hpp"

namespace weir {

/// Memory shared between processes, which a driver cannot close. The reader validates it, because the driver
/// may have written to it.
struct EffectRecord {
  Change change;
  ProbeStep during;
  std::int64_t before, after;
  std::array<char, max_effect_name + 1> name;
};
struct EffectLog {
  std::uint32_t count;
  std::array<EffectRecord, max_side_effects> records;

  /// Records an effect once: repeated changes of the same kind and name are dropped.
  void add(Change change, ProbeStep during, std::string_view name, std::int64_t before = 0,
           std::int64_t after = 0) noexcept;
  /// Ignores records that are not valid.
  std::vector<SideEffect> read() const;
};

class ProcessState {
 public:
  /// Opens guard descriptors in place of a program's descriptors, to detect a driver that closes or replaces
  /// them. Must be constructed while only descriptors 0 to 2 are open.
  ProcessState();
  ProcessState(const ProcessState&) = delete;
  ProcessState& operator=(const ProcessState&) = delete;

  /// Adds every difference to `log`. Must be called by the thread that called the driver.
  void compare(ProbeStep during, EffectLog& log) const noexcept;

  /// Whether a thread, a timer or a process of the driver may still run.
  bool is_busy() const noexcept;

 private:
  struct Guard {
    int number;
    dev_t device;
    ino_t inode;
    int status_flags, descriptor_flags;
  };
  /// The state of an output stream of C++.
  struct Stream {
    const std::streambuf* buffer;
    std::ios_base::fmtflags format;
    std::streamsize precision, width;
    std::ios_base::iostate exceptions, state;
    char fill;
    bool operator==(const Stream&) const = default;
  };
  struct Streams {
    std::array<const FILE*, 3> of_c;
    std::array<Stream, 3> of_cpp;
    bool operator==(const Streams&) const = default;
  };
  static Streams standard_streams() noexcept;
  // The results of a few system calls.
  struct Attributes {
    struct stat working_folder, root_folder;
    std::array<rlimit, RLIM_NLIMITS> limits;
    std::array<std::int64_t, 65> signal_actions;
    std::array<bool, 65> blocked;
    mode_t umask;
    pid_t session, group;
    int processors, nice, policy;
    std::array<uid_t, 3> users, groups;
    std::int64_t no_new_privileges, seccomp, death_signal, keep_capabilities, subreaper, dumpable,
        timer_slack, personality;
    std::array<char, 16> thread_name;
    int rounding;
    std::uint32_t vector_control, scalar_control, scalar_tags;
    int time_stamp_counter;
    Streams streams;
    void* terminate_handler;
    void* new_handler;
  };
  static Attributes attributes() noexcept;
  void compare_descriptors(ProbeStep during, EffectLog& log) const noexcept;
  void compare_environment(ProbeStep during, EffectLog& log) const noexcept;
  void compare_locale(ProbeStep during, EffectLog& log) const noexcept;
  void compare_attributes(ProbeStep during, EffectLog& log) const noexcept;

  std::vector<Guard> guards_;
  std::vector<std::string> environment_;  // "NAME=value"
  Attributes attributes_;
  int threads_;  // includes the thread that a sanitizer may run
};

}  // namespace weir
