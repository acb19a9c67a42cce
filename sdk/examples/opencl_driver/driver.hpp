// SPDX-License-Identifier: Apache-2.0
// The driver's objects. weir/sdk/table.hpp lists their required members; they map to OpenCL as follows:
//
//   device      a context with one device
//   stream      an in-order command queue, and the event of its last command
//   event       the event of the last command before the record
//   allocation  a buffer
//   module      a program, built from OpenCL C
//   kernel      one kernel object for each thread that launches it at the same time
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>
#include <weir/sdk/checks.hpp>
#include <weir/sdk/object.hpp>

#include "callbacks.hpp"
#include "opencl.hpp"

namespace opencl {

struct Stream;
struct Event;
struct Allocation;
struct Module;

struct Device : sdk::DeviceObject {
  cl_device_id id = nullptr;
  Owned<cl_context> context;
  Owned<cl_command_queue> housekeeping;  ///< for work without a stream, for which its caller waits
  std::uint64_t total_memory = 0;
  std::uint64_t largest_buffer = 0;
  std::atomic<std::uint64_t> used_memory{0};
  Callbacks callbacks;

  void open();
  void close();
  void get_memory(std::uint64_t& free, std::uint64_t& total) const noexcept;
  Stream& create_stream(std::int32_t priority);
  Event& create_event(bool timed);
  Allocation& allocate(const weir_memory_options& options);
  Module& load_module(const weir_code_object& object);

  Owned<cl_command_queue> create_queue();
};

struct Event : sdk::EventObject<Device> {
  void destroy() noexcept;
  bool query();
  void synchronize();
  double elapsed(Event& end);

  /// Empty if it was never recorded, or recorded on an idle stream.
  Owned<cl_event> mark();
  void set_mark(Owned<cl_event> mark) noexcept;

 private:
  std::mutex mutex_;
  Owned<cl_event> mark_;
};

struct Allocation : sdk::AllocationObject<Device> {
  Owned<cl_mem> buffer;

  void free() noexcept;
  /// OpenCL has no addresses, and host access only while a buffer is mapped.
  void place(std::uint64_t&, void*&) const noexcept {}
};

struct Kernel : sdk::KernelObject<Device> {
  cl_program program = nullptr;  ///< owned by the module
  bool takes_offsets = false;    ///< each array is followed by its offset in bytes, an ulong
  bool takes_local = false;      ///< the last parameter is local memory, whose size the launch gives

  /// Fills in the members above and `info` from a kernel object, which later serves launches. Throws a
  /// Failure if its parameters differ from the layout's.
  void describe(Owned<cl_kernel> object);
  void unload() noexcept;

  /// Exclusive use of a kernel object of this kernel, because OpenCL stores arguments in it.
  class Lease {
   public:
    explicit Lease(Kernel& kernel) : kernel_(kernel), object_(kernel.take()) {}
    Lease(const Lease&) = delete;
    ~Lease() { kernel_.give(std::move(object_)); }
    cl_kernel get() const noexcept { return object_.get(); }

   private:
    Kernel& kernel_;
    Owned<cl_kernel> object_;
  };

  /// Sub-buffers of a launch, needed until it has been submitted.
  using Views = std::vector<Owned<cl_mem>>;
  /// Sets all arguments of a launch. Throws a Failure if an array belongs to another device.
  Views bind(const Lease& lease, const weir_launch& launch);

 private:
  cl_uint find_form(cl_kernel object);
  void check_parameters(cl_kernel object, cl_uint taken) const;
  Owned<cl_kernel> take();
  void give(Owned<cl_kernel> object) noexcept;
  Owned<cl_mem> view_of(const sdk::ArrayArgument<Allocation>& array, std::uint32_t parameter) const;

  std::mutex mutex_;
  std::vector<Owned<cl_kernel>> idle_;
};

struct Module : sdk::ModuleObject<Device, Kernel> {
  Owned<cl_program> program;

  void unload() noexcept;
  void find_kernel(Kernel& kernel);
};

struct Stream : sdk::StreamObject<Device> {
  Owned<cl_command_queue> queue;

  void destroy() noexcept;
  void flush();
  bool query();
  void synchronize();
  void wait(Event& event);
  void record(Event& event);
  void host_callback(weir_host_callback callback, void* user);
  void copy_to_device(Allocation& to, std::uint64_t offset, const void* from, std::uint64_t size);
  void copy_to_host(void* to, Allocation& from, std::uint64_t offset, std::uint64_t size);
  void copy_on_device(Allocation& to, std::uint64_t to_offset, Allocation& from, std::uint64_t from_offset,
                      std::uint64_t size);
  void fill(Allocation& to, std::uint64_t offset, std::uint64_t size, const sdk::Pattern& pattern);
  void launch(Kernel& kernel, const weir_launch& launch);

 private:
  template <class Enqueue>
  Owned<cl_event> submit(std::string_view doing, Enqueue&& enqueue);
  void answer_failure();
  Owned<cl_event> last();

  std::mutex mutex_;      // keeps submission order and `last_` consistent; nothing blocks while it is held
  Owned<cl_event> last_;  // empty if all work is complete
  std::string last_doing_;
};

}  // namespace opencl
