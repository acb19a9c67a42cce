// SPDX-License-Identifier: Apache-2.0
#include "fault.hpp"

#include <cinttypes>

namespace weir::fault {

using sdk::fail;

Fault::Fault(const sdk::LayerHost& host) : next(host.next) {
  const Options options = parse_options(host.options);
  if (options.delay || options.reorder)
    held_ = std::make_unique<Held>(next, options.delay.value_or(10), options.reorder);
  options_ = options;
}

void Fault::configure(std::string_view text) {
  Options options = parse_options(text);
  if ((options.delay || options.reorder) && !held_)
    fail(WEIR_ERROR_INVALID,
         "layer fault: delay and reorder cannot be set later; expected them at load time, in WEIR_LAYERS or "
         "weir::set_layers");
  const std::lock_guard lock(mutex_);
  options_ = std::move(options);
  calls_.clear();
  all_calls_ = failed_ = 0;
  lost_.clear();
  late_.clear();
}

std::uint64_t Fault::get(std::string_view what) const {
  const std::lock_guard lock(mutex_);
  if (what == "calls") return all_calls_;
  if (what == "failed") return failed_;
  if (what == "held") return held_ ? held_->count() : 0;
  if (what == "memory") {
    std::uint64_t sum = 0;
    for (const auto& [device, bytes] : used_) sum += bytes;
    return sum;
  }
  if (what.starts_with("calls.") && is_slot(what.substr(6))) {
    const auto found = calls_.find(what.substr(6));
    return found == calls_.end() ? 0 : found->second;
  }
  fail(WEIR_ERROR_NOT_FOUND,
       "layer fault has no counter '%.64s'; expected calls, calls.FUNCTION, failed, held, memory",
       std::string(what).c_str());
}

bool Fault::lets_go(std::string_view slot) noexcept {
  return slot == "device_close" || slot == "stream_destroy" || slot == "event_destroy" ||
         slot == "memory_free" || slot == "module_unload" || slot == "graph_destroy";
}

void Fault::forget(Handle gone) {
  owners_.remove(gone);
  const std::lock_guard lock(mutex_);
  late_.erase(gone);
}

weir_result Fault::judge(std::string_view slot, std::int64_t device, weir_stream stream,
                         weir_status* status) {
  weir_result result = WEIR_OK;
  bool skipped = false;
  std::string words;
  {
    const std::lock_guard lock(mutex_);
    ++all_calls_;
    std::uint64_t& calls = calls_.try_emplace(std::string(slot), 0).first->second;
    ++calls;
    // Hosts may flush streams of other callers and ignore the result, so a flush does not report the failure.
    const bool reports = stream && !lets_go(slot) && slot != "stream_flush";
    if (const auto found = late_.find(handle(stream)); reports && found != late_.end()) {
      result = found->second.result;
      words = sdk::format_text("work that was submitted to this stream was made to fail (result=%s:late)",
                               result_word(result));
      if (--found->second.times == 0) late_.erase(found);
    }
    for (Rule& rule : options_.rules) {
      if ((!rule.call.empty() && rule.call != slot) || (rule.device >= 0 && rule.device != device)) continue;
      if (rule.result == WEIR_OK && !may_be_lost(slot)) continue;
      const std::uint64_t seen = ++rule.seen;
      if (seen < rule.nth || seen - rule.nth >= rule.times) continue;
      ++failed_;
      if (rule.late && stream) {
        late_[handle(stream)] = {rule.result, rule.times};
        continue;
      }
      result = rule.result;
      skipped |= result == WEIR_OK;
      words = sdk::format_text("call %" PRIu64 " of %.*s was made to fail (result=%s)", seen,
                               static_cast<int>(slot.size()), slot.data(), result_word(result));
    }
    if (result == WEIR_ERROR_DEVICE_LOST) lost_.insert(device);
    if (lost_.contains(device) && !lets_go(slot)) {
      result = WEIR_ERROR_DEVICE_LOST;
      if (words.empty()) words = "the device was made to be lost; every later call fails";
    }
  }
  if (result != WEIR_OK)
    sdk::report(status, result, ("fault layer: " + words).c_str(), static_cast<std::int64_t>(result),
                "FAULT");
  else if (skipped)
    throw sdk::Failure{WEIR_OK, {}};  // ends the call with that result
  return result;
}

template <class Call>
weir_result Fault::take_memory(std::int64_t device, std::uint64_t bytes, weir_allocation* out,
                               weir_status* status, Call&& allocate) {
  // Made first: after the driver has allocated, nothing may fail.
  std::map<weir_allocation, MemoryBlock> block;
  block[nullptr] = {device, bytes};
  {
    const std::lock_guard lock(mutex_);
    std::uint64_t& used = used_[device];
    if (options_.memory && (bytes > *options_.memory || used > *options_.memory - bytes)) {
      ++failed_;
      sdk::report(status, WEIR_ERROR_OUT_OF_MEMORY,
                  sdk::format_text("fault layer: no room for %" PRIu64 " bytes: %" PRIu64
                                   " of the limit of %" PRIu64 " bytes are in use",
                                   bytes, used, *options_.memory)
                      .c_str(),
                  WEIR_ERROR_OUT_OF_MEMORY, "FAULT");
      return WEIR_ERROR_OUT_OF_MEMORY;
    }
    used += bytes;
  }
  const weir_result result = allocate();
  const std::lock_guard lock(mutex_);
  if (result != WEIR_OK) {
    used_[device] -= bytes;
    return result;
  }
  auto node = block.extract(block.begin());
  node.key() = *out;
  blocks_.erase(*out);
  blocks_.insert(std::move(node));
  return result;
}

void Fault::give_memory(weir_allocation allocation) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(allocation);
  if (found == blocks_.end()) return;
  used_[found->second.device] -= found->second.bytes;
  blocks_.erase(found);
}

