// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/device_state.hpp"

#include <cxxabi.h>
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <weir/sdk/thread.hpp>

#include "foreign_text.hpp"
#include "process_tables.hpp"
#include "runtime/programs/preparation.hpp"
#include "runtime/streams/host_callback.hpp"

extern "C" void* __dso_handle;  // names this library in the C++ ABI

namespace weir::detail {
namespace {

// State that lives as long as the process. Never destroyed, so that the program's static objects may be
// destroyed in any order.
struct Runtime {
  std::map<std::pair<const GpuDriver*, std::uint32_t>, DeviceState*> devices;
  std::array<std::atomic<DeviceState*>, max_devices> by_number{};
  std::uint32_t count = 0;

  std::set<std::string, std::less<>> names;
  std::set<KernelOrigin> origins;

  std::atomic<bool> exiting{false};
};

Runtime& runtime() {
  static auto* instance = new Runtime;
  return *instance;
}

std::chrono::steady_clock::time_point in_one_second() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(1);
}

/// Gives work that does not wait for a running host callback up to one second to end. Runs on a separate
/// thread, because a host callback must not call a driver.
void wait_in_callback(const StreamState& stream) noexcept {
  const auto deadline = in_one_second();
  try {
    sdk::start_thread("weir-exit", [&] {
      for (std::uint32_t n = 0; DeviceState* device = device_by_number(n); ++n)
        if (!device->lost() && !device->forked()) device->streams.wait_for_others(stream, deadline);
    }).join();
  } catch (const std::system_error&) {  // without a thread the process ends at once
  }
}

void wait_for_all_devices() noexcept {
  for (std::uint32_t n = 0; DeviceState* device = device_by_number(n); ++n)
    if (!device->lost() && !device->forked()) device->streams.wait_for_all();
}

// Work in flight ends before static objects are destroyed and before the exit handlers of drivers and
// vendors' libraries run. Later destructors do not call the drivers. If a callback ends the process, its
// stream's work cannot end first.
void at_exit() {
  if (process_is_exiting()) return;  // registered again for another device
  if (const StreamState* const callback = HostCallback::running_on())
    wait_in_callback(*callback);
  else
    wait_for_all_devices();
  runtime().exiting.store(true);
  end_preparations(HostCallback::running_on() ? std::optional(in_one_second()) : std::nullopt);
  if (HostCallback::running_on()) return;
  for (std::uint32_t n = 0; DeviceState* device = device_by_number(n); ++n)
    if (!device->lost() && !device->forked())
      device->streams.show_printed_lines_of(StreamManager::WhichStreams::all);
}

// A vendor's library may make static objects while it runs work, after at_exit was registered. They end
// before at_exit is called. Mesa's LLVM makes some while it compiles its first kernel. What a thread has
// registered for its own end comes before all static objects if the thread calls exit() [support.start.term],
// so the main thread waits there. It is registered when this library is loaded: glibc ends the process if it
// has no memory for it.
void at_end_of_thread(void*) {
  if (gettid() == getpid() && !process_is_exiting()) wait_for_all_devices();
}
[[maybe_unused]] const int registered =
    abi::__cxa_thread_atexit(at_end_of_thread, nullptr, static_cast<void*>(&__dso_handle));

void in_child() {
  for (std::uint32_t n = 0; DeviceState* device = device_by_number(n); ++n)
    if (device->opened()) device->leave_to_parent();
  forget_preparations();
}

DeviceInfo to_info(const weir_device_info& raw) {
  DeviceInfo info;
  info.name = bounded(raw.name);
  info.vendor = bounded(raw.vendor);
  info.driver_version = bounded(raw.driver_version);
  info.location = bounded(raw.location);
  info.kind = raw.kind <= WEIR_DEVICE_OTHER ? static_cast<DeviceKind>(raw.kind) : DeviceKind::other;
  std::memcpy(info.uuid.data(), raw.uuid, sizeof raw.uuid);
  info.capabilities = raw.capabilities;
  info.total_memory = raw.total_memory;
  info.memory_bandwidth = raw.memory_bandwidth;
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(raw.code_target_count, WEIR_MAX_CODE_TARGETS); ++i)
    info.code_targets.push_back(
        {std::string(bounded(raw.code_targets[i].format)), std::string(bounded(raw.code_targets[i].target))});
  info.target_features = bounded(raw.target_features);
  info.multiprocessors = raw.multiprocessors;
  info.lanes = std::max(raw.lanes, 1u);
  info.max_block_threads = raw.max_block_threads;
  std::memcpy(info.max_block.data(), raw.max_block, sizeof raw.max_block);
  std::memcpy(info.max_grid.data(), raw.max_grid, sizeof raw.max_grid);
  info.max_shared_bytes = raw.max_shared_bytes;
  info.max_argument_bytes = raw.max_argument_bytes;
  info.memory_alignment = raw.memory_alignment;
  info.min_priority = raw.min_priority;
  info.max_priority = raw.max_priority;
  info.recommended_streams = raw.recommended_streams;
  info.max_threads_per_multiprocessor = raw.max_threads_per_multiprocessor;
  info.max_blocks_per_multiprocessor = raw.max_blocks_per_multiprocessor;
  info.shared_bytes_per_multiprocessor = raw.shared_bytes_per_multiprocessor;
  info.max_registers_per_multiprocessor = raw.max_registers_per_multiprocessor;
  info.max_registers_per_block = raw.max_registers_per_block;
  info.dlpack_type = raw.dlpack_type;
  info.dlpack_host_type = raw.dlpack_host_type;
  info.dlpack_id = raw.dlpack_id;
  info.notes = bounded(raw.notes);
  return info;
}

}  // namespace

