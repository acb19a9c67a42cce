// SPDX-License-Identifier: Apache-2.0
// The functions of the C table, generated from a driver class. Drivers include table.hpp, which describes the
// class. Each slot checks handles and arguments, calls one member function, and converts exceptions to
// results.
#pragma once

#include <cmath>
#include <type_traits>

#include "capabilities.hpp"
#include "device_list.hpp"
#include "floating_point.hpp"
#include "fork.hpp"

namespace weir::sdk {

template <class D>
struct Slots {
  using Device = typename D::Device;
  using Stream = typename D::Stream;
  using Event = typename D::Event;
  using Allocation = typename D::Allocation;
  using Module = typename D::Module;
  using Kernel = typename D::Kernel;

  template <class Body>
  static weir_result call(weir_status* status, Body&& body) noexcept {
    return guarded(status, [&] {
      check_not_forked(D::name);
      return body();
    });
  }

  /// `call` for functions in which the vendor's runtime may start threads, which inherit the floating-point
  /// environment, or compile, which folds constants in it.
  template <class Body>
  static weir_result call_in_default_environment(weir_status* status, Body&& body) noexcept {
    const DefaultFloatingPoint floating_point;
    return call(status, std::forward<Body>(body));
  }

  template <class Body>
  static weir_result query(weir_status* status, Body&& body) noexcept {
    return call(status, [&]() -> weir_result { return body() ? WEIR_OK : WEIR_NOT_READY; });
  }

  /// Ends an object. Invalidates its handle first, and restores it if `end` throws.
  template <class T, class End>
  static void end(T& object, const char* what, End&& end) {
    retire(object, what);
    try {
      end();
    } catch (...) {
      object.kind.store(T::object_kind, std::memory_order_release);
      throw;
    }
  }

  /// Stores the caller's parameters in a new object, so that the driver need not. Objects come from pools and
  /// hold old values. An equal value is not written again, since the driver's threads may be reading it.
  template <class T, class V>
  static void say(T& field, const V& value) {
    if (field != value) field = value;
  }
  static weir_allocation said(Allocation& allocation, Device& device, const weir_memory_options& options) {
    say(allocation.device, &device);
    say(allocation.memory_kind, options.kind);
    say(allocation.size, options.size);
    return handle_of<weir_allocation>(allocation);
  }
  static weir_stream said(Stream& stream, Device& device) {
    say(stream.device, &device);
    return handle_of<weir_stream>(stream);
  }

  // -- devices --

  static weir_result device_count(uint32_t* out_count, weir_status* status) {
    return call_in_default_environment(status, [&] {
      std::uint32_t& out = output(out_count, "out_count");
      out = D::device_count();
    });
  }
  static weir_result device_open(uint32_t index, weir_device* out_device, weir_status* status) {
    return call_in_default_environment(status, [&] {
      weir_device& out = output(out_device, "out_device");
      notice_forks();  // other threads may hold locks of the SDK or of the driver at a fork from here on
      out = handle_of<weir_device>(DeviceList<D>::get().open(index));
    });
  }
  static weir_result device_close(weir_device device, weir_status* status) {
    return call(status, [&] { DeviceList<D>::get().close(live<Device>(device, "device")); });
  }
  template <std::uint32_t Minor>
  static weir_result device_get_info(uint32_t index, weir_device_info* info, weir_status* status) {
    return call_in_default_environment(
        status, [&] { write_struct(info, DeviceList<D>::describe(index, Minor), "info"); });
  }
  static weir_result device_get_memory(weir_device device, uint64_t* out_free, uint64_t* out_total,
                                       weir_status* status) {
    return call(status, [&] {
      output(out_free, "out_free");
      output(out_total, "out_total");
      live<Device>(device, "device").get_memory(*out_free, *out_total);
    });
  }

  // -- streams --

