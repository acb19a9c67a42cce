// SPDX-License-Identifier: Apache-2.0
// The fault layer: makes calls fail that would have succeeded, and delays submitted work. sdk/docs/layers.md
// lists its options.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <weir/sdk/layer.hpp>

#include "../record_or_undo.hpp"
#include "held.hpp"
#include "options.hpp"
#include "owners.hpp"

namespace weir::fault {

class Fault {
 public:
  static constexpr const char* name = "fault";
  explicit Fault(const sdk::LayerHost& host);
  const weir_driver_table next;

  void configure(std::string_view text);
  std::uint64_t get(std::string_view what) const;

  /// Called before every call: counts it and decides whether it fails.
  template <class Slot, class... A>
  weir_result enter(Slot, A... arguments) {
    weir_status* const status = sdk::argument_of<weir_status*>(arguments...);
    const Handle first = first_handle(arguments...);
    std::int64_t device = first.kind ? owners_.device_of(first) : Owners::no_device;
    if constexpr (std::is_same_v<Slot, sdk::slots::device_open_slot> ||
                  std::is_same_v<Slot, sdk::slots::device_get_info_slot>)
      device = sdk::argument_of<std::uint32_t>(arguments...);
    const weir_result result = judge(Slot::name, device, sdk::argument_of<weir_stream>(arguments...), status);
    if constexpr (std::is_same_v<Slot, sdk::slots::stream_synchronize_slot>)
      if (result != WEIR_OK) {
        const auto stream = sdk::argument_of<weir_stream>(arguments...);
        stream_flush(stream, nullptr);
        end_work(result, [&] { return stream_query(stream, nullptr); });
      }
    if constexpr (std::is_same_v<Slot, sdk::slots::event_synchronize_slot>)
      if (result != WEIR_OK)
        end_work(result, [&] { return event_query(sdk::argument_of<weir_event>(arguments...), nullptr); });
    if (result == WEIR_OK && lets_go(Slot::name)) forget(first);
    return result;
  }

  // Functions that create objects; they record each object's device.
  weir_result device_open(std::uint32_t index, weir_device* out, weir_status* status);
  weir_result stream_create(weir_device device, const weir_stream_options* options, weir_stream* out,
                            weir_status* status);
  weir_result stream_wrap(weir_device device, void* native, weir_stream* out, weir_status* status);
  weir_result event_create(weir_device device, std::uint32_t flags, weir_event* out, weir_status* status);
  weir_result module_load(weir_device device, const weir_code_object* object, weir_module* out,
                          weir_status* status);
  weir_result module_get_kernel(weir_module module, const char* kernel, const weir_kernel_layout* layout,
                                weir_kernel* out, weir_status* status);
  weir_result graph_create(weir_device device, std::uint32_t count, const weir_graph_node* const* nodes,
                           weir_graph* out, weir_status* status);

  // Memory functions; they count allocated bytes.
  weir_result memory_allocate(weir_device device, const weir_memory_options* options, weir_allocation* out,
                              weir_status* status);
  weir_result memory_allocate_async(weir_stream stream, const weir_memory_options* options,
                                    weir_allocation* out, weir_status* status);
  weir_result memory_free(weir_allocation allocation, weir_status* status);
  weir_result memory_free_async(weir_stream stream, weir_allocation allocation, weir_status* status);
  weir_result memory_wrap(weir_device device, const weir_external_memory* memory, weir_allocation* out,
                          weir_status* status);

  // Functions that the options delay and reorder may hold back.
  weir_result device_close(weir_device device, weir_status* status);
  weir_result stream_destroy(weir_stream stream, weir_status* status);
  weir_result stream_flush(weir_stream stream, weir_status* status);
  weir_result stream_query(weir_stream stream, weir_status* status);
  weir_result stream_synchronize(weir_stream stream, weir_status* status);
  weir_result stream_wait_event(weir_stream stream, weir_event event, weir_status* status);
  weir_result stream_host_callback(weir_stream stream, weir_host_callback callback, void* user,
                                   weir_status* status);
  weir_result event_destroy(weir_event event, weir_status* status);
  weir_result event_record(weir_event event, weir_stream stream, weir_status* status);
  weir_result event_query(weir_event event, weir_status* status);
  weir_result event_synchronize(weir_event event, weir_status* status);
  weir_result event_elapsed(weir_event start, weir_event end, double* out, weir_status* status);
  weir_result copy_to_device(weir_stream stream, weir_allocation to, std::uint64_t at, const void* from,
                             std::uint64_t size, weir_status* status);
  weir_result copy_to_host(weir_stream stream, void* to, weir_allocation from, std::uint64_t at,
                           std::uint64_t size, weir_status* status);
  weir_result copy_on_device(weir_stream stream, weir_allocation to, std::uint64_t to_at,
                             weir_allocation from, std::uint64_t from_at, std::uint64_t size,
                             weir_status* status);
  weir_result copy_peer(weir_stream stream, weir_allocation to, std::uint64_t to_at, weir_allocation from,
                        std::uint64_t from_at, std::uint64_t size, weir_status* status);
  weir_result fill(weir_stream stream, weir_allocation to, std::uint64_t at, std::uint64_t size,
                   const void* pattern, std::uint32_t pattern_size, weir_status* status);
  weir_result kernel_launch(weir_stream stream, const weir_launch* launch, weir_status* status);
  weir_result module_unload(weir_module module, weir_status* status);
  weir_result graph_update(weir_graph graph, std::uint32_t index, const weir_graph_node* node,
                           weir_status* status);
  weir_result graph_launch(weir_graph graph, weir_stream stream, weir_status* status);
  weir_result graph_destroy(weir_graph graph, weir_status* status);

 private:
  struct Late {
    weir_result result;
    std::uint64_t times;
  };

  /// Whether a call only releases an object, which still works on a lost device.
  static bool lets_go(std::string_view slot) noexcept;
  /// Called before the driver may return the same handle again.
  void forget(Handle gone);
  weir_result judge(std::string_view slot, std::int64_t device, weir_stream stream, weir_status* status);
  /// For a wait that was made to fail: the caller may free host memory that the work uses. The work of a lost
  /// device may never end, so that a second is the limit.
  template <class Query>
  static void end_work(weir_result result, const Query& query) {
    using namespace std::chrono_literals;
    const auto limit = std::chrono::steady_clock::now() + 1s;
    while (query() == WEIR_NOT_READY &&
           (result != WEIR_ERROR_DEVICE_LOST || std::chrono::steady_clock::now() < limit))
      std::this_thread::sleep_for(100us);
  }
  template <class Call>
  weir_result take_memory(std::int64_t device, std::uint64_t bytes, weir_allocation* out, weir_status* status,
                          Call&& allocate);
  void give_memory(weir_allocation allocation);
  /// Records the device of an object that the driver has created. If the allocation for that fails, `undo`
  /// lets the driver destroy the object.
  template <class T, class Undo>
  weir_result made(weir_result result, T* out, Handle owner, const Undo& undo);

  Owners owners_;
  std::unique_ptr<Held> held_;

  mutable std::mutex mutex_;  // guards the members below; never held during a call
  Options options_;
  std::map<std::string, std::uint64_t, std::less<>> calls_;
  std::uint64_t all_calls_ = 0, failed_ = 0;
  std::set<std::int64_t> lost_;
  std::map<Handle, Late> late_;  ///< by stream
  struct MemoryBlock {
    std::int64_t device;
    std::uint64_t bytes;
  };
  std::map<weir_allocation, MemoryBlock> blocks_;
  std::map<std::int64_t, std::uint64_t> used_;
};

}  // namespace weir::fault
