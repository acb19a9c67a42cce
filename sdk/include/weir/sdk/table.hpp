// SPDX-License-Identifier: Apache-2.0
// Turns a C++ class into a driver: the C table, the entry point, and everything around each call that is the
// same for every driver. A driver's whole export is
//
//   extern "C" weir_result weir_driver_entry(const weir_host* host, const weir_driver_table** out,
//                                            weir_status* status) {
//     return weir::sdk::driver_entry<MyDriver>(host, out, status);
//   }
//
// The class says what there is, and leaves out what there is not. Functions after which a capability stands
// are optional: the driver has the capability when it has them all.
//
//   struct MyDriver {
//     static constexpr const char *name = "mine", *version = "1.0", *vendor = "Me";
//     static std::uint32_t device_count();  // or a Failure: NO_LIBRARY, NO_DEVICE
//     static void describe(std::uint32_t index, weir_device_info& info);
//     static const void* extension(const char* name, std::uint32_t version);  // optional; null: no such
//     struct Device : DeviceObject {
//       void open();   // at the first opening
//       void close();  // at the last closing
//       void get_memory(std::uint64_t& free, std::uint64_t& total);
//       Stream& create_stream(std::int32_t priority);
//       Stream& wrap_stream(void* native);  // NATIVE_STREAM
//       Event& create_event(bool timed);
//       Allocation& allocate(const weir_memory_options& options);
//       Module& load_module(const weir_code_object& object);
//     };
//     struct Stream : StreamObject<Device> {
//       void destroy();
//       void flush();
//       bool query();  // true: all done
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
//       void unload();  // optional: gives back what find_kernel got; before its module's unload
//     };
//     struct Module : ModuleObject<Device, Kernel> {
//       void unload();
//       void find_kernel(Kernel& kernel);  // fills in what launch needs, and kernel.info
//     };
//     struct Graph : GraphObject<Device, Kernel> {  // GRAPHS
//       void create(std::span<const GraphNode<Allocation, Kernel>> nodes);
//       void update(std::uint32_t index, const GraphNode<Allocation, Kernel>& node);
//       void destroy();
//     };
//   };
//
// What the base classes hold (object.hpp), and who says it:
//   - a device's index, capabilities, argument_style and limits: said before `open`, from `describe`;
//   - `device` of streams, events, allocations and modules; `timed` and `recorded` of events; `size` and
//     `memory_kind` of allocations; `name` of modules: said when the function that made the object returns. A
//     function that needs one earlier, or shows the object to another thread, sets it itself;
//   - a kernel's `device`, `name`, `argument_bytes` and `parameters`: said before `find_kernel`, which fills
//   in
//     `info` where the vendor tells it (0 is not known);
//   - members of your own: yours. Objects come from pools, so that each still has what it held in its last
//   life:
//     whoever takes one with `Fresh`, or `find_kernel`, sets all of them, or the function that ends it clears
//     them.
//
// What a capability needs beside its functions, or where it is only a bit that `describe` sets:
//   - STREAM_PRIORITY: info.min_priority (the least urgent) and info.max_priority, which is the smaller
//   number;
//     create_stream's priority is as the host asked, and is clamped by you;
//   - PINNED_MEMORY: `allocate` looks at options.kind, and `place` gives a host_pointer for pinned memory;
//   - DEVICE_ADDRESS: `place` gives a device_address that is not 0, aligned as was asked. Without it, arrays
//   are
//     bound: info.argument_style is WEIR_ARGUMENT_BUFFER;
//   - CONCURRENT_STREAMS: nothing else; info.recommended_streams says how many are worth having;
//   - TIMED_EVENTS: `record` of an event that is `timed` takes the time in the stream, when it comes there.
//     `elapsed` is called when both events are timed, recorded and reached;
//   - STREAM_ORDERED_ALLOCATION: `allocate` gives memory that work behind this place of the stream may use,
//     and `free` gives it back when the stream comes there; neither blocks;
//   - GRAPHS: what nodes point to (dependencies, launch.arguments) is the caller's again when `create` or
//     `update` returns; host_source and host_destination are memory of the caller's that each run reads or
//     writes.
//
// What is done before one of these functions is called:
//   - null and dead handles, handles of another kind and null outputs are refused; structs of another size
//     are read and written as far as they go;
//   - ranges, patterns, alignments, overlaps, objects of another device, launches against the limits of the
//     device, the kernel and its layout, and nodes of graphs are checked as driver.h says (checks.hpp).
//     Copies and fills of 0 bytes end there;
//   - capabilities: `describe` finds the bits of all functions that the class has in info.capabilities. It
//     takes away those that this device lacks, and adds those that are no functions (priority, pinned memory,
//     addresses, concurrency). A call without its bit answers UNSUPPORTED;
//   - openings of devices are counted, and kernels that are looked up again are found again;
//   - the host's ABI range: versions 1.0 to 1.1 are spoken, and a host of 1.0 sees no graphs;
//   - in a process forked after notice_forks() every call is refused (fork.hpp).
//
// Whatever these functions throw becomes the result and the status: `fail(code, "...")` is how they refuse.
// `destroy`, `free` and `unload` are called when the handle is dead already; they give the object back with
// `Pool<T>::of().give(*this)`, then or later. Where one throws, the handle lives on (but not that of a
// module). All may be called from any thread, for one object from several at once but for what ends it.
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
  return t;
}

/// The body of weir_driver_entry: the newest version inside the host's range, or a refusal that names both.
template <class D>
weir_result driver_entry(const weir_host* host, const weir_driver_table** out_table,
                         weir_status* status) noexcept {
  static constexpr weir_driver_table tables[] = {make_table<D, 0>(), make_table<D, 1>()};
  static_assert(tables[1].abi_version == WEIR_ABI_CURRENT, "the newest version of driver.h has no table");
  return guarded(status, [&] {
    const weir_host known = read_struct(host, "host");
    const weir_driver_table*& out = output(out_table, "out_table");
    const weir_driver_table* best = nullptr;
    for (const weir_driver_table& table : tables)
      if (known.abi_min <= table.abi_version && table.abi_version <= known.abi_max) best = &table;
    if (!best)
      fail(WEIR_ERROR_ABI, "the %s driver speaks driver ABI 1.0 to 1.%u; the host speaks %u.%u to %u.%u",
           D::name, WEIR_ABI_MINOR(tables[1].abi_version), WEIR_ABI_MAJOR(known.abi_min),
           WEIR_ABI_MINOR(known.abi_min), WEIR_ABI_MAJOR(known.abi_max), WEIR_ABI_MINOR(known.abi_max));
    out = best;
  });
}

}  // namespace weir::sdk
