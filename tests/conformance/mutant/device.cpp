// SPDX-License-Identifier: Apache-2.0
#include "mutant.hpp"

namespace mutant {
namespace {

/// A device_get_info that passes the real result through `change`, within the caller's struct size.
template <auto change>
weir_result changed_info(std::uint32_t index, weir_device_info* info, weir_status* status) {
  weir_device_info full{};
  full.struct_size = sizeof full;
  const weir_result result = real().device_get_info(index, &full, status);
  if (result != WEIR_OK) return result;
  change(full);
  full.struct_size = info->struct_size;
  std::memcpy(info, &full, std::min<std::size_t>(info->struct_size, sizeof full));
  return WEIR_OK;
}

template <auto change>
void info_mutant(weir_driver_table& table) {
  table.device_get_info = changed_info<change>;
}

}  // namespace

std::span<const Mutant> device_mutants() {
  using Table = weir_driver_table;
  using Info = weir_device_info;
  static const Mutant mutants[] = {
      {"device-count-changes", "device_count returns the same number each time",
       [](Table& t) {
         t.device_count = [](std::uint32_t* out, weir_status*) -> weir_result {
           static std::atomic<std::uint32_t> next{1};
           *out = next++;
           return WEIR_OK;
         };
       }},
      {"device-index-unchecked", "an index past the end is invalid",
       [](Table& t) {
         t.device_get_info = [](std::uint32_t, Info* info, weir_status* status) {
           return real().device_get_info(0, info, status);
         };
       }},
      {"device-open-unchecked", "an index past the end is invalid",
       [](Table& t) {
         t.device_open = [](std::uint32_t, weir_device* out, weir_status* status) {
           const weir_result result = real().device_open(0, out, status);
           opened_device() = *out;
           return result;
         };
       }},
      {"device-info-past-its-size", "the caller's struct_size is respected",
       [](Table& t) {
         t.device_get_info = [](std::uint32_t index, Info* info, weir_status* status) {
           if (info->struct_size < sizeof(Info)) info->struct_size = sizeof(Info);
           return real().device_get_info(index, info, status);
         };
       }},
      {"device-name-endless", "texts are terminated",
       info_mutant<[](Info& i) { std::memset(i.name, 'x', sizeof i.name); }>},
      {"device-without-name", "the device has a name", info_mutant<[](Info& i) { i.name[0] = 0; }>},
      {"device-without-targets", "code targets are listed",
       info_mutant<[](Info& i) { i.code_target_count = 0; }>},
      {"device-too-many-targets", "at most four code targets",
       info_mutant<[](Info& i) { i.code_target_count = 5; }>},
      {"device-limits-zero", "limits are at least 1", info_mutant<[](Info& i) { i.max_grid[1] = 0; }>},
      {"device-alignment-odd", "memory_alignment is a power of two",
       info_mutant<[](Info& i) { i.memory_alignment = 96; }>},
      {"device-alignment-small", "memory_alignment is at least 64",
       info_mutant<[](Info& i) { i.memory_alignment = 32; }>},
      {"device-pinned-name-alone", "DLPack's name of pinned memory needs one of device memory",
       info_mutant<[](Info& i) { i.dlpack_type = 0, i.dlpack_host_type = 3; }>},
      {"device-priorities-reversed", "max_priority is not above min_priority",
       info_mutant<[](Info& i) { i.min_priority = -1, i.max_priority = 1; }>},
      {"device-unknown-kind", "kind is a number of the header", info_mutant<[](Info& i) { i.kind = 17; }>},
      {"device-unknown-capability", "no unknown capability is claimed",
       info_mutant<[](Info& i) { i.capabilities |= 1ull << 40; }>},
      {"device-claims-native-streams", "a claimed capability works",
       info_mutant<[](Info& i) { i.capabilities |= WEIR_CAP_NATIVE_STREAM; }>},
      {"device-hides-callbacks", "a clear bit means UNSUPPORTED",
       info_mutant<[](Info& i) { i.capabilities &= ~std::uint64_t{WEIR_CAP_HOST_CALLBACK}; }>},
      {"device-hides-pinned-memory", "a clear bit means UNSUPPORTED",
       info_mutant<[](Info& i) { i.capabilities &= ~std::uint64_t{WEIR_CAP_PINNED_MEMORY}; }>},
      {"device-hides-timed-events", "a clear bit means UNSUPPORTED",
       info_mutant<[](Info& i) { i.capabilities &= ~std::uint64_t{WEIR_CAP_TIMED_EVENTS}; }>},
      {"device-hides-graphs", "a clear bit means UNSUPPORTED",
       info_mutant<[](Info& i) { i.capabilities &= ~std::uint64_t{WEIR_CAP_GRAPHS}; }>},
      {"device-hides-external-memory", "a clear bit means UNSUPPORTED",
       info_mutant<[](Info& i) { i.capabilities &= ~std::uint64_t{WEIR_CAP_EXTERNAL_MEMORY}; }>},
      {"device-hides-ordered-allocation", "a clear bit means UNSUPPORTED",
       info_mutant<[](Info& i) { i.capabilities &= ~std::uint64_t{WEIR_CAP_STREAM_ORDERED_ALLOCATION}; }>},
      {"device-close-closes-all", "each opening is closed separately",
       [](Table& t) {
         t.device_close = [](weir_device device, weir_status* status) {
           while (real().device_close(device, nullptr) == WEIR_OK) {
           }
           (void)status;
           return weir_result{WEIR_OK};
         };
       }},
      {"device-more-free-than-total", "free memory is not above the total",
       [](Table& t) {
         t.device_get_memory = [](weir_device device, std::uint64_t* free, std::uint64_t* total,
                                  weir_status* status) {
           const weir_result result = real().device_get_memory(device, free, total, status);
           if (result == WEIR_OK) *free = *total + 1;
           return result;
         };
       }},
      {"status-needed", "the status may be null",
       [](Table& t) {
         t.device_count = [](std::uint32_t* out, weir_status* status) {
           return status ? real().device_count(out, status) : weir_result{WEIR_ERROR_INVALID};
         };
       }},
      {"status-past-its-size", "a status is written up to its struct_size",
       [](Table& t) {
         t.device_open = [](std::uint32_t index, weir_device* out, weir_status* status) {
           if (status) status->struct_size = sizeof *status;
           const weir_result result = real().device_open(index, out, status);
           if (result == WEIR_OK) opened_device() = *out;
           return result;
         };
       }},
      {"status-without-code", "status.code is the returned code",
       [](Table& t) {
         t.device_open = [](std::uint32_t index, weir_device* out, weir_status* status) {
           const weir_result result = real().device_open(index, out, status);
           if (result == WEIR_OK)
             opened_device() = *out;
           else if (status)
             status->code = WEIR_OK;
           return result;
         };
       }},
      {"status-endless", "a message is terminated",
       [](Table& t) {
         t.device_open = [](std::uint32_t index, weir_device* out, weir_status* status) {
           const weir_result result = real().device_open(index, out, status);
           if (result == WEIR_OK)
             opened_device() = *out;
           else if (status && status->struct_size == sizeof *status)
             std::memset(status->message, 'x', sizeof status->message);
           return result;
         };
       }},
  };
  return mutants;
}

}  // namespace mutant
