// SPDX-License-Identifier: Apache-2.0
#include "stub_drivers.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

namespace weir::test {
namespace {

struct Effect {
  const char* what;
  StubStatus status;
  const char* words;
  bool of_thread = true;  // short, and also found when another thread causes it
};

constexpr Effect effects[] = {
    {"close-0", StubStatus::refused, "closed descriptor 0"},
    {"close-1", StubStatus::refused, "closed descriptor 1"},
    {"close-2", StubStatus::refused, "closed descriptor 2"},
    {"close-3", StubStatus::refused, "closed descriptor 3, which it had not opened"},
    {"close-all", StubStatus::refused, "closed descriptor 0"},
    {"close-above-2", StubStatus::refused, "closed descriptor 3"},
    {"close-high", StubStatus::refused, "closed descriptor 250"},
    {"dup2-0", StubStatus::refused, "put another file at descriptor 0"},
    {"dup2-1", StubStatus::refused, "put another file at descriptor 1"},
    {"dup2-3", StubStatus::refused, "put another file at descriptor 3"},
    {"nonblock", StubStatus::refused, "changed the flags of descriptor 0"},
    {"inherit", StubStatus::refused, "changed the flags of descriptor 3"},
    {"chdir", StubStatus::refused, "changed the working folder"},
    {"limit-nofile", StubStatus::refused, "lowered RLIMIT_NOFILE from "},
    {"limit-nofile-0", StubStatus::refused, "lowered RLIMIT_NOFILE from "},
    {"limit-as", StubStatus::refused, "lowered RLIMIT_AS from "},
    {"limit-data", StubStatus::refused, "lowered RLIMIT_DATA from "},
    {"limit-stack", StubStatus::refused, "lowered RLIMIT_STACK from "},
    {"limit-fsize", StubStatus::refused, "lowered RLIMIT_FSIZE from "},
    {"limit-cpu", StubStatus::refused, "lowered RLIMIT_CPU from "},
    {"limit-nproc", StubStatus::refused, "lowered RLIMIT_NPROC from "},
    {"limit-sigpending", StubStatus::refused, "lowered RLIMIT_SIGPENDING from "},
    {"limit-rss", StubStatus::refused, "lowered RLIMIT_RSS from "},
    {"limit-locks", StubStatus::refused, "lowered RLIMIT_LOCKS from "},
    {"limit-rttime", StubStatus::refused, "lowered RLIMIT_RTTIME from "},
    {"limit-core", StubStatus::reported, "lowered RLIMIT_CORE from "},
    {"set-layers", StubStatus::refused, "added the environment variable WEIR_LAYERS"},
    {"set-preload", StubStatus::refused, "added the environment variable LD_PRELOAD"},
    {"set-own", StubStatus::reported, "added the environment variable STUB_VENDOR_OPTION"},
    {"replace-home", StubStatus::refused, "changed the environment variable HOME"},
    {"unset-home", StubStatus::refused, "removed the environment variable HOME"},
    {"clearenv", StubStatus::refused, "removed the environment variable "},
    {"umask", StubStatus::refused, "changed the umask from "},
    {"locale", StubStatus::refused, "changed the locale (LC_"},
    {"locale-numeric", StubStatus::refused, "changed the locale (LC_NUMERIC)"},
    {"locale-thread", StubStatus::refused, "changed the locale (of the calling thread)", false},
    {"ignore-int", StubStatus::refused, "ignores SIGINT"},
    {"ignore-chld", StubStatus::refused, "ignores SIGCHLD"},
    {"ignore-pipe", StubStatus::refused, "ignores SIGPIPE"},
    {"handle-segv", StubStatus::reported, "installed a handler for SIGSEGV"},
    {"handle-term", StubStatus::reported, "installed a handler for SIGTERM"},
    {"block-all", StubStatus::refused, "changed whether the calling thread blocks SIGHUP", false},
    {"round", StubStatus::refused, "changed the rounding mode of", false},
    {"trap-fp", StubStatus::refused, "changed the trapping of exceptions", false},
#ifdef __x86_64__
    {"flush", StubStatus::refused, "changed the flushing of denormal numbers of", false},
    {"x87", StubStatus::refused, "changed the x87 control word of", false},
    {"mmx", StubStatus::refused, "changed the x87 register stack of", false},
    {"time-stamps", StubStatus::refused, "changed the use of the time stamp counter of", false},
#endif
    {"replace-stdout", StubStatus::refused, "changed the standard streams of C or C++"},
    {"setsid", StubStatus::refused, "made a session of its own"},
    {"setpgid", StubStatus::refused, "moved the process to another process group"},
    {"alarm", StubStatus::refused, "armed the timer ITIMER_REAL"},
    {"itimer-virtual", StubStatus::refused, "armed the timer ITIMER_VIRTUAL"},
    {"itimer-prof", StubStatus::refused, "armed the timer ITIMER_PROF"},
    {"posix-timer", StubStatus::refused, "armed the timer SIGUSR1"},
    {"no-new-privs", StubStatus::refused, "changed no_new_privs of", false},
    {"death-signal", StubStatus::refused, "changed the parent-death signal of", false},
    {"subreaper", StubStatus::refused, "changed the reaping of descendants of"},
    {"dumpable", StubStatus::reported, "changed whether the process is dumpable"},
    {"thread-name", StubStatus::reported, "changed the name of the calling thread", false},
    {"nice", StubStatus::refused, "changed the nice value of", false},
    {"batch", StubStatus::refused, "changed the scheduling policy of", false},
    {"fork-stay", StubStatus::refused, "left processes running ("},
    {"daemon", StubStatus::refused, "left processes running ("},
    {"fork-family", StubStatus::refused, "left processes running ("},
    {"fork-wait", StubStatus::unnoticed, ""},
    {"threads", StubStatus::reported, "keeps threads running"},
    {"open-files", StubStatus::reported, "keeps descriptors open (5)"},
    {"open-close", StubStatus::unnoticed, ""},
    {"stdout", StubStatus::reported, "it wrote 6 bytes to standard output"},
    {"stderr", StubStatus::reported, "wrote 6 bytes to standard error"},
    {"stdout-64mib", StubStatus::reported, "it wrote 67108864 bytes to standard output", false},
    {"stderr-64mib", StubStatus::reported, "wrote 67108864 bytes to standard error", false},
};

struct Fatal {
  const char* what;
  const char* words;
  const char* separator = " ";  // between the name of the call and `words`
};

constexpr Fatal fatal[] = {
    {"segv", "with SIGSEGV"},
    {"abort", "with SIGABRT"},
    {"trap", "with SIGTRAP"},
    {"bus", "with SIGBUS"},
    {"fpe", "with SIGFPE"},
    {"sigusr1", "with SIGUSR1"},
    {"overflow", "with SIGSEGV"},
    {"raise-kill", "with SIGKILL"},
    {"raise-term", "with SIGTERM"},
    {"kill-group", "with SIGKILL"},
    {"exit-0", "with status 0", ", "},
    {"exit-86", "with status 86", ", "},
    {"quick-exit", "with status 0", ", "},
    {"exec", "with status 0", ", "},
};

const char* words_for(const std::string& when) {
  if (when == "load") return "the loading of its library";
  if (when == "entry") return "its entry point";
  if (when == "count") return "device_count";
  if (when == "info") return "device_get_info";
  if (when == "open") return "device_open";
  if (when == "close") return "device_close";
  return "";
}

void add_where_the_machine_allows(std::vector<Stub>& stubs) {
  cpu_set_t processors;
  if (sched_getaffinity(0, sizeof processors, &processors) == 0 && CPU_COUNT(&processors) > 1)
    stubs.push_back(
        {"count", "affinity", StubStatus::refused, "changed the processors of the calling thread from "});
  if (geteuid() == 0) stubs.push_back({"count", "chroot", StubStatus::refused, "changed the root folder"});
  for (const auto& [limit, what] :
       {std::pair{RLIMIT_MEMLOCK, "memlock"}, std::pair{RLIMIT_MSGQUEUE, "msgqueue"}}) {
    rlimit now{};
    if (getrlimit(limit, &now) == 0 && now.rlim_cur > 0)
      stubs.push_back({"count", std::string("limit-") + what, StubStatus::refused, "lowered RLIMIT_M"});
  }
}

}  // namespace

std::vector<Stub> stub_drivers() {
  std::vector<Stub> stubs;
  for (const Effect& effect : effects) {
    // A change is attributed to the call that made it.
    for (const char* when : {"load", "count", "open"}) {
      const std::string what = effect.what;
      std::string words = effect.words;
      const bool output = what.starts_with("std");
      const bool at_end =
          what.starts_with("fork") || what == "daemon" || what == "threads" || what == "open-files";
      if (effect.status == StubStatus::refused && !at_end && !output)
        words = std::string("in ") + words_for(when) + " it " + words;
      stubs.push_back({when, what, effect.status, words});
    }
    if (effect.of_thread) stubs.push_back({"thread", effect.what, effect.status, effect.words});
  }
  // Each remaining moment for one effect of each class.
  for (const char* when : {"entry", "info", "close"}) {
    const std::string in = std::string("in ") + words_for(when) + " it ";
    stubs.push_back({when, "close-all", StubStatus::refused, in + "closed descriptor 0"});
    stubs.push_back({when, "limit-as", StubStatus::refused, in + "lowered RLIMIT_AS"});
    stubs.push_back(
        {when, "set-layers", StubStatus::refused, in + "added the environment variable WEIR_LAYERS"});
    stubs.push_back({when, "round", StubStatus::refused, in + "changed the rounding mode"});
    stubs.push_back({when, "ignore-int", StubStatus::refused, in + "ignores SIGINT"});
    stubs.push_back({when, "daemon", StubStatus::refused, "left processes running (1)"});
  }
  // Side effects at process exit are harmless, except processes that stay.
  for (const char* what : {"close-all", "chdir", "limit-nofile", "umask", "clearenv", "block-all", "setsid"})
    stubs.push_back({"end", what, StubStatus::unnoticed, ""});
  stubs.push_back({"end", "daemon", StubStatus::refused, "left processes running (1)"});
  stubs.push_back({"end", "fork-stay", StubStatus::refused, "left processes running (1)"});
  stubs.push_back({"end", "stdout", StubStatus::reported, "it wrote 6 bytes to standard output"});
  for (const Fatal& effect : fatal) {
    for (const char* when : {"load", "entry", "count", "info", "open", "close"})
      stubs.push_back({when, effect.what, StubStatus::refused,
                       std::string("in ") + words_for(when) + effect.separator + effect.words});
    stubs.push_back({"thread", effect.what, StubStatus::refused, effect.words});
    if (std::string_view(effect.what) != "exit-86")
      stubs.push_back({"end", effect.what, StubStatus::refused, effect.words});
  }
  stubs.push_back({"thread", "loop", StubStatus::reported, "keeps threads running"});
  add_where_the_machine_allows(stubs);
  stubs.push_back({"lie", "control", StubStatus::unnoticed, ""});
  stubs.push_back({"lie", "utf8", StubStatus::unnoticed, ""});
  stubs.push_back({"lie", "unterminated", StubStatus::unnoticed, ""});
  stubs.push_back({"lie", "long", StubStatus::unnoticed, ""});
  stubs.push_back({"lie", "version", StubStatus::unnoticed, ""});
  stubs.push_back({"lie", "targets", StubStatus::refused, "reports 1000000 code targets"});
  stubs.push_back({"lie", "error-text", StubStatus::refused, "it cannot count its devices: words"});
  return stubs;
}

std::vector<Stub> hanging_stub_drivers() {
  std::vector<Stub> stubs;
  for (const char* what : {"loop", "pause", "stop"})
    for (const char* when : {"load", "entry", "count", "info", "open", "close"})
      stubs.push_back(
          {when, what, StubStatus::refused, std::string(words_for(when)) + " did not return within 1.5 s"});
  for (const char* what : {"loop", "pause", "stop"})
    stubs.push_back({"end", what, StubStatus::refused, "its exit handlers did not return within 1.5 s"});
  return stubs;
}

void add_stub(const DriverFolder& folder, const std::string& name) {
  const std::string library = name + ".so";
  fs::copy_file(built("tests/driver/broken/stub.so"), folder.path() / library);
  chmod((folder.path() / library).c_str(), 0644);
  folder.add_manifest(name, DriverFolder::manifest(name, library));
}

bool has_ended(pid_t process) {
  std::ifstream in("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(in, text);
  const std::size_t name_end = text.rfind(')');
  return name_end == text.npos || text.compare(name_end + 2, 1, "Z") == 0;
}

}  // namespace weir::test
