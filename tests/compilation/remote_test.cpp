// SPDX-License-Identifier: Apache-2.0
// Compilation in separate processes, which must not affect the program except by its results.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <thread>

#include "compilation/remote_compiler.hpp"
#include "compilation/workers.hpp"
#include "helper_processes.hpp"
#include "ir/printer.hpp"
#include "kernels.hpp"
#include "temporary_folder.hpp"
#include "thrown_by.hpp"

namespace weir::test {
namespace {

namespace fs = std::filesystem;
using compilation::GeneratorPolicy;
using compilation::RemoteCompiler;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns the contents of the file that a message names as saved, and removes the file.
std::string kept_text(const std::string& message) {
  const std::size_t at = message.find("is kept in "), end = message.find(" for a bug report");
  if (at == message.npos || end == message.npos) return "";
  const std::string path = message.substr(at + 11, end - at - 11), text = text_of(path);
  fs::remove(path);
  return text;
}

class Remote : public testing::Test {
 protected:
  GeneratorPolicy policy = compilation::current_generator_policy();
  const HelperProcesses processes;
  const PlannedKernel small{chain_text(3, "small")};
};

using Dispositions = std::array<struct sigaction, 65>;

Dispositions dispositions() {
  Dispositions all{};
  for (int signal = 1; signal < 65; ++signal)
    sigaction(signal, nullptr, &all[static_cast<std::size_t>(signal)]);
  return all;
}

// proves R39
TEST_F(Remote, LeavesSignalDispositionsOptionsAndMemoryOfTheProcessAlone) {
  const Dispositions before = dispositions();
  stack_t stack_before{}, stack_after{};
  sigaltstack(nullptr, &stack_before);
  RemoteCompiler compiler(policy);
  EXPECT_FALSE(small.compile(compiler).bytes.empty());
  sigaltstack(nullptr, &stack_after);
  const Dispositions after = dispositions();
  for (std::size_t signal = 1; signal < 65; ++signal) {
    EXPECT_EQ(after[signal].sa_handler, before[signal].sa_handler) << "signal " << signal;
    EXPECT_EQ(after[signal].sa_flags, before[signal].sa_flags) << "signal " << signal;
  }
  EXPECT_EQ(stack_after.ss_sp, stack_before.ss_sp);
  // libLLVM is not in this process, so options set in the helper cannot affect another user of libLLVM.
  EXPECT_THAT(text_of("/proc/self/maps"), AllOf(Not(HasSubstr("libLLVM")), Not(HasSubstr("weir-codegen"))));
}

std::atomic<int> children_heard_of{0};

// proves R39
TEST_F(Remote, IsNoChildThatTheProgramsWaitFinds) {
  struct sigaction noting {
  }, before{};
  noting.sa_handler = [](int) { ++children_heard_of; };
  sigaction(SIGCHLD, &noting, &before);
  std::atomic<bool> over = false;
  std::atomic<int> found = 0;
  std::thread waiting([&] {
    while (!over)
      if (waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD) ++found;
  });
  {
    policy.idle = std::chrono::milliseconds(50);
    RemoteCompiler compiler(policy);
    for (int i = 0; i < 5; ++i) {
      EXPECT_FALSE(small.compile(compiler).bytes.empty());
      EXPECT_TRUE(comes_true([&] { return processes.all().empty(); }));
    }
    EXPECT_FALSE(small.compile(compiler).bytes.empty());
  }
  EXPECT_TRUE(comes_true([&] { return processes.all().empty(); }));
  over = true;
  waiting.join();
  sigaction(SIGCHLD, &before, nullptr);
  EXPECT_EQ(found, 0);
  EXPECT_EQ(children_heard_of, 0);
}

TEST_F(Remote, InheritsNothingButItsSocket) {
  sigset_t usr, before;
  sigemptyset(&usr);
  sigaddset(&usr, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &usr, &before);
  const auto handler = signal(SIGUSR2, SIG_IGN);
  const int open_file = open("/etc/passwd", O_RDONLY);  // without O_CLOEXEC
  RemoteCompiler compiler(policy);
  EXPECT_FALSE(small.compile(compiler).bytes.empty());
  const pid_t supervisor = processes.supervisor();
  ASSERT_GT(supervisor, 0);
  EXPECT_EQ(getpgid(supervisor), supervisor);
  EXPECT_EQ(std::stoull(status_of(supervisor, "SigBlk"), nullptr, 16), 1ull << (SIGCHLD - 1));  // its own
  // Not inherited, except for the two signals that glibc reserves.
  EXPECT_EQ(std::stoull(status_of(supervisor, "SigIgn"), nullptr, 16) & ~(3ull << 31), 1ull << (SIGPIPE - 1));
  const std::vector<pid_t> workers = processes.workers();
  ASSERT_THAT(workers, SizeIs(1));
  std::vector<std::string> held;
  for (const fs::directory_entry& entry :
       fs::directory_iterator("/proc/" + std::to_string(workers[0]) + "/fd")) {
    std::error_code error;
    const std::string name = fs::read_symlink(entry.path(), error);
    if (!name.empty() && name != "/dev/null" && !name.starts_with("/memfd:")) held.push_back(name);
  }
  EXPECT_THAT(held, SizeIs(1)) << testing::PrintToString(held);
  close(open_file);
  signal(SIGUSR2, handler);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_F(Remote, CompilesOnSeveralThreadsAtATime) {
  RemoteCompiler compiler(policy);
  const auto expected = small.compile(compiler).bytes;
  std::atomic<int> equal = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&] {
      for (int k = 0; k < 5; ++k) equal += small.compile(compiler).bytes == expected;
    });
  threads.clear();
  EXPECT_EQ(equal, 30);
  EXPECT_GE(processes.workers().size(), 2u);
}

TEST_F(Remote, EndsWithItsOwner) {
  auto compiler = std::make_unique<RemoteCompiler>(policy);
  EXPECT_FALSE(small.compile(*compiler).bytes.empty());
  EXPECT_THAT(processes.all(), SizeIs(2));
  compiler.reset();
  EXPECT_TRUE(comes_true([&] { return processes.all().empty(); }));
}

TEST_F(Remote, EndsWhenIdleAndComesBack) {
  policy.idle = std::chrono::milliseconds(100);
  RemoteCompiler compiler(policy);
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(small.compile(compiler).bytes.empty());
    EXPECT_TRUE(comes_true([&] { return processes.all().empty(); }));
  }
}

