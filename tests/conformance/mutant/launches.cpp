// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "mutant.hpp"

namespace mutant {
namespace {

using Launch = weir_launch;
using Object = weir_code_object;

/// Launches with a copy of the arguments that `change` has modified.
template <auto change>
weir_result with_arguments(Stream s, const Launch* launch, Status* e) {
  std::string bytes(static_cast<const char*>(launch->arguments), launch->argument_bytes);
  change(bytes);
  Launch spoilt = *launch;
  spoilt.arguments = bytes.data();
  return real().kernel_launch(s, &spoilt, e);
}

void cut(std::string& bytes) {
  for (std::size_t i = 256; i < bytes.size(); ++i) bytes[i] = 0;
}

void lose_small(std::string& bytes) {
  // The value of one byte in the block of "sizes", which is 48 bytes long.
  if (bytes.size() == 48) bytes[34] = 0;
}

void swap_arrays(std::string& bytes) {
  if (bytes.size() == 32) std::swap_ranges(bytes.begin(), bytes.begin() + 8, bytes.begin() + 8);
}

void lose_offset(std::string& bytes) {
  std::uint64_t address = 0;
  std::memcpy(&address, bytes.data(), 8);
  address &= ~std::uint64_t{127};
  if (bytes.size() == 32) std::memcpy(bytes.data(), &address, 8);
}

}  // namespace

std::span<const Mutant> launch_mutants() {
  static const Mutant mutants[] = {
      {"module-format-message-empty", "a refused format is named with those that are loaded",
       [](Table& t) {
         t.module_load = [](weir_device d, const Object* object, weir_module* out, Status* e) {
           const weir_result result = real().module_load(d, object, out, e);
           return result == WEIR_ERROR_CODE_OBJECT ? refuse(e, WEIR_ERROR_CODE_OBJECT, "no") : result;
         };
       }},
      {"module-garbage-wrong-code", "a refused code object returns WEIR_ERROR_CODE_OBJECT",
       [](Table& t) {
         t.module_load = [](weir_device d, const Object* object, weir_module* out, Status* e) {
           const weir_result result = real().module_load(d, object, out, e);
           return result == WEIR_ERROR_CODE_OBJECT
                      ? refuse(e, WEIR_ERROR_UNKNOWN, e ? std::string(e->message).c_str() : "")
                      : result;
         };
       }},
      {"module-failure-touches-output", "a failure does not change its output",
       [](Table& t) {
         t.module_load = [](weir_device d, const Object* object, weir_module* out, Status* e) {
           const weir_result result = real().module_load(d, object, out, e);
           if (result != WEIR_OK) *out = reinterpret_cast<weir_module>(out);
           return result;
         };
       }},
      {"module-needs-a-name", "the name may be null",
       [](Table& t) {
         t.module_load = [](weir_device d, const Object* object, weir_module* out, Status* e) {
           return object->name ? real().module_load(d, object, out, e)
                               : refuse(e, WEIR_ERROR_INVALID, "name is null");
         };
       }},
      {"module-loaded-once-only", "modules of one code object are independent",
       [](Table& t) {
         static std::atomic<weir_module> last{nullptr};
         static std::string bytes;
         t.module_load = [](weir_device d, const Object* object, weir_module* out, Status* e) {
           std::string given(static_cast<const char*>(object->data), object->size);
           if (last.load() && given == bytes) {
             *out = last;
             return weir_result{WEIR_OK};
           }
           const weir_result result = real().module_load(d, object, out, e);
           if (result == WEIR_OK) last = *out, bytes = given;
           return result;
         };
         t.module_unload = [](weir_module module, Status* e) {
           if (module == last) last = nullptr;
           return real().module_unload(module, e);
         };
       }},
      {"module-missing-kernel-wrong-code", "a missing kernel is WEIR_ERROR_NOT_FOUND",
       [](Table& t) {
         t.module_get_kernel = [](weir_module m, const char* name, const weir_kernel_layout* layout,
                                  weir_kernel* out, Status* e) {
           const weir_result result = real().module_get_kernel(m, name, layout, out, e);
           return result == WEIR_ERROR_NOT_FOUND
                      ? refuse(e, WEIR_ERROR_INVALID, e ? std::string(e->message).c_str() : "")
                      : result;
         };
       }},
      {"module-missing-kernel-unnamed", "a missing kernel is named",
       [](Table& t) {
         t.module_get_kernel = [](weir_module m, const char* name, const weir_kernel_layout* layout,
                                  weir_kernel* out, Status* e) {
           const weir_result result = real().module_get_kernel(m, name, layout, out, e);
           return result == WEIR_ERROR_NOT_FOUND ? refuse(e, WEIR_ERROR_NOT_FOUND, "there is no such kernel")
                                                 : result;
         };
       }},
      {"module-object-read-late", "the code object is consumed before module_load returns",
       [](Table& t) {
         static Object kept;
         static weir_device on;
         t.module_load = [](weir_device d, const Object* object, weir_module* out, Status* e) {
           kept = *object;
           on = d;
           return real().module_load(d, object, out, e);
         };
         t.module_get_kernel = [](weir_module m, const char* name, const weir_kernel_layout* layout,
                                  weir_kernel* out, Status* e) {
           weir_module again = nullptr;  // as in a driver that compiles at look-up
           if (const weir_result result = real().module_load(on, &kept, &again, e); result != WEIR_OK)
             return result;
           real().module_unload(again, nullptr);
           return real().module_get_kernel(m, name, layout, out, e);
         };
       }},
      {"module-second-look-up-refused", "a kernel can be looked up twice",
       [](Table& t) {
         t.module_get_kernel = [](weir_module m, const char* name, const weir_kernel_layout* layout,
                                  weir_kernel* out, Status* e) {
           static std::atomic<weir_module> last{nullptr};
           if (last.exchange(m) == m && std::string_view(name) != "no_such_kernel")
             return refuse(e, WEIR_ERROR_INVALID, "the kernel was looked up already");
           return real().module_get_kernel(m, name, layout, out, e);
         };
       }},
      {"kernel-info-past-its-size", "the caller's struct_size is respected",
       [](Table& t) {
         t.kernel_get_info = [](weir_kernel kernel, weir_kernel_info* info, Status* e) {
           info->struct_size = sizeof *info;
           return real().kernel_get_info(kernel, info, e);
         };
       }},
      {"kernel-info-past-the-device", "a kernel's limits are within the device's",
       [](Table& t) {
         t.kernel_get_info = [](weir_kernel kernel, weir_kernel_info* info, Status* e) {
           const weir_result result = real().kernel_get_info(kernel, info, e);
           if (info->struct_size >= 8) info->max_block_threads = ~0u;
           return result;
         };
       }},
      {"kernel-info-counts-launches", "kernel info is the same at every call",
       [](Table& t) {
         static std::atomic<std::uint32_t> launches{0};
         t.kernel_launch = [](Stream s, const Launch* l, Status* e) {
           ++launches;
           return real().kernel_launch(s, l, e);
         };
         t.kernel_get_info = [](weir_kernel kernel, weir_kernel_info* info, Status* e) {
           const weir_result result = real().kernel_get_info(kernel, info, e);
           if (info->struct_size >= sizeof *info) info->local_bytes = launches;
           return result;
         };
       }},
      {"launch-null-address-refused", "an address of 0 reaches the kernel",
       [](Table& t) {
         t.kernel_launch = [](Stream s, const Launch* l, Status* e) {
           std::uint64_t second = 1;  // the second array of "scale_add", whose block is 32 bytes long
           if (l->argument_bytes == 32) std::memcpy(&second, static_cast<const char*>(l->arguments) + 8, 8);
           return second == 0 ? refuse(e, WEIR_ERROR_INVALID, "an array is null")
                              : real().kernel_launch(s, l, e);
         };
       }},
      {"launch-empty-grid-accepted", "a grid dimension of 0 is invalid",
       [](Table& t) {
         t.kernel_launch = [](Stream s, const Launch* l, Status* e) {
           return l->grid[1] == 0 ? weir_result{WEIR_OK} : real().kernel_launch(s, l, e);
         };
       }},
      {"launch-empty-block-accepted", "a block dimension of 0 is invalid",
       [](Table& t) {
         t.kernel_launch = [](Stream s, const Launch* l, Status* e) {
           return l->block[2] == 0 ? weir_result{WEIR_OK} : real().kernel_launch(s, l, e);
         };
       }},
      {"launch-grid-limit-ignored", "a grid past the limit is invalid",
       [](Table& t) {
         t.kernel_launch = [](Stream s, const Launch* l, Status* e) {
           weir_result result = real().kernel_launch(s, l, e);
           return result == WEIR_ERROR_INVALID && l->grid[2] > 1 ? weir_result{WEIR_OK} : result;
         };
       }},
      {"launch-block-limit-ignored", "a block past the limit is invalid",
       [](Table& t) {
         t.kernel_launch = [](Stream s, const Launch* l, Status* e) {
           weir_result result = real().kernel_launch(s, l, e);
           return result == WEIR_ERROR_INVALID && l->block[1] > 1 && l->block[0] == 1 ? weir_result{WEIR_OK}
                                                                                      : result;
         };
       }},
      {"launch-block-threads-ignored", "a block of too many threads is invalid",
       [](Table& t) {
         t.kernel_launch = [](Stream s, const Launch* l, Status* e) {
           weir_result result = real().kernel_launch(s, l, e);
           return result == WEIR_ERROR_INVALID && l->block[0] > 1 && l->block[1] > 1 ? weir_result{WEIR_OK}
                                                                                     : result;
         };
       }},
      {"launch-empty-grid-wrong-code", "a bad grid returns WEIR_ERROR_INVALID",
       [](Table& t) {
         t.kernel_launch = [](Stream s, const Launch* l, Status* e) {
           return l->grid[0] == 0 ? refuse(e, WEIR_ERROR_LAUNCH, "empty grid")
                                  : real().kernel_launch(s, l, e);
         };
       }},
      {"launch-runs-twice", "a launch runs once",
       [](Table& t) {
         t.kernel_launch = [](Stream s, const Launch* l, Status* e) {
           const weir_result result = real().kernel_launch(s, l, e);
           return result == WEIR_OK ? real().kernel_launch(s, l, e) : result;
         };
       }},
      {"launch-dropped-rarely", "every launch runs",
       [](Table& t) {
         t.kernel_launch = [](Stream s, const Launch* l, Status* e) {
           static std::atomic<int> count{0};
           return ++count % 50 == 0 ? weir_result{WEIR_OK} : real().kernel_launch(s, l, e);
         };
       }},
      {"launch-on-another-stream", "a launch runs in its stream's order",
       [](Table& t) {
         t.kernel_launch = [](Stream, const Launch* l, Status* e) {
           return real().kernel_launch(hidden_stream(), l, e);
         };
       }},
      {"launch-waits", "a launch returns without waiting",
       [](Table& t) {
         t.kernel_launch = [](Stream s, const Launch* l, Status* e) {
           const weir_result result = real().kernel_launch(s, l, e);
           if (result == WEIR_OK) real().stream_synchronize(s, nullptr);
           return result;
         };
       }},
      {"launches-one-at-a-time", "kernels of different streams run at once",
       [](Table& t) {
         t.kernel_launch = [](Stream s, const Launch* l, Status* e) {
           static std::atomic<weir_event> last{nullptr};
           weir_event mark = nullptr;
           if (const weir_event before = last) real().stream_wait_event(s, before, nullptr);
           const weir_result result = real().kernel_launch(s, l, e);
           real().event_create(opened_device(), WEIR_EVENT_PLAIN, &mark, nullptr);
           real().event_record(mark, s, nullptr);
           last = mark;
           return result;
         };
       }},
      {"launch-flags-unchecked", "unknown launch flags are refused",
       [](Table& t) {
         t.kernel_launch = [](Stream s, const Launch* l, Status* e) {
           Launch known = *l;
           known.flags &= WEIR_LAUNCH_COOPERATIVE;
           return real().kernel_launch(s, &known, e);
         };
       }},
      {"launch-cooperative-flag-ignored", "cooperative launches without the capability are unsupported",
       [](Table& t) {
         t.kernel_launch = [](Stream s, const Launch* l, Status* e) {
           Launch ordinary = *l;
           ordinary.flags &= ~std::uint32_t{WEIR_LAUNCH_COOPERATIVE};
           return real().kernel_launch(s, &ordinary, e);
         };
       }},
      {"launch-flags-past-the-size", "no flags are read past struct_size",
       [](Table& t) {
         t.kernel_launch = [](Stream s, const Launch* l, Status* e) {
           Launch whole = *l;
           whole.struct_size = sizeof whole;
           return real().kernel_launch(s, &whole, e);
         };
       }},
      {"launch-large-arguments-cut", "large argument blocks arrive whole",
       [](Table& t) { t.kernel_launch = with_arguments<cut>; }},
      {"launch-small-values-lost", "values of every size arrive",
       [](Table& t) { t.kernel_launch = with_arguments<lose_small>; }},
      {"launch-arguments-of-the-first", "each launch has its own arguments",
       [](Table& t) {
         t.kernel_launch = [](Stream s, const Launch* l, Status* e) {
           static weir_kernel kernel = nullptr;
           static std::string first;
           if (l->kernel != kernel) {
             kernel = l->kernel;
             first.assign(static_cast<const char*>(l->arguments), l->argument_bytes);
           }
           Launch spoilt = *l;
           if (first.size() == l->argument_bytes) spoilt.arguments = first.data();
           return real().kernel_launch(s, &spoilt, e);
         };
       }},
      {"launch-first-two-arrays-swapped", "each array argument is passed separately",
       [](Table& t) { t.kernel_launch = with_arguments<swap_arrays>; }},
      {"launch-array-offset-lost", "an array begins at its address",
       [](Table& t) { t.kernel_launch = with_arguments<lose_offset>; }},
  };
  return mutants;
}

}  // namespace mutant
