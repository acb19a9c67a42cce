// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <memory>
#include <weir/dlpack.hpp>

#include "dlpack/layout.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/memory/array_use.hpp"

namespace weir::dlpack {
namespace {

constexpr std::size_t max_dimensions = max_rank + 2;

/// A tensor with the data that it points to. The consumer's deleter call ends it.
template <class Managed>
struct Exported {
  Managed managed{};
  std::array<std::int64_t, max_dimensions> shape{}, strides{};
  detail::MemoryBlock* block = nullptr;

  static void end(Managed* managed) {
    const std::unique_ptr<Exported> self(static_cast<Exported*>(managed->context));
    self->block->device.memory.release_share(*self->block);
  }
};

void describe(const AnyArrayView& array, Tensor& tensor, std::span<std::int64_t, max_dimensions> shape,
              std::span<std::int64_t, max_dimensions> strides) {
  const ElementType& element = array.element();
  std::size_t dimensions = array.rank();
  for (std::size_t d = 0; d < dimensions; ++d) shape[d] = array.extent(d);
  if (element.shape != ElementType::Shape::scalar) shape[dimensions++] = element.rows;
  if (element.shape == ElementType::Shape::matrix) shape[dimensions++] = element.cols;
  std::int64_t stride = 1;
  for (std::size_t d = dimensions; d-- > array.rank();) {
    strides[d] = stride;
    stride *= shape[d];
  }
  for (std::size_t d = 0; d < array.rank(); ++d) strides[d] = array.stride(d);
  tensor.dimensions = static_cast<std::int32_t>(dimensions);
  tensor.type = data_type(element.scalar);
  tensor.shape = shape.data();
  tensor.strides = strides.data();
}

void order(detail::MemoryBlock& block, const Order& how) {
  detail::DeviceState& device = block.device;
  if (how.kind() == Order::Kind::none) return;
  if (how.kind() == Order::Kind::host) return device.memory.wait_for_uses(block);
  detail::StreamState& consumer = detail::live(how.consumer());
  if (&consumer.device != &device)
    detail::throw_other_device("the exported array is on device", device, "but the consumer's stream is of",
                               consumer.device,
                               "pass a stream of the array's device, or Order::host_waits()");
  detail::throw_failure(consumer);
  device.memory.order_after_uses(block, consumer);
}

template <class Managed>
std::unique_ptr<Exported<Managed>> exported(const AnyArrayView& array, const Order& how) {
  detail::MemoryBlock& block = detail::live_or_strided(array);
  const DeviceName name = name_of(Device(&block.device));
  auto made = std::make_unique<Exported<Managed>>();
  Tensor& tensor = made->managed.tensor;
  describe(array, tensor, made->shape, made->strides);
  tensor.device_type = name.type;
  tensor.device_id = name.id;
  if (block.borrowed && block.borrowed->on_host)
    tensor.device_type = static_cast<std::int32_t>(block.device.info.dlpack_host_type);
  tensor.data = reinterpret_cast<void*>(array.device_address());
  order(block, how);
  made->block = &block;
  made->managed.context = made.get();
  made->managed.deleter = &Exported<Managed>::end;
  detail::MemoryPool::share(block);
  return made;
}

}  // namespace

DeviceName name_of(const Device& device) try {
  const DeviceInfo& info = device.info();
  if (!info.dlpack_type || !info.has(Capability::device_address))
    throw Error(
        ErrorCode::unsupported,
        fmt::format(
            "DLPack has no name for the memory of {} that other libraries could use; copy the array to "
            "the host, or to a device of another driver",
            device.name()));
  return {static_cast<std::int32_t>(info.dlpack_type), info.dlpack_id};
} catch (...) {
  detail::rethrow_as_error();
}

DLManagedTensor* to_tensor(const AnyArrayView& array, const Order& order) try {
  return reinterpret_cast<DLManagedTensor*>(&exported<ManagedTensor>(array, order).release()->managed);
} catch (...) {
  detail::rethrow_as_error();
}

DLManagedTensorVersioned* to_versioned_tensor(const AnyArrayView& array, const Order& order,
                                              bool read_only) try {
  auto made = exported<VersionedTensor>(array, order);
  made->managed.major = supported_major;
  made->managed.minor = written_minor;
  made->managed.flags = read_only ? flag_read_only : 0;
  return reinterpret_cast<DLManagedTensorVersioned*>(&made.release()->managed);
} catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir::dlpack