// proves R40
TEST_F(Remote, AnyAllocationMayFail) {
#ifdef WEIR_SANITIZED
  GTEST_SKIP() << "sanitizers bring an allocator of their own";
#endif
  setenv("LD_PRELOAD", WEIR_FAIL_ALLOCATION, 1);
  int failed = 0, compiled = 0, without_memory = 0;
  for (int n = 0; n < 40'000; n = n < 20 ? n + 1 : n * 5 / 4) {
    setenv("WEIR_TEST_FAIL_ALLOCATION", std::to_string(n).c_str(), 1);
    RemoteCompiler compiler(policy);
    try {
      EXPECT_FALSE(small.compile(compiler).bytes.empty());
      ++compiled;
    } catch (const Error& error) {
      ++failed;
      // The loader says that memory was short; LLVM ends its process.
      if (error.code() == ErrorCode::out_of_memory)
        ++without_memory;
      else
        EXPECT_EQ(error.code(), ErrorCode::compile) << error.what();
      kept_text(error.what());
    }
  }
  EXPECT_GT(without_memory, 0);
  unsetenv("LD_PRELOAD");
  unsetenv("WEIR_TEST_FAIL_ALLOCATION");
  EXPECT_GT(failed, 5);
  EXPECT_GT(compiled, 0);
}

