// SPDX-License-Identifier: Apache-2.0
#include "mutant.hpp"

namespace mutant {
namespace {

template <auto change>
void memory_info_mutant(weir_driver_table& table) {
  table.memory_get_info = [](weir_allocation allocation, weir_memory_info* info, weir_status* status) {
    weir_memory_info full{};
    full.struct_size = sizeof full;
    const weir_result result = real().memory_get_info(allocation, &full, status);
    if (result != WEIR_OK) return result;
    change(full);
    full.struct_size = info->struct_size;
    std::memcpy(info, &full, std::min<std::size_t>(info->struct_size, sizeof full));
    return weir_result{WEIR_OK};
  };
}

}  // namespace

std::span<const Mutant> memory_mutants() {
  using Table = weir_driver_table;
  using Options = weir_memory_options;
  using Info = weir_memory_info;
  static const Mutant mutants[] = {
      {"memory-size-zero-accepted", "0 bytes are invalid",
       [](Table& t) {
         t.memory_allocate = [](weir_device device, const Options* options, weir_allocation* out,
                                weir_status* status) {
           Options larger = *options;
           if (larger.size == 0) larger.size = 1;
           return real().memory_allocate(device, &larger, out, status);
         };
       }},
      {"memory-exhaustion-wrong-code", "too much is WEIR_ERROR_OUT_OF_MEMORY",
       [](Table& t) {
         t.memory_allocate = [](weir_device device, const Options* options, weir_allocation* out,
                                weir_status* status) {
           const weir_result result = real().memory_allocate(device, options, out, status);
           return result == WEIR_ERROR_OUT_OF_MEMORY ? refuse(status, WEIR_ERROR_SYSTEM, "out of memory")
                                                     : result;
         };
       }},
      {"memory-failure-touches-output", "a failure leaves its output alone",
       [](Table& t) {
         t.memory_allocate = [](weir_device device, const Options* options, weir_allocation* out,
                                weir_status* status) {
           const weir_result result = real().memory_allocate(device, options, out, status);
           if (result != WEIR_OK) *out = nullptr;
           return result;
         };
       }},
      {"memory-handed-out-twice", "allocations are apart",
       [](Table& t) {
         t.memory_allocate = [](weir_device device, const Options* options, weir_allocation* out,
                                weir_status* status) {
           // Every tenth allocation returns the previous one's handle.
           static std::atomic<int> count{0};
           static std::atomic<weir_allocation> last{nullptr};
           if (++count % 10 == 0 && last.load() && size_of(last) >= options->size) {
             *out = last;
             return weir_result{WEIR_OK};
           }
           const weir_result result = real().memory_allocate(device, options, out, status);
           if (result == WEIR_OK) last = *out;
           return result;
         };
       }},
      {"memory-never-freed", "what is freed comes back",
       [](Table& t) { t.memory_free = [](weir_allocation, weir_status*) { return weir_result{WEIR_OK}; }; }},
      {"memory-info-past-its-size", "struct_size of the caller is kept",
       [](Table& t) {
         t.memory_get_info = [](weir_allocation allocation, Info* info, weir_status* status) {
           info->struct_size = sizeof *info;
           return real().memory_get_info(allocation, info, status);
         };
       }},
      {"memory-size-rounded-up", "the size is the one that was asked for",
       memory_info_mutant<[](Info& i) { i.size = (i.size + 63) / 64 * 64; }>},
      {"memory-kind-wrong", "the kind is the one that was asked for",
       memory_info_mutant<[](Info& i) { i.kind = 1 - i.kind; }>},
      {"memory-address-unaligned", "addresses are multiples of memory_alignment",
       memory_info_mutant<[](Info& i) { i.device_address += 16; }>},
      {"memory-host-pointer-elsewhere", "the host sees the memory through host_pointer",
       memory_info_mutant<[](Info& i) {
         static unsigned char elsewhere[1 << 20];
         if (i.kind == WEIR_MEMORY_DEVICE && i.size <= sizeof elsewhere) i.host_pointer = elsewhere;
       }>},
      {"memory-host-pointer-comes-and-goes", "an allocation's place is the same at every call",
       memory_info_mutant<[](Info& i) {
         static std::atomic<unsigned> asked{0};
         if (asked++ % 2 == 1) i.host_pointer = nullptr;
       }>},
      {"memory-pinned-without-pointer", "pinned memory has a host_pointer", memory_info_mutant<[](Info& i) {
         if (i.kind == WEIR_MEMORY_PINNED) i.host_pointer = nullptr;
       }>},
      {"memory-alignment-refused", "alignments up to memory_alignment are kept",
       [](Table& t) {
         t.memory_allocate = [](weir_device device, const Options* options, weir_allocation* out,
                                weir_status* status) {
           if (options->alignment > 8)
             return refuse(status, WEIR_ERROR_UNSUPPORTED, "alignments above 8 are not known");
           return real().memory_allocate(device, options, out, status);
         };
       }},
  };
  return mutants;
}

}  // namespace mutant
