// SPDX-License-Identifier: Apache-2.0
// Performs the action that its argument names while four threads build and compile kernels, or while kernels
// are prepared in the background. The test expects exit code 0 and nothing on stderr.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>
#include <weir/compile.hpp>
#include <weir/kernel.hpp>
#include <weir/weir.hpp>

namespace {

using namespace weir;

std::atomic<int> compiled{0};

// Not a global object: threads still use it while global objects are destroyed.
CompileTarget target() {
  return {.format = "elf-x86_64", .cpu = "x86-64-v3", .features = "", .assume = ""};
}

Program program_number(int number) {
  const Kernel kernel{"kernel", with_constants([=](View<float> x) {
                        range_for(x.size(),
                                  [&](Index i) { x[i] = x[i] * static_cast<float>(number) + sin(x[i]); });
                      })};
  return kernel.program();
}

void compile_forever(int first) {
  for (int n = first;; n += 1000) {
    compile(program_number(n), target());
    ++compiled;
  }
}

/// Builds and reads kernels when static objects are destroyed, as a thread may that still runs then.
struct BuildsAtExit {
  std::string text;
  ~BuildsAtExit() {
    if (text.empty()) return;
    const std::string again = program_number(1).text();
    if (again != text || Program::parse(again).text() != text) std::abort();
  }
} builds_at_exit;

int end_and_build() {
  builds_at_exit.text = program_number(1).text();
  return Program::parse(builds_at_exit.text).text() == builds_at_exit.text ? 0 : 1;
}

/// Waits for the preparation when the process ends.
struct WaitsAtExit {
  Preparation preparation;
  ~WaitsAtExit() {
    try {
      preparation.wait();
    } catch (const Error&) {  // the process is ending
    }
  }
};

/// Of kernels that no cache has.
int end_while_prepared(int wait_us) {
  const Device device = open("cpu");
  static WaitsAtExit waiting;
  for (int n = 0; n < 6; ++n) {
    const Program program = program_number(static_cast<int>(getpid()) * 10 + n);
    waiting.preparation = program.prepare(device);
    if (n % 2) static std::vector<Program> kept{program};
  }
  usleep(static_cast<useconds_t>(wait_us));
  return 0;
}

/// With a code generator that never answers.
int end_while_stuck() {
  const Device device = open("cpu");
  const Kernel stuck{"pause", [](View<float> x) { range_for(x.size(), [&](Index i) { x[i] = 1.0f; }); }};
  for (int i = 0; i < 2; ++i)
    (void)stuck.prepare(device);  // the second thread waits for the first one's code
  while (access(getenv("WEIR_TEST_BEGUN"), F_OK) != 0) usleep(1000);
  usleep(50'000);
  return 0;
}

void await_compilations(int number) {
  while (compiled < number) std::this_thread::yield();
}

int run(const char* how, int wait_us) {
  if (!std::strcmp(how, "prepare")) return end_while_prepared(wait_us);
  if (!std::strcmp(how, "stuck")) return end_while_stuck();
  if (!std::strcmp(how, "build")) return end_and_build();
  for (int t = 0; t < 4; ++t) std::thread(compile_forever, t).detach();
  usleep(static_cast<useconds_t>(wait_us));
  if (!std::strcmp(how, "exit")) std::exit(0);
  if (!std::strcmp(how, "quick_exit")) std::quick_exit(0);
  if (!std::strcmp(how, "return")) return 0;
  if (std::strcmp(how, "fork")) return 2;
  await_compilations(1);
  const pid_t child = fork();
  if (child == 0) {
    compile(program_number(1), target());
    std::exit(0);
  }
  const int before = compiled;
  await_compilations(before + 4);
  int status = 1;
  return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "", argc > 2 ? atoi(argv[2]) : 0);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
