// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cinttypes>

#include "validate.hpp"

namespace weir::validate {

weir_memory_options Validate::check_options(const weir_memory_options* asked) {
  if (!asked) refuse("null", "options is null; expected a weir_memory_options");
  const weir_memory_options options = sdk::read_struct(asked, "options");
  if (options.size == 0) refuse("argument", "options.size is 0; expected at least 1 byte");
  if (options.kind > WEIR_MEMORY_PINNED)
    refuse("argument", "options.kind is %u; expected WEIR_MEMORY_DEVICE or WEIR_MEMORY_PINNED", options.kind);
  if (options.alignment && !std::has_single_bit(options.alignment))
    refuse("argument", "options.alignment is %" PRIu64 "; expected 0 or a power of two", options.alignment);
  return options;
}

weir_result Validate::memory_allocate(weir_device handle, const weir_memory_options* asked,
                                      weir_allocation* out, weir_status* status) {
  const std::shared_ptr<Device> device = live<Device>(handle, "device");
  out_argument(out, "out_allocation");
  const weir_memory_options options = check_options(asked);
  auto allocation = std::make_shared<Allocation>();
  allocation->size = options.size;
  allocation->pinned = options.kind == WEIR_MEMORY_PINNED;
  const weir_result result = next.memory_allocate(device->real, asked, &allocation->real, status);
  if (result == WEIR_OK) put(allocation, device, *out, [&] { next.memory_free(allocation->real, nullptr); });
  return result;
}

weir_result Validate::memory_allocate_async(weir_stream handle, const weir_memory_options* asked,
                                            weir_allocation* out, weir_status* status) {
  const std::shared_ptr<Stream> stream = live<Stream>(handle, "stream");
  out_argument(out, "out_allocation");
  const weir_memory_options options = check_options(asked);
  auto allocation = std::make_shared<Allocation>();
  allocation->size = options.size;
  const weir_result result = next.memory_allocate_async(stream->real, asked, &allocation->real, status);
  if (result != WEIR_OK) return result;
  put(allocation, stream->device, *out,
      [&] { next.memory_free_async(stream->real, allocation->real, nullptr); });
  return taken([&] {
    Use birth = use_of(allocation, 0, allocation->size, WEIR_ACCESS_WRITE, "memory_allocate_async");
    birth.access.special = Access::Special::birth;
    touch(*stream, {std::move(birth)});
  });
}

// mutex_ must be held.
void Validate::forget_memory(Allocation& allocation, const char* by) {
  objects_.remove(allocation, by);
  Device& device = *allocation.device;
  if (allocation.external)
    std::erase_if(device.external,
                  [&](const auto& other) { return other.expired() || other.lock().get() == &allocation; });
  if (allocation.host_address && !allocation.external) device.by_host_address.erase(allocation.host_address);
  if (!allocation.address) return;
  constexpr std::size_t max_gone = 256;
  if (!allocation.external) device.by_address.erase(allocation.address);
  try {
    device.gone.push_front({allocation.address, allocation.address + allocation.size,
                            describe(allocation) + ", which " + by + " ended"});
  } catch (const std::bad_alloc&) {  // later uses of the address are not explained
  }
  if (device.gone.size() > max_gone) device.gone.pop_back();
}

weir_result Validate::memory_free(weir_allocation handle, weir_status* status) {
  const std::shared_ptr<Allocation> allocation = live<Allocation>(handle, "allocation");
  std::string busy;
  {
    const Lock lock(mutex_);
    if (const Access* access = allocation->history.unfinished(host_))
      if (options_.races != Options::Races::off)
        busy = sdk::format_text("%s: %s is freed while %s on stream %" PRIu64
                                " may still use it; wait on the host first, or use memory_free_async",
                                calling, describe(*allocation).c_str(), access->actor->what.c_str(),
                                access->stream);
    forget_memory(*allocation, "memory_free");
  }
  if (!busy.empty()) report("busy", busy);
  return next.memory_free(allocation->real, status);
}

weir_result Validate::memory_free_async(weir_stream handle, weir_allocation allocation_handle,
                                        weir_status* status) {
  const std::shared_ptr<Stream> stream = live<Stream>(handle, "stream");
  const std::shared_ptr<Allocation> allocation = live<Allocation>(allocation_handle, "allocation");
  check_device(*allocation, *stream->device, "allocation");
  {
    const Lock lock(mutex_);
    forget_memory(*allocation, "memory_free_async");
  }
  const weir_result result = next.memory_free_async(stream->real, allocation->real, status);
  if (result != WEIR_OK) return result;
  return taken([&] {
    Use end = use_of(allocation, 0, allocation->size, WEIR_ACCESS_WRITE, "memory_free_async");
    end.access.special = Access::Special::end;
    touch(*stream, {std::move(end)});
  });
}

// The layer learns addresses here, because callers that pass addresses also obtain them from this call.
weir_result Validate::memory_get_info(weir_allocation handle, weir_memory_info* info, weir_status* status) {
  const std::shared_ptr<Allocation> allocation = live<Allocation>(handle, "allocation");
  out_argument(info, "info");
  const weir_result result = next.memory_get_info(allocation->real, info, status);
  if (result != WEIR_OK || info->struct_size < sizeof *info) return result;
  const Lock lock(mutex_);
  Device& device = *allocation->device;
  if (info->device_address && !allocation->address) {
    if (!allocation->external) device.by_address[info->device_address] = allocation;
    allocation->address = info->device_address;
    std::erase_if(device.gone, [&](const Device::Gone& gone) {
      return gone.begin < allocation->address + allocation->size && allocation->address < gone.end;
    });
  }
  if (info->host_pointer && !allocation->host_address) {
    const auto address = reinterpret_cast<std::uint64_t>(info->host_pointer);
    if (!allocation->external) device.by_host_address[address] = allocation;
    allocation->host_address = address;
  }
  return WEIR_OK;
}

weir_result Validate::memory_wrap(weir_device handle, const weir_external_memory* asked, weir_allocation* out,
                                  weir_status* status) {
  const std::shared_ptr<Device> device = live<Device>(handle, "device");
  out_argument(out, "out_allocation");
  if (!asked) refuse("null", "memory is null; expected a weir_external_memory");
  const weir_external_memory memory = sdk::read_struct(asked, "memory");
  if (memory.kind > WEIR_EXTERNAL_HOST)
    refuse("argument", "memory.kind is %u; expected WEIR_EXTERNAL_DEVICE or WEIR_EXTERNAL_HOST", memory.kind);
  if (memory.address == 0 || memory.size == 0 || memory.size > ~memory.address)
    refuse("argument",
           "memory begins at 0x%" PRIx64 " and has %" PRIu64
           " bytes; expected an address other than 0 and at least "
           "1 byte, which end below 2^64",
           memory.address, memory.size);
  auto allocation = std::make_shared<Allocation>();
  allocation->size = memory.size;
  allocation->pinned = memory.kind == WEIR_EXTERNAL_HOST;
  allocation->external = true;
  {
    const Lock lock(mutex_);
    device->external.push_back(allocation);  // no longer found if the call fails
  }
  const weir_result result = next.memory_wrap(device->real, asked, &allocation->real, status);
  if (result == WEIR_OK) put(allocation, device, *out, [&] { next.memory_free(allocation->real, nullptr); });
  return result;
}

// The allocation that contains the byte at `address`, or else one that ends there: empty arrays may begin at
// the end. External memory is considered last. mutex_ must be held.
std::shared_ptr<Allocation> Validate::allocation_at(const Device& device, std::uint64_t address) const {
  std::shared_ptr<Allocation> ends;
  const auto contains = [&](const std::shared_ptr<Allocation>& one) {
    if (!one || !one->address || address < one->address || address - one->address > one->size) return false;
    if (address - one->address < one->size) return true;
    if (!ends) ends = one;
    return false;
  };
  if (const auto found = device.by_address.upper_bound(address); found != device.by_address.begin())
    if (std::shared_ptr<Allocation> allocation = std::prev(found)->second.lock(); contains(allocation))
      return allocation;
  for (const std::weak_ptr<Allocation>& one : device.external)
    if (std::shared_ptr<Allocation> allocation = one.lock(); contains(allocation)) return allocation;
  return ends;
}

}  // namespace weir::validate
