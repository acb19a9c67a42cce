// SPDX-License-Identifier: Apache-2.0
// Further copies of the driver in this process.
#pragma once

#include <unistd.h>

#include <atomic>
#include <filesystem>

#include "support.hpp"

namespace cpu_test {

/// The table of a copy of the driver that has not looked at the machine yet, and shares no state with the
/// others. It stays loaded.
inline const weir_driver_table& fresh_driver() {
  static std::atomic<int> copies{0};
  const std::filesystem::path copy =
      std::filesystem::temp_directory_path() /
      ("weir-cpu-" + std::to_string(getpid()) + "-" + std::to_string(copies++) + ".so");
  std::filesystem::copy_file(weir::test::built(WEIR_CPU_DRIVER), copy);
  void* const library = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::filesystem::remove(copy);
  if (!library) throw std::runtime_error(dlerror());
  const auto function = reinterpret_cast<weir_driver_entry_function>(dlsym(library, WEIR_DRIVER_ENTRY_NAME));
  const weir_host host{sizeof(weir_host), WEIR_ABI_VERSION(1, 0), WEIR_ABI_CURRENT};
  const weir_driver_table* driver = nullptr;
  call(function, &host, &driver);
  return *driver;
}

}  // namespace cpu_test
