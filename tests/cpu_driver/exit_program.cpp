// SPDX-License-Identifier: Apache-2.0
// Ends with work of every kind in flight. Its argument selects the exit.
#include <cstdlib>

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

}  // namespace

int main(int, char** arguments) {
  const std::string how = arguments[1];
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