/// A code generator whose faults the names of kernels select.
class Faulty : public Remote {
 protected:
  Faulty() {
    policy.program = fs::path(WEIR_FAULTY_FOLDER) / "weir/weir-codegen";
    setenv("WEIR_TEST_BEGUN", (folder_ / "begun").c_str(), 1);
#ifdef WEIR_SANITIZED
    // The helper ends by the signal itself.
    for (const char* name : {"ASAN_OPTIONS", "TSAN_OPTIONS"})
      setenv(name, "handle_segv=0:handle_abort=0:detect_leaks=0", 1);
#endif
  }
  ~Faulty() override {
    unsetenv("WEIR_TEST_BEGUN");
  }
  Error error_of(RemoteCompiler& compiler, const PlannedKernel& kernel) {
    return thrown_by([&] { kernel.compile(compiler); });
  }
  Error error_of(const std::string& kernel) {
    RemoteCompiler compiler(policy);
    return error_of(compiler, PlannedKernel(chain_text(1, kernel)));
  }
  bool has_begun() const {
    return comes_true([&] { return fs::exists(folder_ / "begun"); });
  }

 private:
  const TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

// proves R40
TEST_F(Faulty, ACrashIsAnErrorThatNamesTheKernelTheSignalAndTheFileThatIsKept) {
  const Error error = error_of("segv");
  EXPECT_EQ(error.code(), ErrorCode::compile);
  EXPECT_EQ(error.kernel(), "segv");
  EXPECT_THAT(error.what(), AllOf(HasSubstr("kernel 'segv', compiled for elf-x86_64:x86-64-v3: "),
                                  HasSubstr("signal 11 (SIGSEGV, Segmentation fault)")));
  const PlannedKernel kernel(chain_text(1, "segv"));
  EXPECT_EQ(ir::print(ir::parse(kept_text(error.what()))), ir::print(kernel.kernel));
}

// proves R40
TEST_F(Faulty, AnAbortHasTheWordsOfLlvm) {
  const Error error = error_of("abort");
  EXPECT_EQ(error.code(), ErrorCode::compile);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("signal 6 (SIGABRT"), HasSubstr("LLVM ERROR: no words left;")));
  EXPECT_NE(kept_text(error.what()), "");
}

// proves R40
TEST_F(Faulty, AnExitAKillAndExceptionsAreErrors) {
  const std::pair<const char*, const char*> ends[] = {
      {"exit", "ended with status 3: cannot go on;"},
      {"kill", "signal 9 (SIGKILL, Killed), as the system does"},
      {"memory", "has run out of memory"},
      {"other", "the code generator failed: another exception"}};
  for (const auto& [kernel, words] : ends) {
    const Error error = error_of(kernel);
    EXPECT_EQ(error.code(), ErrorCode::compile);
    EXPECT_EQ(error.kernel(), kernel);
    EXPECT_THAT(error.what(), AllOf(HasSubstr(std::string("kernel '") + kernel + "'"), HasSubstr(words)));
    kept_text(error.what());
  }
}

TEST_F(Faulty, ErrorsOfTheCodeGeneratorArriveAsTheyWereThrown) {
  RemoteCompiler compiler(policy);
  const PlannedKernel kernel(chain_text(1, "refuse"));
  for (int i = 0; i < 3; ++i) {
    const Error error = error_of(compiler, kernel);
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_STREQ(error.what(), "not here");
    EXPECT_EQ(error.kernel(), "refuse");
    EXPECT_EQ(error.file(), "file.cpp");
    EXPECT_EQ(error.line(), 42u);
  }
  EXPECT_THAT(processes.workers(), SizeIs(1));  // the same one continues
}

// proves R40
TEST_F(Faulty, ACrashFailsNoOtherKernel) {
  RemoteCompiler compiler(policy);
  const PlannedKernel nap(chain_text(1, "nap")), crash(chain_text(1, "segv"));
  auto neighbour = std::async(std::launch::async, [&] { return nap.compile(compiler); });
  ASSERT_TRUE(has_begun());
  kept_text(error_of(compiler, crash).what());
  EXPECT_THAT(neighbour.get().bytes, SizeIs(1));
  EXPECT_THAT(small.compile(compiler).bytes, SizeIs(1));
}

