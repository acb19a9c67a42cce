// SPDX-License-Identifier: Apache-2.0
// PTX and cubin. This file refuses code for other devices by its target, and truncated machine code by its
// size, which CUDA does not take. CUDA reports all other faults, with its compiler's log.
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>
#include <weir/sdk/elf.hpp>

#include "cuda.hpp"

namespace weir::cuda {

using sdk::format_text;

namespace {

/// "sm_90a": 90, and whether a letter binds the code to one device or family. 0 for other text.
struct Architecture {
  int number = 0;
  bool specific = false;
};

Architecture parse(std::string_view target) {
  Architecture out;
  constexpr std::string_view prefix = "sm_";
  if (!target.starts_with(prefix)) return {};
  target.remove_prefix(prefix.size());
  std::size_t digits = 0;
  for (; digits < target.size() && target[digits] >= '0' && target[digits] <= '9' && digits < 4; ++digits)
    out.number = out.number * 10 + (target[digits] - '0');
  out.specific = target.size() == digits + 1 && (target[digits] == 'a' || target[digits] == 'f');
  return digits >= 2 && (digits == target.size() || out.specific) ? out : Architecture{};
}

/// PTX runs on its architecture and all later ones; machine code runs on later minor versions of its major
/// one. Code with a letter runs on its architecture (a) or family (f) only, which CUDA checks.
bool may_run(bool ptx, Architecture code, int device) {
  if (code.specific) return code.number <= device && code.number / 10 == device / 10;
  return code.number <= device && (ptx || code.number / 10 == device / 10);
}

/// The options of a compilation, with buffers for its messages. Must live as long as the compilation.
struct Log {
  static constexpr std::size_t capacity = 4096;
  char errors[capacity] = "", remarks[capacity] = "";
  int options[4] = {jit_error_log, jit_error_log_bytes, jit_info_log, jit_info_log_bytes};
  // Of the sizes: in, those of the buffers; out, the bytes written.
  void* values[4] = {errors, reinterpret_cast<void*>(capacity), remarks, reinterpret_cast<void*>(capacity)};

  Log() = default;
  Log(const Log&) = delete;
  std::string text() {
    errors[capacity - 1] = remarks[capacity - 1] = '\0';
    std::string text = errors;
    if (*remarks) text += (text.empty() ? "" : "\n") + std::string(remarks);
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    return text;
  }
};

bool is_ptx(const weir_code_object& object) {
  return std::string_view(object.format) == "ptx";
}

/// The bytes of a code object as CUDA reads them: PTX up to a zero byte.
class Image {
 public:
  explicit Image(const weir_code_object& object) : data_(static_cast<const char*>(object.data)) {
    const auto size = static_cast<std::size_t>(object.size);
    if (!is_ptx(object) || data_[size - 1] == '\0') return;
    terminated_.reserve(size + 1);
    terminated_.assign(data_, data_ + size);
    terminated_.push_back('\0');
    data_ = terminated_.data();
  }
  Image(const Image&) = delete;
  const char* data() const noexcept { return data_; }

