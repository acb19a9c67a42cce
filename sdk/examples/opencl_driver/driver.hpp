// SPDX-License-Identifier: Apache-2.0
// The driver's objects. What they must have is said by weir/sdk/table.hpp; how they map to OpenCL:
//
//   device      a context with one device
//   stream      an in-order command queue, and the event of what was submitted to it last
//   event       the event of the last command in front of the mark
//   allocation  a buffer
//   module      a program, built from OpenCL C
//   kernel      as many kernel objects as there are threads that launch it at the same time
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
  Owned<cl_command_queue> housekeeping;  ///< for work of no stream, which its caller waits for
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

  /// None when it was never recorded, or on a stream that had nothing to do.
  Owned<cl_event> mark();
  void set_mark(Owned<cl_event> mark) noexcept;

 private:
  std::mutex mutex_;
  Owned<cl_event> mark_;
};

struct Allocation : sdk::AllocationObject<Device> {
  Owned<cl_mem> buffer;

  void free() noexcept;
  /// OpenCL has no addresses, and host memory only while a buffer is mapped.
  void place(std::uint64_t&, void*&) const noexcept {}
};

struct Kernel : sdk::KernelObject<Device> {
  cl_program program = nullptr;  ///< the module's
  bool takes_offsets = false;    ///< each array is followed by the ulong at which it begins, in bytes
  bool takes_local = false;      ///< the last parameter is local memory, as much as a launch says

  /// Fills in all of the above, and `info`, from a kernel object that then serves launches. Throws a Failure
  /// when its parameters are not those of the layout.
  void describe(Owned<cl_kernel> object);
  void unload() noexcept;

  /// A kernel object of this kernel that is nobody else's meanwhile: OpenCL keeps arguments in it.
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

  /// The views of buffers that a launch needs until it was submitted.
  using Views = std::vector<Owned<cl_mem>>;
  /// Sets all arguments of a launch. Throws a Failure when an array is none of this device.
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

  std::mutex mutex_;      // makes "submitted last" and `last_` agree; nothing blocks under it
  Owned<cl_event> last_;  // none when all is known to be done
  std::string last_doing_;
};

}  // namespace opencl
