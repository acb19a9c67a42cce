// SPDX-License-Identifier: Apache-2.0
// A driver class without optional functions, on host memory; a stream completes submitted work at once.
// Properties of objects that the SDK records are left to the SDK.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <weir/sdk/table.hpp>

namespace sdk_test {

using namespace weir::sdk;

struct Plain {
  static constexpr const char *name = "plain", *version = "1", *vendor = "the tests";

  struct Device;
  struct Event;
  struct Allocation : AllocationObject<Device> {
    char* bytes = nullptr;
    void free() noexcept {
      std::free(bytes);
      Pool<Allocation>::of().give(*this);
    }
    void place(std::uint64_t& device_address, void*& host_pointer) const noexcept {
      device_address = 0;
      host_pointer = bytes;
    }
  };
  struct Kernel : KernelObject<Device> {
    static inline int unloaded = 0;
    void unload() { ++unloaded; }
  };
  struct Module : ModuleObject<Device, Kernel> {
    void unload() noexcept { Pool<Module>::of().give(*this); }
    void find_kernel(Kernel& kernel) {
      if (kernel.name == "throws") throw std::runtime_error("out of kernels");
      if (kernel.name == "throws 7") throw 7;
      kernel.info.max_block_threads = 64;
    }
  };
  struct Stream : StreamObject<Device> {
    int launches = 0;
    bool keeps_its_life = false;
    void destroy() {
      if (keeps_its_life) fail(WEIR_ERROR_SYSTEM, "not now");
      Pool<Stream>::of().give(*this);
    }
    void flush() {}
    bool query() { return launches == 0; }
    void synchronize() { launches = 0; }
    void wait(Event&) {}
    void record(Event&) {}
    void copy_to_device(Allocation& to, std::uint64_t offset, const void* from, std::uint64_t size) {
      std::memcpy(to.bytes + offset, from, size);
    }
    void copy_to_host(void* to, Allocation& from, std::uint64_t offset, std::uint64_t size) {
      std::memcpy(to, from.bytes + offset, size);
    }
    void copy_on_device(Allocation& to, std::uint64_t to_offset, Allocation& from, std::uint64_t from_offset,
                        std::uint64_t size) {
      std::memcpy(to.bytes + to_offset, from.bytes + from_offset, size);
    }
    void fill(Allocation& to, std::uint64_t offset, std::uint64_t size, const Pattern& pattern) {
      for (std::uint64_t i = 0; i < size; ++i)
        to.bytes[offset + i] = static_cast<char>(pattern.bytes[i % 16]);
    }
    void launch(Kernel&, const weir_launch&) { ++launches; }
  };
  struct Event : EventObject<Device> {
    void destroy() noexcept { Pool<Event>::of().give(*this); }
    bool query() { return true; }
    void synchronize() {}
  };
  struct Device : DeviceObject {
    static inline int opened = 0, closed = 0;
    void open() { ++opened; }
    void close() { ++closed; }
    void get_memory(std::uint64_t& free, std::uint64_t& total) { free = total = 1 << 20; }
    Stream& create_stream(std::int32_t priority) {
      Fresh<Stream> stream;
      stream->launches = 0;
      stream->keeps_its_life = priority != 0;
      return stream.publish();
    }
    Event& create_event(bool) {
      Fresh<Event> event;
      return event.publish();
    }
    Allocation& allocate(const weir_memory_options& options) {
      Fresh<Allocation> allocation;
      allocation->bytes = static_cast<char*>(std::malloc(options.size));
      return allocation.publish();
    }
    Module& load_module(const weir_code_object&) {
      Fresh<Module> module;
      return module.publish();
    }
  };

  static std::uint32_t device_count() { return 1; }
  static void describe(std::uint32_t, weir_device_info& info) {
    info.capabilities |= WEIR_CAP_CONCURRENT_STREAMS | WEIR_CAP_GRAPHS;  // it has no functions for the second
    info.max_block_threads = 128;
    info.memory_alignment = 64;
    info.max_argument_bytes = 256;
    info.max_shared_bytes = 1024;
    for (int i = 0; i < 3; ++i) info.max_grid[i] = info.max_block[i] = 100;
  }
};

}  // namespace sdk_test
