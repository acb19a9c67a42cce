// SPDX-License-Identifier: Apache-2.0
// Devices: what Weir runs work on.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <weir/element.hpp>
#include <weir/export.hpp>

namespace weir {

class Stream;
class StreamRef;
class EventRef;
class Event;
class TimedEvent;
class Module;
template <KernelElement T, std::size_t Rank = 1>
class Array;
template <KernelElement T>
class PinnedArray;

namespace detail {
struct DeviceState;
struct StreamState;
}  // namespace detail

enum class DeviceKind : std::uint8_t { cpu, integrated, discrete, other };

/// Optional features of a device; DeviceInfo::capabilities is a set of these bits.
enum class Capability : std::uint64_t {
  stream_ordered_allocation = 1u << 0,
  timed_events = 1u << 1,
  stream_priority = 1u << 2,
  host_callback = 1u << 3,
  pinned_memory = 1u << 4,
  peer_copy = 1u << 5,
  device_address = 1u << 6,
  native_stream = 1u << 7,
  concurrent_streams = 1u << 8,
  graphs = 1u << 9,
  external_memory = 1u << 10,
  code_compile = 1u << 11,
  cooperative_launch = 1u << 12,
};

/// A code object format that a device loads and its newest target: {"ptx", "sm_90"}.
struct CodeTarget {
  std::string format;
  std::string target;
};

/// Properties of a device. Sizes are in bytes; 0 if the driver does not report one.
struct DeviceInfo {
  std::string name;  ///< "NVIDIA H200"
  std::string vendor;
  std::string driver_version;  ///< of the vendor's runtime
  std::string location;        ///< PCI address, or ""
  DeviceKind kind = DeviceKind::other;
  std::array<std::uint8_t, 16> uuid{};
  std::uint64_t capabilities = 0;
  std::uint64_t total_memory = 0;
  std::uint64_t memory_bandwidth = 0;    ///< bytes per second
  std::vector<CodeTarget> code_targets;  ///< preferred first
  std::string target_features;
  std::uint32_t multiprocessors = 0;  ///< cores of a CPU
  std::uint32_t lanes = 1;            ///< threads that execute together
  std::uint32_t max_block_threads = 1;
  std::array<std::uint32_t, 3> max_block{};
  std::array<std::uint32_t, 3> max_grid{};
  std::uint32_t max_shared_bytes = 0;
  std::uint32_t max_argument_bytes = 0;
  std::uint32_t memory_alignment = 64;
  std::int32_t min_priority = 0;  ///< numerically largest, least urgent
  std::int32_t max_priority = 0;  ///< numerically smallest, most urgent
  std::uint32_t recommended_streams = 0;
  std::uint32_t max_threads_per_multiprocessor = 0;
  std::uint32_t max_blocks_per_multiprocessor = 0;
  std::uint32_t shared_bytes_per_multiprocessor = 0;
  std::uint32_t max_registers_per_multiprocessor = 0;
  std::uint32_t max_registers_per_block = 0;
  std::uint32_t dlpack_type = 0;       ///< of device memory, in the DLPack format; 0 if the format has no name
  std::uint32_t dlpack_host_type = 0;  ///< of pinned host memory
  std::int32_t dlpack_id = 0;          ///< the device's number in the vendor's runtime
  std::string notes;                   ///< fallbacks in use, one per line

  bool has(Capability capability) const noexcept {
    return (capabilities & static_cast<std::uint64_t>(capability)) != 0;
  }
};

/// Bytes of memory, as the vendor's runtime reports them. Memory that the driver keeps for later allocations
/// counts as free, but MemoryStatistics::bytes_cached do not.
struct MemorySize {
  std::uint64_t free = 0;
  std::uint64_t total = 0;
};

/// Contents and counts of the device's memory pool. Bytes count whole memory blocks, as the driver allocated
/// them.
struct MemoryStatistics {
  std::uint64_t bytes_in_use = 0;
  std::uint64_t bytes_cached = 0;         ///< freed and kept for reuse
  std::uint64_t bytes_peak = 0;           ///< the most that was in use and cached together
  std::uint64_t allocations = 0;          ///< requested from the pool
  std::uint64_t driver_allocations = 0;   ///< requested from the driver
  std::uint64_t cross_stream_reuses = 0;  ///< memory blocks that another stream had used
};

/// Contents of the device's pools of streams and events.
struct StreamStatistics {
  std::uint32_t streams_created = 0;  ///< driver streams that exist now, foreign ones included
  std::uint32_t streams_leased = 0;   ///< in use by regions that are being submitted now
  std::uint32_t lease_limit = 0;      ///< the most streams that regions share
  std::uint32_t events_created = 0;   ///< driver events that exist now
};

/// A ready code object. Refers to memory that must live until load_module() returns.
struct CodeObject {
  std::string_view format;  ///< one of the device's code_targets' formats
  std::string_view target;  ///< target processor, "x86-64", "sm_90"; "" if the format has no targets
  std::span<const std::byte> data;
  std::string_view name = {};  ///< for messages and profilers
};

/// A device of an installed driver. A cheap handle, always valid for the life of the process; every function
/// may be called from several threads. Opening the device in the vendor's runtime happens on first use.
///
/// Functions throw Error with the driver's message. After a device is lost, they throw Error{device_lost}
/// with the first failure. Other drivers keep working, and the driver's other devices if the vendor's runtime
/// does.
class WEIR_API Device {
 public:
  /// "cpu", "cuda", ...: the driver's name.
  const std::string& driver() const noexcept;
  /// Position among the driver's devices.
  std::uint32_t index() const noexcept;
  /// "cpu:0": the word that open() takes.
  std::string name() const;
  const DeviceInfo& info() const noexcept;
  MemorySize memory() const;

