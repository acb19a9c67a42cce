// SPDX-License-Identifier: Apache-2.0
// The table of the communicator `local` with one fault, which WEIR_MUTANT names. For tests of the conformance
// suite.
#include <dlfcn.h>
#include <weir/communicator.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

namespace {

using Stream = const weir_communicator_stream*;
using Memory = const weir_memory*;

const weir_communicator_table* real = nullptr;
weir_communicator_table mutant;
thread_local weir_group first_group = nullptr;

bool fault(std::string_view name) {
  const char* const chosen = std::getenv("WEIR_MUTANT");
  return chosen && name == chosen;
}

weir_group_info info_of(weir_group group) {
  weir_group_info info{};
  info.struct_size = sizeof info;
  real->group_get_info(group, &info, nullptr);
  return info;
}

weir_memory part_of(Memory memory, std::uint64_t offset) {
  weir_memory part = *memory;
  part.address = static_cast<char*>(part.address) + offset;
  return part;
}

std::uint64_t element_size(std::uint32_t type) {
  constexpr std::uint8_t sizes[] = {1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8};
  return type <= WEIR_F64 ? sizes[type] : 1;
}

/// What every failure passes through.
weir_result ended(weir_result result, weir_status* status) {
  if (static_cast<int>(result) != WEIR_ERROR_RANK) return result;
  if (fault("failure-without-words") && status) status->message[0] = '\0';
  if (fault("failure-names-no-rank") && status) std::strcpy(status->message, "another rank has failed");
  return fault("failure-of-a-rank-is-invalid") ? WEIR_ERROR_INVALID : result;
}

weir_result get_info(weir_communicator_info* info, weir_status* status) {
  if (fault("info-past-its-size") && info) {
    info->struct_size = sizeof *info;
    return real->communicator_get_info(info, status);
  }
  const weir_result result = real->communicator_get_info(info, status);
  if (fault("info-without-ranks") && result == WEIR_OK) info->capabilities = 0;
  return result;
}

weir_result join(const weir_group_options* options, weir_group* out, weir_status* status) {
  if (!options) return real->group_join(options, out, status);
  weir_group_options changed = *options;
  if (fault("join-ignores-the-limit")) changed.limit = 20'000'000'000;
  if (fault("join-wraps-the-rank") && changed.size) changed.rank %= changed.size;
  const weir_result result = ended(real->group_join(&changed, out, status), status);
  if (result == WEIR_OK && !first_group) first_group = *out;
  return result;
}

weir_result leave(weir_group group, weir_status* status) {
  if (fault("leave-stays") && group) return WEIR_OK;
  if (fault("leave-leaves-the-first") && group) group = first_group;
  return real->group_leave(group, status);
}

weir_result abort_group(weir_group group, const char* reason, weir_status* status) {
  if (fault("abort-ignored")) return WEIR_OK;
  return real->group_abort(group, fault("abort-without-its-reason") ? "unknown" : reason, status);
}

weir_result get_group_info(weir_group group, weir_group_info* info, weir_status* status) {
  const weir_result result = real->group_get_info(group, info, status);
  if (fault("group-info-counts-from-one") && result == WEIR_OK) ++info->rank;
  if (fault("group-info-blames-rank-0") && result == WEIR_OK) info->failed_rank = 0;
  return result;
}

weir_result exchange(weir_group group, std::uint32_t count, const weir_transfer* transfers, Stream stream,
                     weir_status* status) {
  std::vector<weir_transfer> changed(transfers, transfers + (transfers ? count : 0));
  const std::uint32_t rank = group ? info_of(group).rank : 0;
  if (fault("exchange-in-the-order-of-the-list") && transfers) {
    for (std::uint32_t i = 0; i < count; ++i)
      if (const weir_result result = real->exchange(group, 1, &transfers[i], stream, status);
          result != WEIR_OK)
        return ended(result, status);
    return WEIR_OK;
  }
  if (fault("exchange-without-itself"))
    std::erase_if(changed, [&](const weir_transfer& transfer) { return transfer.peer == rank; });
  if (fault("exchange-receives-backwards") && transfers) {
    const auto sends = [](const weir_transfer& transfer) { return transfer.receive == 0; };
    std::reverse(std::stable_partition(changed.begin(), changed.end(), sends), changed.end());
  }
  if (fault("exchange-byte-short"))
    for (weir_transfer& transfer : changed) transfer.size -= transfer.size > 1000 ? 1 : 0;
  if (fault("exchange-of-all-ranks") && group) real->barrier(group, nullptr, nullptr);
  return ended(real->exchange(group, transfers ? static_cast<std::uint32_t>(changed.size()) : count,
                              transfers ? changed.data() : nullptr, stream, status),
               status);
}

weir_result broadcast(weir_group group, Memory memory, std::uint64_t size, std::uint32_t root, Stream stream,
                      weir_status* status) {
  if (fault("broadcast-from-rank-0")) root = 0;
  if (fault("broadcast-byte-short") && size > 0) --size;
  return ended(real->broadcast(group, memory, size, root, stream, status), status);
}

weir_result all_gather(weir_group group, Memory to, Memory from, std::uint64_t size, Stream stream,
                       weir_status* status) {
  if (fault("all-gather-clears-its-part-first") && to && size && to->address)
    std::memset(static_cast<char*>(to->address) + info_of(group).rank * size, 0, size);
  const weir_result result = real->all_gather(group, to, from, size, stream, status);
  if (fault("all-gather-turned") && result == WEIR_OK && size) {
    auto* const bytes = static_cast<char*>(to->address);
    const std::uint64_t all = size * info_of(group).size;
    std::rotate(bytes, bytes + info_of(group).rank * size, bytes + all);
  }
  if (fault("all-gather-writes-past-its-end") && result == WEIR_OK && size)
    static_cast<char*>(to->address)[size * info_of(group).size] = 1;
  return ended(result, status);
}

weir_result reduce_scatter(weir_group group, Memory to, Memory from, std::uint64_t count, std::uint32_t type,
                           std::uint32_t reduction, Stream stream, weir_status* status) {
  if (fault("reduce-scatter-of-the-neighbour") && group && from && from->address) {
    const weir_group_info info = info_of(group);
    std::vector<char> turned(count * info.size * element_size(type));
    const auto* const bytes = static_cast<const char*>(from->address);
    std::rotate_copy(bytes, bytes + count * element_size(type), bytes + turned.size(), turned.data());
    const weir_memory source{nullptr, nullptr, 0, turned.data()};
    return ended(real->reduce_scatter(group, to, &source, count, type, reduction, stream, status), status);
  }
  return ended(real->reduce_scatter(group, to, from, count, type, reduction, stream, status), status);
}

weir_result all_reduce(weir_group group, Memory to, Memory from, std::uint64_t count, std::uint32_t type,
                       std::uint32_t reduction, Stream stream, weir_status* status) {
  if (fault("all-reduce-drops-the-last") && count > 1) --count;
  if (fault("all-reduce-min-is-max") && reduction == WEIR_MIN) reduction = WEIR_MAX;
  if (fault("all-reduce-unsigned-as-signed") && type >= WEIR_U8 && type <= WEIR_U64) type -= WEIR_U8;
  if (fault("all-reduce-unknown-type-accepted") && type > WEIR_F64) type = WEIR_I8;
  const weir_result result = real->all_reduce(group, to, from, count, type, reduction, stream, status);
  if (result != WEIR_OK) return ended(result, status);
  if (fault("all-reduce-other-bits-on-rank-1") && type == WEIR_F32 && count > 100 && info_of(group).rank == 1)
    static_cast<std::uint32_t*>(to->address)[100] ^= 1;
  if (fault("all-reduce-changes-its-source") && from->address != to->address)
    std::memcpy(from->address, to->address, count * element_size(type));
  return result;
}

weir_result all_to_all(weir_group group, Memory to, Memory from, std::uint64_t size, Stream stream,
                       weir_status* status) {
  if (fault("all-to-all-gathers")) {
    const weir_memory mine = part_of(from, info_of(group).rank * size);
    return ended(real->all_gather(group, to, &mine, size, stream, status), status);
  }
  return ended(real->all_to_all(group, to, from, size, stream, status), status);
}

weir_result barrier(weir_group group, Stream stream, weir_status* status) {
  if (fault("barrier-does-nothing") && group) return WEIR_OK;
  const weir_result result = real->barrier(group, stream, status);
  if (fault("barrier-ignores-failures") && group) return WEIR_OK;
  return ended(result, status);
}

}  // namespace

