// SPDX-License-Identifier: Apache-2.0
// Checks that every driver must make before it submits anything: ranges, patterns, layouts, launches and the
// nodes of graphs. table.hpp calls them. A Failure names the argument, the expectation and the finding.
// checks.h offers them to other languages.
#pragma once

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <optional>
#include <span>
#include <vector>

#include "object.hpp"

namespace weir::sdk {

template <class Allocation>
void check_range(const Allocation& allocation, std::uint64_t offset, std::uint64_t size, const char* what) {
  if (offset > allocation.size || size > allocation.size - offset) [[unlikely]]
    fail(WEIR_ERROR_INVALID,
         "%s: %" PRIu64 " bytes at offset %" PRIu64 " do not lie inside the allocation of %" PRIu64 " bytes",
         what, size, offset, allocation.size);
}

/// Checks that two ranges of `size` bytes do not overlap.
template <class Allocation>
void check_apart(const Allocation& to, std::uint64_t to_offset, const Allocation& from,
                 std::uint64_t from_offset, std::uint64_t size) {
  if (&to == &from && size && to_offset < from_offset + size && from_offset < to_offset + size) [[unlikely]]
    fail(WEIR_ERROR_INVALID,
         "the ranges of %" PRIu64 " bytes at offsets %" PRIu64 " and %" PRIu64 " of one allocation overlap",
         size, from_offset, to_offset);
}

/// Checks that an object belongs to the device of a stream or graph.
template <class Device, class T>
void check_device(const Device& device, const T& object, const char* what) {
  if (object.device != &device) [[unlikely]]
    fail(WEIR_ERROR_INVALID, "%s is of device %u; expected one of device %u", what, object.device->index,
         device.index);
}

/// A fill's pattern, repeated to its full length.
struct Pattern {
  std::uint32_t size = 0;
  alignas(16) std::uint8_t bytes[16] = {};

