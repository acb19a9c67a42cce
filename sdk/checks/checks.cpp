// SPDX-License-Identifier: Apache-2.0
// checks.hpp for callers in C.
#include <weir/sdk/checks.h>

#include <weir/sdk/checks.hpp>
#include <weir/sdk/elf.hpp>

using namespace weir::sdk;

namespace {

// The parts of a driver's objects that the checks read.

struct Name {
  const char* text;
  const char* c_str() const noexcept { return text; }
};

struct Device {
  std::uint32_t index = 0;
  std::uint32_t argument_style;
  std::uint64_t capabilities;
  Limits limits;

  explicit Device(const weir_device_info& info)
      : argument_style(info.argument_style), capabilities(info.capabilities), limits(limits_of(info)) {}
};

struct Kernel {
  const Device* device;
  const weir_kernel_info& info;
  Name name;
  std::uint32_t argument_bytes;
};

struct Allocation {
  std::uint64_t size;
};

}  // namespace

extern "C" {

weir_result weir_fail(weir_status* status, weir_result code, const char* message) {
  report(status, code, message);
  return code;
}

weir_result weir_read_struct(void* out, const void* in, std::uint32_t size, const char* what,
                             weir_status* status) {
  return guarded(status, [&] {
    if (!in) fail(WEIR_ERROR_INVALID, "%s is null", what);
    std::uint32_t given;
    std::memcpy(&given, in, sizeof given);
    if (given < 2 * sizeof given)
      fail(WEIR_ERROR_INVALID, "%s has struct_size %u; expected sizeof the struct, %u", what, given, size);
    const std::uint32_t known = std::min(given, size);
    std::memcpy(out, in, known);
    std::memset(static_cast<std::byte*>(out) + known, 0, size - known);
  });
}

weir_result weir_write_struct(void* out, const void* mine, std::uint32_t size, const char* what,
                              weir_status* status) {
  return guarded(status, [&] {
    if (!out) fail(WEIR_ERROR_INVALID, "%s is null", what);
    std::uint32_t given;
    std::memcpy(&given, out, sizeof given);
    if (given < sizeof given)
      fail(WEIR_ERROR_INVALID, "%s has struct_size %u; expected sizeof the struct, %u", what, given, size);
    std::memcpy(static_cast<std::byte*>(out) + sizeof given,
                static_cast<const std::byte*>(mine) + sizeof given, std::min(given, size) - sizeof given);
  });
}

weir_result weir_check_range(std::uint64_t allocation_size, std::uint64_t offset, std::uint64_t size,
                             const char* what, weir_status* status) {
  return guarded(status, [&] { check_range(Allocation{allocation_size}, offset, size, what); });
}

weir_result weir_check_apart(std::uint64_t to_offset, std::uint64_t from_offset, std::uint64_t size,
                             weir_status* status) {
  return guarded(status, [&] {
    const Allocation both{};
    check_apart(both, to_offset, both, from_offset, size);
  });
}

weir_result weir_check_pattern(std::uint64_t offset, std::uint64_t size, const void* pattern,
                               std::uint32_t pattern_size, weir_status* status) {
  return guarded(status, [&] { check_pattern(offset, size, pattern, pattern_size); });
}

weir_result weir_check_memory_options(const weir_memory_options* asked, std::uint64_t capabilities,
                                      weir_memory_options* out, weir_status* status) {
  return guarded(status, [&] { *out = check_memory_options(asked, capabilities); });
}

weir_result weir_check_external_memory(const weir_external_memory* asked, weir_external_memory* out,
                                       weir_status* status) {
  return guarded(status, [&] { *out = check_external_memory(asked); });
}

weir_result weir_check_code_object(const weir_code_object* asked, weir_code_object* out,
                                   weir_status* status) {
  return guarded(status, [&] { *out = check_code_object(asked); });
}

weir_result weir_check_whole_elf(const weir_code_object* object, weir_status* status) {
  return guarded(status, [&] { check_whole_elf(check_code_object(object)); });
}

weir_result weir_check_layout(const weir_kernel_layout* asked, const weir_device_info* device,
                              const char* kernel, weir_kernel_layout* out, weir_status* status) {
  return guarded(status, [&] {
    const weir_kernel_layout layout = read_struct(asked, "layout");
    check_layout(layout, Device(*device), kernel);
    *out = layout;
  });
}

weir_result weir_check_launch(const weir_launch* asked, const weir_device_info* device,
                              const weir_kernel_info* kernel, const char* name, std::uint32_t argument_bytes,
                              weir_launch* out, weir_status* status) {
  return guarded(status, [&] {
    const weir_launch launch = read_struct(asked, "launch");
    const Device limits(*device);
    check_launch(limits, Kernel{&limits, *kernel, {name}, argument_bytes}, launch);
    *out = launch;
  });
}

weir_result weir_check_graph_node(const weir_graph_node* asked, const std::uint32_t* index,
                                  weir_graph_node* out, weir_status* status) {
  return guarded(status, [&] { *out = check_node_fields(asked, index); });
}

}  // extern "C"