  static weir_result stream_create(weir_device device, const weir_stream_options* options,
                                   weir_stream* out_stream, weir_status* status) {
    return call(status, [&] {
      const std::int32_t priority = options ? read_struct(options, "options").priority : 0;
      weir_stream& out = output(out_stream, "out_stream");
      Device& on = live<Device>(device, "device");
      out = said(on.create_stream(priority), on);
    });
  }
  static weir_result stream_destroy(weir_stream handle, weir_status* status) {
    return call(status, [&] {
      Stream& stream = live<Stream>(handle, "stream");
      end(stream, "stream", [&] { stream.destroy(); });
    });
  }
  static weir_result stream_flush(weir_stream stream, weir_status* status) {
    return call(status, [&] { live<Stream>(stream, "stream").flush(); });
  }
  static weir_result stream_query(weir_stream stream, weir_status* status) {
    return query(status, [&] { return live<Stream>(stream, "stream").query(); });
  }
  static weir_result stream_synchronize(weir_stream stream, weir_status* status) {
    return call(status, [&] { live<Stream>(stream, "stream").synchronize(); });
  }
  static weir_result stream_wait_event(weir_stream stream, weir_event event, weir_status* status) {
    return call(status, [&] { live<Stream>(stream, "stream").wait(live<Event>(event, "event")); });
  }
  static weir_result stream_host_callback(weir_stream handle, weir_host_callback callback, void* user,
                                          weir_status* status) {
    return call(status, [&] {
      Stream& stream = live<Stream>(handle, "stream");
      check_capability(*stream.device, WEIR_CAP_HOST_CALLBACK, "host callbacks");
      if (!callback) fail(WEIR_ERROR_INVALID, "callback is null; expected a function to call");
      stream.host_callback(callback, user);
    });
  }
  static weir_result stream_wrap(weir_device handle, void* native, weir_stream* out_stream,
                                 weir_status* status) {
    return call(status, [&] {
      Device& device = live<Device>(handle, "device");
      weir_stream& out = output(out_stream, "out_stream");
      check_capability(device, WEIR_CAP_NATIVE_STREAM, "native streams");
      out = said(device.wrap_stream(native), device);
    });
  }
  static weir_result stream_get_native(weir_stream handle, void** out_native, weir_status* status) {
    return call(status, [&] {
      Stream& stream = live<Stream>(handle, "stream");
      void*& out = output(out_native, "out_native");
      check_capability(*stream.device, WEIR_CAP_NATIVE_STREAM, "native streams");
      out = stream.native_handle();
    });
  }

  // -- events --

  static weir_result event_create(weir_device handle, uint32_t flags, weir_event* out_event,
                                  weir_status* status) {
    return call(status, [&] {
      Device& device = live<Device>(handle, "device");
      weir_event& out = output(out_event, "out_event");
      if (flags & ~std::uint32_t{WEIR_EVENT_TIMED})
        fail(WEIR_ERROR_INVALID, "flags is 0x%x; expected WEIR_EVENT_PLAIN or WEIR_EVENT_TIMED", flags);
      const bool timed = flags & WEIR_EVENT_TIMED;
      if (timed) check_capability(device, WEIR_CAP_TIMED_EVENTS, "timed events");
      Event& event = device.create_event(timed);
      event.recorded.store(false, std::memory_order_relaxed);  // set by an earlier life of the pooled object
      say(event.device, &device);
      say(event.timed, timed);
      out = handle_of<weir_event>(event);
    });
  }
  static weir_result event_destroy(weir_event handle, weir_status* status) {
    return call(status, [&] {
      Event& event = live<Event>(handle, "event");
      end(event, "event", [&] { event.destroy(); });
    });
  }
  static weir_result event_record(weir_event event_handle, weir_stream stream_handle, weir_status* status) {
    return call(status, [&] {
      Event& event = live<Event>(event_handle, "event");
      Stream& stream = live<Stream>(stream_handle, "stream");
      check_device(*stream.device, event, "event");
      stream.record(event);
      event.recorded.store(true, std::memory_order_release);
    });
  }
  static weir_result event_query(weir_event event, weir_status* status) {
    return query(status, [&] { return live<Event>(event, "event").query(); });
  }
  static weir_result event_synchronize(weir_event event, weir_status* status) {
    return call(status, [&] { live<Event>(event, "event").synchronize(); });
  }
  static weir_result event_elapsed(weir_event start_handle, weir_event end_handle, double* out_nanoseconds,
                                   weir_status* status) {
    return query(status, [&] {
      Event& start = live<Event>(start_handle, "start");
      Event& end = live<Event>(end_handle, "end");
      double& out = output(out_nanoseconds, "out_nanoseconds");
      check_device(*start.device, end, "end");
      for (const Event* event : {&start, &end}) {
        const char* which = event == &start ? "start" : "end";
        if (!event->timed)
          fail(WEIR_ERROR_INVALID, "%s is a plain event; expected one made with WEIR_EVENT_TIMED", which);
        if (!event->recorded.load(std::memory_order_acquire))
          fail(WEIR_ERROR_INVALID, "%s was never recorded", which);
      }
      if (!start.query() || !end.query()) return false;
      const double elapsed = start.elapsed(end);
      if (std::isnan(elapsed)) return false;
      out = elapsed;
      return true;
    });
  }

