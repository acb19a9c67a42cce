// SPDX-License-Identifier: Apache-2.0
// PTX and cubin. Code for other devices is refused here by its target; all other faults are reported by CUDA,
// with its compiler's log.
#include <cstdio>
#include <string_view>
#include <vector>

#include "cuda.hpp"

namespace weir::cuda {
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

struct Log {
  char text[4096] = "";
  void* size = reinterpret_cast<void*>(sizeof text);  // in: the buffer's size; out: the bytes written
};

std::string joined(const Log& errors, const Log& remarks) {
  std::string text = errors.text;
  if (*remarks.text) text += (text.empty() ? "" : "\n") + std::string(remarks.text);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

}  // namespace

void Cuda::check_target(const Device& device, const weir_code_object& object) {
  const int number = static_cast<int>(device.index);
  const int major = static_cast<int>(sdk::vendor::attribute<Cuda>(number, compute_major));
  const int minor = static_cast<int>(sdk::vendor::attribute<Cuda>(number, compute_minor));
  const std::string_view format = object.format;
  const bool ptx = format == "ptx";
  const Architecture code = parse(object.target);
  if ((ptx || format == "cubin") && (code.number ? may_run(ptx, code, major * 10 + minor) : !*object.target))
    return;
  sdk::fail(WEIR_ERROR_CODE_OBJECT,
            "code object '%.64s' is of format '%.32s' for target '%.64s'; this device loads format 'ptx' for "
            "targets up "
            "to sm_%d%d, and 'cubin' for sm_%d0 to sm_%d%d",
            object.name, object.format, object.target, major, minor, major, major, minor);
}

Code Cuda::load_module(Module& module, const weir_code_object& object, std::string& log) {
  const char* data = static_cast<const char*>(object.data);
  std::vector<char> terminated;  // CUDA reads PTX up to a zero byte
  if (std::string_view(object.format) == "ptx" && data[object.size - 1] != '\0') {
    terminated.assign(data, data + object.size);
    terminated.push_back('\0');
    data = terminated.data();
  }
  Log errors, remarks;
  int options[] = {jit_error_log, jit_error_log_bytes, jit_info_log, jit_info_log_bytes};
  void* values[] = {errors.text, errors.size, remarks.text, remarks.size};
  const Code code = api.module_load(&module.native, data, 4, options, values);
  errors.text[sizeof errors.text - 1] = remarks.text[sizeof remarks.text - 1] = '\0';
  log = joined(errors, remarks);
  return code;
}

/// A launch would read past the end of a shorter argument block. Older libraries cannot return parameter
/// sizes.
std::size_t Cuda::block_bytes(const Module&, const Kernel& kernel) {
  if (!api.function_parameter) return kernel.argument_bytes;
  constexpr std::size_t most = 4096;  // of a byte each
  std::size_t end = 0, offset = 0, size = 0;
  for (std::size_t i = 0; i < most; ++i) {
    if (api.function_parameter(kernel.function, i, &offset, &size) != sdk::vendor::success) break;
    end = offset + size;
  }
  if (end > kernel.argument_bytes)
    sdk::fail(WEIR_ERROR_INVALID, "kernel '%.128s' takes %zu bytes of arguments; layout.argument_bytes is %u",
              kernel.name.c_str(), end, kernel.argument_bytes);
  return end;
}

}  // namespace weir::cuda
