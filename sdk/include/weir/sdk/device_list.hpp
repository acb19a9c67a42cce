// SPDX-License-Identifier: Apache-2.0
// The devices of a driver: created at the first opening, reference counted, and never destroyed, so that late
// use of a handle reads valid memory.
#pragma once

#include "capabilities.hpp"

namespace weir::sdk {

template <class D>
class DeviceList {
 public:
  using Device = typename D::Device;

  static DeviceList& get() {
    static auto* const list = new DeviceList;
    return *list;
  }

  static void check_index(std::uint32_t index) {
    const std::uint32_t count = D::device_count();
    if (index >= count)
      fail(WEIR_ERROR_INVALID, "device index is %u; the %s driver has %u device%s", index, D::name, count,
           count == 1 ? "" : "s");
  }

  /// A device's description, with the capabilities that the class and the host's ABI version allow.
  static weir_device_info describe(std::uint32_t index, std::uint32_t minor) {
    check_index(index);
    weir_device_info info{};
    info.capabilities = function_capabilities<D>(minor);  // the driver clears those that this device lacks
    D::describe(index, info);
    info.capabilities &= function_capabilities<D>(minor) | property_capabilities;
    return info;
  }

  Device& open(std::uint32_t index) {
    check_index(index);
    Device& device = at(index);
    std::lock_guard lock(device.opening);
    if (device.openings == 0) {
      const weir_device_info info = describe(index, WEIR_ABI_MINOR(WEIR_ABI_CURRENT));
      device.index = index;
      device.capabilities = info.capabilities;
      device.argument_style = info.argument_style;
      device.limits = limits_of(info);
      device.open();
    }
    ++device.openings;
    device.kind.store(Kind::device, std::memory_order_release);
    return device;
  }

  void close(Device& device) {
    std::lock_guard lock(device.opening);
    if (device.openings == 0) fail(WEIR_ERROR_INVALID, "device was closed as often as it was opened");
    if (--device.openings != 0) return;
    device.kind.store(Kind::dead, std::memory_order_release);
    device.close();
  }

 private:
  Device& at(std::uint32_t index) {
    std::lock_guard lock(mutex_);
    if (devices_.size() <= index) devices_.resize(index + 1);
    if (!devices_[index]) devices_[index] = new Device;
    return *devices_[index];
  }

  std::mutex mutex_;
  std::vector<Device*> devices_;
};

}  // namespace weir::sdk