DeviceState::DeviceState(const GpuDriver& driver, std::uint32_t index_, std::uint32_t number_,
                         const weir_device_info& raw)
    : DriverCaller(driver),
      index(index_),
      number(number_),
      info(to_info(raw)),
      argument_style(raw.argument_style),
      address_bytes(raw.argument_style == WEIR_ARGUMENT_BUFFER ? 16 : 8),
      streams(*this),
      events(*this),
      pinned(*this),
      memory(*this) {
  device_name_ = fmt::format("{}:{}", driver.name(), index);
}

// Two threads may open the device at once: the driver counts openings and returns the same device.
weir_device DeviceState::open() {
  weir_device device = nullptr;
  call(fmt::format("open device {}", device_name_),
       [&](weir_status* status) { return table().device_open(index, &device, status); });
  weir_device expected = nullptr;
  if (handle_.compare_exchange_strong(expected, device, std::memory_order_acq_rel)) {
    watch_process();
    return device;
  }
  call_no_throw([&](weir_status* status) { return table().device_close(device, status); });
  return expected;
}

void DeviceState::leave_to_parent() noexcept {
  forked_.store(true, std::memory_order_relaxed);
  streams.invalidate_all();
}

void DeviceState::throw_forked() const {
  throw Error(
      ErrorCode::system,
      fmt::format("this process was forked from one that had used device {}, which does not work in the "
                  "child; start the child with exec, or use the device only after the fork",
                  device_name_));
}

DeviceState& device_state(const GpuDriver& driver, std::uint32_t index, const weir_device_info& info) {
  Runtime& r = runtime();
  const std::lock_guard lock(mutex_of(ProcessTable::devices));
  DeviceState*& state = r.devices[{&driver, index}];
  if (state) return *state;
  if (r.count == max_devices)
    throw Error(
        ErrorCode::system,
        fmt::format("this process uses {} devices, the most that Weir keeps; use fewer, or several processes",
                    max_devices));
  state = new DeviceState(driver, index, r.count, info);
  r.by_number[r.count++].store(state, std::memory_order_release);
  return *state;
}

DeviceState& device_state(const GpuDriver& driver, std::uint32_t index) {
  return device_state(driver, index, driver.device_get_info(index));
}

DeviceState* device_by_number(std::uint32_t number) noexcept {
  return number < max_devices ? runtime().by_number[number].load(std::memory_order_acquire) : nullptr;
}

void watch_process() {
  static const int registered = pthread_atfork(nullptr, nullptr, in_child);
  (void)registered;
  (void)std::atexit(at_exit);
}

bool process_is_exiting() noexcept {
  return runtime().exiting.load(std::memory_order_relaxed);
}

std::vector<const KernelOrigin*> DeviceState::running_kernels() {
  std::vector<const KernelOrigin*> kernels;
  for (std::uint32_t slot = 0; slot < streams.size(); ++slot) {
    const StreamState& stream = *streams.at(slot);
    const KernelOrigin* kernel = stream.launched_last();
    if (kernel && !stream.known_idle() && std::ranges::find(kernels, kernel) == kernels.end())
      kernels.push_back(kernel);
  }
  return kernels;
}

void keep_reachable(void* object) noexcept {
  const std::lock_guard lock(mutex_of(ProcessTable::kept));
  try {
    static auto& objects = *new std::vector<void*>;
    objects.push_back(object);
  } catch (const std::bad_alloc&) {  // it stays without being listed
  }
}

const std::string* intern(std::string_view text) {
  Runtime& r = runtime();
  const std::lock_guard lock(mutex_of(ProcessTable::names));
  return &*r.names.emplace(text).first;
}

void throw_dead(std::string_view what) {
  throw Error(
      ErrorCode::invalid,
      fmt::format(
          "this {0} does not exist: it was destroyed, moved from, or never created; keep its owner alive "
          "while it is used",
          what));
}

std::string other_device_words(std::string_view object, const DeviceState& its, std::string_view user,
                               const DeviceState& wanted, std::string_view remedy) {
  return fmt::format("{} {}, {} {}; {}", object, its.device_name(), user, wanted.device_name(), remedy);
}

void throw_other_device(std::string_view object, const DeviceState& its, std::string_view user,
                        const DeviceState& wanted, std::string_view remedy) {
  throw Error(ErrorCode::invalid, other_device_words(object, its, user, wanted, remedy));
}

StreamState& live(const StreamRef& stream) {
  if (!stream.alive()) [[unlikely]] {
    if (stream.state()) stream.state()->device.check_not_forked();
    throw_dead("stream");
  }
  return *stream.state();
}

EventState& live(const EventRef& event) {
  if (!event.alive()) throw_dead("event");
  return *event.state();
}

}  // namespace weir::detail

namespace weir {

const KernelOrigin* intern_origin(std::string_view kernel, std::string_view file, std::uint32_t line) {
  detail::Runtime& r = detail::runtime();
  const std::lock_guard lock(detail::mutex_of(detail::ProcessTable::names));
  return &*r.origins.emplace(std::string(kernel), std::string(file), line).first;
}

std::string describe(const KernelOrigin& origin) {
  if (origin.line == 0) return fmt::format("'{}'", origin.name);
  return fmt::format("'{}' ({}:{})", origin.name, origin.file, origin.line);
}

}  // namespace weir
