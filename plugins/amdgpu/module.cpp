// SPDX-License-Identifier: Apache-2.0
// HSACO files. For code of another device HIP reports only that no binary matches, so the target is checked
// here. The size is checked here too, because HIP takes none.
#include <algorithm>
#include <cstring>
#include <string_view>
#include <weir/sdk/elf.hpp>

#include "hip.hpp"

namespace weir::amdgpu {
namespace {

/// The value of a feature in "gfx90a:sramecc+:xnack-": '+', '-', or 0 if it is absent, which matches either.
char feature(std::string_view target, std::string_view name) {
  const std::size_t at = target.find(":" + std::string(name));
  const std::size_t sign = at + 1 + name.size();
  return at == target.npos || sign >= target.size() ? '\0' : target[sign];
}

bool may_run(std::string_view code, std::string_view device) {
  if (code.substr(0, code.find(':')) != device.substr(0, device.find(':'))) return false;
  for (const char* name : {"sramecc", "xnack"}) {
    const char wanted = feature(code, name), there = feature(device, name);
    if (wanted && there && wanted != there) return false;
  }
  return true;
}

constexpr std::string_view bundle_magic = "__CLANG_OFFLOAD_BUNDLE__";

/// Checks that a bundle of hipcc holds its table and the code objects that the table lists. The table has
/// their number, then for each its offset, size, length of its name, and the name (clang-offload-bundler's
/// documentation, "Bundled Binary File Layout").
void check_whole_bundle(const weir_code_object& object) {
  const auto* bytes = static_cast<const char*>(object.data);
  const auto check = [&](bool holds) {
    if (!holds)
      sdk::fail(
          WEIR_ERROR_CODE_OBJECT,
          "code object '%.64s' is a bundle that is cut short or damaged: its table refers to bytes beyond "
          "its %llu; load the whole file",
          object.name, static_cast<unsigned long long>(object.size));
  };
  const auto number = [&](std::uint64_t at) {
    std::uint64_t out = 0;
    check(at <= object.size && sizeof out <= object.size - at);
    std::memcpy(&out, bytes + at, sizeof out);
    return out;
  };
  std::uint64_t at = bundle_magic.size();
  std::uint64_t left = number(at);
  for (at += 8; left > 0; --left) {
    const std::uint64_t offset = number(at), size = number(at + 8), name = number(at + 16);
    check(offset <= object.size && size <= object.size - offset);
    at += 24;
    check(name <= object.size - at);
    at += name;
  }
}

void check_whole(const weir_code_object& object) {
  const std::string_view bytes(static_cast<const char*>(object.data), object.size);
  if (bytes.starts_with(bundle_magic))
    check_whole_bundle(object);
  else
    sdk::check_whole_elf(object);
}

}  // namespace

void Hip::check_target(const Device& device, const weir_code_object& object) {
  const std::string architecture = architecture_of(device.context);
  if (std::string_view(object.format) == "hsaco" && (!*object.target || may_run(object.target, architecture)))
    return;
  sdk::fail(
      WEIR_ERROR_CODE_OBJECT,
      "code object '%.64s' is of format '%.32s' for target '%.64s'; this device loads format 'hsaco' for "
      "target '%s'; compile it for that target",
      object.name, object.format, object.target, architecture.c_str());
}

Code Hip::load_module(Module& module, const weir_code_object& object, std::string&) {
  check_whole(object);
  const auto* bytes = static_cast<const char*>(object.data);
  module.data.image.assign(bytes, bytes + object.size);
  module.data.arguments = read_kernel_arguments(module.data.image);
  return api.module_load(&module.native, module.data.image.data());
}

/// HIP reads each argument at its offset in the block, and would read past the end of a shorter block.
std::size_t Hip::block_bytes(const Module& module, Kernel& kernel) {
  const auto known = module.data.arguments.find(kernel.name);
  kernel.argument_offsets.reset();
  if (known == module.data.arguments.end()) return kernel.argument_bytes;
  if (known->second.bytes > kernel.argument_bytes)
    sdk::fail(WEIR_ERROR_INVALID,
              "kernel '%.128s' takes %u bytes of arguments; layout.argument_bytes is %u; list its parameters "
              "as its source declares them",
              kernel.name.c_str(), known->second.bytes, kernel.argument_bytes);
  kernel.argument_offsets = known->second.offsets;
  return kernel.argument_bytes;
}

/// HIP's cooperative launch takes a list of the arguments' addresses and no block.
Code Hip::launch_cooperative(const Kernel& kernel, const weir_launch& l, void* stream) {
  sdk::vendor::ArgumentAddresses<Hip> arguments(kernel, l);
  return api.launch_cooperative(kernel.function, l.grid[0], l.grid[1], l.grid[2], l.block[0], l.block[1],
                                l.block[2], l.dynamic_shared_bytes, stream, arguments.data());
}

}  // namespace weir::amdgpu
