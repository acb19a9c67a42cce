// SPDX-License-Identifier: Apache-2.0
// The validate layer: checks the callers of a driver. sdk/docs/layers.md lists its rules.
//
// Every call resolves its handles under the one mutex, calls the driver without it, and records the call's
// effects under the mutex again. Concurrent effects may therefore be recorded slightly earlier or later than
// they happened. Effects that a caller may rely on when the call returns are always recorded in order.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <weir/sdk/layer.hpp>

#include "../record_or_undo.hpp"
#include "objects.hpp"

namespace weir::validate {

/// The options of the layer.
struct Options {
  enum class Races : std::uint8_t { off, known, all };
  Races races = Races::known;
  bool leaks = true;
  std::set<std::string, std::less<>> ignored;  ///< kernels whose races are intended
};

class Validate {
 public:
  static constexpr const char* name = "validate";
  static constexpr std::uint32_t annotate_version = 3;
  explicit Validate(const sdk::LayerHost& host);
  const weir_driver_table next;

  void configure(std::string_view text);
  std::uint64_t get(std::string_view what) const;

  template <class Slot, class... A>
  weir_result enter(Slot, A...) {
    calling = Slot::name.data();
    check_thread();
    return WEIR_OK;
  }

  // devices.cpp
  weir_result device_count(std::uint32_t* out, weir_status* status);
  weir_result device_get_info(std::uint32_t index, weir_device_info* info, weir_status* status);
  weir_result device_open(std::uint32_t index, weir_device* out, weir_status* status);
  weir_result device_close(weir_device device, weir_status* status);
  weir_result device_get_memory(weir_device device, std::uint64_t* out_free, std::uint64_t* out_total,
                                weir_status* status);
  weir_result get_extension(const char* extension, std::uint32_t version, const void** out,
                            weir_status* status);

  // streams.cpp
  weir_result stream_create(weir_device device, const weir_stream_options* options, weir_stream* out,
                            weir_status* status);
  weir_result stream_wrap(weir_device device, void* native, weir_stream* out, weir_status* status);
  weir_result stream_get_native(weir_stream stream, void** out, weir_status* status);
  weir_result stream_destroy(weir_stream stream, weir_status* status);
  weir_result stream_flush(weir_stream stream, weir_status* status);
  weir_result stream_query(weir_stream stream, weir_status* status);
  weir_result stream_synchronize(weir_stream stream, weir_status* status);
  weir_result stream_wait_event(weir_stream stream, weir_event event, weir_status* status);
  weir_result stream_host_callback(weir_stream stream, weir_host_callback callback, void* user,
                                   weir_status* status);

  // events.cpp
  weir_result event_create(weir_device device, std::uint32_t flags, weir_event* out, weir_status* status);
  weir_result event_destroy(weir_event event, weir_status* status);
  weir_result event_record(weir_event event, weir_stream stream, weir_status* status);
  weir_result event_query(weir_event event, weir_status* status);
  weir_result event_synchronize(weir_event event, weir_status* status);
  weir_result event_elapsed(weir_event start, weir_event end, double* out, weir_status* status);

  // memory.cpp
  weir_result memory_allocate(weir_device device, const weir_memory_options* options, weir_allocation* out,
                              weir_status* status);
  weir_result memory_allocate_async(weir_stream stream, const weir_memory_options* options,
                                    weir_allocation* out, weir_status* status);
  weir_result memory_free(weir_allocation allocation, weir_status* status);
  weir_result memory_free_async(weir_stream stream, weir_allocation allocation, weir_status* status);
  weir_result memory_get_info(weir_allocation allocation, weir_memory_info* info, weir_status* status);
  weir_result memory_wrap(weir_device device, const weir_external_memory* memory, weir_allocation* out,
                          weir_status* status);

  // copies.cpp
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