weir_result weir_communicator_entry(const weir_host* host, const weir_communicator_table** out_table,
                                    weir_status* status) {
  void* const library = dlopen(WEIR_MUTANT_REAL_COMMUNICATOR, RTLD_NOW | RTLD_LOCAL);
  if (!library) return WEIR_ERROR_NO_LIBRARY;
  weir_communicator_entry_function entry = nullptr;
  void* const symbol = dlsym(library, WEIR_COMMUNICATOR_ENTRY_NAME);
  std::memcpy(&entry, &symbol, sizeof entry);
  weir_host asked = *host;
  if (fault("entry-accepts-every-version")) asked.abi_min = asked.abi_max = WEIR_COMMUNICATOR_CURRENT;
  if (const weir_result result = entry(&asked, &real, status); result != WEIR_OK) return result;
  mutant = *real;
  mutant.name = fault("table-of-another-name") ? "other" : "mutant";
  mutant.communicator_get_info = get_info;
  mutant.group_join = join;
  mutant.group_leave = leave;
  mutant.group_abort = abort_group;
  mutant.group_get_info = get_group_info;
  mutant.exchange = exchange;
  mutant.broadcast = broadcast;
  mutant.all_gather = all_gather;
  mutant.reduce_scatter = reduce_scatter;
  mutant.all_reduce = all_reduce;
  mutant.all_to_all = all_to_all;
  mutant.barrier = fault("table-without-a-barrier") ? nullptr : barrier;
  *out_table = &mutant;
  return WEIR_OK;
}
