// SPDX-License-Identifier: Apache-2.0
// libOpenCL, the loader of the vendors' implementations.
#include <mutex>
#include <weir/sdk/fork.hpp>
#include <weir/sdk/library.hpp>

#include "opencl.hpp"

namespace opencl {

Api api;

namespace {

constexpr int version_1_2 = 12;
constexpr sdk::EntryPoint entry_points[] = {
#define OPENCL_ROW(function) {offsetof(Api, function), #function, version_1_2, #function},
    OPENCL_FUNCTIONS(OPENCL_ROW)
#undef OPENCL_ROW
};

}  // namespace

void open_library() {
  static std::mutex mutex;
  static bool opened = false;
  std::lock_guard lock(mutex);
  if (opened) return;
  const sdk::Library library = sdk::Library::open({"libOpenCL.so.1"});
  const sdk::EntryPoint* missing = sdk::fill_entry_points(
      api, std::span(entry_points), [&](const sdk::EntryPoint& row) { return library.symbol(row.symbol); });
  if (missing)
    sdk::fail(WEIR_ERROR_NO_LIBRARY, "%s is too old: it lacks %s, which OpenCL 1.2 has",
              library.path().c_str(), missing->name);
  sdk::notice_forks();
  opened = true;
}

}  // namespace opencl
