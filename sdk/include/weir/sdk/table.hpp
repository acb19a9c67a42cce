// SPDX-License-Identifier: Apache-2.0
// Turns a C++ class into a driver: generates the C table, the entry point, and the parts of each call that
// are the same for every driver. A driver's only export is
//
//   extern "C" weir_result weir_driver_entry(const weir_host* host, const weir_driver_table** out,
//                                            weir_status* status) {
//     return weir::sdk::driver_entry<MyDriver>(host, out, status);
//   }
//
// The class defines the functions below. Functions marked with a capability are optional; the driver has the
// capability if it defines all of its functions.
//
//   struct MyDriver {
//     static constexpr const char *name = "mine", *version = "1.0", *vendor = "Me";
//     static std::uint32_t device_count();  // or a Failure: NO_LIBRARY, NO_DEVICE
//     static void describe(std::uint32_t index, weir_device_info& info);
//     static const void* extension(const char* name, std::uint32_t version);  // optional; null if unknown
//     struct Device : DeviceObject {
//       void open();   // at the first opening
//       void close();  // at the last closing
//       void get_memory(std::uint64_t& free, std::uint64_t& total);
//       Stream& create_stream(std::int32_t priority);
//       Stream& wrap_stream(void* native);  // NATIVE_STREAM
//       Event& create_event(bool timed);
//       Allocation& allocate(const weir_memory_options& options);
//       Allocation& wrap_memory(const weir_external_memory& memory);  // EXTERNAL_MEMORY
//       Module& load_module(const weir_code_object& object);
//       void compile_code(const weir_code_object& object, weir_code_receiver receive,
//                         void* user);  // CODE_COMPILE
//     };
//     struct Stream : StreamObject<Device> {
//       void destroy();
//       void flush();
//       bool query();  // true: all work is complete
//       void synchronize();
//       void wait(Event& event);
//       void record(Event& event);
//       void host_callback(weir_host_callback callback, void* user);  // HOST_CALLBACK
//       void* native_handle();                                        // NATIVE_STREAM
//       Allocation& allocate(const weir_memory_options& options);     // STREAM_ORDERED_ALLOCATION
//       void free(Allocation& allocation);                            // STREAM_ORDERED_ALLOCATION
//       void copy_to_device(Allocation& to, std::uint64_t offset, const void* from, std::uint64_t size);
//       void copy_to_host(void* to, Allocation& from, std::uint64_t offset, std::uint64_t size);
//       void copy_on_device(Allocation& to, std::uint64_t to_offset, Allocation& from,
//                           std::uint64_t from_offset, std::uint64_t size);
//       void copy_peer(...as copy_on_device...);  // PEER_COPY
//       void fill(Allocation& to, std::uint64_t offset, std::uint64_t size, const Pattern& pattern);
//       void launch(Kernel& kernel, const weir_launch& launch);
//       void launch(Graph& graph);  // GRAPHS
//     };
//     struct Event : EventObject<Device> {
//       void destroy();
//       bool query();
//       void synchronize();
//       double elapsed(Event& end);  // in nanoseconds; TIMED_EVENTS
//     };
//     struct Allocation : AllocationObject<Device> {
//       void free();
//       void place(std::uint64_t& device_address, void*& host_pointer);
//     };
//     struct Kernel : KernelObject<Device> {
//       void unload();  // optional: releases find_kernel's resources; runs before its module's unload
//       std::uint32_t max_cooperative_blocks(std::uint32_t block_threads,
//                                            std::uint32_t shared_bytes);  // COOPERATIVE_LAUNCH
//     };
//     struct Module : ModuleObject<Device, Kernel> {
//       void unload();
//       void find_kernel(Kernel& kernel);  // fills in the members for launch, and kernel.info
//     };
//     struct Graph : GraphObject<Device, Kernel> {  // GRAPHS
//       void create(std::span<const GraphNode<Allocation, Kernel>> nodes);
//       void update(std::uint32_t index, const GraphNode<Allocation, Kernel>& node);
//       void destroy();
//     };
//   };
//
// Members of the base classes (object.hpp), and the code that sets them:
//   - A device's index, capabilities, argument_style and limits are set before `open`, from `describe`.
//   - `device` of streams, events, allocations and modules; `timed` and `recorded` of events; `size` and
//     `memory_kind` of allocations; and `name` of modules are set when the function that made the object
//     returns. A function that needs one earlier, or publishes the object to another thread, sets it itself.
//   - A kernel's `device`, `name`, `argument_bytes` and `parameters` are set before `find_kernel`. That
//     function fills in `info` if the vendor reports it (0 means unknown).
//   - The driver sets the members that it adds. Objects come from pools and still hold their old values. The
//     function that takes one with `Fresh`, or `find_kernel`, must set all of them, or the function that ends
//     it must clear them.
//
// Further requirements of capabilities; some are only a bit that `describe` sets:
//   - STREAM_PRIORITY: info.min_priority (the least urgent) and info.max_priority, which is the smaller
//     number. create_stream receives the host's priority unchanged and clamps it.
//   - PINNED_MEMORY: `allocate` reads options.kind, and `place` returns a host_pointer for pinned memory.
//   - DEVICE_ADDRESS: `place` returns a device_address other than 0 with the requested alignment. Without it,
//     arrays are bound: info.argument_style is WEIR_ARGUMENT_BUFFER.
//   - CONCURRENT_STREAMS: no function; info.recommended_streams states the number worth using.
//   - TIMED_EVENTS: `record` of a `timed` event takes the time when the stream reaches it. `elapsed` is
//     called only if both events are timed, recorded and reached.
//     NaN means that an event was recorded again meanwhile and is not reached.
//   - STREAM_ORDERED_ALLOCATION: `allocate` returns memory that later work of the stream may use, and `free`
//     releases it when the stream reaches it. Neither blocks.
//   - EXTERNAL_MEMORY: both functions `free` end an allocation of `wrap_memory` and do not change the memory.
//   - CODE_COMPILE: `compile_code` calls receive(user, &code) once, as the last thing that can fail.
//   - GRAPHS: `create` and `update` must copy the data that nodes point to (dependencies, launch.arguments).
//     host_source and host_destination are memory of the caller that each run reads or writes.
//
// Before it calls one of these functions, this header does the following:
//   - It refuses null and dead handles, handles of another kind, and null outputs. It reads and writes
//     structs of another size up to that size.
//   - It checks ranges, patterns, alignments, overlaps and objects of another device, as driver.h requires
//     (checks.hpp). It also checks launches against the limits of the device, the kernel and its layout, and
//     nodes of graphs. Copies and fills of 0 bytes end here.
//   - It sets the bits of all functions that the class defines in info.capabilities. `describe` clears those
//     that this device lacks, and adds those without functions (priority, pinned memory, addresses,
//     concurrency). A call without its bit returns UNSUPPORTED.
//   - It counts openings of devices, and returns the same kernel for repeated look-ups.
//   - It negotiates the host's ABI range: versions 1.0 to 1.4 are supported. A host of 1.0 gets no graphs,
//     one of 1.1 no external memory, one of 1.2 no code_compile, and one of 1.3 no cooperative launches.
//   - It refuses every call in a process forked after a device was opened, or after notice_forks() (fork.hpp).
//
// An exception from these functions becomes the result and the status; `fail(code, "...")` refuses a call.
// `destroy`, `free` and `unload` are called after the handle was invalidated. They return the object with
// `Pool<T>::of().give(*this)`, immediately or later. If one throws, the handle is restored, except that of a
// module. All functions may be called from any thread, and for one object from several at once, except the
// one that ends it.
#pragma once

