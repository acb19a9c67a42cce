// The @NAME@ driver: one device, whose memory is the host's. Streams execute work immediately, and no code
// can be loaded yet. It passes level 1 of the conformance suite; at levels 2 and 3, requirements that need
// kernels are reported as unsupported. Replace the functions by those of your device one by one.
// <weir/driver.h> is the contract. <weir/sdk/table.hpp> documents the checks that precede each call of these
// functions.
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <weir/sdk/table.hpp>

namespace {

using namespace weir::sdk;

std::uint64_t bytes_of(int pages) {
  return static_cast<std::uint64_t>(sysconf(pages)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

struct Driver {
  static constexpr const char *name = "@NAME@", *version = "0.1.0", *vendor = "Your name";

  // -- devices --

  /// The first call that may touch the vendor's runtime. Without one: fail(WEIR_ERROR_NO_LIBRARY, ...).
  static std::uint32_t device_count() { return 1; }

  static void describe(std::uint32_t, weir_device_info& info) {
    info.kind = WEIR_DEVICE_OTHER;
    put(info.name, "The @NAME@ device");
    put(info.vendor, vendor);
    // Level 0 requires one to four formats. load_module must name one of them when it refuses code.
    info.code_target_count = 1;
    put(info.code_targets[0].format, "none-yet");
    info.total_memory = bytes_of(_SC_PHYS_PAGES);
    info.memory_alignment = 64;
    info.multiprocessors = 1;
    info.lanes = 1;
    info.max_block_threads = 1;
    for (int i = 0; i < 3; ++i) info.max_block[i] = 1;
    for (int i = 0; i < 3; ++i) info.max_grid[i] = 65535;
    info.max_shared_bytes = 65536;
    info.max_argument_bytes = 4096;
    info.recommended_streams = 1;
  }

  // -- memory --

  struct Device;

  struct Allocation : AllocationObject<Device> {
    unsigned char* bytes = nullptr;

    void free() {
      std::free(bytes);
      Pool<Allocation>::of().give(*this);
    }
    void place(std::uint64_t& /*device_address*/, void*& host_pointer) { host_pointer = bytes; }
  };

  // -- code: none yet --

  struct Kernel : KernelObject<Device> {};

  struct Module : ModuleObject<Device, Kernel> {
    void unload() { Pool<Module>::of().give(*this); }
    void find_kernel(Kernel& kernel) {
      fail(WEIR_ERROR_NOT_FOUND, "there is no kernel '%s'", kernel.name.c_str());
    }
  };

  // -- streams and events --

  /// All work is done when an event is recorded.
  struct Event : EventObject<Device> {
    void destroy() { Pool<Event>::of().give(*this); }
    bool query() { return true; }
    void synchronize() {}
  };

  struct Stream : StreamObject<Device> {
    std::mutex busy;  ///< held while work runs, so that work of several threads is serialised

    void destroy() { Pool<Stream>::of().give(*this); }
    void flush() {}
    bool query() {
      if (!busy.try_lock()) return false;
      busy.unlock();
      return true;
    }
    void synchronize() { std::lock_guard lock(busy); }
    void wait(Event&) {}
    void record(Event&) { synchronize(); }

    void copy_to_device(Allocation& to, std::uint64_t offset, const void* from, std::uint64_t size) {
      std::lock_guard lock(busy);
      std::memcpy(to.bytes + offset, from, size);
    }
    void copy_to_host(void* to, Allocation& from, std::uint64_t offset, std::uint64_t size) {
      std::lock_guard lock(busy);
      std::memcpy(to, from.bytes + offset, size);
    }
    void copy_on_device(Allocation& to, std::uint64_t to_offset, Allocation& from, std::uint64_t from_offset,
                        std::uint64_t size) {
      std::lock_guard lock(busy);
      std::memcpy(to.bytes + to_offset, from.bytes + from_offset, size);
    }
    void fill(Allocation& to, std::uint64_t offset, std::uint64_t size, const Pattern& pattern) {
      std::lock_guard lock(busy);
      for (std::uint64_t at = 0; at < size; at += pattern.size)
        std::memcpy(to.bytes + offset + at, pattern.bytes, pattern.size);
    }
    void launch(Kernel&, const weir_launch&) {
      fail(WEIR_ERROR_UNSUPPORTED, "the @NAME@ driver launches nothing yet");
    }
  };

  // -- the device --

  struct Device : DeviceObject {
    void open() {}
    void close() {}

    void get_memory(std::uint64_t& free, std::uint64_t& total) {
      free = bytes_of(_SC_AVPHYS_PAGES);
      total = bytes_of(_SC_PHYS_PAGES);
    }

    Stream& create_stream(std::int32_t /*priority*/) {
      Fresh<Stream> stream;
      stream->device = this;
      return stream.publish();
    }

    Event& create_event(bool /*timed*/) {
      Fresh<Event> event;
      event->device = this;
      return event.publish();
    }

    Allocation& allocate(const weir_memory_options& options) {
      const std::uint64_t alignment = std::max<std::uint64_t>(options.alignment, limits.memory_alignment);
      const std::uint64_t size = (options.size + alignment - 1) / alignment * alignment;
      Fresh<Allocation> allocation;
      allocation->device = this;
      allocation->size = options.size;
      allocation->bytes = static_cast<unsigned char*>(std::aligned_alloc(alignment, size));
      if (!allocation->bytes)
        fail(WEIR_ERROR_OUT_OF_MEMORY, "the host has no %llu bytes left",
             static_cast<unsigned long long>(size));
      return allocation.publish();
    }

    Module& load_module(const weir_code_object& object) {
      fail(WEIR_ERROR_CODE_OBJECT,
           "expected code of the format 'none-yet', found '%s' for '%s'; the @NAME@ driver loads no code yet",
           object.format, object.target);
    }
  };
};

}  // namespace

extern "C" weir_result weir_driver_entry(const weir_host* host, const weir_driver_table** out_table,
                                         weir_status* status) {
  return driver_entry<Driver>(host, out_table, status);
}
