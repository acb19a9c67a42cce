// SPDX-License-Identifier: Apache-2.0
#include "driver/driver_under_test.hpp"

#include <dlfcn.h>
#include <weir/layer.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "driver/recorded_table.hpp"
#include "requirement.hpp"

namespace weir::conformance {
namespace {

const weir_driver_table& put_layer(const LayerFile& file, const weir_driver_table& next) {
  void* const library = dlopen(file.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw LayerRefused(std::string("the layer cannot be loaded: ") + dlerror());
  const auto entry = reinterpret_cast<weir_layer_entry_function>(dlsym(library, WEIR_LAYER_ENTRY_NAME));
  if (!entry) throw LayerRefused("the layer " + file.library.string() + " exports no " WEIR_LAYER_ENTRY_NAME);
  weir_layer_host host{};
  host.struct_size = sizeof host;
  host.abi_version = WEIR_ABI_CURRENT;
  host.next = &next;
  host.options = file.options.c_str();
  host.report = [](void*, const weir_layer_report* report) {
    std::fprintf(stderr, "%s: %s: %s\n", report->layer, report->rule, report->message);
  };
  weir_layer made{};
  made.struct_size = sizeof made;
  weir_status status = new_status();
  if (const weir_result result = entry(&host, &made, &status); result != WEIR_OK)
    throw LayerRefused("the layer's entry point returned " + result_name(result) + ": " + status.message);
  return *made.table;
}

}  // namespace

Judged& judged() {
  static Judged chosen;
  return chosen;
}

weir_driver_entry_function entry() {
  static void* const library = dlopen(judged().file.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error(std::string("the driver cannot be loaded: ") + dlerror());
  static void* const symbol = dlsym(library, WEIR_DRIVER_ENTRY_NAME);
  if (!symbol) throw std::runtime_error("the driver exports no " WEIR_DRIVER_ENTRY_NAME);
  return reinterpret_cast<weir_driver_entry_function>(symbol);
}

const weir_driver_table& raw_table() {
  static const weir_driver_table* const found = [] {
    const weir_host host{sizeof(weir_host), WEIR_ABI_VERSION(1, 0), WEIR_ABI_CURRENT};
    const weir_driver_table* out = nullptr;
    weir_status status = new_status();
    if (const weir_result result = call_entry(entry(), &host, &out, &status); result != WEIR_OK)
      throw std::runtime_error("the entry point returned " + result_name(result) + ": " + status.message);
    if (!out) throw std::runtime_error("the entry point returned WEIR_OK and no table");
    return out;
  }();
  return *found;
}

const weir_driver_table& table() {
  static const weir_driver_table& recorded =
      record(judged().layer.library.empty() ? raw_table() : put_layer(judged().layer, raw_table()));
  return recorded;
}

const weir_driver_table& quick_table() {
  table();
  return quick_record();
}

std::uint32_t device_count() {
  static const std::uint32_t count = [] {
    std::uint32_t out = 0;
    weir_status status = new_status();
    const weir_result result = table().device_count(&out, &status);
    if (result == WEIR_ERROR_NO_DEVICE || result == WEIR_ERROR_NO_LIBRARY)
      throw Skipped(std::string("there is no device: ") + status.message);
    if (result != WEIR_OK)
      throw std::runtime_error("device_count returned " + result_name(result) + ": " + status.message);
    return out;
  }();
  return count;
}

namespace {
std::atomic<bool> is_open{false};
}

void needs_device() {
  if (device_count() <= judged().device)
    throw Skipped("there is no device " + std::to_string(judged().device) + "; device_count returned " +
                  std::to_string(device_count()));
}

bool device_is_open() {
  return is_open;
}

weir_device device() {
  static const weir_device opened = [] {
    needs_device();
    weir_device out = nullptr;
    weir_status status = new_status();
    const weir_result result = table().device_open(judged().device, &out, &status);
    if (result == WEIR_OK) return out;
    static std::string first;
    if (!first.empty())
      throw Skipped("the device does not open, as an earlier requirement reports: " + first);
    first = "device_open returned " + result_name(result) + ": " + status.message;
    throw std::runtime_error(first);
  }();
  is_open = true;
  return opened;
}

namespace {
weir_device_info describe_device() {
  weir_device_info out{};
  out.struct_size = sizeof out;
  weir_status status = new_status();
  if (const weir_result result = table().device_get_info(judged().device, &out, &status); result != WEIR_OK)
    throw std::runtime_error("device_get_info returned " + result_name(result) + ": " + status.message);
  return out;
}
}  // namespace

const weir_device_info& info() {
  static const weir_device_info filled = [] {
    device();
    return describe_device();
  }();
  return filled;
}

bool has(std::uint64_t capabilities) {
  return (info().capabilities & capabilities) == capabilities;
}

std::string capability_name(weir_capability capability) {
  switch (capability) {
    case WEIR_CAP_STREAM_ORDERED_ALLOCATION:
      return "STREAM_ORDERED_ALLOCATION";
    case WEIR_CAP_TIMED_EVENTS:
      return "TIMED_EVENTS";
    case WEIR_CAP_STREAM_PRIORITY:
      return "STREAM_PRIORITY";
    case WEIR_CAP_HOST_CALLBACK:
      return "HOST_CALLBACK";
    case WEIR_CAP_PINNED_MEMORY:
      return "PINNED_MEMORY";
    case WEIR_CAP_PEER_COPY:
      return "PEER_COPY";
    case WEIR_CAP_DEVICE_ADDRESS:
      return "DEVICE_ADDRESS";
    case WEIR_CAP_NATIVE_STREAM:
      return "NATIVE_STREAM";
    case WEIR_CAP_CONCURRENT_STREAMS:
      return "CONCURRENT_STREAMS";
    case WEIR_CAP_GRAPHS:
      return "GRAPHS";
    case WEIR_CAP_EXTERNAL_MEMORY:
      return "EXTERNAL_MEMORY";
    case WEIR_CAP_CODE_COMPILE:
      return "CODE_COMPILE";
    case WEIR_CAP_COOPERATIVE_LAUNCH:
      return "COOPERATIVE_LAUNCH";
  }
  return "an unknown capability";
}

void needs_version(std::uint32_t minor) {
  if (WEIR_ABI_MINOR(raw_table().abi_version) < minor)
    throw Unsupported("the rule is of version 1." + std::to_string(minor) +
                      " of the interface, the table of 1." +
                      std::to_string(WEIR_ABI_MINOR(raw_table().abi_version)));
}

namespace {
void expect_offered(std::uint64_t capabilities, weir_capability capability) {
  if (!(capabilities & capability))
    throw Unsupported("the device does not offer " + capability_name(capability));
}
}  // namespace

void needs(weir_capability capability) {
  expect_offered(info().capabilities, capability);
}

void needs_unopened(weir_capability capability) {
  needs_device();
  expect_offered(describe_device().capabilities, capability);
}

weir_status new_status() {
  weir_status status;
  std::memset(&status, 0x5a, sizeof status);
  status.struct_size = sizeof status;
  std::strcpy(status.vendor_name, "not filled");
  std::strcpy(status.message, "the driver did not fill the status");
  return status;
}

}  // namespace weir::conformance
