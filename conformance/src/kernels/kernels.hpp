// SPDX-License-Identifier: Apache-2.0
// Kernels of known behaviour for any device. They are compiled from their text if Weir generates code in a
// format that the device loads. Otherwise they come from a folder of ready code objects; without one, the
// tests that need them are unsupported.
#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "objects.hpp"

namespace weir::conformance {

/// One field of an argument block; see weir_parameter. Fields are laid out like the members of a C struct.
enum class Field : std::uint8_t { array, i64, f64, i32, f32, i16, i8 };

/// A kernel as sdk/docs/conformance.md describes it. Arrays come first, then values from large to small.
struct KernelText {
  std::string name;
  std::vector<Field> fields;
  std::string text;  ///< IR; empty for a kernel that exists as a code object only
};
const KernelText& kernel_text(std::string_view name);
/// The names of all kernels, for drivers that bring their own.
std::vector<std::string> kernel_names();

/// A code object that contains a kernel, for the device under test.
struct ReadyKernel {
  std::string format, target, symbol;
  std::vector<std::uint8_t> bytes;
  std::uint32_t block[3] = {1, 1, 1};
  std::uint32_t shared_bytes = 0;
  std::uint32_t argument_bytes = 0;

  weir_code_object code_object() const {
    return {
        sizeof(weir_code_object), format.c_str(), target.c_str(), bytes.data(), bytes.size(), symbol.c_str()};
  }
};
/// The kernel for the first target for which it can be made, or for that entry of code_targets. Throws
/// Unsupported with the reason if it cannot be made.
const ReadyKernel& ready_kernel(std::string_view name, std::optional<std::uint32_t> target = {});

/// The suite's own code object in `format` with a kernel that has no IR; empty if there is none.
std::string_view prepared_object(std::string_view format, std::string_view kernel);

/// A code object in `format` that needs a symbol which nothing defines; empty if there is none.
std::string_view unresolved_object(std::string_view format);

/// Throws std::runtime_error if the folder has no valid list of ready code objects.
void check_kernels(const std::filesystem::path& folder);

/// The bytes of a launch's arguments, in the order of the kernel's fields.
class Arguments {
 public:
  Arguments& add(const Memory& memory, std::uint64_t offset = 0);
  Arguments& add_null_array();
  template <class T>
    requires std::is_arithmetic_v<T>
  Arguments& add(T value) {
    put(&value, sizeof value, sizeof value);
    return *this;
  }
  void pad_to(std::size_t size) { bytes_.resize(std::max(size, bytes_.size())); }
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  void put(const void* value, std::size_t size, std::size_t alignment);
  std::vector<std::uint8_t> bytes_;
};

template <class... Values>
Arguments arguments(const Values&... values) {
  Arguments made;
  (made.add(values), ...);
  return made;
}

using Module = Owner<weir_module, &weir_driver_table::module_unload>;

/// A loaded kernel, in a module of its own.
class Kernel {
 public:
  explicit Kernel(std::string_view name, weir_device on = device(), std::optional<std::uint32_t> target = {});
  /// Of other code for that kernel, which must outlive this object.
  Kernel(std::string_view name, const ReadyKernel& ready, weir_device on = device());

  weir_launch launch_of(const Arguments& values, std::uint32_t blocks = 1) const;
  /// A launch of any grid and block; see launch_of.
  weir_launch launch_of(const Arguments& values, const std::uint32_t (&grid)[3],
                        const std::uint32_t (&block)[3], std::uint32_t dynamic_shared_bytes = 0) const;
  /// Submits a launch. `values` need not outlive the call.
  void launch(const Stream& stream, Arguments values, std::uint32_t blocks = 1) const;

  weir_kernel handle() const { return kernel_; }
  weir_module module() const { return module_; }
  const ReadyKernel& ready() const { return *ready_; }
  /// The layout of the lookup. Its pointer is valid as long as this object.
  const weir_kernel_layout& layout() const { return layout_; }
  void unload() { module_.destroy(); }

 private:
  const ReadyKernel* ready_;
  std::vector<weir_parameter> parameters_;
  weir_kernel_layout layout_{};
  Module module_;
  weir_kernel kernel_ = nullptr;
};

/// The kernel's parameters in the ABI's form, for the device under test.
std::vector<weir_parameter> parameters_of(const KernelText& kernel);

/// The kernel, or none if it cannot be made for the device.
inline std::optional<Kernel> kernel_if_any(const char* name) {
  try {
    return std::optional<Kernel>(std::in_place, name);
  } catch (const Unsupported&) {
    return std::nullopt;
  }
}

/// What the kernel iota writes: base, base + 1, ...
inline std::vector<std::int64_t> iota_values(std::int64_t n, std::int64_t base) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), base);
  return values;
}

/// Runs iota and checks it.
inline void expect_runs(const Kernel& iota, std::int64_t base) {
  const Memory out(8 * 100);
  const Stream stream;
  iota.launch(stream, arguments(out, std::int64_t{100}, base));
  stream.synchronize();
  EXPECT_EQ(out.values<std::int64_t>(), iota_values(100, base));
}

/// What kernel_get_info returns for it.
inline weir_kernel_info info_of(const Kernel& kernel) {
  weir_kernel_info filled{};
  filled.struct_size = sizeof filled;
  call(table().kernel_get_info, kernel.handle(), &filled);
  return filled;
}

/// The threads that a block of `kernel` may have.
inline std::uint32_t max_threads(const Kernel& kernel) {
  const std::uint32_t own = info_of(kernel).max_block_threads;
  return own ? own : info().max_block_threads;
}
/// The bytes of dynamic shared memory that a block of `kernel` may have.
inline std::uint32_t max_dynamic_bytes(const Kernel& kernel) {
  return info().max_shared_bytes - info_of(kernel).shared_bytes;
}

}  // namespace weir::conformance