// proves R40
TEST_F(Faulty, RequestsAreSentAgainWhenTheWholeHelperIsKilled) {
  RemoteCompiler compiler(policy);
  const PlannedKernel nap(chain_text(1, "nap"));
  auto result = std::async(std::launch::async, [&] { return nap.compile(compiler); });
  ASSERT_TRUE(has_begun());
  kill(processes.supervisor(), SIGKILL);
  EXPECT_THAT(result.get().bytes, SizeIs(1));
}

// proves R40
TEST_F(Faulty, AKernelThatTakesTooLongIsGivenUpAndItsProcessEnded) {
  policy.limit = std::chrono::milliseconds(300);
  RemoteCompiler compiler(policy);
  const Error error = error_of(compiler, PlannedKernel(chain_text(1, "pause")));
  EXPECT_EQ(error.code(), ErrorCode::compile);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("within 0.3 s"), HasSubstr("WEIR_CODEGEN_LIMIT")));
  EXPECT_NE(kept_text(error.what()), "");
  EXPECT_TRUE(comes_true([&] { return processes.all().empty(); }));
}

TEST_F(Faulty, AForkedChildStartsItsOwnHelper) {
  RemoteCompiler compiler(policy);
  const PlannedKernel nap(chain_text(1, "nap"));
  auto result = std::async(std::launch::async, [&] { return nap.compile(compiler); });
  ASSERT_TRUE(has_begun());
  const pid_t child = fork();
  if (child == 0) {
    RemoteCompiler own(policy);
    _exit(nap.compile(own).bytes.size() == 1 ? 0 : 1);
  }
  int status = 1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(result.get().bytes, SizeIs(1));
}

// proves R40
TEST_F(Remote, RunningOutOfMemoryIsAnError) {
#ifdef WEIR_SANITIZED
  GTEST_SKIP() << "sanitizers reserve more address space than there is memory";
#endif
  RemoteCompiler compiler(policy);
  const PlannedKernel kernel(chain_text(100));
  EXPECT_FALSE(small.compile(compiler).bytes.empty());
  int failed = 0;
  for (rlim_t mebibytes = 1; mebibytes < 100; mebibytes += 1 + mebibytes / 2) {
    const std::vector<pid_t> workers = processes.workers();
    ASSERT_THAT(workers, SizeIs(1));
    const rlim_t bytes = (std::stoull(status_of(workers[0], "VmSize")) << 10) + (mebibytes << 20);
    const rlimit limit{bytes, RLIM_INFINITY};
    ASSERT_EQ(prlimit(workers[0], RLIMIT_AS, &limit, nullptr), 0);
    try {
      kernel.compile(compiler);
    } catch (const Error& error) {
      ++failed;
      EXPECT_EQ(error.code(), ErrorCode::compile) << error.what();
      kept_text(error.what());
    }
    // A worker that compiled within the limit continues; one that ended is gone.
    const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
    prlimit(workers[0], RLIMIT_AS, &unlimited, nullptr);
    EXPECT_FALSE(small.compile(compiler).bytes.empty());
  }
  EXPECT_GT(failed, 0);
}

class Unusable : public Remote {
 protected:
  Unusable() { policy.program = folder / "weir-codegen"; }
  std::string words_with(const std::string& program, mode_t mode = 0755) {
    std::ofstream(policy.program) << program;
    chmod(policy.program.c_str(), mode);
    return words();
  }
  std::string words() {
    RemoteCompiler compiler(policy);
    const Error error = thrown_by([&] { small.compile(compiler); });
    EXPECT_EQ(error.code(), ErrorCode::compile);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("kernels need Weir's code generator"),
                                    HasSubstr("install the package that holds weir-codegen"),
                                    HasSubstr(policy.program.string())));
    return error.what();
  }
  const TemporaryFolder temporary;
  const fs::path folder = temporary.path();
};

TEST_F(Unusable, HelperThatIsAbsentIsNamed) {
  EXPECT_THAT(words(), HasSubstr("no such file"));
}

TEST_F(Unusable, HelperOfAnotherBuildIsRefused) {
  EXPECT_THAT(words_with("#!/bin/sh\nprintf 'weir-codegen of Weir 0.0.1 (0)' >&3\nsleep 10\n"),
              HasSubstr("of another build of Weir"));
}