  // -- memory --

  static weir_result memory_allocate(weir_device handle, const weir_memory_options* options,
                                     weir_allocation* out_allocation, weir_status* status) {
    return call(status, [&] {
      Device& device = live<Device>(handle, "device");
      weir_allocation& out = output(out_allocation, "out_allocation");
      const weir_memory_options checked = check_memory_options(options, device.capabilities);
      out = said(device.allocate(checked), device, checked);
    });
  }
  static weir_result memory_free(weir_allocation handle, weir_status* status) {
    return call(status, [&] {
      Allocation& allocation = live<Allocation>(handle, "allocation");
      end(allocation, "allocation", [&] { allocation.free(); });
    });
  }
  static weir_result memory_allocate_async(weir_stream handle, const weir_memory_options* options,
                                           weir_allocation* out_allocation, weir_status* status) {
    return call(status, [&] {
      Stream& stream = live<Stream>(handle, "stream");
      weir_allocation& out = output(out_allocation, "out_allocation");
      check_capability(*stream.device, WEIR_CAP_STREAM_ORDERED_ALLOCATION, "stream-ordered allocation");
      const weir_memory_options checked = check_memory_options(options, stream.device->capabilities);
      out = said(stream.allocate(checked), *stream.device, checked);
    });
  }
  static weir_result memory_free_async(weir_stream stream_handle, weir_allocation handle,
                                       weir_status* status) {
    return call(status, [&] {
      Stream& stream = live<Stream>(stream_handle, "stream");
      Allocation& allocation = live<Allocation>(handle, "allocation");
      check_capability(*stream.device, WEIR_CAP_STREAM_ORDERED_ALLOCATION, "stream-ordered allocation");
      check_device(*stream.device, allocation, "allocation");
      end(allocation, "allocation", [&] { stream.free(allocation); });
    });
  }
  static weir_result memory_get_info(weir_allocation handle, weir_memory_info* out, weir_status* status) {
    return call(status, [&] {
      Allocation& allocation = live<Allocation>(handle, "allocation");
      weir_memory_info info{};
      info.kind = allocation.memory_kind;
      info.size = allocation.size;
      allocation.place(info.device_address, info.host_pointer);
      write_struct(out, info, "info");
    });
  }

  static weir_result memory_wrap(weir_device handle, const weir_external_memory* asked,
                                 weir_allocation* out_allocation, weir_status* status) {
    return call(status, [&] {
      Device& device = live<Device>(handle, "device");
      weir_allocation& out = output(out_allocation, "out_allocation");
      check_capability(device, WEIR_CAP_EXTERNAL_MEMORY, "external memory");
      const weir_external_memory memory = check_external_memory(asked);
      Allocation& allocation = device.wrap_memory(memory);
      say(allocation.device, &device);
      say(allocation.memory_kind,
          std::uint32_t{memory.kind == WEIR_EXTERNAL_HOST ? WEIR_MEMORY_PINNED : WEIR_MEMORY_DEVICE});
      say(allocation.size, memory.size);
      out = handle_of<weir_allocation>(allocation);
    });
  }

  // -- copies and fills --

