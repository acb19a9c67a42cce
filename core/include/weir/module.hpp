// SPDX-License-Identifier: Apache-2.0
// Ready code objects: modules, their kernels, and launches of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <weir/array.hpp>
#include <weir/device.hpp>
#include <weir/element.hpp>
#include <weir/export.hpp>
#include <weir/stream.hpp>

namespace weir {

namespace detail {
struct ModuleState;
struct KernelState;
}  // namespace detail

/// Numbers of blocks or threads along x, y, z; each at least 1.
struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
  constexpr Dim3() = default;
  constexpr Dim3(std::uint32_t x_, std::uint32_t y_ = 1, std::uint32_t z_ = 1) noexcept
      : x(x_), y(y_), z(z_) {}
};

/// One parameter of a ready kernel. The argument block holds the parameters one after the other, each at a
/// multiple of its alignment, like the members of a C struct. An array has the size of a device address.
struct KernelParameter {
  bool is_array = false;
  std::uint32_t size = 0;       ///< of a value, in bytes; at most KernelArgument::max_value_bytes
  std::uint32_t alignment = 0;  ///< of a value, a power of two

  static constexpr KernelParameter array() noexcept { return {true, 0, 0}; }
  static constexpr KernelParameter value(std::uint32_t size, std::uint32_t alignment) noexcept {
    return {false, size, alignment};
  }
  template <class T>
  static constexpr KernelParameter of() noexcept {
    return {false, sizeof(T), alignof(T)};
  }
};

/// One argument: a view of an array, or a value of at most 128 bytes, copied.
class WEIR_API KernelArgument {
 public:
  static constexpr std::size_t max_value_bytes = 128;

  KernelArgument(const AnyArrayView& view) noexcept : is_array_(true), view_(view) {}
  template <KernelElement T>
  KernelArgument(const T& value) noexcept : KernelArgument(std::as_bytes(std::span(&value, 1))) {}
  /// Any bytes, for structs. Throws Error{invalid} when there are more than max_value_bytes.
  explicit KernelArgument(std::span<const std::byte> bytes);

  bool is_array() const noexcept { return is_array_; }
  const AnyArrayView& view() const noexcept { return view_; }
  std::span<const std::byte> bytes() const noexcept { return {value_.data(), size_}; }

 private:
  bool is_array_ = false;
  std::uint32_t size_ = 0;
  AnyArrayView view_;
  std::array<std::byte, max_value_bytes> value_;
};

/// Grid, block and dynamic shared memory (bytes per block) of a launch.
struct LaunchShape {
  Dim3 grid{};
  Dim3 block{};
  std::uint32_t shared_bytes = 0;
};

/// Properties of a loaded kernel as the driver reports them; 0 means unknown.
struct KernelInfo {
  std::uint32_t max_block_threads = 0;
  std::uint32_t registers = 0;     ///< per thread
  std::uint32_t shared_bytes = 0;  ///< static, per block
  std::uint32_t local_bytes = 0;   ///< spill and stack, per thread
  std::uint32_t lanes = 0;
};

/// A kernel of a module: a cheap handle that keeps the module loaded. Every function may be called from
/// several threads; those of a moved-from one throw Error{invalid}.
class WEIR_API KernelFunction {
 public:
  const std::string& name() const;
  Device device() const;
  KernelInfo info() const;

  /// Submits one run. Throws Error{invalid}, and submits nothing, in these cases: count, kind or size of an
  /// argument differs from the parameters; an array is freed or of another device; the shape is empty or
  /// beyond the device's limits.
  void launch(const StreamRef& stream, const LaunchShape& shape,
              std::span<const KernelArgument> arguments) const;
  void launch(const StreamRef& stream, const LaunchShape& shape,
              std::initializer_list<KernelArgument> arguments) const {
    launch(stream, shape, std::span(arguments.begin(), arguments.size()));
  }

  explicit KernelFunction(std::shared_ptr<const detail::KernelState> state) noexcept
      : state_(std::move(state)) {}
  const std::shared_ptr<const detail::KernelState>& state() const noexcept { return state_; }

 private:
  std::shared_ptr<const detail::KernelState> state_;
};

/// A loaded code object: a cheap handle. It is unloaded when all handles to it and its kernels are destroyed
/// and all work that uses them is done. No call waits for this. Functions of a moved-from Module throw
/// Error{invalid}.
class WEIR_API Module {
 public:
  Device device() const;
  /// Throws Error{not_found} that names the kernel.
  KernelFunction kernel(std::string_view name, std::span<const KernelParameter> parameters) const;
  KernelFunction kernel(std::string_view name, std::initializer_list<KernelParameter> parameters) const {
    return kernel(name, std::span(parameters.begin(), parameters.size()));
  }

  explicit Module(std::shared_ptr<detail::ModuleState> state) noexcept : state_(std::move(state)) {}

 private:
  std::shared_ptr<detail::ModuleState> state_;
};

}  // namespace weir
