// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "validate.hpp"

namespace weir::validate {
namespace {

constexpr std::size_t size_bytes = sizeof(std::uint64_t);  // of each size after the arguments

}  // namespace

weir_code_object Validate::checked(const weir_code_object* object) {
  if (!object) refuse("null", "object is null; expected a code object");
  const weir_code_object given = sdk::read_struct(object, "object");
  if (!given.data || !given.size)
    refuse("argument", "object has %" PRIu64 " bytes at %p; expected a code object", given.size, given.data);
  if (!given.format) refuse("null", "object.format is null; expected a word such as \"elf-x86_64\"");
  return given;
}

weir_result Validate::code_compile(weir_device handle, const weir_code_object* object,
                                   weir_code_receiver receive, void* user, weir_status* status) {
  const std::shared_ptr<Device> device = live<Device>(handle, "device");
  checked(object);
  if (!receive) refuse("null", "receive is null; expected a function");
  return next.code_compile(device->real, object, receive, user, status);
}

weir_result Validate::module_load(weir_device handle, const weir_code_object* object, weir_module* out,
                                  weir_status* status) {
  const std::shared_ptr<Device> device = live<Device>(handle, "device");
  out_argument(out, "out_module");
  const weir_code_object given = checked(object);
  auto module = std::make_shared<Module>();
  module->name = given.name ? given.name : "";
  const weir_result result = next.module_load(device->real, object, &module->real, status);
  if (result == WEIR_OK) put(module, device, *out, [&] { next.module_unload(module->real, nullptr); });
  return result;
}

weir_result Validate::module_unload(weir_module handle, weir_status* status) {
  const std::shared_ptr<Module> module = live<Module>(handle, "module");
  bool busy = false;
  {
    const Lock lock(mutex_);
    busy = !host_.covers(module->used) && options_.races != Options::Races::off;
    for (const auto& [key, kernel] : module->kernels)
      if (const auto alive = kernel.lock()) objects_.remove(*alive, "module_unload");
    objects_.remove(*module, "module_unload");
  }
  if (busy)
    report("busy", std::string(calling) + ": " + describe(*module) +
                       " is unloaded while launches of its kernels may still run; wait on the host first");
  return next.module_unload(module->real, status);
}

weir_result Validate::module_get_kernel(weir_module handle, const char* symbol,
                                        const weir_kernel_layout* layout, weir_kernel* out,
                                        weir_status* status) {
  return find_kernel(handle, symbol, layout, nullptr, out, status);
}

weir_result Validate::annotate_kernel(weir_module handle, const char* symbol,
                                      const weir_kernel_layout* layout,
                                      const weir_kernel_annotation* annotation, weir_kernel* out,
                                      weir_status* status) {
  calling = "get_kernel of weir.annotate";
  check_thread();
  if (!annotation) refuse("null", "annotation is null; expected the kernel's accesses");
  return find_kernel(handle, symbol, layout, annotation, out, status);
}

weir_result Validate::find_kernel(weir_module handle, const char* symbol, const weir_kernel_layout* layout,
                                  const weir_kernel_annotation* annotation, weir_kernel* out,
                                  weir_status* status) {
  const std::shared_ptr<Module> module = live<Module>(handle, "module");
  out_argument(out, "out_kernel");
  if (!symbol) refuse("null", "name is null; expected the name of a kernel");
  if (!layout) refuse("null", "layout is null; expected the layout of '%s'", symbol);
  const weir_kernel_layout given = sdk::read_struct(layout, "layout");
  if (given.parameter_count && !given.parameters)
    refuse("null", "layout.parameters of '%s' is null, but parameter_count is %u", symbol,
           given.parameter_count);

  auto kernel = std::make_shared<Kernel>();
  kernel->name = symbol;
  kernel->argument_bytes = given.argument_bytes;
  if (given.parameter_count)
    kernel->parameters.assign(given.parameters, given.parameters + given.parameter_count);
  for (std::uint32_t i = 0; i < given.parameter_count; ++i) {
    const weir_parameter& parameter = kernel->parameters[i];
    if (parameter.offset > given.argument_bytes || parameter.size > given.argument_bytes - parameter.offset)
      refuse("argument", "parameter %u of '%s', %u bytes at offset %u, is outside of the %u argument bytes",
             i, symbol, parameter.size, parameter.offset, given.argument_bytes);
  }
  if (annotation) {
    const weir_kernel_annotation access_info = sdk::read_struct(annotation, "annotation");
    const std::string kernel_name = access_info.name ? access_info.name : symbol;
    const std::string what =
        "kernel '" + kernel_name + "'" +
        (access_info.source && *access_info.source ? " (" + std::string(access_info.source) + ")" : "");
    for (std::uint32_t i = 0; i < access_info.touched_count; ++i) {
      const weir_touched& part = access_info.touched[i];
      if (part.parameter >= given.parameter_count ||
          kernel->parameters[part.parameter].kind != WEIR_PARAMETER_BUFFER)
        refuse("argument", "part %u of the annotation of '%s' names parameter %u, which is not a buffer", i,
               symbol, part.parameter);
      const std::uint32_t stated = part.bytes == WEIR_TOUCHED_WINDOW  ? 5
                                   : part.bytes == WEIR_TOUCHED_RANGE ? 2
                                   : part.bytes == 0                  ? 1
                                                                      : 0;
      kernel->touched.push_back(
          {part.parameter, part.access, part.offset, part.bytes, stated, true,
           std::make_shared<const Actor>(Actor{what, part.name ? part.name : "", kernel_name})});
      kernel->tail_bytes += stated * size_bytes;
    }
  } else {
    for (std::uint32_t i = 0; i < given.parameter_count; ++i)
      if (kernel->parameters[i].kind == WEIR_PARAMETER_BUFFER)
        kernel->touched.push_back(
            {i, WEIR_ACCESS_UNKNOWN, 0, 0, 0, false,
             std::make_shared<const Actor>(
                 Actor{"kernel '" + kernel->name + "'", "argument " + std::to_string(i + 1), symbol})});
  }
  const weir_result result = next.module_get_kernel(module->real, symbol, layout, &kernel->real, status);
  if (result != WEIR_OK) return result;

  const Lock lock(mutex_);
  std::weak_ptr<Kernel>& known = module->kernels[{kernel->real, kernel->tail_bytes}];
  if (const auto same = known.lock()) {
    *out = reinterpret_cast<weir_kernel>(same->handle);
    return WEIR_OK;
  }
  kernel->module = module;
  kernel->device = module->device;
  *out = objects_.add(kernel);
  known = kernel;
  return WEIR_OK;
}

weir_result Validate::kernel_get_info(weir_kernel handle, weir_kernel_info* info, weir_status* status) {
  const std::shared_ptr<Kernel> kernel = live<Kernel>(handle, "kernel");
  out_argument(info, "info");
  return next.kernel_get_info(kernel->real, info, status);
}

weir_result Validate::kernel_max_cooperative_blocks(weir_kernel handle, std::uint32_t block_threads,
                                                    std::uint32_t dynamic_shared_bytes,
                                                    std::uint32_t* out_blocks, weir_status* status) {
  const std::shared_ptr<Kernel> kernel = live<Kernel>(handle, "kernel");
  out_argument(out_blocks, "out_blocks");
  return next.kernel_max_cooperative_blocks(kernel->real, block_threads, dynamic_shared_bytes, out_blocks,
                                            status);
}

Validate::PreparedLaunch Validate::prepare(const Device& device, const weir_launch* asked) {
  if (!asked) refuse("null", "launch is null");
  PreparedLaunch prepared;
  weir_launch& launch = prepared.launch;
  launch = sdk::read_struct(asked, "launch");
  launch.struct_size = sizeof launch;
  const std::shared_ptr<Kernel> kernel = live<Kernel>(launch.kernel, "launch.kernel");
  check_device(*kernel, device, "launch.kernel");
  prepared.module = kernel->module.lock();
  check_shape(*kernel, device, launch);

  prepared.arguments.resize((kernel->argument_bytes + 15) / 16 * 2);
  auto* const bytes = reinterpret_cast<std::byte*>(prepared.arguments.data());
  if (kernel->argument_bytes) std::memcpy(bytes, launch.arguments, kernel->argument_bytes);
  const auto* tail = static_cast<const std::byte*>(launch.arguments) + kernel->argument_bytes;

  std::vector<BufferPlace> places(kernel->parameters.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const weir_parameter& parameter = kernel->parameters[i];
    if (parameter.kind != WEIR_PARAMETER_BUFFER) continue;
    places[i] = parameter.size == sizeof(weir_buffer_argument)
                    ? replace_allocation(*kernel, device, i, bytes + parameter.offset)
                    : find_address(*kernel, device, i, bytes + parameter.offset);
  }
  prepared.uses = uses_of(*kernel, places, tail);
  launch.kernel = kernel->real;
  launch.argument_bytes = kernel->argument_bytes;
  launch.arguments = kernel->argument_bytes ? prepared.arguments.data() : nullptr;
  return prepared;
}

void Validate::check_shape(const Kernel& kernel, const Device& device, const weir_launch& launch) {
  const char* const symbol = kernel.name.c_str();
  for (int d = 0; d < 3; ++d) {
    if (launch.grid[d] == 0 || launch.block[d] == 0)
      refuse("argument", "kernel '%s': grid %u x %u x %u, block %u x %u x %u; expected at least 1 everywhere",
             symbol, launch.grid[0], launch.grid[1], launch.grid[2], launch.block[0], launch.block[1],
             launch.block[2]);
    if (device.info.struct_size &&
        (launch.grid[d] > device.info.max_grid[d] || launch.block[d] > device.info.max_block[d]))
      refuse("argument", "kernel '%s': grid %u x %u x %u, block %u x %u x %u is beyond what %s takes", symbol,
             launch.grid[0], launch.grid[1], launch.grid[2], launch.block[0], launch.block[1],
             launch.block[2], describe(device).c_str());
  }
  if (launch.flags & ~std::uint32_t{WEIR_LAUNCH_COOPERATIVE})
    refuse("argument", "kernel '%s': flags is 0x%x; expected 0 or WEIR_LAUNCH_COOPERATIVE", symbol,
           launch.flags);
  if (launch.flags && next.abi_version < WEIR_ABI_VERSION(1, 4))
    refuse("argument",
           "kernel '%s' is launched cooperatively on %s, whose driver speaks ABI 1.%u and ignores flags",
           symbol, describe(device).c_str(), WEIR_ABI_MINOR(next.abi_version));
  const std::uint32_t expected = kernel.argument_bytes + kernel.tail_bytes;
  if (launch.argument_bytes != expected)
    refuse("argument", "kernel '%s': argument_bytes is %u; expected %u", symbol, launch.argument_bytes,
           expected);
  if (expected && !launch.arguments)
    refuse("null", "kernel '%s': arguments is null; expected %u bytes", symbol, expected);
}

Validate::BufferPlace Validate::replace_allocation(const Kernel& kernel, const Device& device,
                                                   std::size_t parameter, std::byte* bytes) {
  weir_buffer_argument argument;
  std::memcpy(&argument, bytes, sizeof argument);
  const std::string what = "argument " + std::to_string(parameter + 1) + " of kernel '" + kernel.name + "'";
  const BufferPlace place{live<Allocation>(argument.allocation, what.c_str()), argument.offset};
  check_device(*place.allocation, device, what.c_str());
  if (argument.offset > place.allocation->size)
    refuse("argument", "%s: offset %" PRIu64 " is outside of %s", what.c_str(), argument.offset,
           describe(*place.allocation).c_str());
  argument.allocation = place.allocation->real;
  std::memcpy(bytes, &argument, sizeof argument);
  return place;
}

Validate::BufferPlace Validate::find_address(const Kernel& kernel, const Device& device,
                                             std::size_t parameter, const std::byte* bytes) {
  std::uint64_t address = 0;
  std::memcpy(&address, bytes, sizeof address);
  if (!address) return {};
  std::string gone;
  {
    const Lock lock(mutex_);
    if (std::shared_ptr<Allocation> allocation = allocation_at(device, address)) {
      const std::uint64_t offset = address - allocation->address;
      return {std::move(allocation), offset};
    }
    for (const Device::Gone& dead : device.gone)
      if (dead.begin <= address && address < dead.end && gone.empty()) gone = dead.what;
  }
  if (!gone.empty())
    refuse("dead", "kernel '%s': argument %zu is the address 0x%" PRIx64 ", which belonged to %s",
           kernel.name.c_str(), parameter + 1, address, gone.c_str());
  return {};
}

std::vector<Use> Validate::uses_of(const Kernel& kernel, std::span<const BufferPlace> places,
                                   const std::byte* tail) {
  std::vector<Use> uses;
  for (const Touched& part : kernel.touched) {
    const auto take = [&] {
      std::uint64_t number = 0;
      std::memcpy(&number, tail, sizeof number);
      tail += sizeof number;
      return number;
    };
    const std::uint64_t offset = part.stated >= 2 ? take() : 0;
    std::uint64_t size = part.stated ? take() : part.bytes;
    const std::uint64_t pitch = part.stated == 5 ? take() : 0, first = part.stated == 5 ? take() : 0,
                        width = part.stated == 5 ? take() : 0;
    if (pitch != 0 && (width > pitch || first > pitch - width))
      refuse("argument",
             "kernel '%s' states a window of %" PRIu64 " bytes from %" PRIu64 " on, of each %" PRIu64
             " bytes; expected one inside of these",
             kernel.name.c_str(), width, first, pitch);
    const BufferPlace& place = places[part.parameter];
    if (!place.allocation) continue;
    const std::uint64_t begin = place.offset + part.offset + offset;
    const std::uint64_t room = place.allocation->size - std::min(begin, place.allocation->size);
    if (part.bounds_known && size > room)
      refuse("argument",
             "kernel '%s' may touch %" PRIu64 " bytes from offset %" PRIu64 " on of %s, which ends before",
             kernel.name.c_str(), size, begin, describe(*place.allocation).c_str());
    if (!part.bounds_known) size = room;
    if (size == 0 || (pitch != 0 && width == 0)) continue;
    Use& use = uses.emplace_back();
    use.allocation = place.allocation;
    use.access.begin = begin;
    use.access.end = begin + size;
    use.access.window = {pitch, pitch ? (place.offset + part.offset + first) % pitch : 0, width};
    use.access.how = part.how;
    use.access.bounds_known = part.bounds_known;
    use.access.actor = part.actor;
  }
  return uses;
}

weir_result Validate::kernel_launch(weir_stream handle, const weir_launch* launch, weir_status* status) {
  const std::shared_ptr<Stream> stream = live<Stream>(handle, "stream");
  PreparedLaunch prepared = prepare(*stream->device, launch);
  const weir_result result = next.kernel_launch(stream->real, &prepared.launch, status);
  if (result != WEIR_OK) return result;
  return taken([&] {
    touch(*stream, std::move(prepared.uses));
    const Lock lock(mutex_);
    if (prepared.module) prepared.module->used.set(stream->place, stream->count);
  });
}

}  // namespace weir::validate
