// SPDX-License-Identifier: Apache-2.0
// Performs the action that its argument names while four threads build and compile kernels. The test expects
// exit code 0 and nothing on stderr.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>
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

void await_compilations(int number) {
  while (compiled < number) std::this_thread::yield();
}

int run(const char* how, int wait_us) {
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