  static weir_result copy_to_device(weir_stream stream_handle, weir_allocation handle, uint64_t offset,
                                    const void* source, uint64_t size, weir_status* status) {
    return call(status, [&] {
      Stream& stream = live<Stream>(stream_handle, "stream");
      Allocation& destination = live<Allocation>(handle, "destination");
      check_device(*stream.device, destination, "destination");
      check_range(destination, offset, size, "destination");
      if (!source && size) fail(WEIR_ERROR_INVALID, "source is null");
      if (size) stream.copy_to_device(destination, offset, source, size);
    });
  }
  static weir_result copy_to_host(weir_stream stream_handle, void* destination, weir_allocation handle,
                                  uint64_t offset, uint64_t size, weir_status* status) {
    return call(status, [&] {
      Stream& stream = live<Stream>(stream_handle, "stream");
      Allocation& source = live<Allocation>(handle, "source");
      check_device(*stream.device, source, "source");
      check_range(source, offset, size, "source");
      if (!destination && size) fail(WEIR_ERROR_INVALID, "destination is null");
      if (size) stream.copy_to_host(destination, source, offset, size);
    });
  }
  static weir_result copy_on_device(weir_stream stream_handle, weir_allocation to, uint64_t to_offset,
                                    weir_allocation from, uint64_t from_offset, uint64_t size,
                                    weir_status* status) {
    return call(status, [&] {
      Stream& stream = live<Stream>(stream_handle, "stream");
      Allocation& destination = live<Allocation>(to, "destination");
      Allocation& source = live<Allocation>(from, "source");
      check_device(*stream.device, destination, "destination");
      check_device(*stream.device, source, "source");
      check_range(destination, to_offset, size, "destination");
      check_range(source, from_offset, size, "source");
      check_apart(destination, to_offset, source, from_offset, size);
      if (size) stream.copy_on_device(destination, to_offset, source, from_offset, size);
    });
  }
  static weir_result copy_peer(weir_stream stream_handle, weir_allocation to, uint64_t to_offset,
                               weir_allocation from, uint64_t from_offset, uint64_t size,
                               weir_status* status) {
    return call(status, [&] {
      Stream& stream = live<Stream>(stream_handle, "stream");
      Allocation& destination = live<Allocation>(to, "destination");
      Allocation& source = live<Allocation>(from, "source");
      check_capability(*stream.device, WEIR_CAP_PEER_COPY, "copies between devices");
      if (destination.device != stream.device && source.device != stream.device)
        fail(WEIR_ERROR_INVALID,
             "the stream is of device %u; expected that of destination, %u, or of source, %u",
             stream.device->index, destination.device->index, source.device->index);
      check_range(destination, to_offset, size, "destination");
      check_range(source, from_offset, size, "source");
      check_apart(destination, to_offset, source, from_offset, size);
      if (size) stream.copy_peer(destination, to_offset, source, from_offset, size);
    });
  }
  static weir_result fill(weir_stream stream_handle, weir_allocation handle, uint64_t offset, uint64_t size,
                          const void* bytes, uint32_t pattern_size, weir_status* status) {
    return call(status, [&] {
      Stream& stream = live<Stream>(stream_handle, "stream");
      Allocation& destination = live<Allocation>(handle, "destination");
      check_device(*stream.device, destination, "destination");
      const Pattern pattern = check_pattern(offset, size, bytes, pattern_size);
      check_range(destination, offset, size, "destination");
      if (size) stream.fill(destination, offset, size, pattern);
    });
  }

  // -- code --

