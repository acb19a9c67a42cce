// SPDX-License-Identifier: Apache-2.0
#include "driver/probe/process_state.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cfenv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <locale>
#include <new>
#include <thread>
#ifdef __x86_64__
#include <immintrin.h>
#endif

extern char** environ;

namespace weir {
namespace {

struct LimitName {
  int number;
  std::string_view name;
};
constexpr std::array limit_names{
    LimitName{RLIMIT_AS, "RLIMIT_AS"},
    LimitName{RLIMIT_CORE, "RLIMIT_CORE"},
    LimitName{RLIMIT_CPU, "RLIMIT_CPU"},
    LimitName{RLIMIT_DATA, "RLIMIT_DATA"},
    LimitName{RLIMIT_FSIZE, "RLIMIT_FSIZE"},
    LimitName{RLIMIT_LOCKS, "RLIMIT_LOCKS"},
    LimitName{RLIMIT_MEMLOCK, "RLIMIT_MEMLOCK"},
    LimitName{RLIMIT_MSGQUEUE, "RLIMIT_MSGQUEUE"},
    LimitName{RLIMIT_NICE, "RLIMIT_NICE"},
    LimitName{RLIMIT_NOFILE, "RLIMIT_NOFILE"},
    LimitName{RLIMIT_NPROC, "RLIMIT_NPROC"},
    LimitName{RLIMIT_RSS, "RLIMIT_RSS"},
    LimitName{RLIMIT_RTPRIO, "RLIMIT_RTPRIO"},
    LimitName{RLIMIT_RTTIME, "RLIMIT_RTTIME"},
    LimitName{RLIMIT_SIGPENDING, "RLIMIT_SIGPENDING"},
    LimitName{RLIMIT_STACK, "RLIMIT_STACK"},
};

// The limit as a number, -1 for none.
std::int64_t limit_value(rlim_t limit) {
  return limit == RLIM_INFINITY || limit > static_cast<rlim_t>(INT64_MAX) ? -1
                                                                          : static_cast<std::int64_t>(limit);
}

// A text of fixed size, because this code must not allocate.
struct ShortText {
  std::array<char, max_effect_name + 1> text{};
  explicit ShortText(const char* format, int number) { snprintf(text.data(), text.size(), format, number); }
  explicit ShortText(const char* prefix, const char* name) {
    snprintf(text.data(), text.size(), "%s%s", prefix, name);
  }
  operator std::string_view() const { return text.data(); }
};

ShortText signal_name(int number) {
  if (number >= SIGRTMIN && number <= SIGRTMAX) return ShortText("SIGRTMIN+%d", number - SIGRTMIN);
  const char* const name = sigabbrev_np(number);
  return name ? ShortText("SIG", name) : ShortText("signal %d", number);
}

std::string_view variable_name(std::string_view entry) {
  return entry.substr(0, entry.find('='));
}

// "Umask:\t0022" of /proc/self/status would need a descriptor; setting it twice needs none.
mode_t current_umask() {
  const mode_t mask = umask(077);
  umask(mask);
  return mask;
}

#ifdef __x86_64__
// The control word without the flags of past exceptions.
std::uint32_t vector_control_word() {
  return _mm_getcsr() & ~0x3fu;
}
std::uint32_t scalar_control_word() {
  std::uint16_t word = 0;
  __asm__ volatile("fnstcw %0" : "=m"(word));
  return word;
}
// Which x87 registers are empty; all are between calls. Code of MMX without EMMS leaves them full, and long
// doubles become NaN.
std::uint32_t scalar_tags() {
  std::array<std::uint32_t, 7> environment;
  __asm__ volatile("fnstenv %0\n\tfldenv %0" : "+m"(environment));
  return environment[2] & 0xffff;
}
#elif defined(__aarch64__)
std::uint32_t scalar_tags() {
  return 0;
}
std::uint32_t vector_control_word() {
  std::uint64_t word = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(word));
  return static_cast<std::uint32_t>(word);
}
std::uint32_t scalar_control_word() {
  return 0;
}
#else
std::uint32_t scalar_tags() {
  return 0;
}
std::uint32_t vector_control_word() {
  return 0;
}
std::uint32_t scalar_control_word() {
  return 0;
}
#endif

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// The number of open descriptors, or -1 when they cannot be listed.
int open_descriptors() {
  DIR* const folder = opendir("/proc/self/fd");
  if (!folder) return -1;
  int count = -3;  // ".", "..", and the descriptor of the listing
  while (readdir(folder)) ++count;
  closedir(folder);
  return count;
}

// The link count of the folder is its number of subfolders; reading it needs no descriptor.
int running_threads() {
  struct stat tasks {};
  return stat("/proc/self/task", &tasks) == 0 ? static_cast<int>(tasks.st_nlink) - 2 : -1;
}

struct TimerName {
  __itimer_which_t which;
  std::string_view name;
};
constexpr std::array timers{TimerName{ITIMER_REAL, "ITIMER_REAL"},
                            TimerName{ITIMER_VIRTUAL, "ITIMER_VIRTUAL"},
                            TimerName{ITIMER_PROF, "ITIMER_PROF"}};

bool is_armed(__itimer_which_t which) {
  itimerval value{};
  return getitimer(which, &value) == 0 && (value.it_value.tv_sec != 0 || value.it_value.tv_usec != 0);
}

// Calls `found` with the signal of each timer of timer_create that sends one to the process or a thread.
template <class Found>
void for_each_posix_timer(Found found) {
  const int file = open("/proc/self/timers", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  std::array<char, 2048> text;
  const ssize_t size = read(file, text.data(), text.size() - 1);
  close(file);
  if (size <= 0) return;
  text[static_cast<std::size_t>(size)] = '\0';
  constexpr std::string_view key = "\nsignal: ";
  for (const char* at = text.data(); (at = strstr(at, key.data())) != nullptr; at += key.size())
    found(std::atoi(at + key.size()));
}

constexpr std::array locale_categories{
    std::pair{LC_CTYPE, "LC_CTYPE"},       std::pair{LC_NUMERIC, "LC_NUMERIC"},
    std::pair{LC_TIME, "LC_TIME"},         std::pair{LC_COLLATE, "LC_COLLATE"},
    std::pair{LC_MONETARY, "LC_MONETARY"}, std::pair{LC_MESSAGES, "LC_MESSAGES"},
};

}  // namespace

void EffectLog::add(Change change, ProbeStep during, std::string_view name, std::int64_t before,
                    std::int64_t after) noexcept {
  const std::size_t used = std::min<std::size_t>(count, records.size());
  name = name.substr(0, max_effect_name);
  for (std::size_t i = 0; i < used; ++i)
    if (records[i].change == change && records[i].before == before && name == records[i].name.data()) return;
  if (used == records.size()) return;
  EffectRecord& record = records[used];
  record.change = change;
  record.during = during;
  record.before = before;
  record.after = after;
  record.name.fill('\0');
  std::copy(name.begin(), name.end(), record.name.begin());
  count = static_cast<std::uint32_t>(used + 1);
}

std::vector<SideEffect> EffectLog::read() const {
  std::vector<SideEffect> effects;
  for (std::size_t i = 0; i < std::min<std::size_t>(count, records.size()); ++i) {
    const EffectRecord& record = records[i];
    if (static_cast<std::size_t>(record.change) >= change_count || record.during > ProbeStep::exit) continue;
    effects.push_back({record.change, record.during, record.before, record.after,
                       std::string(record.name.data(), strnlen(record.name.data(), max_effect_name))});
  }
  return effects;
}

ProcessState::ProcessState() {
  // The guards detect a driver that closes arbitrary descriptors, both directly after the standard streams
  // and at the high numbers of programs with many files.
  for (const int wanted : {3, 4, 5, 60, 250, 1000}) {
    const int file = memfd_create("guard", MFD_CLOEXEC);
    if (file < 0) continue;
    if (file != wanted && dup3(file, wanted, O_CLOEXEC) == wanted) close(file);
  }
  for (const int number : {0, 1, 2, 3, 4, 5, 60, 250, 1000}) {
    struct stat file {};
    if (fstat(number, &file) == 0)
      guards_.push_back({number, file.st_dev, file.st_ino, fcntl(number, F_GETFL), fcntl(number, F_GETFD)});
  }
  for (char** entry = environ; entry && *entry; ++entry) environment_.emplace_back(*entry);
  attributes_ = attributes();
  threads_ = running_threads();
}

ProcessState::Streams ProcessState::standard_streams() noexcept {
  const auto state_of = [](const std::ostream& stream) {
    return Stream{stream.rdbuf(),      stream.flags(),   stream.precision(), stream.width(),
                  stream.exceptions(), stream.rdstate(), stream.fill()};
  };
  return {{stdin, stdout, stderr}, {state_of(std::cout), state_of(std::cerr), state_of(std::clog)}};
}

ProcessState::Attributes ProcessState::attributes() noexcept {
  Attributes now{};
  // Read first, while the driver's values are unchanged: the code below may use floating-point registers.
  now.vector_control = vector_control_word();
  now.scalar_control = scalar_control_word();
  now.scalar_tags = scalar_tags();
  now.rounding = std::fegetround();
  stat(".", &now.working_folder);
  stat("/", &now.root_folder);
  for (const LimitName& limit : limit_names)
    getrlimit(static_cast<__rlimit_resource_t>(limit.number),
              &now.limits[static_cast<std::size_t>(limit.number)]);
  sigset_t blocked;
  sigemptyset(&blocked);
  pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) != 0) continue;
    now.signal_actions[static_cast<std::size_t>(signal)] =
        static_cast<std::int64_t>(action.sa_handler == SIG_DFL   ? SignalAction::standard
                                  : action.sa_handler == SIG_IGN ? SignalAction::ignore
                                                                 : SignalAction::handler);
    now.blocked[static_cast<std::size_t>(signal)] = sigismember(&blocked, signal) == 1;
  }
  now.umask = current_umask();
  now.session = getsid(0);
  now.group = getpgrp();
  cpu_set_t processors;
  CPU_ZERO(&processors);
  // Fails, always in the same way, when there are more processors than the set holds.
  now.processors = sched_getaffinity(0, sizeof processors, &processors) == 0 ? CPU_COUNT(&processors) : -1;
  now.nice = getpriority(PRIO_PROCESS, 0);
  now.policy = sched_getscheduler(0);
  getresuid(&now.users[0], &now.users[1], &now.users[2]);
  getresgid(&now.groups[0], &now.groups[1], &now.groups[2]);
  now.streams = standard_streams();
  if (prctl(PR_GET_TSC, &now.time_stamp_counter) != 0) now.time_stamp_counter = 0;
  now.no_new_privileges = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
  // In seccomp's strict mode the first call here ends the process, which is a finding as well.
  now.seccomp = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
  int number = 0;
  if (prctl(PR_GET_PDEATHSIG, &number) == 0) now.death_signal = number;
  now.keep_capabilities = prctl(PR_GET_KEEPCAPS, 0, 0, 0, 0);
  if (prctl(PR_GET_CHILD_SUBREAPER, &number) == 0) now.subreaper = number;
  now.dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
  now.timer_slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
  now.personality = personality(0xffffffff);
  prctl(PR_GET_NAME, now.thread_name.data());
  now.terminate_handler = reinterpret_cast<void*>(std::get_terminate());
  now.new_handler = reinterpret_cast<void*>(std::get_new_handler());
  return now;
}

