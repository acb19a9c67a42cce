// SPDX-License-Identifier: Apache-2.0
// The driver's objects. weir/sdk/table.hpp lists their required members; they map to Vulkan as follows:
//
//   device      a logical device with the queues of one family
//   stream      a line (line.hpp): batches of commands on one queue, and calls on the host
//   event       a position in a line
//   allocation  a range of a memory block
//   module      a shader module
//   kernel      pipelines of one entry point, one for each block size and size of dynamic shared memory
//   graph       secondary command buffers (graph.cpp)
#pragma once

#include <atomic>
#include <compare>
#include <weir/sdk/checks.hpp>
#include <weir/sdk/object.hpp>

#include "code/spirv.hpp"
#include "memory/transfer.hpp"
#include "queue/commands.hpp"
#include "queue/scheduler.hpp"
#include "queue/timestamps.hpp"

namespace weir::vulkan {

struct Stream;
struct Event;
struct Allocation;
struct Module;

struct Device : sdk::DeviceObject {
  const PhysicalDevice* physical = nullptr;
  VkDevice handle = VK_NULL_HANDLE;
  VolkDeviceTable vk{};
  Heap heap;
  Scheduler scheduler{*this};
  Timestamps timestamps;
  Transfers transfers{*this};
  VkPipelineLayout pipeline_layout = VK_NULL_HANDLE;

  void open();
  void close();
  void get_memory(std::uint64_t& free, std::uint64_t& total);
  Stream& create_stream(std::int32_t priority);
  Event& create_event(bool timed);
  Allocation& allocate(const weir_memory_options& options);
  Module& load_module(const weir_code_object& object);

  /// Memory that was freed in the order of a line, and not yet returned to the heap.
  struct Pending {
    Mark free_after;
    Range range;
  };
  /// Memory for `kind`. Ranges that `line` has freed are reused at once; `out_after` is then their mark.
  /// Waits for pending ranges if memory is short.
  Range allocate_range(const weir_memory_options& options, const Line* line, Mark& out_after);
  void free_range(const Range& range, const Mark& after) noexcept;

  bool is_lost() const noexcept { return lost_.load(std::memory_order_acquire); }
  /// Marks the device as lost; the first reason is kept.
  void lose(VkResult result, const char* doing) noexcept;
  /// Throws DEVICE_LOST if the device is lost.
  void check_present() const {
    if (is_lost()) [[unlikely]]
      throw_lost();
  }

 private:
  [[noreturn]] void throw_lost() const;
  void sweep_pending();
  bool wait_for_pending();

  std::atomic<bool> lost_{false};
  std::atomic<VkResult> lost_result_{VK_SUCCESS};
  std::mutex pending_mutex_;
  std::vector<Pending> pending_;
};

struct Event : sdk::EventObject<Device> {
  void destroy() noexcept;
  bool query();
  void synchronize();
  double elapsed(Event& end);

  Mark mark();
  void set_mark(Mark mark, std::shared_ptr<Timestamp> time) noexcept;

 private:
  std::shared_ptr<Timestamp> time();
  std::mutex mutex_;
  Mark mark_;
  std::shared_ptr<Timestamp> time_;
};

struct Allocation : sdk::AllocationObject<Device> {
  Range range;
  Mark free_after;  ///< the memory was reused before this; a later owner must wait for it

  void free() noexcept;
  void place(std::uint64_t& device_address, void*& host_pointer) const noexcept {
    device_address = range.address();
    host_pointer = range.host();
  }
  Range at(std::uint64_t offset, std::uint64_t bytes) const noexcept { return part(range, offset, bytes); }
};

/// Where a kernel reads its arguments: in the push constants, or in a block at an address that is pushed.
enum class Arguments : std::uint8_t { stored, pushed };

struct Kernel : sdk::KernelObject<Device> {
  VkShaderModule shader = VK_NULL_HANDLE;
  std::uint64_t hash = 0;  ///< of the module and the kernel's name

  std::uint32_t push_bytes = 0;  ///< of the kernel's push constants

  /// The pipeline for the launch's block and dynamic shared memory; compiles it at its first use.
  VkPipeline pipeline(const weir_launch& launch, Arguments arguments);
  /// Whether the kernel takes arguments of this size as push constants.
  bool pushes(std::uint32_t argument_bytes) const noexcept {
    return argument_bytes > 0 && convention::pushed_arguments_at + argument_bytes <= push_bytes &&
           push_bytes <= convention::max_push_bytes;
  }
  void unload() noexcept;

 private:
  /// The values of the specialisation constants.
  struct Key {
    std::uint32_t x, y, z, dynamic_shared_bytes;
    VkBool32 pushed;
    auto operator<=>(const Key&) const = default;
  };
  using Pipelines = std::map<Key, VkPipeline>;
  std::mutex mutex_;
  Pipelines pipelines_;
  /// The entry that a launch used last. Entries do not change or move until the kernel is unloaded, so it is
  /// read without the mutex.
  std::atomic<const Pipelines::value_type*> last_{nullptr};
};

struct Module : sdk::ModuleObject<Device, Kernel> {
  VkShaderModule shader = VK_NULL_HANDLE;
  std::uint64_t hash = 0;
  std::vector<SpirvModule::EntryPoint> entry_points;
  std::uint32_t shared_bytes = 0;  ///< of the largest entry point, as far as known

  void unload() noexcept;
  void find_kernel(Kernel& kernel);
};

struct Recording;

struct Graph : sdk::GraphObject<Device, Kernel> {
  using Node = sdk::GraphNode<Allocation, Kernel>;
  void create(std::span<const Node> nodes);
  void update(std::uint32_t index, const Node& node);
  void destroy() noexcept;

  /// A node with its own copies of what the caller's node points to.
  struct Kept {
    Node node;
    std::vector<std::uint32_t> dependencies;
    std::vector<std::byte> arguments;
    std::uint64_t arguments_at = 0;  ///< offset in the argument memory
  };
  std::vector<Kept> nodes;
  std::mutex mutex;
  std::shared_ptr<Recording> recording;  ///< null if the nodes changed since
  bool arguments_changed = true;
  std::uint64_t argument_bytes = 0;
  Mark last_run;

  std::shared_ptr<Recording> record();

 private:
  void keep(Kept& kept, const Node& node);
};

struct Stream : sdk::StreamObject<Device> {
  std::shared_ptr<Line> line;

  void destroy() noexcept;
  void flush();
  bool query();
  void synchronize();
  void wait(Event& event);
  void record(Event& event);
  void host_callback(weir_host_callback callback, void* user);
  Allocation& allocate(const weir_memory_options& options);
  void free(Allocation& allocation);
  void copy_to_device(Allocation& to, std::uint64_t offset, const void* from, std::uint64_t size);
  void copy_to_host(void* to, Allocation& from, std::uint64_t offset, std::uint64_t size);
  void copy_on_device(Allocation& to, std::uint64_t to_offset, Allocation& from, std::uint64_t from_offset,
                      std::uint64_t size);
  void fill(Allocation& to, std::uint64_t offset, std::uint64_t size, const sdk::Pattern& pattern);
  void launch(Kernel& kernel, const weir_launch& launch);
  void launch(Graph& graph);

  // The line's recording mutex is held.
  void put_copy_to_device(const Range& to, const void* from);
  void put_copy_to_host(void* to, const Range& from);
};

/// Closes the line's open batch. A failure is reported by the line's next call.
void flush_quietly(Line& line, void (Line::*flush)() = &Line::flush) noexcept;

}  // namespace weir::vulkan
