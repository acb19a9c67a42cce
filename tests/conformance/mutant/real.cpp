// SPDX-License-Identifier: Apache-2.0
// The driver whose slots are replaced: the CPU driver, or the one that WEIR_MUTANT_OF names.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "mutant.hpp"

namespace mutant {
namespace {

weir_driver_entry_function real_entry() {
  static void* const library = [] {
    const char* named = std::getenv("WEIR_MUTANT_OF");
    return dlopen(named ? named : WEIR_MUTANT_REAL_DRIVER, RTLD_NOW | RTLD_LOCAL);
  }();
  if (!library) {
    std::fprintf(stderr, "the mutant driver finds no driver to spoil: %s\n", dlerror());
    std::abort();
  }
  return reinterpret_cast<weir_driver_entry_function>(dlsym(library, WEIR_DRIVER_ENTRY_NAME));
}

}  // namespace

const weir_driver_table& real() {
  static const weir_driver_table* const table = [] {
    const weir_host host{sizeof host, WEIR_ABI_VERSION(1, 0), WEIR_ABI_CURRENT};
    const weir_driver_table* out = nullptr;
    if (real_entry()(&host, &out, nullptr) != WEIR_OK) std::abort();
    return out;
  }();
  return *table;
}

void hang() {
  for (;;) pause();
}

weir_result refuse(weir_status* status, weir_result code, const char* message) {
  if (status && status->struct_size >= sizeof *status) {
    status->code = code;
    status->vendor_code = 0;
    *status->vendor_name = 0;
    std::snprintf(status->message, sizeof status->message, "%s", message);
  }
  return code;
}

}  // namespace mutant
