// SPDX-License-Identifier: Apache-2.0
// Linked to a test program that the sweep runs. After the tests it lets the core release its caches, and
// writes lines "NAME NUMBER" to the file that WEIR_COUNTS_AT_END names:
//  - calls.FUNCTION and live.KIND, as the layer `count` returns them
//  - held.KIND: live objects that the core keeps. Streams and their events stay in pools, each with its error
//    record. Kernels keep a graph for each stream that they have run on.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "runtime/devices/device_state.hpp"
#include "support/kept_code.hpp"

namespace weir::test {
namespace {

/// Allows one failure here: an injected one, or an assert of work that no test waited for.
template <class Step>
void at_last(const Step& step) {
  for (int round = 0; round < 4; ++round) try {
      return step();
    } catch (const Error&) {
    }
}

void settle(detail::DeviceState& state) {
  const Device device(&state);
  for (int round = 0; round < 2; ++round) {
    at_last([&] { device.synchronize(); });
    at_last([&] { device.trim_memory(); });
  }
}

void write_counts(std::ostream& file) {
  const char* const folder = std::getenv("WEIR_LAYER_PATH");
  const std::string path = std::string(folder ? folder : "") + "/libweir-layer-count.so";
  void* const layer = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (!layer) return;  // no driver was loaded
  using Tell = void (*)(const char*, long long, void*);
  const auto tell = reinterpret_cast<void (*)(Tell, void*)>(dlsym(layer, "weir_count_tell"));
  tell([](const char* name, long long number,
          void* to) { *static_cast<std::ostream*>(to) << name << ' ' << number << '\n'; },
       &file);
}

class CountsAtEnd : public ::testing::EmptyTestEventListener {
  void OnTestProgramEnd(const ::testing::UnitTest&) override {
    const char* const path = std::getenv("WEIR_COUNTS_AT_END");
    if (!path) return;
    std::uint64_t streams = 0, events = 0, records = 0, graphs = 0;
    for (std::uint32_t n = 0; detail::DeviceState* const state = detail::device_by_number(n); ++n) {
      if (state->streams.size() != 0) settle(*state);
      streams += state->streams.created();
      events += state->events.created();
      graphs += state->graphs;
      for (std::uint32_t slot = 0; slot < state->streams.size(); ++slot)
        records += state->streams.at(slot)->records.load() != nullptr;
    }
    std::ofstream file(path);
    write_counts(file);
    file << "held.stream " << streams << "\nheld.event " << streams + events << "\nheld.allocation "
         << records << "\nheld.graph " << graphs << '\n';
  }
};

const bool listens = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new CountsAtEnd);
  return true;
}();

}  // namespace
}  // namespace weir::test