  /// The shortest pattern that repeats to the same bytes: eight zero bytes become one.
  Pattern shortest() const noexcept {
    Pattern out = *this;
    while (out.size > 1 && std::memcmp(bytes, bytes + out.size / 2, out.size / 2) == 0) out.size /= 2;
    return out;
  }
  /// Bytes [4 * index, 4 * index + 4) as a number in the device's byte order.
  std::uint32_t word(std::uint32_t index) const noexcept {
    std::uint32_t out;
    std::memcpy(&out, bytes + 4 * index, sizeof out);
    return out;
  }
};

inline Pattern check_pattern(std::uint64_t offset, std::uint64_t size, const void* bytes,
                             std::uint32_t pattern_size) {
  if (!bytes) fail(WEIR_ERROR_INVALID, "pattern is null");
  if (pattern_size == 0 || pattern_size > 16 || !std::has_single_bit(pattern_size))
    fail(WEIR_ERROR_INVALID, "pattern_size is %u; expected 1, 2, 4, 8 or 16", pattern_size);
  if (offset % pattern_size || size % pattern_size)
    fail(WEIR_ERROR_INVALID, "offset %" PRIu64 " and size %" PRIu64 " are not multiples of pattern_size %u",
         offset, size, pattern_size);
  Pattern pattern;
  pattern.size = pattern_size;
  for (std::uint32_t i = 0; i < sizeof pattern.bytes; i += pattern_size)
    std::memcpy(pattern.bytes + i, bytes, pattern_size);
  return pattern;
}

inline weir_memory_options check_memory_options(const weir_memory_options* asked,
                                                std::uint64_t capabilities) {
  constexpr std::uint64_t most = std::uint64_t{1} << 48;
  constexpr std::uint64_t max_alignment = std::uint64_t{1} << 30;
  const weir_memory_options options = read_struct(asked, "options");
  if (options.kind > WEIR_MEMORY_PINNED)
    fail(WEIR_ERROR_INVALID, "options.kind is %u; expected WEIR_MEMORY_DEVICE or WEIR_MEMORY_PINNED",
         options.kind);
  if (options.kind == WEIR_MEMORY_PINNED && !(capabilities & WEIR_CAP_PINNED_MEMORY))
    fail(WEIR_ERROR_UNSUPPORTED, "this device has no pinned memory; use host memory");
  if (options.size == 0) fail(WEIR_ERROR_INVALID, "options.size is 0; expected at least 1 byte");
  if (options.size > most)
    fail(WEIR_ERROR_OUT_OF_MEMORY, "%" PRIu64 " bytes were asked for; no device has so much memory",
         options.size);
  if (options.alignment && !std::has_single_bit(options.alignment))
    fail(WEIR_ERROR_INVALID, "options.alignment is %" PRIu64 "; expected 0 or a power of two",
         options.alignment);
  if (options.alignment > max_alignment)
    fail(WEIR_ERROR_UNSUPPORTED,
         "options.alignment is %" PRIu64 "; this driver keeps alignments up to %" PRIu64, options.alignment,
         max_alignment);
  return options;
}

/// Checks a description of memory that the driver does not own. The driver must check that the vendor's
/// runtime knows the memory.
inline weir_external_memory check_external_memory(const weir_external_memory* asked) {
  const weir_external_memory memory = read_struct(asked, "memory");
  if (memory.kind > WEIR_EXTERNAL_HOST)
    fail(WEIR_ERROR_INVALID, "memory.kind is %u; expected WEIR_EXTERNAL_DEVICE or WEIR_EXTERNAL_HOST",
         memory.kind);
  if (memory.address == 0) fail(WEIR_ERROR_INVALID, "memory.address is 0; expected the address of memory");
  if (memory.size == 0) fail(WEIR_ERROR_INVALID, "memory.size is 0; expected at least 1 byte");
  if (memory.size > ~memory.address)  // so that address + size never wraps around
    fail(WEIR_ERROR_INVALID, "memory of %" PRIu64 " bytes at 0x%" PRIx64 " ends at or above 2^64",
         memory.size, memory.address);
  return memory;
}

/// Checks that a code object has bytes. Its absent strings become "".
inline weir_code_object check_code_object(const weir_code_object* asked) {
  weir_code_object object = read_struct(asked, "object");
  if (!object.data || object.size == 0)
    fail(WEIR_ERROR_INVALID, "object.data is null or object.size is 0; expected the bytes of a code object");
  if (!object.name) object.name = "";
  if (!object.format) object.format = "";
  if (!object.target) object.target = "";
  return object;
}

/// Checks that a kernel's layout describes an argument block that the device accepts. Device is a
/// DeviceObject or has the same limits and argument_style.
template <class Device>
void check_layout(const weir_kernel_layout& layout, const Device& device, const char* kernel) {
  if (layout.argument_bytes > device.limits.max_argument_bytes)
    fail(WEIR_ERROR_INVALID, "kernel '%.128s': argument_bytes is %u; at most %u", kernel,
         layout.argument_bytes, device.limits.max_argument_bytes);
  if (layout.parameter_count && !layout.parameters)
    fail(WEIR_ERROR_INVALID, "kernel '%.128s': parameters is null but parameter_count is %u", kernel,
         layout.parameter_count);
  const std::uint32_t array_bytes = device.argument_style == WEIR_ARGUMENT_BUFFER ? 16 : 8;
  for (std::uint32_t i = 0; i < layout.parameter_count; ++i) {
    const weir_parameter& parameter = layout.parameters[i];
    if (parameter.offset > layout.argument_bytes || parameter.size > layout.argument_bytes - parameter.offset)
      fail(WEIR_ERROR_INVALID,
           "kernel '%.128s': parameter %u, %u bytes at offset %u, is outside of %u argument bytes", kernel, i,
           parameter.size, parameter.offset, layout.argument_bytes);
    if (parameter.kind > WEIR_PARAMETER_BUFFER)
      fail(WEIR_ERROR_INVALID, "kernel '%.128s': parameter %u has kind %u; expected a value or a buffer",
           kernel, i, parameter.kind);
    if (parameter.kind == WEIR_PARAMETER_BUFFER && (parameter.size != array_bytes || parameter.offset % 8))
      fail(WEIR_ERROR_INVALID,
           "kernel '%.128s': parameter %u is a buffer of %u bytes at offset %u; expected %u bytes, "
           "aligned to 8",
           kernel, i, parameter.size, parameter.offset, array_bytes);
  }
}

template <class Kernel>
bool same_layout(const Kernel& kernel, const weir_kernel_layout& layout) {
  return kernel.argument_bytes == layout.argument_bytes &&
         kernel.parameters.size() == layout.parameter_count &&
         std::equal(kernel.parameters.begin(), kernel.parameters.end(), layout.parameters,
                    [](const weir_parameter& a, const weir_parameter& b) {
                      return a.offset == b.offset && a.size == b.size && a.kind == b.kind;
                    });
}

namespace detail {
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_dimensions(const std::uint32_t (&given)[3],
                                                                     const std::uint32_t (&most)[3],
                                                                     const char* what) {
  fail(WEIR_ERROR_INVALID, "%s is %u x %u x %u; expected each from 1 to %u x %u x %u", what, given[0],
       given[1], given[2], most[0], most[1], most[2]);
}

inline void check_dimensions(const std::uint32_t (&given)[3], const std::uint32_t (&most)[3],
                             const char* what) {
  // 0 - 1 wraps around to the largest number, so one comparison covers both bounds.
  if (given[0] - 1 >= most[0] || given[1] - 1 >= most[1] || given[2] - 1 >= most[2]) [[unlikely]]
    refuse_dimensions(given, most, what);
}
}  // namespace detail

/// Checks the flags of a launch against the capabilities of the device.
inline void check_launch_flags(std::uint32_t flags, std::uint64_t capabilities) {
  if (flags & ~std::uint32_t{WEIR_LAUNCH_COOPERATIVE}) [[unlikely]]
    fail(WEIR_ERROR_INVALID, "launch.flags is 0x%x; expected 0 or WEIR_LAUNCH_COOPERATIVE", flags);
  if (flags & WEIR_LAUNCH_COOPERATIVE && !(capabilities & WEIR_CAP_COOPERATIVE_LAUNCH)) [[unlikely]]
    fail(WEIR_ERROR_UNSUPPORTED, "this device has no cooperative launches; expected launch.flags of 0");
}

/// Checks that the device holds all blocks of a cooperative launch at once; it holds `most`.
template <class Kernel>
void check_cooperative_grid(const Kernel& kernel, const weir_launch& launch, std::uint32_t most) {
  const std::uint64_t blocks = std::uint64_t{launch.grid[0]} * launch.grid[1];
  if (blocks <= most && blocks * launch.grid[2] <= most) [[likely]]
    return;
  const std::uint64_t all = blocks > ~0u ? blocks : blocks * launch.grid[2];
  fail(WEIR_ERROR_INVALID,
       "launch.grid has %" PRIu64
       " blocks in a cooperative launch of kernel '%.128s'; the device holds at most %u of them at once",
       all, kernel.name.c_str(), most);
}

/// Checks the threads and the shared memory of a block. `block` and `shared` name them in messages.
template <class Device, class Kernel>
void check_block(const Device& device, const Kernel& kernel, std::uint64_t threads, const char* block,
                 std::uint32_t shared_bytes, const char* shared) {
  const Limits& limits = device.limits;
  if (threads - 1 >= limits.max_block_threads) [[unlikely]]
    fail(WEIR_ERROR_INVALID, "%s has %" PRIu64 " threads; expected 1 to %u", block, threads,
         limits.max_block_threads);
  if (kernel.info.max_block_threads && threads > kernel.info.max_block_threads) [[unlikely]]
    fail(WEIR_ERROR_INVALID,
         "%s has %" PRIu64 " threads; kernel '%.128s' takes at most %u%s; use a smaller block", block,
         threads, kernel.name.c_str(), kernel.info.max_block_threads,
         kernel.info.registers
             ? format_text(", as it uses %u registers a thread", kernel.info.registers).c_str()
             : "");
  if (kernel.info.shared_bytes > limits.max_shared_bytes) [[unlikely]]
    fail(WEIR_ERROR_INVALID,
         "kernel '%.128s' needs %u bytes of shared memory for each block; expected at most %u on this device",
         kernel.name.c_str(), kernel.info.shared_bytes, limits.max_shared_bytes);
  if (std::uint64_t{shared_bytes} + kernel.info.shared_bytes > limits.max_shared_bytes) [[unlikely]]
    fail(WEIR_ERROR_INVALID, "%s is %u; with the %u that kernel '%.128s' has of its own, at most %u", shared,
         shared_bytes, kernel.info.shared_bytes, kernel.name.c_str(), limits.max_shared_bytes);
}

/// Checks that a launch fits the device, the kernel and the kernel's layout. check_cooperative_grid checks
/// the blocks of a cooperative one.
template <class Device, class Kernel>
void check_launch(const Device& device, const Kernel& kernel, const weir_launch& launch) {
  const Limits& limits = device.limits;
  check_device(device, kernel, "launch.kernel");
  detail::check_dimensions(launch.grid, limits.max_grid, "launch.grid");
  detail::check_dimensions(launch.block, limits.max_block, "launch.block");
  const std::uint64_t threads = std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  check_block(device, kernel, threads, "launch.block", launch.dynamic_shared_bytes,
              "launch.dynamic_shared_bytes");
  if (launch.argument_bytes != kernel.argument_bytes) [[unlikely]]
    fail(WEIR_ERROR_INVALID, "launch.argument_bytes is %u; kernel '%.128s' was looked up with %u",
         launch.argument_bytes, kernel.name.c_str(), kernel.argument_bytes);
  if (launch.argument_bytes && !launch.arguments) [[unlikely]]
    fail(WEIR_ERROR_INVALID, "launch.arguments is null; kernel '%.128s' takes %u bytes", kernel.name.c_str(),
         kernel.argument_bytes);
  if (launch.flags) [[unlikely]]
    check_launch_flags(launch.flags, device.capabilities);
}

/// An array of a launch, for devices with WEIR_ARGUMENT_BUFFER.
template <class Allocation>
struct ArrayArgument {
  Allocation* allocation;
  std::uint64_t offset;  ///< at most the allocation's size
};

/// Reads the array of parameter `index` of the kernel's layout; check_launch must have accepted the launch.
template <class Allocation, class Kernel>
ArrayArgument<Allocation> array_argument(const Kernel& kernel, const weir_launch& launch,
                                         std::uint32_t index) {
  weir_buffer_argument given;
  std::memcpy(&given, static_cast<const std::byte*>(launch.arguments) + kernel.parameters[index].offset,
              sizeof given);
  try {
    Allocation& allocation = live<Allocation>(given.allocation, "the array's allocation");
    check_device(*kernel.device, allocation, "the array's allocation");
    check_range(allocation, given.offset, 0, "the array");
    return {&allocation, given.offset};
  } catch (Failure& failure) {
    failure.message =
        format_text("kernel '%.128s', parameter %u: %s", kernel.name.c_str(), index, failure.message.c_str());
    throw;
  }
}

/// A checked node, with objects instead of handles.
template <class Allocation, class Kernel>
struct GraphNode {
  std::uint32_t kind = WEIR_GRAPH_EMPTY;
  std::span<const std::uint32_t> dependencies;
  Kernel* kernel = nullptr;
  weir_launch launch{};
  Allocation* destination = nullptr;
  Allocation* source = nullptr;
  std::uint64_t destination_offset = 0, source_offset = 0, size = 0;
  const void* host_source = nullptr;
  void* host_destination = nullptr;
  Pattern pattern;
};

/// A node that is listed twice, which the vendors' runtimes refuse with less of a message.
inline std::optional<std::uint32_t> repeated_dependency(std::span<const std::uint32_t> dependencies) {
  if (dependencies.size() < 2) return std::nullopt;
  std::vector<std::uint32_t> sorted(dependencies.begin(), dependencies.end());
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  return twice == sorted.end() ? std::nullopt : std::optional(*twice);
}

/// Checks the other fields of a node than handles, ranges and its launch. Dependencies are checked only if
/// `index` is given.
inline weir_graph_node check_node_fields(const weir_graph_node* asked, const std::uint32_t* index) {
  const weir_graph_node node = read_struct(asked, "node");
  if (index && node.dependency_count) {
    if (!node.dependencies)
      fail(WEIR_ERROR_INVALID, "node.dependencies is null, but it has %u", node.dependency_count);
    for (const std::uint32_t other : std::span(node.dependencies, node.dependency_count))
      if (other >= *index) fail(WEIR_ERROR_INVALID, "it depends on node %u; expected one before it", other);
    if (const auto twice = repeated_dependency({node.dependencies, node.dependency_count}))
      fail(WEIR_ERROR_INVALID, "it depends on node %u twice; expected each of its dependencies once", *twice);
  }
  switch (node.kind) {
    case WEIR_GRAPH_EMPTY:
    case WEIR_GRAPH_COPY_ON_DEVICE:
      break;
    case WEIR_GRAPH_KERNEL:
      if (!node.launch) fail(WEIR_ERROR_INVALID, "node.launch is null");
      break;
    case WEIR_GRAPH_COPY_TO_DEVICE:
      if (!node.host_source && node.size) fail(WEIR_ERROR_INVALID, "node.host_source is null");
      break;
    case WEIR_GRAPH_COPY_TO_HOST:
      if (!node.host_destination && node.size) fail(WEIR_ERROR_INVALID, "node.host_destination is null");
      break;
    case WEIR_GRAPH_FILL:
      check_pattern(node.destination_offset, node.size, node.pattern, node.pattern_size);
      break;
    default:
      fail(WEIR_ERROR_INVALID, "node.kind is %u; expected one of enum weir_graph_node_kind", node.kind);
  }
  return node;
}

/// Checks one node like the call of its kind. Dependencies are checked only if `index` is given.
template <class Allocation, class Kernel, class Device>
GraphNode<Allocation, Kernel> check_graph_node(const Device& device, const weir_graph_node* asked,
                                               const std::uint32_t* index) {
  const weir_graph_node node = check_node_fields(asked, index);
  GraphNode<Allocation, Kernel> out;
  out.kind = node.kind;
  out.size = node.size;
  out.destination_offset = node.destination_offset;
  out.source_offset = node.source_offset;
  if (index && node.dependency_count) out.dependencies = {node.dependencies, node.dependency_count};
  const auto destination = [&] {
    out.destination = &live<Allocation>(node.destination, "node.destination");
    check_device(device, *out.destination, "node.destination");
    check_range(*out.destination, node.destination_offset, node.size, "node.destination");
  };
  const auto source = [&] {
    out.source = &live<Allocation>(node.source, "node.source");
    check_device(device, *out.source, "node.source");
    check_range(*out.source, node.source_offset, node.size, "node.source");
  };
  switch (node.kind) {
    case WEIR_GRAPH_EMPTY:
      break;
    case WEIR_GRAPH_KERNEL:
      out.launch = read_struct(node.launch, "node.launch");
      out.kernel = &live<Kernel>(out.launch.kernel, "node.launch.kernel");
      check_launch(device, *out.kernel, out.launch);
      break;
    case WEIR_GRAPH_COPY_TO_DEVICE:
      destination();
      out.host_source = node.host_source;
      break;
    case WEIR_GRAPH_COPY_TO_HOST:
      source();
      out.host_destination = node.host_destination;
      break;
    case WEIR_GRAPH_COPY_ON_DEVICE:
      destination();
      source();
      check_apart(*out.destination, node.destination_offset, *out.source, node.source_offset, node.size);
      break;
    case WEIR_GRAPH_FILL:
      destination();
      out.pattern = check_pattern(node.destination_offset, node.size, node.pattern, node.pattern_size);
      break;
  }
  return out;
}

}  // namespace weir::sdk
