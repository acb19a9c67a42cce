// SPDX-License-Identifier: Apache-2.0
// Exchange of arrays with other libraries of the same process in the DLPack format, without a copy: NumPy,
// PyTorch, JAX, CuPy. sdk/docs/guides/dlpack.md explains it. The structs are those of <dlpack/dlpack.h>,
// which this header does not need. Tensors without a version and with version 1.x are supported.
//
// Threads: every function may be called from any thread, and so may the deleters of exported tensors. Errors:
// all functions throw Error{invalid} if an array or stream was destroyed or belongs to another device.
// Failures do not change tensors or arrays.
#pragma once

#include <cstdint>
#include <weir/array.hpp>

struct DLManagedTensor;
struct DLManagedTensorVersioned;

namespace weir::dlpack {

/// The memory of a device, as DLPack names it: {2, 0} is kDLCUDA of device 0.
struct DeviceName {
  std::int32_t type = 0;  ///< a DLDeviceType
  std::int32_t id = 0;
  friend bool operator==(const DeviceName&, const DeviceName&) = default;
};

/// The value of `__dlpack_device__` for arrays of the device. Throws Error{unsupported} if DLPack has no
/// usable name for its memory, as for Vulkan.
WEIR_API DeviceName name_of(const Device& device);

/// The order of a consumer's accesses to an exported array after the work submitted so far that uses it.
class Order {
 public:
  /// Later work of `consumer`, a stream of the array's device, begins after that work. The host does not
  /// wait. Vendor handles become streams by Device::wrap_stream. The memory is reused only after the work
  /// that was submitted to `consumer` before the tensor's deleter was called.
  Order(const StreamRef& consumer) noexcept : consumer_(consumer), kind_(Kind::stream) {}
  /// The exporting call waits on the host. For consumers on the host, and for streams that Weir cannot wrap.
  /// The consumer's work must be done when it calls the deleter.
  static Order host_waits() noexcept { return Order(Kind::host); }
  /// The caller orders the accesses.
  static Order unordered() noexcept { return Order(Kind::none); }

  enum class Kind : std::uint8_t { none, stream, host };
  Kind kind() const noexcept { return kind_; }
  const StreamRef& consumer() const noexcept { return consumer_; }

 private:
  explicit Order(Kind kind) noexcept : consumer_(nullptr, 0), kind_(kind) {}
  StreamRef consumer_;
  Kind kind_;
};

/// Exports an array or a slice without a copy. The caller passes the tensor on, or calls its deleter. The
/// memory stays valid until then, although the array may be destroyed earlier; its views end with the array.
/// A Vec adds a dimension at the end of the shape, a Mat two. Throws Error{unsupported} as name_of does.
/// Waits only with Order::host_waits().
WEIR_API DLManagedTensor* to_tensor(const AnyArrayView& array, const Order& order);
/// As to_tensor, in the form of DLPack 1. `read_only` asks the consumer not to write.
WEIR_API DLManagedTensorVersioned* to_versioned_tensor(const AnyArrayView& array, const Order& order,
                                                       bool read_only = false);

/// When an import may copy the elements.
enum class Copy : std::uint8_t {
  never,      ///< such tensors are refused
  if_needed,  ///< for the tensors that from_tensor() refuses otherwise
  always
};

/// Imports a tensor as an array on the device of `stream`, which borrows the memory. `stream` is the stream
/// that the producer ordered after its work, the argument of `__dlpack__(stream)`. Weir orders other streams,
/// as for any array. The array owns the tensor from then on. The deleter is called once, after the array was
/// destroyed and all work that uses it is done. It is called on the thread that destroys the array, or later
/// on one that allocates or synchronises. It is not called after a device was lost, in a forked child, or
/// once the process exits. Never waits on the host.
///
/// Element type and dimensions must match; a Vec takes the last dimension or the lanes, a Mat two dimensions.
/// The array keeps the tensor's strides, see AnyArrayView. A copy is needed for read-only tensors, for host
/// memory if the device is not the host, if by the strides elements share memory, and if they put the
/// components of an element apart. Throws Error{invalid} for a tensor that is malformed or does not match, or
/// whose memory belongs to another device. Throws Error{unsupported} if a copy is needed that `copy` does not
/// allow, and for a device without external memory. Memory statistics do not count borrowed memory.
WEIR_API AnyArray from_tensor(const StreamRef& stream, DLManagedTensor* tensor, ElementType element,
                              std::size_t rank, Copy copy = Copy::never);
WEIR_API AnyArray from_tensor(const StreamRef& stream, DLManagedTensorVersioned* tensor, ElementType element,
                              std::size_t rank, Copy copy = Copy::never);

/// As above, with the type of the array given: `auto x = dlpack::from_tensor<float, 2>(stream, tensor)`.
template <KernelElement T, std::size_t Rank = 1>
Array<T, Rank> from_tensor(const StreamRef& stream, DLManagedTensor* tensor, Copy copy = Copy::never) {
  return Array<T, Rank>(from_tensor(stream, tensor, element_type<T>, Rank, copy));
}
template <KernelElement T, std::size_t Rank = 1>
Array<T, Rank> from_tensor(const StreamRef& stream, DLManagedTensorVersioned* tensor,
                           Copy copy = Copy::never) {
  return Array<T, Rank>(from_tensor(stream, tensor, element_type<T>, Rank, copy));
}

}  // namespace weir::dlpack
