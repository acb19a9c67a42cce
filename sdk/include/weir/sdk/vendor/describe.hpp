// SPDX-License-Identifier: Apache-2.0
// Describes a device from its attributes alone, without a context, which would occupy device memory.
//
// Requires of the vendor's traits V:
//   static const DeviceAttributes attributes;
//       the vendor's attribute numbers
#pragma once

#include "attributes.hpp"
#include "failure.hpp"

namespace weir::sdk::vendor {

struct DeviceAttributes {
  int integrated, concurrent_kernels, stream_priorities, memory_clock_kilohertz, memory_bus_bits,
      multiprocessors, cooperative_launch;
  std::span<const AttributeField> fields;  // attributes stored in a field
};

/// 0 if the library lacks the attribute.
template <class V>
std::uint32_t attribute(int device, int which) noexcept {
  int value = 0;
  return V::calls().device_attribute(&value, which, device) == success && value > 0
             ? static_cast<std::uint32_t>(value)
             : 0;
}

/// Adds a line for `weir info` about a fallback in use.
inline void add_note(weir_device_info& info, const std::string& note) {
  put(info.notes, info.notes + std::string(*info.notes ? "\n" : "") + note);
}

/// Clears a capability that the device lacks, with a note about the fallback.
inline void lacks(weir_device_info& info, std::uint64_t capability, const std::string& note) {
  info.capabilities &= ~capability;
  add_note(info, note);
}

/// Queries the properties that all vendors' runtimes report in the same way.
template <class V>
void describe_common(std::uint32_t index, weir_device_info& info) {
  const int device = static_cast<int>(index);
  const Calls& calls = V::calls();
  const auto value = [device](int which) { return attribute<V>(device, which); };
  char text[128] = "";
  check<V>(calls.device_name(text, sizeof text, device), "ask for a device's name");
  put(info.name, text);
  if (calls.device_bus_id(text, sizeof text, device) == success) put(info.location, text);
  if (calls.device_uuid) calls.device_uuid(info.uuid, device);
  std::size_t memory = 0;
  check<V>(calls.device_total_memory(&memory, device), "ask for a device's memory");
  info.total_memory = memory;

  const DeviceAttributes& known = V::attributes;
  info.kind = value(known.integrated) ? WEIR_DEVICE_INTEGRATED : WEIR_DEVICE_DISCRETE;
  info.argument_style = WEIR_ARGUMENT_ADDRESS;
  info.capabilities |= WEIR_CAP_PINNED_MEMORY | WEIR_CAP_DEVICE_ADDRESS;
  if (value(known.stream_priorities)) info.capabilities |= WEIR_CAP_STREAM_PRIORITY;
  if (value(known.concurrent_kernels)) info.capabilities |= WEIR_CAP_CONCURRENT_STREAMS;
  if (!calls.resident_blocks || !value(known.cooperative_launch))
    info.capabilities &= ~std::uint64_t{WEIR_CAP_COOPERATIVE_LAUNCH};
  fill_attributes(info, known.fields, value);
  info.max_argument_bytes = 4096;
  info.memory_alignment = 256;
  // Two transfers a clock, bits to bytes.
  info.memory_bandwidth =
      std::uint64_t{value(known.memory_clock_kilohertz)} * 1000 * 2 * value(known.memory_bus_bits) / 8;
}

}  // namespace weir::sdk::vendor
