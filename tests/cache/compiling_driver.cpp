// SPDX-License-Identifier: Apache-2.0
#include "cache/compiling_driver.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "conformance/mutant/mutant.hpp"

namespace {

using Table = weir_driver_table;
using Object = weir_code_object;
using Status = weir_status;

compiling_driver::Counts counts;

std::string setting(const char* name) {
  const char* const text = std::getenv(name);
  return text ? text : "1";
}

/// The first line of machine code.
std::string seal() {
  return "machine code of build " + setting("VENDOR_BUILD") + "\n";
}

const Table& with_compiler() {
  static const Table table = [] {
    Table made = mutant::real();
    mutant::add_compiler(made);
    return made;
  }();
  return table;
}

weir_result load(weir_device device, const Object* object, weir_module* out, Status* status) {
  if (std::string_view(object->format) != mutant::machine_format) {
    ++counts.source_loads;
    return with_compiler().module_load(device, object, out, status);
  }
  ++counts.machine_code_loads;
  const std::string_view bytes(static_cast<const char*>(object->data), object->size);
  if (setting("VENDOR_BUILD") == "0" || !bytes.starts_with(seal()))
    return mutant::refuse(status, WEIR_ERROR_CODE_OBJECT, "the machine code is of another build");
  Object code = *object;
  code.data = bytes.data() + seal().size();
  code.size -= seal().size();
  return with_compiler().module_load(device, &code, out, status);
}

weir_result compile(weir_device device, const Object* object, weir_code_receiver receive, void* user,
                    Status* status) {
  ++counts.compilations;
  struct Next {
    weir_code_receiver receive;
    void* user;
  } next{receive, user};
  return with_compiler().code_compile(
      device, object,
      [](void* given, const Object* code) {
        const Next& to = *static_cast<Next*>(given);
        const std::string bytes = seal() + std::string(static_cast<const char*>(code->data), code->size);
        Object sealed = *code;
        sealed.data = bytes.data();
        sealed.size = bytes.size();
        to.receive(to.user, &sealed);
      },
      &next, status);
}

weir_result describe(std::uint32_t index, weir_device_info* info, Status* status) {
  const weir_result result = with_compiler().device_get_info(index, info, status);
  if (result == WEIR_OK)
    std::snprintf(info->driver_version, sizeof info->driver_version, "%s", setting("VENDOR_VERSION").c_str());
  return result;
}

const Table& table() {
  static const Table table = [] {
    Table made = mutant::real();
    made.name = "compiling";
    made.module_load = load;
    made.code_compile = compile;
    if (setting("VENDOR_COMPILES") != "0") made.device_get_info = describe;
    return made;
  }();
  return table;
}

/// Loads the real driver before the call of the entry point, which opens no files.
[[gnu::constructor]] void load_real() {
  mutant::real();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const compiling_driver::Counts* compiling_driver_counts() {
  return &counts;
}

extern "C" weir_result weir_driver_entry(const weir_host* host, const Table** out_table, Status* status) {
  if (host->abi_min > table().abi_version || host->abi_max < table().abi_version)
    return mutant::refuse(status, WEIR_ERROR_ABI, "the compiling driver supports the newest ABI only");
  *out_table = &table();
  return WEIR_OK;
}