  // kernels.cpp
  weir_result code_compile(weir_device device, const weir_code_object* object, weir_code_receiver receive,
                           void* user, weir_status* status);
  weir_result module_load(weir_device device, const weir_code_object* object, weir_module* out,
                          weir_status* status);
  weir_result module_unload(weir_module module, weir_status* status);
  weir_result module_get_kernel(weir_module module, const char* kernel, const weir_kernel_layout* layout,
                                weir_kernel* out, weir_status* status);
  weir_result annotate_kernel(weir_module module, const char* kernel, const weir_kernel_layout* layout,
                              const weir_kernel_annotation* annotation, weir_kernel* out,
                              weir_status* status);
  weir_result kernel_get_info(weir_kernel kernel, weir_kernel_info* info, weir_status* status);
  weir_result kernel_launch(weir_stream stream, const weir_launch* launch, weir_status* status);
  weir_result kernel_max_cooperative_blocks(weir_kernel kernel, std::uint32_t block_threads,
                                            std::uint32_t dynamic_shared_bytes, std::uint32_t* out_blocks,
                                            weir_status* status);

  // graphs.cpp
  weir_result graph_create(weir_device device, std::uint32_t count, const weir_graph_node* const* nodes,
                           weir_graph* out, weir_status* status);
  weir_result graph_update(weir_graph graph, std::uint32_t index, const weir_graph_node* node,
                           weir_status* status);
  weir_result graph_launch(weir_graph graph, weir_stream stream, weir_status* status);
  weir_result graph_destroy(weir_graph graph, weir_status* status);

 private:
  using Lock = std::lock_guard<std::mutex>;
  friend struct CallbackCall;

  /// A launch in the driver's form, with its accesses.
  struct PreparedLaunch {
    weir_launch launch{};
    std::vector<std::uint64_t> arguments;
    std::vector<Use> uses;
    std::shared_ptr<Module> module;
  };
  /// The memory of a buffer argument; no allocation if it is unknown.
  struct BufferPlace {
    std::shared_ptr<Allocation> allocation;
    std::uint64_t offset = 0;
  };
  /// A node of a graph in the driver's form.
  struct PreparedNode {
    weir_graph_node node{};
    PreparedLaunch launch;
    Graph::Node kept;
  };

  // -- checks and reports (validate.cpp)
  void check_thread();
  void report(const char* rule, const std::string& message);
  /// Reports the fault, and throws the Failure that refuses the call.
  weir_code_object checked(const weir_code_object* object);
  [[noreturn, gnu::format(printf, 3, 4)]] void refuse(const char* rule, const char* format, ...);
  template <class T>
  T& out_argument(T* out, const char* what) {
    if (!out) refuse("null", "%s is null; expected where to store the result", what);
    return *out;
  }

  // -- handles; each function locks mutex_
  template <class T>
  std::shared_ptr<T> live(typename T::Handle handle, const char* what) {
    try {
      const Lock lock(mutex_);
      return objects_.template get<T>(handle, what);
    } catch (const WrongHandle& wrong) {
      refuse(wrong.rule, "%s", wrong.message.c_str());
    }
  }
  /// Registers an object that the driver has created. If that fails, `undo` lets the driver destroy it.
  template <class T, class Undo>
  void put(const std::shared_ptr<T>& object, const std::shared_ptr<Device>& device, typename T::Handle& out,
           const Undo& undo) {
    record_or_undo(
        [&] {
          const Lock lock(mutex_);
          object->device = device;
          out = objects_.add(object);
        },
        undo);
  }
  weir_result put_stream(weir_result made, const std::shared_ptr<Stream>& stream,
                         const std::shared_ptr<Device>& device, weir_stream& out);
  void check_device(const Object& object, const Device& device, const char* what);
  std::string describe(const Object& object) const { return objects_.describe(object); }

  weir_result find_kernel(weir_module module, const char* symbol, const weir_kernel_layout* layout,
                          const weir_kernel_annotation* annotation, weir_kernel* out, weir_status* status);