template <class T, class Undo>
weir_result Fault::made(weir_result result, T* out, Handle owner, const Undo& undo) {
  if (result != WEIR_OK) return result;
  record_or_undo([&] { owners_.add(handle(*out), owner); }, [&] { undo(*out); });
  return result;
}

weir_result Fault::device_open(std::uint32_t index, weir_device* out, weir_status* status) {
  const weir_result result = next.device_open(index, out, status);
  if (result != WEIR_OK) return result;
  record_or_undo([&] { owners_.open(*out, index); }, [&] { next.device_close(*out, nullptr); });
  return result;
}
weir_result Fault::stream_create(weir_device device, const weir_stream_options* options, weir_stream* out,
                                 weir_status* status) {
  return made(next.stream_create(device, options, out, status), out, handle(device),
              [&](weir_stream stream) { next.stream_destroy(stream, nullptr); });
}
weir_result Fault::stream_wrap(weir_device device, void* native, weir_stream* out, weir_status* status) {
  return made(next.stream_wrap(device, native, out, status), out, handle(device),
              [&](weir_stream stream) { next.stream_destroy(stream, nullptr); });
}
weir_result Fault::event_create(weir_device device, std::uint32_t flags, weir_event* out,
                                weir_status* status) {
  return made(
      held_ ? held_->event_create(device, flags, out, status) : next.event_create(device, flags, out, status),
      out, handle(device), [&](weir_event event) { event_destroy(event, nullptr); });
}
weir_result Fault::module_load(weir_device device, const weir_code_object* object, weir_module* out,
                               weir_status* status) {
  return made(next.module_load(device, object, out, status), out, handle(device),
              [&](weir_module module) { next.module_unload(module, nullptr); });
}
weir_result Fault::module_get_kernel(weir_module module, const char* kernel, const weir_kernel_layout* layout,
                                     weir_kernel* out, weir_status* status) {
  return made(next.module_get_kernel(module, kernel, layout, out, status), out, handle(module),
              [](weir_kernel) {});
}
weir_result Fault::graph_create(weir_device device, std::uint32_t count, const weir_graph_node* const* nodes,
                                weir_graph* out, weir_status* status) {
  return made(next.graph_create(device, count, nodes, out, status), out, handle(device),
              [&](weir_graph graph) { next.graph_destroy(graph, nullptr); });
}

weir_result Fault::memory_allocate(weir_device device, const weir_memory_options* options,
                                   weir_allocation* out, weir_status* status) {
  return made(take_memory(owners_.device_of(handle(device)), options ? options->size : 0, out, status,
                          [&] { return next.memory_allocate(device, options, out, status); }),
              out, handle(device), [&](weir_allocation memory) { memory_free(memory, nullptr); });
}
weir_result Fault::memory_allocate_async(weir_stream stream, const weir_memory_options* options,
                                         weir_allocation* out, weir_status* status) {
  return made(take_memory(owners_.device_of(handle(stream)), options ? options->size : 0, out, status,
                          [&] {
                            return held_ ? held_->memory_allocate_async(stream, options, out, status)
                                         : next.memory_allocate_async(stream, options, out, status);
                          }),
              out, handle(stream),
              [&](weir_allocation memory) { memory_free_async(stream, memory, nullptr); });
}
weir_result Fault::memory_wrap(weir_device device, const weir_external_memory* memory, weir_allocation* out,
                               weir_status* status) {
  return made(next.memory_wrap(device, memory, out, status), out, handle(device),
              [&](weir_allocation wrapped) { next.memory_free(wrapped, nullptr); });
}
weir_result Fault::memory_free(weir_allocation allocation, weir_status* status) {
  if (held_) held_->start_all();
  give_memory(allocation);  // first, because the driver may return the same handle again at once
  return next.memory_free(allocation, status);
}
weir_result Fault::memory_free_async(weir_stream stream, weir_allocation allocation, weir_status* status) {
  give_memory(allocation);
  owners_.remove(handle(allocation));
  return held_ ? held_->memory_free_async(stream, allocation, status)
               : next.memory_free_async(stream, allocation, status);
}

