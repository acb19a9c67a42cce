// SPDX-License-Identifier: Apache-2.0
// The layer `count` counts calls by function and writes the counts to a file when the process ends:
// WEIR_LAYERS=count:file=PATH, a line "FUNCTION COUNT" for each function that was called.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <weir/sdk/layer.hpp>
#include <weir/sdk/layer_options.hpp>

namespace {

struct Counted {
  std::mutex mutex;
  std::map<std::string_view, std::uint64_t> calls;
  std::string file;
  pid_t process = getpid();  ///< children of the program end too, and must not write
};

Counted& counted() {
  static auto* const all = new Counted;
  return *all;
}

void write_counts() {
  const std::lock_guard lock(counted().mutex);
  if (getpid() != counted().process) return;
  std::ofstream file(counted().file);
  for (const auto& [slot, calls] : counted().calls) file << slot << ' ' << calls << '\n';
}

class Count {
 public:
  static constexpr const char* name = "count";
  explicit Count(const weir::sdk::LayerHost& host) : next(host.next) {
    for (const weir::sdk::LayerOption& option : weir::sdk::split_layer_options(name, host.options)) {
      if (option.key != "file") weir::sdk::refuse_layer_option(name, option, "file");
      counted().file = option.value;
    }
    static const int once = std::atexit(write_counts);
    if (once != 0) weir::sdk::fail(WEIR_ERROR_SYSTEM, "layer count: atexit failed");
  }
  const weir_driver_table next;

  template <class Slot, class... Arguments>
  weir_result enter(Slot, Arguments...) {
    const std::lock_guard lock(counted().mutex);
    ++counted().calls[Slot::name];
    return WEIR_OK;
  }
};

}  // namespace

WEIR_LAYER(Count)
