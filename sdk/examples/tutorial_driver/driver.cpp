// SPDX-License-Identifier: Apache-2.0
// The finished driver of sdk/docs/driver-tutorial.md: the output of `weir new-driver` with queues for
// streams, events that mark positions in them, and kernels. Its device is one core of the processor.
#include <unistd.h>
#include <weir/sdk/cpu_kernel.h>

#include <cstdlib>
#include <mutex>
#include <weir/sdk/table.hpp>

#include "library.hpp"
#include "queue.hpp"

namespace {

using namespace weir::sdk;

std::uint64_t bytes_of(int pages) {
  return static_cast<std::uint64_t>(sysconf(pages)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

struct Driver {
  static constexpr const char *name = "tutorial", *version = "0.1.0", *vendor = "Weir's examples";

  // -- devices --

  static std::uint32_t device_count() {
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
      fail(WEIR_ERROR_NO_DEVICE, "this processor is older than x86-64-v3, for which kernels are compiled");
    return 1;
  }

  static void describe(std::uint32_t, weir_device_info& info) {
    info.kind = WEIR_DEVICE_CPU;
    put(info.name, "One core of the processor");
    put(info.vendor, vendor);
    info.capabilities |= WEIR_CAP_CONCURRENT_STREAMS;
    info.capabilities |= WEIR_CAP_DEVICE_ADDRESS;
    info.argument_style = WEIR_ARGUMENT_ADDRESS;
    info.code_target_count = 1;
    put(info.code_targets[0].format, "elf-x86_64");
    put(info.code_targets[0].target, "x86-64-v3");
    info.total_memory = bytes_of(_SC_PHYS_PAGES);
    info.memory_alignment = 64;
    info.multiprocessors = 1;
    info.lanes = 1;
    info.max_block_threads = 1;
    for (int i = 0; i < 3; ++i) info.max_block[i] = 1;
    for (int i = 0; i < 3; ++i) info.max_grid[i] = 65535;
    info.max_shared_bytes = 65536;
    info.max_argument_bytes = 4096;
    info.recommended_streams = 4;
  }

  // -- memory --

  struct Device;

  struct Allocation : AllocationObject<Device> {
    unsigned char* bytes = nullptr;

    void free() {
      std::free(bytes);
      Pool<Allocation>::of().give(*this);
    }
    void place(std::uint64_t& device_address, void*& host_pointer) {
      device_address = reinterpret_cast<std::uint64_t>(bytes);
      host_pointer = bytes;
    }
  };

  // -- code --

  struct Kernel : KernelObject<Device> {
    weir_cpu_kernel function = nullptr;
  };

  struct Module : ModuleObject<Device, Kernel> {
    LoadedLibrary library;

    void unload() {
      library.close();
      Pool<Module>::of().give(*this);
    }
    void find_kernel(Kernel& kernel) {
      void* const symbol = library.symbol(kernel.name.c_str());
      if (!symbol)
        fail(WEIR_ERROR_NOT_FOUND, "the code object '%s' has no kernel '%s'", name.c_str(),
             kernel.name.c_str());
      kernel.function = reinterpret_cast<weir_cpu_kernel>(symbol);
      kernel.info.max_block_threads = 1;
      kernel.info.lanes = 1;
    }
  };

  // -- streams and events --

  /// A position in a queue: after the work submitted before the record.
  struct Mark {
    std::shared_ptr<Queue> queue;  ///< null: never recorded
    std::uint64_t number = 0;

    bool is_reached() const { return !queue || queue->is_done(number); }
    void wait() const {
      if (queue) queue->wait_for(number);
    }
  };

  struct Event : EventObject<Device> {
    std::mutex mutex;
    Mark mark;

    Mark get() {
      std::lock_guard lock(mutex);
      return mark;
    }
    void set(Mark to) {
      std::lock_guard lock(mutex);
      mark = std::move(to);
    }

    void destroy() {
      set({});
      Pool<Event>::of().give(*this);
    }
    bool query() { return get().is_reached(); }
    void synchronize() { get().wait(); }
  };

  struct Stream : StreamObject<Device> {
    std::shared_ptr<Queue> queue;

    void destroy() {
      queue->close();
      queue = nullptr;
      Pool<Stream>::of().give(*this);
    }
    void flush() {}
    bool query() { return queue->is_done(queue->submitted()); }
    void synchronize() { queue->wait_for(queue->submitted()); }

    void wait(Event& event) {
      const Mark mark = event.get();
      if (!mark.is_reached()) queue->submit([mark] { mark.wait(); });
    }
    void host_callback(weir_host_callback callback, void* user) {
      queue->submit([callback, user] { callback(user); });
    }
    void record(Event& event) { event.set({queue, queue->submitted()}); }

    void copy_to_device(Allocation& to, std::uint64_t offset, const void* from, std::uint64_t size) {
      queue->submit([to = to.bytes + offset, from, size] { std::memcpy(to, from, size); });
    }
    void copy_to_host(void* to, Allocation& from, std::uint64_t offset, std::uint64_t size) {
      queue->submit([to, from = from.bytes + offset, size] { std::memcpy(to, from, size); });
    }
    void copy_on_device(Allocation& to, std::uint64_t to_offset, Allocation& from, std::uint64_t from_offset,
                        std::uint64_t size) {
      queue->submit([to = to.bytes + to_offset, from = from.bytes + from_offset, size] {
        std::memcpy(to, from, size);
      });
    }
    void fill(Allocation& to, std::uint64_t offset, std::uint64_t size, const Pattern& pattern) {
      queue->submit([to = to.bytes + offset, size, pattern] {
        for (std::uint64_t at = 0; at < size; at += pattern.size)
          std::memcpy(to + at, pattern.bytes, pattern.size);
      });
    }

    void launch(Kernel& kernel, const weir_launch& launch) {
      const auto* const given = static_cast<const unsigned char*>(launch.arguments);
      queue->submit([function = kernel.function, launch,
                     arguments = std::vector<unsigned char>(given, given + launch.argument_bytes)] {
        run(function, launch, arguments);
      });
    }

    static void run(weir_cpu_kernel function, const weir_launch& launch,
                    const std::vector<unsigned char>& given) {
      alignas(16) unsigned char arguments[4096];
      std::copy(given.begin(), given.end(), arguments);
      alignas(64) unsigned char shared[65536];
      weir_cpu_run run{};
      run.struct_size = sizeof run;
      std::copy_n(launch.grid, 3, run.grid);
      std::copy_n(launch.block, 3, run.block);
      run.shared_bytes = launch.dynamic_shared_bytes;
      run.shared = launch.dynamic_shared_bytes ? shared : nullptr;
      run.end_block = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
      function(arguments, &run);  // all blocks in one run
    }
  };

  // -- the device --

  struct Device : DeviceObject {
    void open() {}
    void close() { Queue::finish(); }  // destroyed streams may still have work

    void get_memory(std::uint64_t& free, std::uint64_t& total) {
      free = bytes_of(_SC_AVPHYS_PAGES);
      total = bytes_of(_SC_PHYS_PAGES);
    }

    Stream& create_stream(std::int32_t /*priority*/) {
      Fresh<Stream> stream;
      stream->device = this;
      stream->queue = Queue::start();
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
      const std::string target = object.target;
      if (std::strcmp(object.format, "elf-x86_64") != 0)
        fail(WEIR_ERROR_CODE_OBJECT,
             "the format is '%s' for '%s'; this driver loads elf-x86_64 for x86-64-v3", object.format,
             target.c_str());
      if (target != "x86-64" && target != "x86-64-v2" && target != "x86-64-v3")
        fail(WEIR_ERROR_CODE_OBJECT,
             "the code object elf-x86_64 is for '%s'; this driver loads it for x86-64-v3", target.c_str());
      Fresh<Module> module;
      module->device = this;
      module->name = object.name;
      module->library.open(object);
      return module.publish();
    }
  };
};

}  // namespace

extern "C" weir_result weir_driver_entry(const weir_host* host, const weir_driver_table** out_table,
                                         weir_status* status) {
  return driver_entry<Driver>(host, out_table, status);
}
