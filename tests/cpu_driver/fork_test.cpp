// SPDX-License-Identifier: Apache-2.0
// A forked child inherits the driver's handles and none of its threads.
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <tbb/cache_aligned_allocator.h>
#include <tbb/task_arena.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <functional>

#include "fresh_driver.hpp"
#include "made_affinity.hpp"

#ifndef WEIR_SANITIZED  // sanitizers also query the processors, before they can run any code
namespace {

// Blocks one thread in the driver's first query of the processors.
thread_local bool is_held = false;
std::atomic<bool> stands_still{false}, go_on{false};

}  // namespace

// Replaces the C library's function in the driver too, which is loaded into this process.
extern "C" __attribute__((visibility("default"))) int sched_getaffinity(pid_t process, std::size_t bytes,
                                                                        cpu_set_t* set) noexcept {
  if (is_held) {
    stands_still = true;
    while (!go_on) std::this_thread::yield();
  }
  if (cpu_test::made_affinity) return cpu_test::made_affinity(bytes, set);
  std::memset(set, 0, bytes);
  return syscall(SYS_sched_getaffinity, process, bytes, set) < 0 ? -1 : 0;
}
#endif

namespace cpu_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// The result of `calls` in a child; a child that hangs is killed.
std::string in_child(const std::function<std::string()>& calls) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    const std::string text = calls();
    _exit(::write(ends[1], text.data(), text.size()) < 0);
  }
  close(ends[1]);
  std::string text(4096, '\0');
  const ssize_t length = ::read(ends[0], text.data(), text.size());
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the child hung or crashed: " << status;
  text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  return text;
}

TEST(Fork, EveryCallInTheChildIsRefusedWithASentence) {
  weir_stream stream = nullptr;
  weir_event event = nullptr;
  call(table().stream_create, first_device(), nullptr, &stream);
  call(table().event_create, first_device(), std::uint32_t{WEIR_EVENT_PLAIN}, &event);
  weir_allocation memory = nullptr;
  weir_memory_options options{};
  options.struct_size = sizeof options;
  options.size = 64;
  call(table().memory_allocate, first_device(), &options, &memory);
  const weir_launch launch = launch_of(kernels().nothing, 1);
  for (int i = 0; i < 100; ++i) call(table().kernel_launch, stream, &launch);  // some in flight

  const std::string text = in_child([&] {
    weir_status status = new_status();
    const std::uint32_t zero = 0;
    weir_stream another = nullptr;
    std::uint32_t count = 0;
    std::string refused;
    for (const weir_result result :
         {table().kernel_launch(stream, &launch, &status), table().stream_synchronize(stream, &status),
          table().stream_query(stream, &status), table().event_record(event, stream, &status),
          table().event_synchronize(event, &status), table().fill(stream, memory, 0, 64, &zero, 4, &status),
          table().stream_create(first_device(), nullptr, &another, &status),
          table().device_count(&count, &status), table().stream_destroy(stream, &status)})
      refused += std::to_string(result) + " ";
    return refused + status.message;
  });
  std::string expected;
  for (int i = 0; i < 9; ++i) expected += std::to_string(WEIR_ERROR_SYSTEM) + " ";
  EXPECT_THAT(text, AllOf(testing::StartsWith(expected), HasSubstr("forked"), HasSubstr("cpu driver"),
                          HasSubstr("start the child with exec")));

  call(table().stream_synchronize, stream);  // the parent continues
  call(table().memory_free, memory);
  call(table().event_destroy, event);
  call(table().stream_destroy, stream);
}

#ifndef WEIR_SANITIZED
TEST(Fork, AChildLooksAtTheMachineWhileAThreadOfItsParentStillDoes) {
  const weir_driver_table& driver = fresh_driver();  // independent of earlier tests
  const auto count = [&] {
    std::uint32_t devices = 0;
    call(driver.device_count, &devices);
    return devices;
  };

  std::uint32_t counted = 0;
  std::thread first([&] {
    is_held = true;
    counted = count();
  });
  while (!stands_still) std::this_thread::yield();
  EXPECT_EQ(in_child([&] { return std::to_string(count()); }), "1");
  go_on = true;
  first.join();
  EXPECT_EQ(counted, 1u);
}

// At the end of a process oneTBB takes its locks for a thread that has used it.
TEST(Fork, AChildExitsAlthoughThreadsOfItsParentHeldLocksOfOneTbb) {
  std::vector<std::uint32_t> data(100'000, 0);
  Stream stream;
  const auto share_blocks = [&] {  // with oneTBB's threads
    stream.launch(kernels().add, AddArguments{data.data(), 1}, data.size());
    stream.synchronize();
  };
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&over] {
      while (!over) tbb::task_arena(2, 1).initialize();
    });
    threads.emplace_back([&over] {  // oneTBB's allocator, of sizes that take locks
      tbb::cache_aligned_allocator<std::byte> allocator;
      for (std::size_t size = 1; !over; size = size * 5 % 1'000'003)
        allocator.deallocate(allocator.allocate(size), size);
    });
  }
  constexpr int children = 60;
  for (int i = 0; i < children && !HasFailure(); ++i) {
    share_blocks();
    const pid_t child = fork();
    if (child == 0) {
      alarm(10);
      std::exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
        << "child " << i << (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? " hung" : " crashed");
  }
  over = true;
  for (std::thread& thread : threads) thread.join();
  share_blocks();
  EXPECT_EQ(data[0], children + 1u);
}
#endif

}  // namespace
}  // namespace cpu_test
