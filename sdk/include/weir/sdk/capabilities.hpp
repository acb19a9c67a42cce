// SPDX-License-Identifier: Apache-2.0
// Capabilities of a driver class, derived from its member functions; table.hpp describes the class. A
// capability without its functions can neither be claimed nor called.
#pragma once

#include "checks.hpp"

namespace weir::sdk {

template <class D>
concept HasStreamOrderedAllocation = requires(typename D::Stream& stream, typename D::Allocation& allocation,
                                              const weir_memory_options& options) {
  stream.allocate(options);
  stream.free(allocation);
};
template <class D>
concept HasTimedEvents = requires(typename D::Event& event) {
  event.elapsed(event);
};
template <class D>
concept HasHostCallback = requires(typename D::Stream& stream, weir_host_callback callback, void* user) {
  stream.host_callback(callback, user);
};
template <class D>
concept HasPeerCopy = requires(typename D::Stream& stream, typename D::Allocation& allocation) {
  stream.copy_peer(allocation, std::uint64_t{}, allocation, std::uint64_t{}, std::uint64_t{});
};
template <class D>
concept HasNativeStream = requires(typename D::Device& device, typename D::Stream& stream, void* native) {
  device.wrap_stream(native);
  stream.native_handle();
};
template <class D>
concept HasGraphs = requires {
  typename D::Graph;
};
template <class D>
concept HasExternalMemory = requires(typename D::Device& device, const weir_external_memory& memory) {
  device.wrap_memory(memory);
};
template <class D>
concept HasCodeCompile = requires(typename D::Device& device, const weir_code_object& object,
                                  weir_code_receiver receive, void* user) {
  device.compile_code(object, receive, user);
};
template <class D>
concept HasCooperativeLaunch = requires(typename D::Kernel& kernel) {
  kernel.max_cooperative_blocks(std::uint32_t{}, std::uint32_t{});
};

/// The bits of the capabilities that consist of functions, for ABI 1.`minor`.
template <class D>
constexpr std::uint64_t function_capabilities(std::uint32_t minor) {
  std::uint64_t bits = 0;
  if (HasStreamOrderedAllocation<D>) bits |= WEIR_CAP_STREAM_ORDERED_ALLOCATION;
  if (HasTimedEvents<D>) bits |= WEIR_CAP_TIMED_EVENTS;
  if (HasHostCallback<D>) bits |= WEIR_CAP_HOST_CALLBACK;
  if (HasPeerCopy<D>) bits |= WEIR_CAP_PEER_COPY;
  if (HasNativeStream<D>) bits |= WEIR_CAP_NATIVE_STREAM;
  if (HasGraphs<D> && minor >= 1) bits |= WEIR_CAP_GRAPHS;
  if (HasExternalMemory<D> && minor >= 2) bits |= WEIR_CAP_EXTERNAL_MEMORY;
  if (HasCodeCompile<D> && minor >= 3) bits |= WEIR_CAP_CODE_COMPILE;
  if (HasCooperativeLaunch<D> && minor >= 4) bits |= WEIR_CAP_COOPERATIVE_LAUNCH;
  return bits;
}

/// The capabilities that are properties of a device; the driver sets their bits.
inline constexpr std::uint64_t property_capabilities =
    WEIR_CAP_STREAM_PRIORITY | WEIR_CAP_PINNED_MEMORY | WEIR_CAP_DEVICE_ADDRESS | WEIR_CAP_CONCURRENT_STREAMS;

/// Throws unless the device has the capability.
inline void check_capability(const DeviceObject& device, std::uint64_t bit, const char* what) {
  if (!(device.capabilities & bit)) [[unlikely]]
    fail(WEIR_ERROR_UNSUPPORTED, "device %u has no %s", device.index, what);
}

}  // namespace weir::sdk
