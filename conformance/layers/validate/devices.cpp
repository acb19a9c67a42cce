// SPDX-License-Identifier: Apache-2.0
#include "validate.hpp"

namespace weir::validate {

weir_result Validate::device_count(std::uint32_t* out, weir_status* status) {
  out_argument(out, "out_count");
  return next.device_count(out, status);
}

weir_result Validate::device_get_info(std::uint32_t index, weir_device_info* info, weir_status* status) {
  out_argument(info, "info");
  return next.device_get_info(index, info, status);
}

weir_result Validate::device_open(std::uint32_t index, weir_device* out, weir_status* status) {
  out_argument(out, "out_device");
  weir_device real = nullptr;
  auto made = std::make_shared<Device>();
  if (const weir_result result = next.device_open(index, &real, status); result != WEIR_OK) return result;
  made->info.struct_size = sizeof made->info;
  if (next.device_get_info(index, &made->info, nullptr) != WEIR_OK) made->info.struct_size = 0;
  const auto record = [&] {
    const Lock lock(mutex_);
    std::weak_ptr<Device>& known = devices_[real];
    std::shared_ptr<Device> device = known.lock();
    if (!device) {
      device = std::move(made);
      device->real = real;
      device->index = index;
      objects_.add(device);
      known = device;
    }
    ++device->openings;
    *out = reinterpret_cast<weir_device>(device->handle);
  };
  record_or_undo(record, [&] { next.device_close(real, nullptr); });
  return WEIR_OK;
}

// All objects must be destroyed before the last closing.
weir_result Validate::device_close(weir_device handle, weir_status* status) {
  const std::shared_ptr<Device> device = live<Device>(handle, "device");
  std::vector<std::shared_ptr<Object>> left;
  bool last = false;
  {
    const Lock lock(mutex_);
    last = --device->openings == 0;
    if (last) {
      left = objects_.of(*device);
      for (const auto& object : left) objects_.remove(*object, "the closing of its device");
      objects_.remove(*device, "device_close");
      devices_.erase(device->real);
    }
  }
  std::erase_if(left,
                [](const auto& object) { return object->kind == Kind::kernel; });  // unloaded with modules
  if (!left.empty() && options_.leaks) {
    constexpr std::size_t max_names = 8;
    std::string names;
    for (std::size_t i = 0; i < left.size() && i < max_names; ++i)
      names += (i ? ", " : "") + describe(*left[i]);
    if (left.size() > max_names) names += " and " + std::to_string(left.size() - max_names) + " more";
    report("leak", std::string(calling) + ": " + std::to_string(left.size()) +
                       (left.size() == 1 ? " object is" : " objects are") + " alive at the last closing of " +
                       describe(*device) + ": " + names + "; destroy them first");
  }
  return next.device_close(device->real, status);
}

weir_result Validate::device_get_memory(weir_device handle, std::uint64_t* out_free, std::uint64_t* out_total,
                                        weir_status* status) {
  out_argument(out_free, "out_free");
  out_argument(out_total, "out_total");
  return next.device_get_memory(live<Device>(handle, "device")->real, out_free, out_total, status);
}

// Calls of the driver's own extensions would pass this layer's handles to a driver that cannot resolve them.
weir_result Validate::get_extension(const char* extension, std::uint32_t, const void** out, weir_status*) {
  if (!extension) refuse("null", "name is null; expected the name of an extension");
  out_argument(out, "out_table");
  sdk::fail(WEIR_ERROR_NOT_FOUND,
            "the validate layer hides extension '%.64s', because it cannot check its calls", extension);
}

}  // namespace weir::validate