#include "graph_slots.hpp"

namespace weir::sdk {

/// The table for hosts of ABI 1.`Minor`.
template <class D, std::uint32_t Minor>
constexpr weir_driver_table make_table() {
  using S = Slots<D>;
  weir_driver_table t{};
  t.struct_size = sizeof t;
  t.abi_version = WEIR_ABI_VERSION(1, Minor);
  t.name = D::name;
  t.version = D::version;
  t.vendor = D::vendor;
  t.device_count = S::device_count;
  t.device_open = S::device_open;
  t.device_close = S::device_close;
  t.device_get_info = S::template device_get_info<Minor>;
  t.device_get_memory = S::device_get_memory;
  t.stream_create = S::stream_create;
  t.stream_destroy = S::stream_destroy;
  t.stream_flush = S::stream_flush;
  t.stream_query = S::stream_query;
  t.stream_synchronize = S::stream_synchronize;
  t.stream_wait_event = S::stream_wait_event;
  if constexpr (HasHostCallback<D>) t.stream_host_callback = S::stream_host_callback;
  if constexpr (HasNativeStream<D>) {
    t.stream_wrap = S::stream_wrap;
    t.stream_get_native = S::stream_get_native;
  }
  t.event_create = S::event_create;
  t.event_destroy = S::event_destroy;
  t.event_record = S::event_record;
  t.event_query = S::event_query;
  t.event_synchronize = S::event_synchronize;
  if constexpr (HasTimedEvents<D>) t.event_elapsed = S::event_elapsed;
  t.memory_allocate = S::memory_allocate;
  t.memory_free = S::memory_free;
  if constexpr (HasStreamOrderedAllocation<D>) {
    t.memory_allocate_async = S::memory_allocate_async;
    t.memory_free_async = S::memory_free_async;
  }
  t.memory_get_info = S::memory_get_info;
  t.copy_to_device = S::copy_to_device;
  t.copy_to_host = S::copy_to_host;
  t.copy_on_device = S::copy_on_device;
  if constexpr (HasPeerCopy<D>) t.copy_peer = S::copy_peer;
  t.fill = S::fill;
  t.module_load = S::module_load;
  t.module_unload = S::module_unload;
  t.module_get_kernel = S::module_get_kernel;
  t.kernel_get_info = S::kernel_get_info;
  t.kernel_launch = S::kernel_launch;
  t.get_extension = S::get_extension;
  if constexpr (HasGraphs<D> && Minor >= 1) {
    using G = GraphSlots<D>;
    t.graph_create = G::graph_create;
    t.graph_update = G::graph_update;
    t.graph_launch = G::graph_launch;
    t.graph_destroy = G::graph_destroy;
  }
  if constexpr (HasExternalMemory<D> && Minor >= 2) t.memory_wrap = S::memory_wrap;
  if constexpr (HasCodeCompile<D> && Minor >= 3) t.code_compile = S::code_compile;
  if constexpr (HasCooperativeLaunch<D> && Minor >= 4)
    t.kernel_max_cooperative_blocks = S::kernel_max_cooperative_blocks;
  return t;
}

/// The body of weir_driver_entry: chooses the newest version in the host's range, or returns an error that
/// names both ranges.
template <class D>
weir_result driver_entry(const weir_host* host, const weir_driver_table** out_table,
                         weir_status* status) noexcept {
  static constexpr weir_driver_table tables[] = {make_table<D, 0>(), make_table<D, 1>(), make_table<D, 2>(),
                                                 make_table<D, 3>(), make_table<D, 4>()};
  constexpr const weir_driver_table& newest = tables[std::size(tables) - 1];
  static_assert(newest.abi_version == WEIR_ABI_CURRENT, "the newest version of driver.h has no table");
  return guarded(status, [&] {
    const weir_host known = read_struct(host, "host");
    const weir_driver_table*& out = output(out_table, "out_table");
    const weir_driver_table* best = nullptr;
    for (const weir_driver_table& table : tables)
      if (known.abi_min <= table.abi_version && table.abi_version <= known.abi_max) best = &table;
    if (!best)
      fail(WEIR_ERROR_ABI, "the %s driver speaks driver ABI 1.0 to 1.%u; the host speaks %u.%u to %u.%u",
           D::name, WEIR_ABI_MINOR(newest.abi_version), WEIR_ABI_MAJOR(known.abi_min),
           WEIR_ABI_MINOR(known.abi_min), WEIR_ABI_MAJOR(known.abi_max), WEIR_ABI_MINOR(known.abi_max));
    out = best;
  });
}

}  // namespace weir::sdk