 private:
  const char* data_;
  std::vector<char> terminated_;
};

/// Checks that machine code is a complete ELF file, or a complete fat binary of nvcc, whose header says how
/// many bytes follow it (fatbinary.h of the CUDA toolkit).
void check_whole(const weir_code_object& object) {
  struct {
    std::uint32_t magic;
    std::uint16_t version, header_bytes;
    std::uint64_t bytes;
  } fat_binary;
  constexpr std::uint32_t fat_binary_magic = 0xba55ed50;
  if (object.size < sizeof fat_binary) return sdk::check_whole_elf(object);
  std::memcpy(&fat_binary, object.data, sizeof fat_binary);
  if (fat_binary.magic != fat_binary_magic) return sdk::check_whole_elf(object);
  if (fat_binary.header_bytes > object.size || fat_binary.bytes > object.size - fat_binary.header_bytes)
    sdk::fail(
        WEIR_ERROR_CODE_OBJECT,
        "code object '%.64s' is cut short: its header is of a fat binary of %llu bytes, and it has %llu; "
        "load the whole file",
        object.name, static_cast<unsigned long long>(fat_binary.bytes + fat_binary.header_bytes),
        static_cast<unsigned long long>(object.size));
}

/// The device's own architecture, 90 for sm_90.
int architecture_of(const Device& device) {
  const int number = static_cast<int>(device.index);
  const auto value = [number](int which) {
    return static_cast<int>(sdk::vendor::attribute<Cuda>(number, which));
  };
  return value(compute_major) * 10 + value(compute_minor);
}

}  // namespace

void Cuda::check_target(const Device& device, const weir_code_object& object) {
  const int own = architecture_of(device), major = own / 10, minor = own % 10;
  const bool ptx = is_ptx(object);
  const Architecture code = parse(object.target);
  if ((ptx || std::string_view(object.format) == "cubin") &&
      (code.number ? may_run(ptx, code, own) : !*object.target))
    return;
  sdk::fail(WEIR_ERROR_CODE_OBJECT,
            "code object '%.64s' is of format '%.32s' for target '%.64s'; this device loads format 'ptx' for "
            "targets up "
            "to sm_%d%d, and 'cubin' for sm_%d0 to sm_%d%d; compile it for one of them",
            object.name, object.format, object.target, major, minor, major, major, minor);
}

// No code_compile: cuLinkComplete is CUDA's only function that returns its compiler's result. It compiles PTX
// to relocatable code, which is slower than the code of cuModuleLoadDataEx. CUDA caches the latter itself.
// See tests/evidence/cuda-link.md.
Code Cuda::load_module(Module& module, const weir_code_object& object, std::string& log) {
  if (!is_ptx(object)) check_whole(object);
  const Image image(object);
  Log messages;
  const Code code = api.module_load(&module.native, image.data(), 4, messages.options, messages.values);
  log = messages.text();
  return code;
}

/// A launch would read past the end of a shorter argument block. Older libraries cannot return parameter
/// sizes.
std::size_t Cuda::block_bytes(const Module&, Kernel& kernel) {
  kernel.argument_offsets.reset();
  if (!api.function_parameter) return kernel.argument_bytes;
  constexpr std::size_t max_parameters = 4096;  // of a byte each
  std::vector<std::uint32_t> offsets;
  std::size_t end = 0, offset = 0, size = 0;
  for (std::size_t i = 0; i < max_parameters; ++i) {
    if (api.function_parameter(kernel.function, i, &offset, &size) != sdk::vendor::success) break;
    offsets.push_back(static_cast<std::uint32_t>(offset));
    end = offset + size;
  }
  if (end > kernel.argument_bytes)
    sdk::fail(WEIR_ERROR_INVALID,
              "kernel '%.128s' takes %zu bytes of arguments; layout.argument_bytes is %u; list its "
              "parameters as its source declares them",
              kernel.name.c_str(), end, kernel.argument_bytes);
  kernel.argument_offsets = std::move(offsets);
  return end;
}

/// Not cuLaunchCooperativeKernel, which takes no argument block.
Code Cuda::launch_cooperative(const Kernel& kernel, const weir_launch& l, void* stream) {
  LaunchAttribute cooperative{launch_is_cooperative, {1}};
  const LaunchConfiguration configuration{{l.grid[0], l.grid[1], l.grid[2]},
                                          {l.block[0], l.block[1], l.block[2]},
                                          l.dynamic_shared_bytes,
                                          stream,
                                          &cooperative,
                                          1};
  sdk::vendor::ArgumentBlock<Cuda> arguments(kernel, l);
  return api.launch_configured(&configuration, kernel.function, nullptr, arguments.extra());
}

}  // namespace weir::cuda
