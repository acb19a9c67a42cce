// SPDX-License-Identifier: Apache-2.0
// The C++ interface of a driver's C table: the same functions, with results converted to weir::Error.
// Launches, copies and waits call slots of table() through runtime/errors/driver_call.hpp, which also records
// lost devices. A GpuDriver holds a complete copy of the table, in which missing optional slots return
// UNSUPPORTED, and lives until the process ends.
#pragma once

#include <weir/driver.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "driver/layers.hpp"

namespace weir {

/// Describes a failed call: the driver's message, or that of the result, and the vendor's name and code.
std::string describe_failure(weir_result result, const weir_status& status);

/// Throws the Error that `result` and `status` describe; `doing` names the attempted call: "allocate 64
/// bytes".
[[noreturn]] void throw_driver_error(std::string_view driver, std::string_view doing, weir_result result,
                                     const weir_status& status);

/// An initialised weir_status to pass to a slot. Sets only the fields that are read first, because the
/// message alone is 1 KiB and most calls succeed.
struct Status : weir_status {
  Status() noexcept {
    struct_size = sizeof(weir_status);
    code = WEIR_OK;
    vendor_code = 0;
    vendor_name[0] = '\0';
    message[0] = '\0';
  }
};

class GpuDriver {
 public:
  /// Checks `table` (required slots, versions, name) and completes it. Throws Error{abi} when its version is
  /// outside the range, or Error{invalid} that names the missing required slot or the other fault.
  GpuDriver(const weir_driver_table& table, std::uint32_t abi_min, std::uint32_t abi_max);
  GpuDriver(const GpuDriver&) = delete;
  GpuDriver& operator=(const GpuDriver&) = delete;

  const std::string& name() const noexcept { return name_; }
  const std::string& version() const noexcept { return version_; }
  const std::string& vendor() const noexcept { return vendor_; }
  std::uint32_t abi_version() const noexcept { return table_.abi_version; }

  /// The completed table; hot paths call slots directly and pass failures to `check`.
  const weir_driver_table& table() const noexcept { return table_; }

  /// The capability bits whose slots the driver filled; a device may claim no others.
  std::uint64_t possible_capabilities() const noexcept { return possible_capabilities_; }

  /// Routes all further calls through `layer`, which wraps this driver's table. Must be called before the
  /// driver is used.
  void put_layer(detail::ActiveLayer layer);
  /// The layers, from the program's side to the driver's.
  const std::vector<std::unique_ptr<const detail::ActiveLayer>>& layers() const noexcept { return layers_; }
  /// For kernel look-ups; null unless a layer asks for the accesses of kernels to their arrays.
  const weir_annotate_table* annotate() const noexcept { return annotate_; }
  /// The version of that extension.
  std::uint32_t annotate_version() const noexcept { return annotate_version_; }

  void check(weir_result result, const weir_status& status, std::string_view doing) const {
    if (result != WEIR_OK) throw_driver_error(name_, doing, result, status);
  }

  // Each function below calls the slot of the same name in <weir/driver.h> and throws Error when it fails.
  // Queries return false for WEIR_NOT_READY. `noexcept` functions are for destructors: they discard errors.
  std::uint32_t device_count() const;
  weir_device device_open(std::uint32_t index) const;
  void device_close(weir_device device) const noexcept;
  weir_device_info device_get_info(std::uint32_t index) const;
  struct Memory {
    std::uint64_t free, total;
  };
  Memory device_get_memory(weir_device device) const;

  weir_stream stream_create(weir_device device, std::int32_t priority) const;
  weir_stream stream_wrap(weir_device device, void* native) const;
  void* stream_get_native(weir_stream stream) const;
  void stream_destroy(weir_stream stream) const noexcept;
  void stream_flush(weir_stream stream) const;
  bool stream_query(weir_stream stream) const;
  void stream_synchronize(weir_stream stream) const;
  void stream_wait_event(weir_stream stream, weir_event event) const;
  void stream_host_callback(weir_stream stream, weir_host_callback callback, void* user) const;

  weir_event event_create(weir_device device, bool timed) const;
  void event_destroy(weir_event event) const noexcept;
  void event_record(weir_event event, weir_stream stream) const;
  bool event_query(weir_event event) const;
  void event_synchronize(weir_event event) const;
  double event_elapsed(weir_event start, weir_event end) const;  // nanoseconds

  weir_allocation memory_allocate(weir_device device, std::uint32_t kind, std::uint64_t size) const;
  void memory_free(weir_allocation allocation) const noexcept;
  weir_allocation memory_allocate_async(weir_stream stream, std::uint64_t size) const;
  void memory_free_async(weir_stream stream, weir_allocation allocation) const;
  weir_memory_info memory_get_info(weir_allocation allocation) const;

  void copy_to_device(weir_stream stream, weir_allocation destination, std::uint64_t offset,
                      const void* source, std::uint64_t size) const;
  void copy_to_host(weir_stream stream, void* destination, weir_allocation source, std::uint64_t offset,
                    std::uint64_t size) const;
  void copy_on_device(weir_stream stream, weir_allocation destination, std::uint64_t destination_offset,
                      weir_allocation source, std::uint64_t source_offset, std::uint64_t size) const;
  void copy_peer(weir_stream stream, weir_allocation destination, std::uint64_t destination_offset,
                 weir_allocation source, std::uint64_t source_offset, std::uint64_t size) const;
  void fill(weir_stream stream, weir_allocation destination, std::uint64_t offset, std::uint64_t size,
            const void* pattern, std::uint32_t pattern_size) const;

  weir_module module_load(weir_device device, const weir_code_object& object) const;
  void module_unload(weir_module module) const noexcept;
  weir_kernel module_get_kernel(weir_module module, const char* name, const weir_kernel_layout& layout) const;
  weir_kernel_info kernel_get_info(weir_kernel kernel) const;
  void kernel_launch(weir_stream stream, const weir_launch& launch) const;

  weir_graph graph_create(weir_device device, std::span<const weir_graph_node* const> nodes) const;
  /// False when the driver cannot apply this change (UNSUPPORTED): the graph is unchanged, and the caller
  /// must create a new graph.
  bool graph_update(weir_graph graph, std::uint32_t index, const weir_graph_node& node) const;
  void graph_launch(weir_graph graph, weir_stream stream) const;
  void graph_destroy(weir_graph graph) const noexcept;

  /// Null when the driver has no such extension.
  const void* get_extension(const char* name, std::uint32_t version) const noexcept;

 private:
  weir_driver_table table_{};
  std::string name_, version_, vendor_;
  std::uint64_t possible_capabilities_ = 0;
  std::vector<std::unique_ptr<const detail::ActiveLayer>> layers_;
  const weir_annotate_table* annotate_ = nullptr;
  std::uint32_t annotate_version_ = 0;
};

}  // namespace weir
