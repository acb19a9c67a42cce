// SPDX-License-Identifier: Apache-2.0
// The entry point of the mutant driver. WEIR_MUTANT names the fault; without it the driver is correct.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "mutant.hpp"

namespace mutant {
namespace {

weir_result open_device(std::uint32_t index, weir_device* out, weir_status* status) {
  const weir_result result = real().device_open(index, out, status);
  if (result == WEIR_OK) opened_device() = *out;
  return result;
}

/// Loads the real driver before the call of the entry point, which opens no files.
[[gnu::constructor]] void load_real() {
  real();
}

const weir_driver_table& spoilt_table() {
  static const weir_driver_table table = [] {
    weir_driver_table made = real();
    made.name = "mutant";
    made.device_open = open_device;
    const char* chosen = std::getenv("WEIR_MUTANT");
    if (!chosen || !*chosen) {
      add_compiler(made);
      return made;
    }
    std::vector<Mutant> mutants = all();
    mutants.insert(mutants.end(), cooperative_mutants().begin(), cooperative_mutants().end());
    for (const Mutant& mutant : mutants) {
      if (std::string_view(mutant.name) != chosen) continue;
      mutant.apply(made);
      return made;
    }
    std::fprintf(stderr, "WEIR_MUTANT is '%s'; there is no such mutant\n", chosen);
    std::abort();
  }();
  return table;
}

}  // namespace

std::vector<Mutant> all() {
  std::vector<Mutant> mutants;
  for (const auto& group :
       {entry_mutants(), device_mutants(), memory_mutants(), copy_mutants(), stream_mutants(),
        event_mutants(), launch_mutants(), ordered_mutants(), graph_mutants(), fault_mutants(),
        code_mutants(), thread_mutants(), hole_mutants(), missed_mutants(), relation_mutants(),
        compiling_mutants(), decision_mutants(), kind_mutants()})
    mutants.insert(mutants.end(), group.begin(), group.end());
  return mutants;
}

EntryFaults& entry_faults() {
  static EntryFaults faults;
  return faults;
}

std::atomic<weir_device>& opened_device() {
  static std::atomic<weir_device> device{nullptr};
  return device;
}

weir_stream hidden_stream() {
  static const weir_stream stream = [] {
    weir_stream made = nullptr;
    real().stream_create(opened_device(), nullptr, &made, nullptr);
    return made;
  }();
  return stream;
}

std::uint64_t size_of(weir_allocation allocation) {
  weir_memory_info info{};
  info.struct_size = sizeof info;
  return real().memory_get_info(allocation, &info, nullptr) == WEIR_OK ? info.size : 0;
}

bool is_pinned(weir_allocation allocation) {
  weir_memory_info info{};
  info.struct_size = sizeof info;
  return real().memory_get_info(allocation, &info, nullptr) == WEIR_OK && info.kind == WEIR_MEMORY_PINNED;
}

}  // namespace mutant

extern "C" weir_result weir_driver_entry(const weir_host* host, const weir_driver_table** out_table,
                                         weir_status* status) {
  using namespace mutant;
  const weir_driver_table& table = spoilt_table();
  const EntryFaults& faults = entry_faults();
  if (faults.opens_a_library) dlopen("libanl.so.1", RTLD_NOW | RTLD_LOCAL);
  const bool in_range = host->abi_min <= table.abi_version && table.abi_version <= host->abi_max;
  static weir_driver_table older;
  if (!in_range && host->abi_min <= WEIR_ABI_VERSION(1, 0) && WEIR_ABI_VERSION(1, 0) <= host->abi_max &&
      !faults.version_past_the_host) {
    older = table;
    older.abi_version = WEIR_ABI_VERSION(1, 0);
    older.struct_size = offsetof(weir_driver_table, graph_create);
    static auto get_info = table.device_get_info;
    older.device_get_info = [](std::uint32_t index, weir_device_info* info, weir_status* e) {
      const weir_result result = get_info(index, info, e);
      if (result == WEIR_OK && info->struct_size >= offsetof(weir_device_info, total_memory))
        info->capabilities &= std::uint64_t{WEIR_CAP_GRAPHS} - 1;
      return result;
    };
    *out_table = &older;
    return WEIR_OK;
  }
  if (!in_range && !faults.accepts_any_version && !faults.version_past_the_host) {
    if (faults.touches_the_table) *out_table = nullptr;
    const weir_result code = faults.wrong_code ? WEIR_ERROR_UNSUPPORTED : WEIR_ERROR_ABI;
    return faults.no_words ? code : refuse(status, code, "the mutant driver supports ABI 1.0 to 1.4");
  }
  *out_table = &table;
  if (faults.another_table_each_time) *out_table = new weir_driver_table(table);
  return WEIR_OK;
}

/// For `weir-conformance-mutants`: calls `tell(name, rule, user)` for each mutant.
extern "C" __attribute__((visibility("default"))) void weir_mutant_list(void (*tell)(const char*, const char*,
                                                                                     void*),
                                                                        void* user) {
  for (const mutant::Mutant& mutant : mutant::all()) tell(mutant.name, mutant.rule, user);
}
