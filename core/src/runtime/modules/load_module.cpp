// SPDX-License-Identifier: Apache-2.0
// Loading of code objects, and the machine code that is kept between processes.
#include <fmt/format.h>

#include <chrono>
#include <new>
#include <optional>
#include <span>

#include "compilation/cached_compiler.hpp"
#include "compilation/machine_code.hpp"
#include "runtime/modules/module_state.hpp"

namespace weir::detail {
namespace {

using compilation::MachineCode;

/// A code object in the driver's form. Points to the bytes of the one that it was made of.
struct RawCodeObject {
  explicit RawCodeObject(const CodeObject& object)
      : format(object.format), target(object.target), name(object.name) {
    raw.struct_size = sizeof raw;
    raw.format = format.c_str();
    raw.target = target.c_str();
    raw.data = object.data.data();
    raw.size = object.data.size();
    raw.name = name.empty() ? nullptr : name.c_str();
  }
  RawCodeObject(const RawCodeObject&) = delete;

  const std::string format, target, name;
  weir_code_object raw{};
};

/// Null if the driver refuses the code, for example because the vendor's runtime was replaced.
std::shared_ptr<ModuleState> try_load(DeviceState& device, const MachineCode& code, std::string_view name) {
  const RawCodeObject object({code.format, code.target, std::as_bytes(std::span(code.bytes)), name});
  weir_module module = nullptr;
  const weir_device handle = device.handle();
  const weir_result result = device.call_no_throw(
      [&](weir_status* status) { return device.table().module_load(handle, &object.raw, &module, status); });
  return result == WEIR_OK ? std::make_shared<ModuleState>(device, module) : nullptr;
}

/// Nothing if the driver refuses the object, or loads it without compilation.
std::optional<MachineCode> compile_code(DeviceState& device, const CodeObject& object) {
  const RawCodeObject raw(object);
  struct Received {
    std::optional<MachineCode> code;
    static void take(void* user, const weir_code_object* code) noexcept try {
      static_cast<Received*>(user)->code = {
          code->format, code->target, {static_cast<const char*>(code->data), code->size}};
    } catch (const std::bad_alloc&) {  // the code is not kept
    }
  } received;
  const weir_device handle = device.handle();
  const weir_result result = device.call_no_throw([&](weir_status* status) {
    return device.table().code_compile(handle, &raw.raw, Received::take, &received, status);
  });
  return result == WEIR_OK ? std::move(received.code) : std::nullopt;
}

std::string machine_code_input(const DeviceState& device, const CodeObject& object) {
  std::string targets = device.info.target_features;
  for (const CodeTarget& target : device.info.code_targets)
    targets += fmt::format(" {}:{}", target.format, target.target);
  return compilation::machine_code_input(
      {device.driver().name(), device.driver().version(), device.info.vendor, device.info.driver_version,
       device.info.name, targets},
      object.format, object.target, {reinterpret_cast<const char*>(object.data.data()), object.data.size()});
}

/// Loads the machine code of the object, from the cache or from the vendor's compiler. Null if there is none:
/// the object itself is then loaded, which reports the error.
std::shared_ptr<ModuleState> load_machine_code(DeviceState& device, const CodeObject& object) try {
  if (!device.has(Capability::code_compile)) return nullptr;
  cache::Store* const store = compilation::cache_store();
  if (!store) return nullptr;
  const std::string input = machine_code_input(device, object);
  if (const std::optional<MachineCode> kept = compilation::find_machine_code(*store, input))
    if (auto module = try_load(device, *kept, object.name)) return module;
  const auto begin = std::chrono::steady_clock::now();
  const std::optional<MachineCode> code = compile_code(device, object);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  if (!code) return nullptr;
  auto module = try_load(device, *code, object.name);
  if (module) compilation::keep_machine_code(*store, input, object.name, *code, time.count());
  return module;
} catch (const std::bad_alloc&) {
  return nullptr;
}

}  // namespace

std::shared_ptr<ModuleState> load_module(DeviceState& device, const CodeObject& object) {
  if (object.data.empty())
    throw Error(ErrorCode::code_object,
                fmt::format("code object '{}' is empty; check the file that it was read from", object.name));
  device.check_not_forked();
  device.memory.collect_pending();
  if (auto module = load_machine_code(device, object)) return module;
  const RawCodeObject raw(object);
  weir_module module = nullptr;
  const weir_device handle = device.handle();
  device.call(
      [&] { return fmt::format("load code object '{}' ({})", raw.name, raw.format); },
      [&](weir_status* status) { return device.table().module_load(handle, &raw.raw, &module, status); });
  return std::make_shared<ModuleState>(device, module);
}

}  // namespace weir::detail
