// SPDX-License-Identifier: Apache-2.0
#include "support/watched_driver.hpp"

#include <array>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <type_traits>

#include "driver/probe/prober.hpp"
#include "driver/registry.hpp"
#include "places.hpp"
#include "runtime/devices/device_state.hpp"
#include "tested_device.hpp"

namespace weir::test {
namespace {

const std::string& driver_name() {
  static const std::string name = [] {
    const std::string device = tested_device();
    return device.substr(0, device.find(':'));
  }();
  return name;
}

const Candidate& real_driver() {
  static const std::vector<Candidate>& found = *new std::vector<Candidate>([] {
    const std::filesystem::path folder = built(WEIR_DRIVER_FOLDER);
    return find_drivers({&folder, 1}, ProbePolicy{});
  }());
  for (const Candidate& candidate : found)
    if (candidate.name == driver_name()) {
      if (candidate.status == DriverStatus::usable) return candidate;
      throw std::runtime_error("the driver " + driver_name() + " is not usable: " + candidate.reason);
    }
  throw std::runtime_error("there is no driver " + driver_name() + " in " +
                           built(WEIR_DRIVER_FOLDER).string());
}

template <class T>
const void* handle_of(T value) {
  if constexpr (std::is_pointer_v<T>)
    return reinterpret_cast<const void*>(value);
  else
    return nullptr;
}

constexpr std::array slot_names = {"device_count",
                                   "device_open",
                                   "device_close",
                                   "device_get_info",
                                   "device_get_memory",
                                   "stream_create",
                                   "stream_destroy",
                                   "stream_flush",
                                   "stream_query",
                                   "stream_synchronize",
                                   "stream_wait_event",
                                   "stream_host_callback",
                                   "stream_wrap",
                                   "stream_get_native",
                                   "event_create",
                                   "event_destroy",
                                   "event_record",
                                   "event_query",
                                   "event_synchronize",
                                   "event_elapsed",
                                   "memory_allocate",
                                   "memory_free",
                                   "memory_allocate_async",
                                   "memory_free_async",
                                   "memory_get_info",
                                   "copy_to_device",
                                   "copy_to_host",
                                   "copy_on_device",
                                   "copy_peer",
                                   "fill",
                                   "module_load",
                                   "module_unload",
                                   "module_get_kernel",
                                   "kernel_get_info",
                                   "kernel_launch",
                                   "get_extension",
                                   "graph_create",
                                   "graph_update",
                                   "graph_launch",
                                   "graph_destroy",
                                   "memory_wrap",
                                   "code_compile",
                                   "kernel_max_cooperative_blocks"};

template <std::size_t Slot, auto Member, class Function>
struct Forward;

template <std::size_t Slot, auto Member, class... Arguments>
struct Forward<Slot, Member, weir_result (*)(Arguments...)> {
  static weir_result call(Arguments... arguments) {
    Watch& watch = Watch::get();
    const std::array<const void*, sizeof...(Arguments)> handles = {handle_of(arguments)...};
    weir_status* status = nullptr;
    if constexpr (std::string_view(slot_names[Slot]) != "get_extension")
      status = static_cast<weir_status*>(const_cast<void*>(handles.back()));
    if (const weir_result result =
            watch.enter(Slot, handles[0], handles.size() > 1 ? handles[1] : nullptr, status);
        result != WEIR_OK)
      return result;
    return (watch.real->*Member)(arguments...);
  }
};

template <std::size_t Slot, auto Member>
void forward(weir_driver_table& table) {
  table.*Member = &Forward<Slot, Member, std::remove_reference_t<decltype(table.*Member)>>::call;
}

// Functions that need more than forwarding.
weir_result open_device(std::uint32_t, weir_device* out, weir_status* status) {
  Watch& watch = Watch::get();
  if (const weir_result result = watch.enter(1, nullptr, nullptr, status); result != WEIR_OK) return result;
  return watch.real->device_open(0, out, status);
}

weir_result get_info(std::uint32_t, weir_device_info* info, weir_status* status) {
  Watch& watch = Watch::get();
  const weir_result result = watch.real->device_get_info(0, info, status);
  if (result == WEIR_OK) {
    info->capabilities &= ~watch.hidden;
    if (watch.native_streams) info->capabilities |= WEIR_CAP_NATIVE_STREAM;
    if (watch.change_info) watch.change_info(*info);
  }
  return result;
}

// The caller states its own size of a struct, by which a driver knows the fields that exist.
template <class Struct>
bool has_its_size(const Struct& given, weir_status* status) {
  if (given.struct_size == sizeof given) return true;
  status->code = WEIR_ERROR_INVALID;
  std::strcpy(status->message, "a struct_size is not the size of its struct");
  return false;
}

weir_result create_stream(weir_device device, const weir_stream_options* options, weir_stream* out,
                          weir_status* status) {
  Watch& watch = Watch::get();
  if (const weir_result result = watch.enter(5, device, nullptr, status); result != WEIR_OK) return result;
  if (!has_its_size(*options, status)) return WEIR_ERROR_INVALID;
  return watch.real->stream_create(device, options, out, status);
}

weir_result load_module(weir_device device, const weir_code_object* code, weir_module* out,
                        weir_status* status) {
  Watch& watch = Watch::get();
  if (const weir_result result = watch.enter(30, device, code, status); result != WEIR_OK) return result;
  if (!has_its_size(*code, status)) return WEIR_ERROR_INVALID;
  return watch.real->module_load(device, code, out, status);
}

weir_result get_kernel(weir_module module, const char* name, const weir_kernel_layout* layout,
                       weir_kernel* out, weir_status* status) {
  Watch& watch = Watch::get();
  if (const weir_result result = watch.enter(32, module, name, status); result != WEIR_OK) return result;
  if (layout && !has_its_size(*layout, status)) return WEIR_ERROR_INVALID;
  return watch.real->module_get_kernel(module, name, layout, out, status);
}

weir_result get_kernel_info(weir_kernel kernel, weir_kernel_info* info, weir_status* status) {
  Watch& watch = Watch::get();
  if (const weir_result result = watch.enter(33, kernel, info, status); result != WEIR_OK) return result;
  if (!has_its_size(*info, status)) return WEIR_ERROR_INVALID;
  return watch.real->kernel_get_info(kernel, info, status);
}

weir_result allocate(weir_device device, const weir_memory_options* options, weir_allocation* out,
                     weir_status* status) {
  Watch& watch = Watch::get();
  if (const weir_result result = watch.enter(20, device, nullptr, status); result != WEIR_OK) return result;
  if (!has_its_size(*options, status)) return WEIR_ERROR_INVALID;
  if (!watch.take_memory("memory_allocate", options->size, status)) return WEIR_ERROR_OUT_OF_MEMORY;
  const weir_result result = watch.real->memory_allocate(device, options, out, status);
  watch.remember_memory(result == WEIR_OK ? *out : nullptr, options->size);
  return result;
}

weir_result allocate_async(weir_stream stream, const weir_memory_options* options, weir_allocation* out,
                           weir_status* status) {
  Watch& watch = Watch::get();
  if (const weir_result result = watch.enter(22, stream, nullptr, status); result != WEIR_OK) return result;
  if (!has_its_size(*options, status)) return WEIR_ERROR_INVALID;
  if (!watch.take_memory("memory_allocate_async", options->size, status)) return WEIR_ERROR_OUT_OF_MEMORY;
  const weir_result result = watch.real->memory_allocate_async(stream, options, out, status);
  watch.remember_memory(result == WEIR_OK ? *out : nullptr, options->size);
  return result;
}

weir_result memory_info(weir_allocation allocation, weir_memory_info* info, weir_status* status) {
  Watch& watch = Watch::get();
  if (const weir_result result = watch.enter(24, allocation, nullptr, status); result != WEIR_OK)
    return result;
  if (!has_its_size(*info, status)) return WEIR_ERROR_INVALID;
  const weir_result result = watch.real->memory_get_info(allocation, info, status);
  if (result == WEIR_OK && watch.hide_host_pointers && info->kind == WEIR_MEMORY_DEVICE)
    info->host_pointer = nullptr;
  return result;
}

weir_result get_memory(weir_device device, std::uint64_t* free, std::uint64_t* total, weir_status* status) {
  Watch& watch = Watch::get();
  if (const weir_result result = watch.enter(4, device, nullptr, status); result != WEIR_OK) return result;
  const weir_result result = watch.real->device_get_memory(device, free, total, status);
  if (const auto reported = watch.reported_free()) *free = *reported;
  return result;
}

weir_result free_memory(weir_allocation allocation, weir_status* status) {
  Watch& watch = Watch::get();
  if (const weir_result result = watch.enter(21, allocation, nullptr, status); result != WEIR_OK)
    return result;
  watch.forget_memory(allocation);
  return watch.real->memory_free(allocation, status);
}

weir_result free_memory_async(weir_stream stream, weir_allocation allocation, weir_status* status) {
  Watch& watch = Watch::get();
  if (const weir_result result = watch.enter(23, stream, allocation, status); result != WEIR_OK)
    return result;
  watch.forget_memory(allocation);
  return watch.real->memory_free_async(stream, allocation, status);
}

weir_result create_graph(weir_device device, std::uint32_t count, const weir_graph_node* const* nodes,
                         weir_graph* out, weir_status* status) {
  Watch& watch = Watch::get();
  if (const weir_result result = watch.enter(36, device, nullptr, status); result != WEIR_OK) return result;
  for (std::uint32_t i = 0; i < count; ++i)
    if (!has_its_size(*nodes[i], status)) return WEIR_ERROR_INVALID;
  watch.remember_graph(count, nodes);
  return watch.real->graph_create(device, count, nodes, out, status);
}

// The CPU driver has no native streams. With every driver, a "native handle" is therefore a weir_stream of
// the same driver. The wrapped stream is that same stream and is never destroyed.
weir_stream wrapped = nullptr;
weir_result wrap(weir_device device, void* native, weir_stream* out, weir_status* status) {
  if (const weir_result result = Watch::get().enter(12, device, native, status); result != WEIR_OK)
    return result;
  wrapped = static_cast<weir_stream>(native);
  *out = wrapped;
  return WEIR_OK;
}
weir_result get_native(weir_stream stream, void** out, weir_status* status) {
  if (const weir_result result = Watch::get().enter(13, stream, nullptr, status); result != WEIR_OK)
    return result;
  *out = stream;
  return WEIR_OK;
}
weir_result destroy_stream(weir_stream stream, weir_status* status) {
  Watch& watch = Watch::get();
  if (const weir_result result = watch.enter(6, stream, nullptr, status); result != WEIR_OK) return result;
  if (stream == wrapped) return WEIR_OK;
  return watch.real->stream_destroy(stream, status);
}

weir_driver_table make_table(const weir_driver_table& real) {
  weir_driver_table table = real;
#define WEIR_FORWARD(slot, name) forward<slot, &weir_driver_table::name>(table)
  WEIR_FORWARD(0, device_count);
  WEIR_FORWARD(2, device_close);
  WEIR_FORWARD(7, stream_flush);
  WEIR_FORWARD(8, stream_query);
  WEIR_FORWARD(9, stream_synchronize);
  WEIR_FORWARD(10, stream_wait_event);
  WEIR_FORWARD(11, stream_host_callback);
  WEIR_FORWARD(14, event_create);
  WEIR_FORWARD(15, event_destroy);
  WEIR_FORWARD(16, event_record);
  WEIR_FORWARD(17, event_query);
  WEIR_FORWARD(18, event_synchronize);
  WEIR_FORWARD(19, event_elapsed);
  WEIR_FORWARD(25, copy_to_device);
  WEIR_FORWARD(26, copy_to_host);
  WEIR_FORWARD(27, copy_on_device);
  WEIR_FORWARD(28, copy_peer);
  WEIR_FORWARD(29, fill);
  WEIR_FORWARD(31, module_unload);
  WEIR_FORWARD(34, kernel_launch);
  WEIR_FORWARD(35, get_extension);
  WEIR_FORWARD(37, graph_update);
  WEIR_FORWARD(38, graph_launch);
  WEIR_FORWARD(39, graph_destroy);
  WEIR_FORWARD(40, memory_wrap);
  WEIR_FORWARD(41, code_compile);
  WEIR_FORWARD(42, kernel_max_cooperative_blocks);
#undef WEIR_FORWARD
  table.device_open = open_device;
  table.stream_create = create_stream;
  table.module_load = load_module;
  table.module_get_kernel = get_kernel;
  table.kernel_get_info = get_kernel_info;
  table.device_get_info = get_info;
  table.memory_allocate = allocate;
  table.memory_allocate_async = allocate_async;
  table.memory_free = free_memory;
  table.memory_free_async = free_memory_async;
  table.memory_get_info = memory_info;
  table.device_get_memory = get_memory;
  table.graph_create = create_graph;
  table.stream_wrap = wrap;
  table.stream_get_native = get_native;
  table.stream_destroy = destroy_stream;
  return table;
}

}  // namespace

Device open_real() {
  return Device(&detail::device_state(*real_driver().driver, 0));
}

Watch& Watch::get() {
  static auto* watch = new Watch;
  return *watch;
}

Device Watch::open(std::uint64_t hidden, bool native_streams) {
  const GpuDriver& driver_of_device = *real_driver().driver;
  Watch& watch = get();
  watch.reset();
  // A thread that prepares kernels of an earlier test may still read it.
  if (!watch.real) watch.real = &driver_of_device.table();
  watch.hidden = hidden;
  watch.native_streams = native_streams;
  static const weir_driver_table table = make_table(driver_of_device.table());
  // Lives until the process ends, as the core's drivers do.
  const auto* driver = new GpuDriver(table, table.abi_version, table.abi_version);
  return Device(&detail::device_state(*driver, 0));
}

Device Watch::sibling(const Device& device) {
  return Device(&detail::device_state(device.state()->driver(), device.index() + 1));
}

void Watch::reset() {
  std::lock_guard lock(mutex_);
  counts_.clear();
  refused_.clear();
  failures_.clear();
  hooks_.clear();
  calls_.clear();
  graph_.clear();
  recording_ = lost_ = false;
  broken_ = nullptr;
  hide_host_pointers = false;
  limit_ = ~std::uint64_t{0};
  reported_free_.reset();
}

weir_result Watch::enter(std::size_t slot, const void* first, const void* second, weir_status* status) {
  const std::string_view name = slot_names[slot];
  std::function<void()> hook;
  weir_result result = WEIR_OK;
  bool lost = false;
  {
    std::lock_guard lock(mutex_);
    lost = lost_;
    const std::uint64_t count = ++counts_[std::string(name)];
    if (recording_) calls_.push_back({std::string(name), first, second});
    if (const auto found = hooks_.find(name); found != hooks_.end()) hook = found->second;
    if (const auto found = failures_.find(name); found != failures_.end()) {
      const Failure& failure = found->second;
      if (count >= failure.at && count < failure.at + failure.times) result = failure.result;
    }
    // Objects of a lost device can still be destroyed.
    const bool lets_go = name == "stream_destroy" || name == "event_destroy" || name == "memory_free" ||
                         name == "module_unload" || name == "graph_destroy";
    if (broken_ && (first == broken_ || second == broken_) && !lets_go) result = WEIR_ERROR_UNKNOWN;
    if (first == broken_ && lets_go) broken_ = nullptr;  // the next object may get its address
    if (lost_ && !lets_go) result = WEIR_ERROR_DEVICE_LOST;
    if (result != WEIR_OK) ++refused_[std::string(name)];
  }
  if (hook) hook();
  if (result != WEIR_OK && status) {
    status->code = result;
    status->vendor_code = 700;
    std::strcpy(status->vendor_name, "MADE_UP_ERROR");
    std::strcpy(status->message, lost ? "the device fell off the bus" : "made to fail");
  }
  return result;
}

std::uint64_t Watch::count(std::string_view slot) {
  std::lock_guard lock(mutex_);
  const auto found = counts_.find(slot);
  return found == counts_.end() ? 0 : found->second;
}

std::uint64_t Watch::refused(std::string_view slot) {
  std::lock_guard lock(mutex_);
  const auto found = refused_.find(slot);
  return found == refused_.end() ? 0 : found->second;
}

std::uint64_t Watch::total() {
  std::lock_guard lock(mutex_);
  std::uint64_t sum = 0;
  for (const auto& [name, count] : counts_) sum += count;
  return sum;
}

void Watch::start_recording() {
  std::lock_guard lock(mutex_);
  calls_.clear();
  recording_ = true;
}

std::vector<Call> Watch::recorded() {
  std::lock_guard lock(mutex_);
  return calls_;
}

void Watch::fail(std::string_view slot, std::uint64_t n, weir_result result, std::uint64_t times) {
  std::lock_guard lock(mutex_);
  const auto found = counts_.find(slot);
  failures_[std::string(slot)] = {(found == counts_.end() ? 0 : found->second) + n, times, result};
}

void Watch::fail_no_more() {
  std::lock_guard lock(mutex_);
  failures_.clear();
}

void Watch::lose_device() {
  std::lock_guard lock(mutex_);
  lost_ = true;
}

void Watch::break_stream(const void* stream) {
  std::lock_guard lock(mutex_);
  broken_ = stream;
}

void Watch::before(std::string_view slot, std::function<void()> hook) {
  std::lock_guard lock(mutex_);
  if (hook)
    hooks_[std::string(slot)] = std::move(hook);
  else
    hooks_.erase(std::string(slot));
}

void Watch::remember_graph(std::uint32_t count, const weir_graph_node* const* nodes) {
  std::lock_guard lock(mutex_);
  graph_.clear();
  graph_kinds_.clear();
  for (std::uint32_t i = 0; i < count; ++i) graph_kinds_.push_back(nodes[i]->kind);
  for (std::uint32_t i = 0; i < count; ++i)
    graph_.emplace_back(nodes[i]->dependencies, nodes[i]->dependencies + nodes[i]->dependency_count);
}

std::vector<std::vector<std::uint32_t>> Watch::last_graph() {
  std::lock_guard lock(mutex_);
  return graph_;
}

std::vector<std::uint32_t> Watch::last_graph_kinds() {
  std::lock_guard lock(mutex_);
  return graph_kinds_;
}

void Watch::limit_memory(std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  limit_ = bytes;
  used_ = 0;
  allocations_.clear();
}

void Watch::report_free(const std::uint64_t* bytes) {
  std::lock_guard lock(mutex_);
  reported_free_ = bytes ? std::optional(*bytes) : std::nullopt;
}

std::optional<std::uint64_t> Watch::reported_free() {
  std::lock_guard lock(mutex_);
  return reported_free_;
}

bool Watch::take_memory(std::string_view slot, std::uint64_t bytes, weir_status* status) {
  std::lock_guard lock(mutex_);
  if (bytes <= limit_ && used_ <= limit_ - bytes) {
    used_ += bytes;
    return true;
  }
  ++refused_[std::string(slot)];
  status->code = WEIR_ERROR_OUT_OF_MEMORY;
  std::strcpy(status->message, "the test's memory is used up");
  return false;
}

void Watch::remember_memory(weir_allocation allocation, std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (allocation)
    allocations_[allocation] = bytes;
  else
    used_ -= std::min(used_, bytes);
}

void Watch::forget_memory(weir_allocation allocation) {
  std::lock_guard lock(mutex_);
  const auto found = allocations_.find(allocation);
  if (found == allocations_.end()) return;
  used_ -= std::min(used_, found->second);
  allocations_.erase(found);
}

}  // namespace weir::test
