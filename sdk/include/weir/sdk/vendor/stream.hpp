// SPDX-License-Identifier: Apache-2.0
// Streams of a vendor's runtime, and submission to them. Every call names its stream; the default stream is
// never used.
//
// Requires of the vendor's traits V:
//   static void check_foreign_stream(Device<V>&, void* native);
//       throws a Failure to refuse the handle; omitted if foreign streams are unsupported
//   static constexpr bool stream_destroy_waits;
//       whether destroying a stream waits for its work
//   static Code copy_peer(Address to, Device<V>&, Address from, Device<V>&, std::size_t, void* stream);
//       between memory of two devices
//   static Code fill_column(Address, std::size_t pitch, unsigned value, std::size_t count, void* stream);
//       `count` times the 4 bytes of `value`, `pitch` bytes apart
//   static constexpr std::uint64_t long_fill_seed;
//       number of elements of a long pattern filled by columns; the rest is copied from them
#pragma once

#include <memory>

#include "../checks.hpp"
#include "../floating_point.hpp"
#include "device.hpp"
#include "launch.hpp"
#include "memory.hpp"

namespace weir::sdk::vendor {

template <class V>
struct Graph;

template <class V>
struct Stream : StreamObject<Device<V>> {
  using StreamObject<Device<V>>::device;
  void* native = nullptr;
  bool owned = true;

  /// Does not wait: the stream is destroyed when its work is complete.
  void destroy() noexcept {
    Current<V> current(*device, std::nothrow);
    device->pool.forget(*device, native);
    if (owned) {
      if (!V::stream_destroy_waits || !destroy_later()) V::calls().stream_destroy(native);
    }
    Pool<Stream>::of().give(*this);
  }

  void flush() { device->check_alive(); }  // no work is delayed

  bool query() {
    Current<V> current(*device);
    const Code code = V::calls().stream_query(native);
    if (code == not_ready) return false;
    device->check(code, "finish the stream's work");
    return true;
  }

  void synchronize() {
    Current<V> current(*device);
    device->check(V::calls().stream_synchronize(native), "finish the stream's work");
  }

  void wait(Event<V>& event) {
    Current<V> current(*device);
    device->check(V::calls().stream_wait_event(native, event.native, 0), "let a stream wait for an event");
  }

  void record(Event<V>& event) {
    Current<V> current(*device);
    device->check(V::calls().event_record(event.native, native), "record an event");
  }

  void host_callback(weir_host_callback callback, void* user) {
    struct Call {
      weir_host_callback function;
      void* user;
    };
    std::unique_ptr<Call> call(new Call{callback, user});
    Current<V> current(*device);
    const weir_host_callback run = [](void* what) {
      const std::unique_ptr<Call> taken(static_cast<Call*>(what));
      const DefaultFloatingPoint floating_point;
      taken->function(taken->user);
    };
    device->check(V::calls().host_function(native, run, call.get()), "submit a host callback");
    call.release();
  }

  void* native_handle()
    requires requires { &V::check_foreign_stream; }
  {
    return native;
  }

  Allocation<V>& allocate(const weir_memory_options& options) {
    Current<V> current(*device);
    if (options.kind == WEIR_MEMORY_PINNED) return allocate_pinned(*device, options);
    return allocate_ordered(*device, native, options);
  }

  void free(Allocation<V>& allocation) {
    Current<V> current(*device);
    free_ordered(*device, native, allocation);
  }

  /// Copies of pinned memory never block; others block only if no staging buffer is free.
  void copy_to_device(Allocation<V>& to, std::uint64_t offset, const void* from, std::uint64_t size) {
    Current<V> current(*device);
    if (size > V::taken_at_once && Staging<V>::would_wait(from, native) &&
        device->staging.copy_to_device(*device, native, to.address + offset, from, size))
      return;
    device->check(V::calls().copy_to_device(to.address + offset, from, size, native), "copy to the device");
  }

  void copy_to_host(void* to, Allocation<V>& from, std::uint64_t offset, std::uint64_t size) {
    Current<V> current(*device);
    if (Staging<V>::would_wait(to, native) &&
        device->staging.copy_to_host(*device, native, to, from.address + offset, size))
      return;
    device->check(V::calls().copy_to_host(to, from.address + offset, size, native), "copy to the host");
  }