void ProcessState::compare_descriptors(ProbeStep during, EffectLog& log) const noexcept {
  int lost = 0;
  for (const Guard& guard : guards_) {
    struct stat file {};
    if (fstat(guard.number, &file) != 0) {
      log.add(Change::descriptor_closed, during, "", guard.number);
      ++lost;
    } else if (file.st_dev != guard.device || file.st_ino != guard.inode) {
      log.add(Change::descriptor_replaced, during, "", guard.number);
    } else if (fcntl(guard.number, F_GETFL) != guard.status_flags ||
               fcntl(guard.number, F_GETFD) != guard.descriptor_flags) {
      log.add(Change::descriptor_flags, during, "", guard.number);
    }
  }
  if (during != ProbeStep::idle) return;
  const auto opened = [&] { return open_descriptors() + lost - static_cast<int>(guards_.size()); };
  int more = opened();
  // A thread of the driver may have a file open for a moment.
  for (int look = 0; look < 5 && more > 0 && running_threads() > threads_; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    more = std::min(more, opened());
  }
  if (more > 0) log.add(Change::descriptors_opened, during, "", 0, more);
}

void ProcessState::compare_environment(ProbeStep during, EffectLog& log) const noexcept {
  const auto value_now = [](std::string_view name) -> const char* {
    for (char** entry = environ; entry && *entry; ++entry)
      if (variable_name(*entry) == name) return *entry;
    return nullptr;
  };
  for (const std::string& before : environment_) {
    const char* const now = value_now(variable_name(before));
    if (!now)
      log.add(Change::environment_removed, during, variable_name(before));
    else if (before != now)
      log.add(Change::environment_replaced, during, variable_name(before));
  }
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view name = variable_name(*entry);
    if (std::ranges::none_of(environment_,
                             [&](const std::string& before) { return variable_name(before) == name; }))
      log.add(Change::environment_added, during, name);
  }
}

