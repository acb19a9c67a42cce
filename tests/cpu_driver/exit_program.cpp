// SPDX-License-Identifier: Apache-2.0
// Ends with work of every kind in flight. Its argument selects the exit.
#include <cstdlib>
#include <set>

#include "support.hpp"

using namespace cpu_test;

namespace {

std::uint32_t never = 0, passed = 0;
// Never destroyed: kernels may still use it while the program's destructors run.
auto& data = *new std::vector<std::uint32_t>(100'000, 0);

/// Waits for a stream in its destructor, after the driver was notified of the exit.
struct WaitsAtExit {
  Stream* stream = nullptr;
  ~WaitsAtExit() {
    if (!stream) return;
    std::uint32_t value = 0;
    std::vector<std::uint32_t> own(100'000, 0);
    stream->launch(kernels().add, AddArguments{own.data(), 1}, 100'000);
    stream->launch(kernels().add, AddArguments{&value, 1});
    stream->synchronize();
    if (value != 1) std::abort();
  }
};
WaitsAtExit waits_at_exit;

// The blocks of one launch, by the threads that have run them; each takes half a millisecond.
constexpr std::uint32_t block_count = 1600;
auto& threads_of_blocks = *new std::vector<std::uint32_t>(block_count, 0);
std::uint32_t arrived = 0;

std::set<std::uint32_t> threads_since(const std::vector<std::uint32_t>& before, std::size_t& blocks) {
  std::set<std::uint32_t> threads;
  blocks = 0;
  for (std::uint32_t i = 0; i < block_count; ++i)
    if (const std::uint32_t thread = read(threads_of_blocks[i]); thread && !before[i]) {
      threads.insert(thread);
      ++blocks;
    }
  return threads;
}

/// Runs after the driver's exit handler, because it is registered before the driver is loaded. oneTBB's
/// threads, whose library may be destroyed next, have left the launch; one thread of the driver runs the
/// other blocks.
void expect_that_helpers_left() {
  std::vector<std::uint32_t> before;
  for (const std::uint32_t& thread : threads_of_blocks) before.push_back(read(thread));
  std::set<std::uint32_t> threads;
  for (std::size_t blocks = 0; blocks < 60 && read(arrived) < block_count;)
    threads = threads_since(before, blocks);
  if (threads.size() > 1) std::_Exit(3);
}

int end_while_helpers_run() {
  setenv("WEIR_CPU_THREADS", "2", 1);
  std::atexit(expect_that_helpers_left);
  static auto& stream = *new Stream;
  stream.launch(kernels().tell_thread,
                ThreadArguments{threads_of_blocks.data(), &arrived, block_count + 1, 500'000}, block_count);
  const std::vector<std::uint32_t> none(block_count, 0);
  for (std::size_t blocks = 0; threads_since(none, blocks).size() < 2 && blocks < block_count / 4;)
    std::this_thread::yield();
  return 0;
}

/// Uses a stream first after the driver's exit handler. No host thread waits for the work.
void use_late() {
  Stream stream;
  std::vector<std::uint32_t> own(100'000, 0);
  stream.launch(kernels().add, AddArguments{own.data(), 1}, 100'000);
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!stream.done())
    if (std::chrono::steady_clock::now() > limit) std::_Exit(4);
  if (own != std::vector<std::uint32_t>(100'000, 1)) std::_Exit(5);
}

}  // namespace

int main(int, char** arguments) {
  const std::string how = arguments[1];
  if (how == "helpers") return end_while_helpers_run();
  if (how == "late") {
    std::atexit(use_late);
    kernels();  // starts no threads
    return 0;
  }
  static Stream* streams[6];
  for (Stream*& stream : streams) stream = new Stream;
  static Event event;
  streams[0]->launch(kernels().gate,
                     GateArguments{&never, 1, &passed});  // still spinning when the process ends
  event.record(*streams[0]);
  streams[1]->wait(event);
  streams[1]->launch(kernels().nothing);
  for (int i = 0; i < 50; ++i) streams[2]->launch(kernels().add, AddArguments{data.data(), 1}, 100'000);
  for (int i = 0; i < 1000; ++i) streams[3]->launch(kernels().nothing);
  call(table().stream_host_callback, weir_stream(*streams[4]),
       weir_host_callback{[](void*) { std::this_thread::sleep_for(std::chrono::seconds(100)); }},
       static_cast<void*>(nullptr));
  call(table().stream_flush, weir_stream(*streams[4]));
  if (how == "static-waits") {
    raise(never);
    waits_at_exit.stream = streams[5];
  }
  if (how == "callback") {
    call(table().stream_host_callback, weir_stream(*streams[5]),
         weir_host_callback{[](void*) { std::exit(0); }}, static_cast<void*>(nullptr));
    streams[5]->synchronize();  // the process ends meanwhile
    return 1;
  }
  if (how == "exit-in-thread") std::thread([] { std::exit(0); }).join();
  if (how == "quick") std::quick_exit(0);
  return 0;
}