  void copy_on_device(Allocation<V>& to, std::uint64_t to_offset, Allocation<V>& from,
                      std::uint64_t from_offset, std::uint64_t size) {
    Current<V> current(*device);
    device->check(V::calls().copy_on_device(to.address + to_offset, from.address + from_offset, size, native),
                  "copy on the device");
  }

  void copy_peer(Allocation<V>& to, std::uint64_t to_offset, Allocation<V>& from, std::uint64_t from_offset,
                 std::uint64_t size) {
    if (to.device == from.device) return copy_on_device(to, to_offset, from, from_offset, size);
    to.device->check_alive();
    from.device->check_alive();
    Current<V> current(*device);
    device->check(V::copy_peer(to.address + to_offset, *to.device, from.address + from_offset, *from.device,
                               size, native),
                  "copy between devices");
  }

  void fill(Allocation<V>& to, std::uint64_t offset, std::uint64_t size, const Pattern& given) {
    Current<V> current(*device);
    const Calls& calls = V::calls();
    const Pattern pattern = given.shortest();
    const Address begin = to.address + offset;
    Code code = success;
    if (!takes_wide_fills(begin, pattern))
      return device->check(fill_bytes(begin, size, pattern), "fill memory");
    switch (pattern.size) {
      case 1:
        code = calls.fill_8(begin, pattern.bytes[0], size, native);
        break;
      case 2:
        code = calls.fill_16(begin, static_cast<unsigned short>(pattern.word(0)), size / 2, native);
        break;
      case 4:
        code = calls.fill_32(begin, pattern.word(0), size / 4, native);
        break;
      default:
        code = fill_long(begin, size, pattern);
    }
    device->check(code, "fill memory");
  }

  void launch(Kernel<V>& kernel, const weir_launch& launch) {
    Current<V> current(*device);
    kernel.launch(launch, native);
  }

  void launch(Graph<V>& graph) {
    Current<V> current(*device);
    graph.launch(native);
  }

 private:
  /// False if the stream has no work, or its destruction cannot be deferred.
  bool destroy_later() noexcept {
    if (V::calls().stream_query(native) != not_ready) return false;
    try {
      device->deferred.add(
          *device, native, false,
          [](Device<V>&, void* stream) noexcept { V::calls().stream_destroy(stream); }, native);
      return true;
    } catch (...) {
      return false;
    }
  }

  // Column fills are slow (6 GB/s versus 4500 GB/s for fills of 4-byte words on an H200). They therefore fill
  // only the beginning; copies, each as long as the part already filled, fill the rest.
  Code fill_long(Address begin, std::uint64_t size, const Pattern& pattern) {
    std::uint64_t done = std::min(size, V::long_fill_seed * pattern.size);
    Code code = success;
    for (std::uint32_t column = 0; column < pattern.size / 4 && code == success; ++column)
      code =
          V::fill_column(begin + 4 * column, pattern.size, pattern.word(column), done / pattern.size, native);
    return code == success ? repeat(begin, done, size) : code;
  }

  Code fill_bytes(Address begin, std::uint64_t size, const Pattern& pattern) {
    const std::uint64_t once = std::min<std::uint64_t>(size, pattern.size);
    Code code = success;
    for (std::uint64_t i = 0; i < once && code == success; ++i)
      code = V::calls().fill_8(begin + i, pattern.bytes[i], 1, native);
    return code == success ? repeat(begin, once, size) : code;
  }

  /// Copies the first `done` bytes until they fill `size` bytes.
  Code repeat(Address begin, std::uint64_t done, std::uint64_t size) {
    Code code = success;
    while (done < size && code == success) {
      const std::uint64_t more = std::min(done, size - done);
      code = V::calls().copy_on_device(begin + done, begin, more, native);
      done += more;
    }
    return code;
  }
};

template <class V>
Stream<V>& Device<V>::create_stream(std::int32_t priority) {
  Current<V> current(*this);
  deferred.sweep(*this);  // streams that were destroyed while they were busy
  Fresh<Stream<V>> stream;
  stream->device = this;
  stream->owned = true;
  check(V::calls().stream_create(&stream->native, stream_non_blocking, priority), "create a stream");
  return stream.publish();
}

template <class V>
Stream<V>& Device<V>::wrap_stream(void* native)
  requires requires { &V::check_foreign_stream; }
{
  Current<V> current(*this);
  V::check_foreign_stream(*this, native);
  Fresh<Stream<V>> stream;
  stream->device = this;
  stream->owned = false;
  stream->native = native;
  return stream.publish();
}

}  // namespace weir::sdk::vendor
