// SPDX-License-Identifier: Apache-2.0
#include "driver/gpu_driver.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <weir/error.hpp>

#include "driver/table.hpp"
#include "foreign_text.hpp"

namespace weir {
namespace {

ErrorCode to_code(weir_result result) {
  const bool known = result >= WEIR_ERROR_UNKNOWN && result <= WEIR_ERROR_SYSTEM;
  return known ? static_cast<ErrorCode>(result) : ErrorCode::unknown;
}

}  // namespace

std::string describe_failure(weir_result result, const weir_status& status) {
  const ErrorCode code = to_code(result);
  std::string words = without_control_characters(bounded(status.message), is_control_in_lines);
  if (words.empty()) words = to_string(code);
  if (code == ErrorCode::unknown && result != WEIR_ERROR_UNKNOWN)
    words += fmt::format(" (result {})", result);
  if (const std::string vendor_name = without_control_characters(bounded(status.vendor_name));
      !vendor_name.empty())
    words += fmt::format(" ({}, {})", vendor_name, status.vendor_code);
  else if (status.vendor_code != 0)
    words += fmt::format(" (vendor code {})", status.vendor_code);
  return words;
}

void throw_driver_error(std::string_view driver, std::string_view doing, weir_result result,
                        const weir_status& status) {
  throw Error(to_code(result),
              fmt::format("{} driver: cannot {}: {}", driver, doing, describe_failure(result, status)),
              status.vendor_code, without_control_characters(bounded(status.vendor_name)));
}

GpuDriver::GpuDriver(const weir_driver_table& table, std::uint32_t abi_min, std::uint32_t abi_max) {
  check_table_version(PluginKind::driver, &table, abi_min, abi_max);
  CompletedTable completed = complete_table(table);
  if (!completed.missing_required.empty())
    throw Error(ErrorCode::invalid, fmt::format("the driver's table lacks required functions: {}",
                                                fmt::join(completed.missing_required, ", ")));
  table_ = completed.table;
  possible_capabilities_ = completed.possible_capabilities;
  TableTexts texts = read_table_texts(PluginKind::driver, &table_);
  name_ = std::move(texts.name);
  version_ = std::move(texts.version);
  vendor_ = std::move(texts.vendor);
  // The table points to copies, so that messages never depend on the driver's memory.
  table_.name = name_.c_str();
  table_.version = version_.c_str();
  table_.vendor = vendor_.c_str();
}

void GpuDriver::put_layer(detail::ActiveLayer layer) {
  const CompletedTable completed = complete_table(*layer.layer.table);
  if (!completed.missing_required.empty())
    throw LayersError(
        fmt::format("the layer '{}' took away required functions of driver {}: {}; report it to the author",
                    layer.name, name_, fmt::join(completed.missing_required, ", ")));
  table_ = completed.table;
  possible_capabilities_ &= completed.possible_capabilities;
  table_.name = name_.c_str();
  table_.version = version_.c_str();
  table_.vendor = vendor_.c_str();
  layers_.insert(layers_.begin(), std::make_unique<const detail::ActiveLayer>(std::move(layer)));
  for (annotate_version_ = WEIR_ANNOTATE_VERSION; annotate_version_ > 0; --annotate_version_) {
    annotate_ =
        static_cast<const weir_annotate_table*>(get_extension(WEIR_ANNOTATE_EXTENSION, annotate_version_));
    if (annotate_) break;
  }
}

// Builds the description of the call only after the call has failed.
#define WEIR_CALL(call, ...)                                               \
  do {                                                                     \
    Status status;                                                         \
    if (const weir_result result = table_.call; result != WEIR_OK)         \
      throw_driver_error(name_, fmt::format(__VA_ARGS__), result, status); \
  } while (false)

#define WEIR_QUERY(call, ...)                                            \
  do {                                                                   \
    Status status;                                                       \
    const weir_result result = table_.call;                              \
    if (result == WEIR_OK) return true;                                  \
    if (result == WEIR_NOT_READY) return false;                          \
    throw_driver_error(name_, fmt::format(__VA_ARGS__), result, status); \
  } while (false)

std::uint32_t GpuDriver::device_count() const {
  std::uint32_t count = 0;
  WEIR_CALL(device_count(&count, &status), "count its devices");
  return count;
}

weir_device GpuDriver::device_open(std::uint32_t index) const {
  weir_device device = nullptr;
  WEIR_CALL(device_open(index, &device, &status), "open device {}", index);
  return device;
}

void GpuDriver::device_close(weir_device device) const noexcept {
  Status status;
  table_.device_close(device, &status);
}

weir_device_info GpuDriver::device_get_info(std::uint32_t index) const {
  weir_device_info info{};
  info.struct_size = sizeof info;
  WEIR_CALL(device_get_info(index, &info, &status), "describe device {}", index);
  return info;
}

GpuDriver::Memory GpuDriver::device_get_memory(weir_device device) const {
  Memory memory{};
  WEIR_CALL(device_get_memory(device, &memory.free, &memory.total, &status), "read how much memory is free");
  return memory;
}

weir_stream GpuDriver::stream_create(weir_device device, std::int32_t priority) const {
  weir_stream_options options{};
  options.struct_size = sizeof options;
  options.priority = priority;
  weir_stream stream = nullptr;
  WEIR_CALL(stream_create(device, &options, &stream, &status), "create a stream");
  return stream;
}

weir_stream GpuDriver::stream_wrap(weir_device device, void* native) const {
  weir_stream stream = nullptr;
  WEIR_CALL(stream_wrap(device, native, &stream, &status), "wrap the stream {}", fmt::ptr(native));
  return stream;
}

void* GpuDriver::stream_get_native(weir_stream stream) const {
  void* native = nullptr;
  WEIR_CALL(stream_get_native(stream, &native, &status), "give a stream's own handle");
  return native;
}

void GpuDriver::stream_destroy(weir_stream stream) const noexcept {
  Status status;
  table_.stream_destroy(stream, &status);
}

void GpuDriver::stream_flush(weir_stream stream) const {
  WEIR_CALL(stream_flush(stream, &status), "flush a stream");
}

bool GpuDriver::stream_query(weir_stream stream) const {
  WEIR_QUERY(stream_query(stream, &status), "query a stream");
}

void GpuDriver::stream_synchronize(weir_stream stream) const {
  WEIR_CALL(stream_synchronize(stream, &status), "wait for a stream");
}

void GpuDriver::stream_wait_event(weir_stream stream, weir_event event) const {
  WEIR_CALL(stream_wait_event(stream, event, &status), "let a stream wait for an event");
}

void GpuDriver::stream_host_callback(weir_stream stream, weir_host_callback callback, void* user) const {
  WEIR_CALL(stream_host_callback(stream, callback, user, &status), "submit a host callback");
}

weir_event GpuDriver::event_create(weir_device device, bool timed) const {
  weir_event event = nullptr;
  WEIR_CALL(event_create(device, timed ? WEIR_EVENT_TIMED : WEIR_EVENT_PLAIN, &event, &status),
            "create {} event", timed ? "a timed" : "an");
  return event;
}

void GpuDriver::event_destroy(weir_event event) const noexcept {
  Status status;
  table_.event_destroy(event, &status);
}

void GpuDriver::event_record(weir_event event, weir_stream stream) const {
  WEIR_CALL(event_record(event, stream, &status), "record an event");
}

bool GpuDriver::event_query(weir_event event) const {
  WEIR_QUERY(event_query(event, &status), "query an event");
}

void GpuDriver::event_synchronize(weir_event event) const {
  WEIR_CALL(event_synchronize(event, &status), "wait for an event");
}

double GpuDriver::event_elapsed(weir_event start, weir_event end) const {
  double nanoseconds = 0;
  WEIR_CALL(event_elapsed(start, end, &nanoseconds, &status), "measure the time between two events");
  return nanoseconds;
}

namespace {

weir_memory_options memory_options(std::uint32_t kind, std::uint64_t size) {
  weir_memory_options options{};
  options.struct_size = sizeof options;
  options.kind = kind;
  options.size = size;
  return options;
}

}  // namespace

weir_allocation GpuDriver::memory_allocate(weir_device device, std::uint32_t kind, std::uint64_t size) const {
  const weir_memory_options options = memory_options(kind, size);
  weir_allocation allocation = nullptr;
  WEIR_CALL(memory_allocate(device, &options, &allocation, &status), "allocate {} bytes{}", size,
            kind == WEIR_MEMORY_PINNED ? " of pinned memory" : "");
  return allocation;
}

void GpuDriver::memory_free(weir_allocation allocation) const noexcept {
  Status status;
  table_.memory_free(allocation, &status);
}

weir_allocation GpuDriver::memory_allocate_async(weir_stream stream, std::uint64_t size) const {
  const weir_memory_options options = memory_options(WEIR_MEMORY_DEVICE, size);
  weir_allocation allocation = nullptr;
  WEIR_CALL(memory_allocate_async(stream, &options, &allocation, &status), "allocate {} bytes on a stream",
            size);
  return allocation;
}

void GpuDriver::memory_free_async(weir_stream stream, weir_allocation allocation) const {
  WEIR_CALL(memory_free_async(stream, allocation, &status), "free memory on a stream");
}

weir_memory_info GpuDriver::memory_get_info(weir_allocation allocation) const {
  weir_memory_info info{};
  info.struct_size = sizeof info;
  WEIR_CALL(memory_get_info(allocation, &info, &status), "describe an allocation");
  return info;
}

void GpuDriver::copy_to_device(weir_stream stream, weir_allocation destination, std::uint64_t offset,
                               const void* source, std::uint64_t size) const {
  WEIR_CALL(copy_to_device(stream, destination, offset, source, size, &status), "copy {} bytes to the device",
            size);
}

void GpuDriver::copy_to_host(weir_stream stream, void* destination, weir_allocation source,
                             std::uint64_t offset, std::uint64_t size) const {
  WEIR_CALL(copy_to_host(stream, destination, source, offset, size, &status), "copy {} bytes to the host",
            size);
}

void GpuDriver::copy_on_device(weir_stream stream, weir_allocation destination,
                               std::uint64_t destination_offset, weir_allocation source,
                               std::uint64_t source_offset, std::uint64_t size) const {
  WEIR_CALL(copy_on_device(stream, destination, destination_offset, source, source_offset, size, &status),
            "copy {} bytes on the device", size);
}

void GpuDriver::copy_peer(weir_stream stream, weir_allocation destination, std::uint64_t destination_offset,
                          weir_allocation source, std::uint64_t source_offset, std::uint64_t size) const {
  WEIR_CALL(copy_peer(stream, destination, destination_offset, source, source_offset, size, &status),
            "copy {} bytes between devices", size);
}

void GpuDriver::fill(weir_stream stream, weir_allocation destination, std::uint64_t offset,
                     std::uint64_t size, const void* pattern, std::uint32_t pattern_size) const {
  WEIR_CALL(fill(stream, destination, offset, size, pattern, pattern_size, &status), "fill {} bytes", size);
}

weir_module GpuDriver::module_load(weir_device device, const weir_code_object& object) const {
  weir_module module = nullptr;
  WEIR_CALL(module_load(device, &object, &module, &status), "load the code object {}",
            object.name ? object.name : "");
  return module;
}

void GpuDriver::module_unload(weir_module module) const noexcept {
  Status status;
  table_.module_unload(module, &status);
}

weir_kernel GpuDriver::module_get_kernel(weir_module module, const char* name,
                                         const weir_kernel_layout& layout) const {
  weir_kernel kernel = nullptr;
  WEIR_CALL(module_get_kernel(module, name, &layout, &kernel, &status), "find the kernel {}", name);
  return kernel;
}

weir_kernel_info GpuDriver::kernel_get_info(weir_kernel kernel) const {
  weir_kernel_info info{};
  info.struct_size = sizeof info;
  WEIR_CALL(kernel_get_info(kernel, &info, &status), "describe a kernel");
  return info;
}

void GpuDriver::kernel_launch(weir_stream stream, const weir_launch& launch) const {
  WEIR_CALL(kernel_launch(stream, &launch, &status), "launch {} x {} x {} blocks", launch.grid[0],
            launch.grid[1], launch.grid[2]);
}

weir_graph GpuDriver::graph_create(weir_device device, std::span<const weir_graph_node* const> nodes) const {
  weir_graph graph = nullptr;
  WEIR_CALL(graph_create(device, static_cast<std::uint32_t>(nodes.size()), nodes.data(), &graph, &status),
            "make a graph of {} nodes", nodes.size());
  return graph;
}

bool GpuDriver::graph_update(weir_graph graph, std::uint32_t index, const weir_graph_node& node) const {
  Status status;
  const weir_result result = table_.graph_update(graph, index, &node, &status);
  if (result == WEIR_ERROR_UNSUPPORTED) return false;
  if (result != WEIR_OK)
    throw_driver_error(name_, fmt::format("update node {} of a graph", index), result, status);
  return true;
}

void GpuDriver::graph_launch(weir_graph graph, weir_stream stream) const {
  WEIR_CALL(graph_launch(graph, stream, &status), "launch a graph");
}

void GpuDriver::graph_destroy(weir_graph graph) const noexcept {
  Status status;
  table_.graph_destroy(graph, &status);
}

const void* GpuDriver::get_extension(const char* name, std::uint32_t version) const noexcept {
  Status status;
  const void* table = nullptr;
  return table_.get_extension(name, version, &table, &status) == WEIR_OK ? table : nullptr;
}

}  // namespace weir
