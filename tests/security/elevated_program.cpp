// SPDX-License-Identifier: Apache-2.0
// Prints the core's view of its environment, one fact per line.
#include <cstdio>
#include <filesystem>
#include <weir/compile.hpp>
#include <weir/device.hpp>
#include <weir/error.hpp>

#include "compilation/cache_policy.hpp"
#include "driver/discovery/search_path.hpp"
#include "driver/layers.hpp"
#include "driver/registry.hpp"
#include "driver/trust/trust.hpp"

int main() {
  std::printf("elevated %d\n", weir::process_is_elevated() ? 1 : 0);
  for (const weir::SearchFolder& folder : weir::driver_search_folders())
    std::printf("%s %s\n", folder.ignored.empty() ? "searches" : "ignores", folder.path.c_str());
  for (const std::filesystem::path& folder : weir::layer_search_path())
    std::printf("takes layers from %s\n", folder.c_str());
  for (const weir::Candidate& driver : weir::drivers()) {
    std::printf("%s %s, note: %s\n",
                driver.probed == weir::ProbePlace::child ? "tried apart" : "not tried apart",
                driver.name.c_str(), driver.note.c_str());
    if (driver.driver)
      for (const auto& layer : driver.driver->layers())
        std::printf("puts %s (%s) around %s\n", layer->name.c_str(), layer->options.c_str(),
                    driver.name.c_str());
  }
  std::printf("puts temporary files into %s\n", std::filesystem::temp_directory_path().c_str());
  const weir::compilation::CachePolicy cache = weir::compilation::current_cache_policy();
  std::printf("keeps code in '%s'%s\n", cache.folder.c_str(), cache.why_off.c_str());
  try {
    std::printf("opens %s\n", weir::open().info().name.c_str());
  } catch (const weir::Error& error) {
    std::printf("opens nothing: %s\n", error.what());
  }
  try {
    weir::compile(weir::Program::parse("weir-ir 1\nkernel \"nothing\"\n{\n}\n"), {});
    std::printf("compiles\n");
  } catch (const weir::Error& error) {
    std::printf("does not compile: %s\n", error.what());
  }
  return 0;
}