TEST_F(Unusable, HelperThatSaysNothingIsNamed) {
  EXPECT_THAT(words_with("#!/bin/sh\nexit 127\n"), HasSubstr("ended before it answered"));
  policy.limit = std::chrono::milliseconds(100);
  EXPECT_THAT(words_with("#!/bin/sh\nexec sleep 10\n"), HasSubstr("did not answer"));
}

// proves R35
TEST_F(Unusable, HelperThatOthersMayWriteIsNotRun) {
  EXPECT_THAT(words_with("#!/bin/sh\ntouch ran\n", 0777), HasSubstr("may be written by"));
}

TEST_F(Unusable, HelperThatIsNoProgramIsAnErrorOfTheSystem) {
  std::ofstream(policy.program) << "not a program";
  chmod(policy.program.c_str(), 0755);
  RemoteCompiler compiler(policy);
  const Error error = thrown_by([&] { small.compile(compiler); });
  EXPECT_EQ(error.code(), ErrorCode::system);
  EXPECT_THAT(error.what(), AllOf(HasSubstr(policy.program.string()), HasSubstr("could not be started")));
}

TEST(GeneratorPolicy, HasLimitsThatTheEnvironmentMayChange) {
  using std::chrono::milliseconds;
  const auto policy = compilation::make_generator_policy({"2.5", "0.25", "/opt/weir/lib/libweir.so.1"});
  EXPECT_EQ(policy.program, "/opt/weir/lib/weir/weir-codegen");
  EXPECT_EQ(policy.limit, milliseconds(2500));
  EXPECT_EQ(policy.idle, milliseconds(250));
  const auto usual = compilation::make_generator_policy({});
  EXPECT_EQ(usual.limit, milliseconds(600'000));
  EXPECT_EQ(usual.idle, milliseconds(10'000));
  EXPECT_TRUE(usual.program.empty());
  EXPECT_THAT(thrown_by([] {
                (void)compilation::make_generator_policy({"1x", {}, {}, {}});
              }).what(),
              HasSubstr("WEIR_CODEGEN_LIMIT is '1x'; expected a number of seconds"));
  EXPECT_THAT(thrown_by([] {
                (void)compilation::make_generator_policy({{}, "0", {}, {}});
              }).what(),
              HasSubstr("WEIR_CODEGEN_IDLE is '0'; expected a number of seconds"));
}

TEST(GeneratorPolicy, CompilesInTheProgramsProcessOnRequest) {
  EXPECT_FALSE(compilation::make_generator_policy({{}, {}, {}, {}}).in_process);
  EXPECT_FALSE(compilation::make_generator_policy({{}, {}, {}, "helper"}).in_process);
  EXPECT_TRUE(compilation::make_generator_policy({{}, {}, {}, "in-process"}).in_process);
  EXPECT_THAT(thrown_by([] {
                (void)compilation::make_generator_policy({{}, {}, {}, "here"});
              }).what(),
              HasSubstr("WEIR_CODEGEN is 'here'; expected helper"));
}

// Each thread that was woken for room and cannot use it leaves the room to the next one.
TEST(Workers, AThreadThatGetsNoWorkerWakesTheNextOne) {
  compilation::Workers workers(compilation::current_generator_policy());
  const unsigned most = std::clamp(std::thread::hardware_concurrency(), 2u, 64u);
  std::vector<compilation::Worker> busy;
  for (unsigned i = 0; i < most; ++i) busy.push_back(workers.take());
  std::vector<std::future<void>> waiting;
  for (int i = 0; i < 3; ++i)
    waiting.push_back(std::async(std::launch::async, [&] { (void)workers.take(); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{3, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  workers.give_up();
  bool ended = true;
  for (std::future<void>& one : waiting)
    ended &= one.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(ended) << "one worker was given up while three threads waited, and no new one could start";
  if (!ended)
    for (std::size_t i = 0; i < waiting.size(); ++i) workers.give_up();
  for (std::future<void>& one : waiting) EXPECT_THROW(one.get(), Error);
}

}  // namespace
}  // namespace weir::test