void ProcessState::compare_locale(ProbeStep during, EffectLog& log) const noexcept {
  // The trial never sets a locale, so every category starts as "C".
  for (const auto& [category, name] : locale_categories)
    if (const char* const now = setlocale(category, nullptr); now && strcmp(now, "C") != 0)
      log.add(Change::locale, during, name);
  if (uselocale(locale_t{}) != LC_GLOBAL_LOCALE) log.add(Change::locale, during, "of the calling thread");
  if (std::locale() != std::locale::classic()) log.add(Change::locale, during, "of C++");
}

void ProcessState::compare_attributes(ProbeStep during, EffectLog& log) const noexcept {
  const Attributes& was = attributes_;
  const Attributes now = attributes();
  if (now.rounding != was.rounding) log.add(Change::floating_point, during, "the rounding mode");
#ifdef __x86_64__
  constexpr std::uint32_t flush = _MM_FLUSH_ZERO_MASK | 0x0040, rounding = _MM_ROUND_MASK;
  const std::uint32_t changed = now.vector_control ^ was.vector_control;
  if (changed & flush) log.add(Change::floating_point, during, "the flushing of denormal numbers");
  if (changed & ~(flush | rounding)) log.add(Change::floating_point, during, "the trapping of exceptions");
  // Rounding is bits 10 and 11, which fegetround has returned.
  if ((now.scalar_control ^ was.scalar_control) & ~0x0c00u)
    log.add(Change::floating_point, during, "the x87 control word");
  if (now.scalar_tags != was.scalar_tags) log.add(Change::floating_point, during, "the x87 register stack");
#else
  if (now.rounding == was.rounding && now.vector_control != was.vector_control)
    log.add(Change::floating_point, during, "the control register");
#endif
  if (!same_file(now.working_folder, was.working_folder)) log.add(Change::working_folder, during, "");
  if (!same_file(now.root_folder, was.root_folder)) log.add(Change::root_folder, during, "");
  for (const LimitName& limit : limit_names) {
    const rlimit before = was.limits[static_cast<std::size_t>(limit.number)];
    const rlimit after = now.limits[static_cast<std::size_t>(limit.number)];
    const auto record = [&](Change change) {
      log.add(change, during, limit.name, limit_value(before.rlim_cur), limit_value(after.rlim_cur));
    };
    // RLIM_INFINITY is the largest value.
    if (after.rlim_cur < before.rlim_cur || after.rlim_max < before.rlim_max)
      record(Change::limit_lowered);
    else if (after.rlim_cur > before.rlim_cur || after.rlim_max > before.rlim_max)
      record(Change::limit_raised);
  }
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    const auto at = static_cast<std::size_t>(signal);
    if (now.signal_actions[at] != was.signal_actions[at])
      log.add(Change::signal_action, during, signal_name(signal), was.signal_actions[at],
              now.signal_actions[at]);
    if (now.blocked[at] != was.blocked[at]) log.add(Change::signal_mask, during, signal_name(signal));
  }
  const auto differs = [&](Change change, std::string_view name, std::int64_t before, std::int64_t after) {
    if (before != after) log.add(change, during, name, before, after);
  };
  differs(Change::umask, "", was.umask, now.umask);
  differs(Change::session, "", was.session, now.session);
  if (was.session == now.session) differs(Change::process_group, "", was.group, now.group);
  differs(Change::affinity, "", was.processors, now.processors);
  differs(Change::scheduling, "nice value", was.nice, now.nice);
  differs(Change::scheduling, "scheduling policy", was.policy, now.policy);
  if (now.users != was.users) log.add(Change::identity, during, "user");
  if (now.groups != was.groups) log.add(Change::identity, during, "group");
  if (now.streams != was.streams) log.add(Change::standard_streams, during, "");
  differs(Change::privileges, "the use of the time stamp counter", was.time_stamp_counter,
          now.time_stamp_counter);
  differs(Change::privileges, "no_new_privs", was.no_new_privileges, now.no_new_privileges);
  differs(Change::privileges, "the seccomp mode", was.seccomp, now.seccomp);
  differs(Change::privileges, "the parent-death signal", was.death_signal, now.death_signal);
  differs(Change::privileges, "the keeping of capabilities", was.keep_capabilities, now.keep_capabilities);
  differs(Change::privileges, "the reaping of descendants", was.subreaper, now.subreaper);
  differs(Change::option, "whether the process is dumpable", was.dumpable, now.dumpable);
  differs(Change::option, "the timer slack", was.timer_slack, now.timer_slack);
  differs(Change::option, "the personality of the process", was.personality, now.personality);
  if (now.thread_name != was.thread_name) log.add(Change::option, during, "the name of the calling thread");
  if (now.terminate_handler != was.terminate_handler)
    log.add(Change::option, during, "the C++ terminate handler");
  if (now.new_handler != was.new_handler) log.add(Change::option, during, "the C++ new handler");
}

void ProcessState::compare(ProbeStep during, EffectLog& log) const noexcept {
  compare_attributes(during, log);
  compare_descriptors(during, log);
  compare_environment(during, log);
  compare_locale(during, log);
  for (const TimerName& timer : timers)
    if (is_armed(timer.which)) log.add(Change::timer, during, timer.name);
  // glibc reserves signals from 32 to SIGRTMIN for timers that start threads; those cannot end the process.
  for_each_posix_timer([&](int signal) {
    if (signal > 0 && signal < 32) log.add(Change::timer, during, signal_name(signal));
  });
  if (during == ProbeStep::idle)
    if (const int threads = running_threads() - threads_; threads > 0)
      log.add(Change::threads, during, "", 0, threads);
}

bool ProcessState::is_busy() const noexcept {
  if (running_threads() != threads_) return true;
  for (const TimerName& timer : timers)
    if (is_armed(timer.which)) return true;
  bool timer_waits = false;
  for_each_posix_timer([&](int signal) { timer_waits |= signal > 0; });
  siginfo_t child{};
  return timer_waits || waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) == 0;
}

}  // namespace weir