  /// Creates a stream. Only events and regions order it with other streams. `priority` 0 is the default,
  /// smaller is more urgent, clamped to the device's range.
  Stream create_stream(int priority = 0) const;
  /// A stream of a vendor handle (a CUstream), which the caller owns and which must outlive the Stream.
  /// Throws Error{unsupported} if the driver cannot wrap streams.
  Stream wrap_stream(void* native) const;
  /// An ordinary stream that exists once per device; calls without an explicit or current stream use
  /// it.
  StreamRef default_stream() const;

  Event create_event() const;
  /// Throws Error{unsupported} where the driver has no timed events.
  TimedEvent create_timed_event() const;

  /// A new array of at most 4 extents, its elements undefined; without extents, it has one element. Its
  /// memory is allocated in the order of `stream`, or of the current stream. Other streams may use it at
  /// once; Weir orders them after the allocation. Throws Error{invalid} for negative or overflowing extents.
  /// Throws Error{out_of_memory} with the sizes if memory is short even with empty caches.
  template <KernelElement T, std::integral... Extents>
  requires(sizeof...(Extents) <= max_rank) Array<T, sizeof...(Extents)> array(Extents... extents)
  const;
  template <KernelElement T, std::integral... Extents>
  requires(sizeof...(Extents) <= max_rank) Array<T, sizeof...(Extents)> array(const StreamRef& stream,
                                                                              Extents... extents)
  const;
  template <class T, class... A>
  requires(!KernelElement<T>) void array(A&&...) const {
    static_assert(KernelElement<T>,
                  "arrays hold numbers, bool, half, or Vec or Mat of these: give each member of a struct an "
                  "array of its own");
  }
  /// A new array that holds `values`, on the current stream or on `stream`; returns when they have been read.
  template <KernelElement T>
  Array<T> array_of(std::span<const T> values) const;
  template <KernelElement T>
  Array<T> array_of(const StreamRef& stream, std::span<const T> values) const;

  /// Host memory that copies use at full speed; ordinary memory where the driver has no pinned memory.
  template <KernelElement T>
  PinnedArray<T> pinned_array(std::size_t size) const;

  /// Loads a ready code object. Throws Error{code_object} with the loader's log.
  Module load_module(const CodeObject& object) const;

  /// Waits for everything submitted to the device through Weir, on every stream. Throws the first failure of
  /// any of them after all are done.
  void synchronize() const;

  /// Gives cached memory back to the driver, after waiting for the work that still uses it. Returns the
  /// bytes.
  std::uint64_t trim_memory() const;
  MemoryStatistics memory_statistics() const noexcept;
  StreamStatistics stream_statistics() const noexcept;

  friend bool operator==(const Device&, const Device&) = default;

  explicit Device(detail::DeviceState* state) noexcept : state_(state) {}
  detail::DeviceState* state() const noexcept { return state_; }

 private:
  detail::DeviceState* state_;
};

/// Every device of every usable driver, in the order of the driver search path.
WEIR_API std::vector<Device> devices();

/// The device that the environment variable WEIR_DEVICE names ("cpu", "cuda:1"), else the best one present:
/// discrete before integrated before CPU. Throws Error{no_device} that lists the status of every candidate
/// driver, and Error{invalid} if no device is named and a driver refuses the value of one of its settings.
WEIR_API Device open();

/// The device of that name, "cuda" or "cuda:1". Throws Error{invalid} when the name is malformed,
/// Error{no_device} that lists the present devices if there is no such device.
WEIR_API Device open(std::string_view name);

}  // namespace weir

#include <weir/array.hpp>
