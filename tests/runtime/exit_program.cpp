// SPDX-License-Identifier: Apache-2.0
// Exits as its argument names. The test expects exit code 0, quickly, and nothing on stderr.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>
#include <weir/weir.hpp>

#include "on_threads.hpp"
#include "support/kernel_code.hpp"
#include "tested_device.hpp"

namespace {

using namespace weir;

// Constructed before the library is first used, and destroyed after everything that the library registered.
struct Early {
  Stream stream;
  Event event;
  Array<std::int32_t> array;
  std::unique_ptr<TaskList> list;
  std::unique_ptr<Module> module;
  std::unique_ptr<KernelFunction> kernel;
} early;

Early* volatile kept = nullptr;  // reachable, and never destroyed

std::vector<std::int32_t> destination(1 << 20);

void fill(Early& objects, const Device& device) {
  objects.stream = device.create_stream();
  objects.event = device.create_event();
  objects.array = device.array<std::int32_t>(objects.stream, 1 << 20);
  objects.module = std::make_unique<Module>(test::load(device));
  objects.kernel = std::make_unique<KernelFunction>(objects.module->kernel(
      "add_value",
      {KernelParameter::array(), KernelParameter::of<std::int64_t>(), KernelParameter::of<std::int32_t>()}));
  objects.list = std::make_unique<TaskList>(device);
  for (int block = 0; block < 4; ++block)
    objects.list->add(
        *objects.kernel, {8, 1},
        {objects.array.slice(block << 18, (block + 1) << 18), std::int64_t{1} << 18, std::int32_t{1}},
        {0, block});
}

const int launches = test::rounds_of(50);

void submit(const Early& objects) {
  objects.array.fill(objects.stream, 0);
  for (int i = 0; i < launches; ++i) objects.list->launch(objects.stream);
  objects.event.record(objects.stream);
  objects.array.copy_to_async(objects.stream, destination);
}

/// Uses the device for the first time when the destructors of libraries that were opened in main have run.
struct Last {
  ~Last() {
    if (!uses) return;
    try {
      Early objects;
      fill(objects, open(test::tested_device()));
      submit(objects);
      objects.stream.synchronize();
      if (destination[0] != launches) std::fputs("the results are wrong\n", stderr), _exit(1);
    } catch (const Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      _exit(1);
    }
  }
  bool uses = false;
} last;

/// In the parent: whether the child ended with exit code 0.
bool ends_well(pid_t child) {
  int status = 1;
  return waitpid(child, &status, 0) == child && status == 0;
}

int run(const char* how) {
  if (!std::strcmp(how, "two_devices")) {
    setenv("WEIR_CPU_DEVICES", "2", 1);
    const Device first = open("cpu:0");
    fill(early, first);
    // Destroyed before what was registered for the first device, and after what the second one's driver
    // registers when it is opened.
    static Early late;
    fill(late, first);
    submit(late);
    const Device second = open("cpu:1");
    static const Stream stream = second.create_stream();
    early.event.record(early.stream);
    stream.wait(early.event);
    return 0;
  }
  if (!std::strcmp(how, "found")) {
    last.uses = !devices().empty();
    return 0;
  }
  const Device device = open(test::tested_device());
  if (!std::strcmp(how, "opened")) {
    last.uses = true;
  } else if (!std::strcmp(how, "early")) {
    fill(early, device);
    submit(early);
  } else if (!std::strcmp(how, "late")) {
    static Early late;  // destroyed before everything that was constructed earlier
    fill(late, device);
    submit(late);
  } else if (!std::strcmp(how, "local")) {
    Early local;
    fill(local, device);
    submit(local);
  } else if (!std::strcmp(how, "leaked")) {
    auto* leaked = new Early;
    kept = leaked;
    fill(*leaked, device);
    submit(*leaked);
  } else if (!std::strcmp(how, "thread")) {
    test::on_threads(1, [&](int) {
      fill(early, device);
      submit(early);
    });
  } else if (!std::strcmp(how, "exit")) {
    fill(early, device);
    submit(early);
    std::exit(0);
  } else if (!std::strcmp(how, "forked")) {  // both processes end with work that one of them has in flight
    fill(early, device);
    submit(early);
    const pid_t child = fork();
    return child == 0 || ends_well(child) ? 0 : 1;
  } else if (!std::strcmp(how, "fork_first")) {  // both start the runtime
    const pid_t child = fork();
    fill(early, device);
    submit(early);
    early.stream.synchronize();
    return destination[0] == launches && (child == 0 || ends_well(child)) ? 0 : 1;
  } else if (!std::strcmp(how, "callback")) {  // of a stream that another stream waits for
    if (!device.info().has(Capability::host_callback)) return 0;
    fill(early, device);
    submit(early);
    static std::atomic<int> decision{0};  // 1: end the process; -1: main ends it, because a call failed
    early.stream.call_host([] {
      while (decision == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (decision > 0) std::exit(0);
    });
    try {
      early.event.record(early.stream);
      static const Stream waiting = device.create_stream();
      waiting.wait(early.event);
      early.array.fill(waiting, 1);
      waiting.flush();
    } catch (...) {
      decision = -1;
      throw;
    }
    decision = 1;
    for (;;) pause();  // the process ends meanwhile
  } else if (!std::strcmp(how, "unused")) {
    (void)device.info();
  } else {
    return 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "");
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