  // -- arguments
  weir_memory_options check_options(const weir_memory_options* options);
  void check_range(const Allocation& allocation, std::uint64_t at, std::uint64_t size, const char* what);
  void check_pattern(std::uint64_t at, std::uint64_t size, const void* pattern, std::uint32_t pattern_size);
  PreparedLaunch prepare(const Device& device, const weir_launch* launch);
  void check_shape(const Kernel& kernel, const Device& device, const weir_launch& launch);
  /// Replaces the allocation in a buffer argument at `bytes` by the driver's.
  BufferPlace replace_allocation(const Kernel& kernel, const Device& device, std::size_t parameter,
                                 std::byte* bytes);
  /// The allocation that holds the address at `bytes`; none for null and for memory of other libraries.
  BufferPlace find_address(const Kernel& kernel, const Device& device, std::size_t parameter,
                           const std::byte* bytes);
  /// The accesses of a launch. `tail` has the sizes that follow the arguments.
  std::vector<Use> uses_of(const Kernel& kernel, std::span<const BufferPlace> places, const std::byte* tail);
  PreparedNode prepare(const Device& device, const weir_graph_node* node, std::uint32_t index);
  void check_inside(const Graph& graph, const Graph::Node& node, std::uint32_t index,
                    const std::vector<Graph::Node>& others, std::uint32_t count);

  /// Whether that result of a wait or query means that the work has ended, successfully or with a failure of
  /// its own. Other failures say nothing about the work.
  static bool ended(weir_result result) noexcept {
    return result == WEIR_OK || result == WEIR_ERROR_LAUNCH || result == WEIR_ERROR_ILLEGAL_ADDRESS ||
           result == WEIR_ERROR_DEVICE_LOST;
  }

  /// Records the effect of a call that the driver has taken, whose result therefore stays WEIR_OK. Without
  /// memory for a record, the order of later accesses is unknown, and races are no longer reported.
  template <class Record>
  weir_result taken(const Record& record) noexcept {
    try {
      record();
    } catch (...) {
      const Lock lock(mutex_);
      options_.races = Options::Races::off;
    }
    return WEIR_OK;
  }

  // -- clocks
  /// A copy of the present clock of a stream or event. Locks mutex_.
  template <class T>
  Clock clock_of(const T& object) {
    const Lock lock(mutex_);
    return object.clock;
  }
  /// Joins `clock` into the host's if that result means that its work has ended. Locks mutex_. Returns the
  /// result.
  weir_result waited(weir_result result, const Clock& clock) {
    if (ended(result))
      taken([&] {
        const Lock lock(mutex_);
        done(clock);
      });
    return result;
  }

  // -- clocks (races.cpp); mutex_ must be held
  void tick(Stream& stream);
  void done(const Clock& clock) { host_.join(clock); }
  /// Records the accesses of an operation that was just submitted to `stream`.
  void touch(Stream& stream, std::vector<Use> uses);
  Use use_of(const std::shared_ptr<Allocation>& allocation, std::uint64_t at, std::uint64_t size,
             std::uint32_t how, const char* what) const;
  Use host_use(const Device& device, const void* at, std::uint64_t size, std::uint32_t how,
               const char* what) const;
  void report_race(const Allocation* allocation, const Access& earlier, const Access& later, Conflict sure,
                   const std::string& extra);
  bool wanted(const Access& earlier, const Access& later, Conflict sure) const;

  // -- memory
  std::shared_ptr<Allocation> allocation_at(const Device& device, std::uint64_t address) const;
  void forget_memory(Allocation& allocation, const char* by);

  static thread_local const char* calling;
  static thread_local const void* in_callback;

  const sdk::LayerHost layer_;
  mutable std::mutex mutex_;  // guards the members below; never held during a call of the driver or the host
  Objects objects_;
  Options options_;
  Clock host_;
  Places places_;
  History host_memory_;
  std::map<weir_device, std::weak_ptr<Device>> devices_;
  std::map<std::string, std::uint64_t, std::less<>> reports_;
  std::set<std::string> said_;
};

}  // namespace weir::validate
