// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <optional>
#include <weir/dlpack.hpp>

#include "dlpack/layout.hpp"
#include "runtime/devices/device_state.hpp"
#include "runtime/errors/stream_errors.hpp"

namespace weir::dlpack {
namespace {

using detail::DeviceState;
using detail::StreamState;

/// Ends a tensor.
using Deleter = std::function<void()>;

/// The kind of memory that the device may use directly, or none.
std::optional<std::uint32_t> external_kind(const DeviceInfo& info, const Tensor& tensor) {
  const auto type = static_cast<std::uint32_t>(tensor.device_type);
  if (type != 0 && type == info.dlpack_type && tensor.device_id == info.dlpack_id)
    return WEIR_EXTERNAL_DEVICE;
  if (type != 0 && type == info.dlpack_host_type) return WEIR_EXTERNAL_HOST;
  return std::nullopt;
}

[[noreturn]] void refuse_device(const DeviceState& device, const Tensor& tensor) {
  const DeviceInfo& info = device.info;
  std::string expected = info.dlpack_type
                             ? describe_device(static_cast<std::int32_t>(info.dlpack_type), info.dlpack_id)
                             : std::string("memory that is copied: DLPack has no usable name for its own");
  if (info.dlpack_host_type)
    expected += fmt::format(", or {}", device_type_name(static_cast<std::int32_t>(info.dlpack_host_type)));
  throw Error(
      ErrorCode::invalid,
      fmt::format("DLPack tensor: its memory is of {}; expected for {}: {}; move it there in the library "
                  "that made it, or import it on the device that it is on",
                  describe_device(tensor.device_type, tensor.device_id), device.device_name(), expected));
}

[[noreturn]] void refuse_copy(std::string_view finding, std::string_view remedy) {
  throw Error(
      ErrorCode::unsupported,
      fmt::format(
          "DLPack tensor: {}, so its memory cannot become an array; pass Copy::if_needed to copy it{}",
          finding, remedy));
}

weir_external_memory memory_at(std::uint32_t kind, std::uint64_t address, std::uint64_t bytes) {
  weir_external_memory memory{};
  memory.struct_size = sizeof memory;
  memory.kind = kind;
  memory.address = address;
  memory.size = bytes;
  return memory;
}

/// The memory that the tensor's elements reach, as an array of this element type.
AnyArray borrow(StreamState& stream, std::uint32_t kind, const Layout& layout, ElementType element,
                const Deleter& deleter) {
  const Layout::Range range = layout.range();
  detail::MemoryBlock* const block =
      stream.device.memory.borrow(stream, memory_at(kind, range.begin, range.bytes), deleter);
  return AnyArray::of_block(block, layout.address - range.begin, element, layout.extents,
                            std::span(layout.strides).first(layout.extents.size()));
}

/// Copies the elements component by component, because those of an element are not adjacent.
void copy_components(const StreamRef& on, const AnyArrayView& to, const AnyArrayView& from,
                     const Layout& layout) {
  const std::size_t rank = layout.extents.size();
  const ElementType scalar{to.element().scalar};
  std::vector<std::int64_t> to_strides;
  for (std::size_t d = 0; d < rank; ++d) to_strides.push_back(to.stride(d));
  for (std::size_t c = 0; c < to.element().components(); ++c) {
    const std::size_t columns = to.element().cols;
    std::int64_t place = static_cast<std::int64_t>(c / columns) * layout.strides[rank];
    if (columns > 1) place += static_cast<std::int64_t>(c % columns) * layout.strides[rank + 1];
    to.with_strides(c * scalar.size(), scalar, layout.extents, to_strides)
        .copy_from_array(on, from.with_strides(static_cast<std::uint64_t>(place) * scalar.size(), scalar,
                                               layout.extents, std::span(layout.strides).first(rank)));
  }
}

/// Host memory to a device that cannot use it. The tensor ends when the copy is done.
AnyArray upload(const StreamRef& on, const Layout& layout, ElementType element, const Deleter& deleter) {
  AnyArray result(on, element, layout.extents);
  if (layout.contiguous) {
    StreamState& stream = *on.state();
    // After a failure the tensor is the caller's, who may free it, but a copy may have been submitted.
    stream.device.streams.wait_before_throwing(stream, [&] {
      result.copy_from_bytes_async(on, {reinterpret_cast<const std::byte*>(layout.address), layout.bytes()});
      stream.device.memory.when_unused(deleter);
    });
    return result;
  }
  const auto gathered = std::make_shared<const std::vector<std::byte>>(layout.gathered());
  result.copy_from_bytes_async(on, *gathered);
  on.state()->device.memory.when_unused([gathered, deleter] { deleter(); });
  return result;
}

AnyArray import(const StreamRef& on, const Tensor& tensor, bool read_only, const Deleter& deleter,
                ElementType element, std::size_t rank, Copy copy) {
  StreamState& stream = detail::live(on);
  if (rank > max_rank)
    throw Error(ErrorCode::invalid,
                fmt::format("an array of rank {}; arrays have at most {} dimensions", rank, max_rank));
  const Layout layout = check_layout(tensor, element, rank);
  const std::optional<std::uint32_t> kind = external_kind(stream.device.info, tensor);
  const bool on_host = tensor.device_type == host_type;
  if (!kind && !on_host) refuse_device(stream.device, tensor);
  if (layout.scalars == 0) {
    AnyArray empty(on, element, layout.extents);
    deleter();
    return empty;
  }
  if (copy == Copy::never) {
    if (!kind)
      refuse_copy(
          fmt::format("its memory is of the host and cannot be used by {}", stream.device.device_name()), "");
    if (!layout.adjacent)
      refuse_copy("its strides put the components of an element apart",
                  ", or make it contiguous in the library that made it");
    if (!layout.apart)
      refuse_copy("by its strides elements share memory or interleave",
                  ", or make it contiguous in the library that made it");
    if (read_only) refuse_copy("it is read-only, and kernels may write to arrays", "");
  }
  detail::throw_failure(stream);
  if (!kind) return upload(on, layout, element, deleter);
  if (layout.adjacent && layout.apart && !read_only && copy != Copy::always)
    return borrow(stream, *kind, layout, element, deleter);

  // Both arrays exist before the tensor is taken over, so that a failure leaves it with the caller.
  AnyArray result(on, element, layout.extents);
  const auto armed = std::make_shared<bool>(false);
  const AnyArray source = borrow(stream, *kind, layout, element, [armed, deleter] {
    if (*armed) deleter();
  });
  stream.device.streams.wait_before_throwing(stream, [&] {  // as for the tensor of a failed upload()
    if (layout.adjacent)
      result.copy_from_array(on, source);
    else
      copy_components(on, result, source, layout);
  });
  *armed = true;
  return result;
}

template <class Managed>
Deleter deleter_of(Managed* tensor) {
  return [tensor] {
    if (tensor->deleter) tensor->deleter(tensor);
  };
}

template <class Managed>
Managed& checked(void* tensor) {
  if (!tensor) throw Error(ErrorCode::invalid, "DLPack tensor: it is null; expected a managed tensor");
  return *static_cast<Managed*>(tensor);
}

}  // namespace

AnyArray from_tensor(const StreamRef& stream, DLManagedTensor* given, ElementType element, std::size_t rank,
                     Copy copy) try {
  auto& managed = checked<ManagedTensor>(given);
  return import(stream, managed.tensor, false, deleter_of(&managed), element, rank, copy);
} catch (...) {
  detail::rethrow_as_error();
}

AnyArray from_tensor(const StreamRef& stream, DLManagedTensorVersioned* given, ElementType element,
                     std::size_t rank, Copy copy) try {
  auto& managed = checked<VersionedTensor>(given);
  if (managed.major != supported_major)  // only the deleter has the same place in all versions
    throw Error(ErrorCode::invalid, fmt::format("DLPack tensor: it is of version {}.{}; expected version "
                                                "{}.x; update Weir, or export that version",
                                                managed.major, managed.minor, supported_major));
  return import(stream, managed.tensor, (managed.flags & flag_read_only) != 0, deleter_of(&managed), element,
                rank, copy);
} catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir::dlpack