weir_result Fault::device_close(weir_device device, weir_status* status) {
  if (held_) held_->start_all();
  return next.device_close(device, status);
}
weir_result Fault::module_unload(weir_module module, weir_status* status) {
  if (held_) held_->start_all();
  return next.module_unload(module, status);
}
weir_result Fault::graph_update(weir_graph graph, std::uint32_t index, const weir_graph_node* node,
                                weir_status* status) {
  if (held_) held_->start_all();  // runs that were submitted keep their parameters
  return next.graph_update(graph, index, node, status);
}
weir_result Fault::graph_destroy(weir_graph graph, weir_status* status) {
  if (held_) held_->start_all();
  return next.graph_destroy(graph, status);
}

// The other functions differ only in the object that performs them.
#define WEIR_FAULT_HELD(slot, parameters, arguments)            \
  weir_result Fault::slot parameters {                          \
    return held_ ? held_->slot arguments : next.slot arguments; \
  }
WEIR_FAULT_HELD(stream_destroy, (weir_stream s, weir_status* e), (s, e))
WEIR_FAULT_HELD(stream_flush, (weir_stream s, weir_status* e), (s, e))
WEIR_FAULT_HELD(stream_query, (weir_stream s, weir_status* e), (s, e))
WEIR_FAULT_HELD(stream_synchronize, (weir_stream s, weir_status* e), (s, e))
WEIR_FAULT_HELD(stream_wait_event, (weir_stream s, weir_event v, weir_status* e), (s, v, e))
WEIR_FAULT_HELD(stream_host_callback, (weir_stream s, weir_host_callback c, void* u, weir_status* e),
                (s, c, u, e))
WEIR_FAULT_HELD(event_destroy, (weir_event v, weir_status* e), (v, e))
WEIR_FAULT_HELD(event_record, (weir_event v, weir_stream s, weir_status* e), (v, s, e))
WEIR_FAULT_HELD(event_query, (weir_event v, weir_status* e), (v, e))
WEIR_FAULT_HELD(event_synchronize, (weir_event v, weir_status* e), (v, e))
WEIR_FAULT_HELD(event_elapsed, (weir_event a, weir_event b, double* out, weir_status* e), (a, b, out, e))
WEIR_FAULT_HELD(copy_to_device,
                (weir_stream s, weir_allocation to, std::uint64_t at, const void* from, std::uint64_t n,
                 weir_status* e),
                (s, to, at, from, n, e))
WEIR_FAULT_HELD(copy_to_host,
                (weir_stream s, void* to, weir_allocation from, std::uint64_t at, std::uint64_t n,
                 weir_status* e),
                (s, to, from, at, n, e))
WEIR_FAULT_HELD(copy_on_device,
                (weir_stream s, weir_allocation to, std::uint64_t to_at, weir_allocation from,
                 std::uint64_t from_at, std::uint64_t n, weir_status* e),
                (s, to, to_at, from, from_at, n, e))
WEIR_FAULT_HELD(copy_peer,
                (weir_stream s, weir_allocation to, std::uint64_t to_at, weir_allocation from,
                 std::uint64_t from_at, std::uint64_t n, weir_status* e),
                (s, to, to_at, from, from_at, n, e))
WEIR_FAULT_HELD(fill,
                (weir_stream s, weir_allocation to, std::uint64_t at, std::uint64_t n, const void* pattern,
                 std::uint32_t pattern_size, weir_status* e),
                (s, to, at, n, pattern, pattern_size, e))
WEIR_FAULT_HELD(kernel_launch, (weir_stream s, const weir_launch* l, weir_status* e), (s, l, e))
WEIR_FAULT_HELD(graph_launch, (weir_graph g, weir_stream s, weir_status* e), (g, s, e))
#undef WEIR_FAULT_HELD

}  // namespace weir::fault

using weir::fault::Fault;
WEIR_LAYER(Fault)