  static weir_result module_load(weir_device handle, const weir_code_object* asked, weir_module* out_module,
                                 weir_status* status) {
    return call_in_default_environment(status, [&] {
      Device& device = live<Device>(handle, "device");
      const weir_code_object object = check_code_object(asked);
      weir_module& out = output(out_module, "out_module");
      Module& module = device.load_module(object);
      say(module.device, &device);
      say(module.name, object.name);
      out = handle_of<weir_module>(module);
    });
  }
  static weir_result code_compile(weir_device handle, const weir_code_object* asked,
                                  weir_code_receiver receive, void* user, weir_status* status) {
    return call_in_default_environment(status, [&] {
      Device& device = live<Device>(handle, "device");
      check_capability(device, WEIR_CAP_CODE_COMPILE, "compilation of code objects");
      const weir_code_object object = check_code_object(asked);
      if (!receive) fail(WEIR_ERROR_INVALID, "receive is null; expected a function");
      device.compile_code(object, receive, user);
    });
  }
  static weir_result module_unload(weir_module handle, weir_status* status) {
    return call(status, [&] {
      Module& module = live<Module>(handle, "module");
      retire(module, "module");
      for (Kernel* kernel : module.kernels) {
        kernel->kind.store(Kind::dead, std::memory_order_release);
        if constexpr (requires { kernel->unload(); }) kernel->unload();
        Pool<Kernel>::of().give(*kernel);
      }
      module.kernels.clear();
      module.unload();
    });
  }
  static weir_result module_get_kernel(weir_module handle, const char* name, const weir_kernel_layout* asked,
                                       weir_kernel* out_kernel, weir_status* status) {
    return call_in_default_environment(status, [&] {
      Module& module = live<Module>(handle, "module");
      if (!name || !*name) fail(WEIR_ERROR_INVALID, "name is null or empty; expected a kernel's name");
      const weir_kernel_layout layout = read_struct(asked, "layout");
      weir_kernel& out = output(out_kernel, "out_kernel");
      check_layout(layout, *module.device, name);
      std::lock_guard lock(module.mutex);
      for (Kernel* kernel : module.kernels)
        if (kernel->name == name && same_layout(*kernel, layout)) {
          out = handle_of<weir_kernel>(*kernel);
          return;
        }
      module.kernels.reserve(module.kernels.size() + 1);
      Fresh<Kernel> kernel;
      kernel->device = module.device;
      kernel->name = name;
      kernel->argument_bytes = layout.argument_bytes;
      kernel->parameters.assign(layout.parameters, layout.parameters + layout.parameter_count);
      kernel->info = {};
      module.find_kernel(*kernel);
      Kernel& found = kernel.publish();
      module.kernels.push_back(&found);
      out = handle_of<weir_kernel>(found);
    });
  }
  static weir_result kernel_get_info(weir_kernel kernel, weir_kernel_info* out, weir_status* status) {
    return call(status, [&] { write_struct(out, live<Kernel>(kernel, "kernel").info, "info"); });
  }
  static weir_result kernel_launch(weir_stream stream_handle, const weir_launch* asked, weir_status* status) {
    return call(status, [&] {
      Stream& stream = live<Stream>(stream_handle, "stream");
      const weir_launch launch = read_struct(asked, "launch");
      Kernel& kernel = live<Kernel>(launch.kernel, "launch.kernel");
      check_launch(*stream.device, kernel, launch);
      check_resident(kernel, launch);
      stream.launch(kernel, launch);
    });
  }
  static weir_result kernel_max_cooperative_blocks(weir_kernel handle, uint32_t block_threads,
                                                   uint32_t dynamic_shared_bytes, uint32_t* out_blocks,
                                                   weir_status* status) {
    return call(status, [&] {
      Kernel& kernel = live<Kernel>(handle, "kernel");
      std::uint32_t& out = output(out_blocks, "out_blocks");
      check_capability(*kernel.device, WEIR_CAP_COOPERATIVE_LAUNCH, "cooperative launches");
      check_block(*kernel.device, kernel, block_threads, "block_threads", dynamic_shared_bytes,
                  "dynamic_shared_bytes");
      out = kernel.max_cooperative_blocks(block_threads, dynamic_shared_bytes);
    });
  }
  /// Checks that all blocks of a checked cooperative launch can be resident at once.
  static void check_resident(Kernel& kernel, const weir_launch& launch) {
    if constexpr (HasCooperativeLaunch<D>)
      if (launch.flags & WEIR_LAUNCH_COOPERATIVE) [[unlikely]]
        check_cooperative_grid(
            kernel, launch,
            kernel.max_cooperative_blocks(launch.block[0] * launch.block[1] * launch.block[2],
                                          launch.dynamic_shared_bytes));
  }

  // -- extensions --

  static weir_result get_extension(const char* name, uint32_t version, const void** out_table,
                                   weir_status* status) {
    return call(status, [&] {
      if (!name) fail(WEIR_ERROR_INVALID, "name is null; expected the name of an extension");
      const void*& out = output(out_table, "out_table");
      const void* found = nullptr;
      if constexpr (requires { D::extension(name, version); }) found = D::extension(name, version);
      if (!found)
        fail(WEIR_ERROR_NOT_FOUND, "the %s driver has no extension '%.64s' of version %u", D::name, name,
             version);
      out = found;
    });
  }
};

}  // namespace weir::sdk
