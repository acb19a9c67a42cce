// SPDX-License-Identifier: Apache-2.0
// The work of one stream: a sequence of steps. A step is a batch of recorded commands or a call on the host.
// Steps have consecutive positions; a position is complete when its step and all earlier ones are. A line
// outlives its stream until its work is complete and no mark refers to it.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "memory/heap.hpp"
#include "queue/commands.hpp"
#include "queue/fifo.hpp"

namespace weir::vulkan {

struct Device;
struct Queue;
class Line;

/// A position in a line; empty marks are complete.
struct Mark {
  std::shared_ptr<Line> line;
  std::uint64_t position = 0;

  bool is_complete() const noexcept;
};

struct Step {
  std::uint64_t position = 0;
  std::vector<Mark> waits;                    ///< complete before it begins; once submitted, of other queues
  VkCommandBuffer commands = VK_NULL_HANDLE;  ///< null for an empty batch and for a host step
  std::function<void()> host;                 ///< set for a host step
  std::vector<std::function<void()>> after;   ///< called when the batch has run, before it is complete
  std::vector<Range> ranges;                  ///< memory to free when the step is complete
  std::vector<std::shared_ptr<const void>> kept;  ///< objects that the commands use
  std::uint64_t value = 0;                        ///< of the queue's semaphore, set by the submission
  std::uint32_t operations = 0;
  Ordered last = Ordered::all;  ///< the operation before the next one of `commands`
};

class Line : public std::enable_shared_from_this<Line> {
 public:
  Line(Device& owner, Queue& on);
  ~Line();
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  Device& device;
  Queue& queue;

  // -- Recording: the caller holds `recording`, which orders the submissions of one stream. --
  std::mutex recording;

  /// The open batch's command buffer, after a barrier that orders it after all earlier commands of the line
  /// and of its marks. The caller records commands that begin and end with kernels alone, or with others.
  VkCommandBuffer commands(Ordered first, Ordered last);
  VkCommandBuffer commands(Ordered all = Ordered::all) { return commands(all, all); }
  /// Memory that the host has mapped and commands may use until the open batch is complete.
  Range scratch(std::uint64_t size) { return scratch(Heap::host_memory, size); }
  /// The same for a kernel's arguments, which the host writes only.
  Range argument_block(std::uint64_t size) { return scratch(Heap::argument_memory, size); }
  /// The open batch, which an operation may give calls and objects.
  Step& open() { return *open_; }
  /// Ends an operation of the open batch. Submits the batch if the line is idle or the batch is full.
  void end_operation();
  /// Makes later operations wait for `mark`.
  void wait(const Mark& mark);
  /// Appends a call on a thread of the driver; later steps wait for its return.
  void append_host(std::function<void()> call);
  /// Closes the open batch, so that it starts as soon as possible.
  void flush();
  /// Does so if all closed steps are complete. Otherwise the thread that completes the last one does it.
  void flush_if_idle();
  /// The position of all work so far. Closes the open batch.
  Mark mark();
  /// The position of all work so far, with the open batch left open.
  Mark here();

  // -- Guarded by the scheduler's mutex. --
  Fifo<Step> steps;                                         ///< closed and not yet submitted
  Fifo<std::pair<std::uint64_t, std::uint64_t>> in_flight;  ///< positions and values on the queue
  bool host_running = false;
  std::vector<std::shared_ptr<Line>> waiters;  ///< lines to look at when this one advances
  std::optional<sdk::Failure> failure;         ///< of the line's work; reported once
  std::condition_variable changed;

  std::atomic<std::uint64_t> completed{0};  ///< stored under the scheduler's mutex, read without it

  /// Returns a command buffer whose batch is complete. Thread-safe.
  void recycle(VkCommandBuffer buffer) noexcept;

 private:
  void ensure_open();
  void close();
  /// Whether all closed steps are complete.
  bool is_idle() const noexcept;

  Range scratch(Heap::Kind kind, std::uint64_t size);

  struct Chunk {
    Range range;
    std::uint64_t last_use = 0;  ///< position
  };
  /// Memory of one kind, of which the last chunk is in use.
  struct Scratch {
    Chunk chunk;
    std::uint64_t used = 0;
    std::deque<Chunk> full;
  };
  static constexpr std::uint64_t chunk_bytes = 64 << 10;
  static constexpr std::uint32_t batch_operations = 64;

  std::optional<Step> open_;
  std::uint64_t last_ = 0;                    ///< position of the last closed step
  Ordered last_commands_ = Ordered::kernels;  ///< the last operation of the last closed step
  VkCommandPool pool_ = VK_NULL_HANDLE;
  Scratch host_scratch_, argument_scratch_;
  std::mutex recycling_;
  std::vector<VkCommandBuffer> idle_buffers_;
};

inline bool Mark::is_complete() const noexcept {
  return !line || line->completed.load(std::memory_order_acquire) >= position;
}

}  // namespace weir::vulkan
