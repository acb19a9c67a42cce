// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <mutex>
#include <string>

#include "mutant.hpp"

namespace mutant {
namespace {

std::uint64_t address_of(Memory memory) {
  weir_memory_info info{};
  info.struct_size = sizeof info;
  return real().memory_get_info(memory, &info, nullptr) == WEIR_OK ? info.device_address : 0;
}

bool outside(Memory memory, Size offset, Size size) {
  const Size all = size_of(memory);
  return offset > all || size > all - offset;
}

}  // namespace

std::span<const Mutant> copy_mutants() {
  static const Mutant mutants[] = {
      {"copy-to-device-byte-short", "copies are whole",
       [](Table& t) {
         t.copy_to_device = [](Stream s, Memory m, Size at, const void* from, Size n, Status* e) {
           return real().copy_to_device(s, m, at, from, n > 1 && !outside(m, at, n) ? n - 1 : n, e);
         };
       }},
      {"copy-to-host-byte-short", "copies are whole",
       [](Table& t) {
         t.copy_to_host = [](Stream s, void* to, Memory m, Size at, Size n, Status* e) {
           return real().copy_to_host(s, to, m, at, n > 1 && !outside(m, at, n) ? n - 1 : n, e);
         };
       }},
      {"copy-on-device-byte-short", "copies are whole",
       [](Table& t) {
         t.copy_on_device = [](Stream s, Memory d, Size to, Memory m, Size from, Size n, Status* e) {
           return real().copy_on_device(s, d, to, m, from,
                                        n > 1 && !outside(d, to, n) && !outside(m, from, n) ? n - 1 : n, e);
         };
       }},
      {"copy-large-cut", "large copies are whole",
       [](Table& t) {
         t.copy_on_device = [](Stream s, Memory d, Size to, Memory m, Size from, Size n, Status* e) {
           return real().copy_on_device(s, d, to, m, from, n > (40u << 20) ? (40u << 20) : n, e);
         };
       }},
      {"copy-to-device-offset-ignored", "copies begin at their offset",
       [](Table& t) {
         t.copy_to_device = [](Stream s, Memory m, Size at, const void* from, Size n, Status* e) {
           return real().copy_to_device(s, m, outside(m, at, n) ? at : 0, from, n, e);
         };
       }},
      {"copy-to-host-offset-ignored", "copies begin at their offset",
       [](Table& t) {
         t.copy_to_host = [](Stream s, void* to, Memory m, Size at, Size n, Status* e) {
           return real().copy_to_host(s, to, m, outside(m, at, n) ? at : 0, n, e);
         };
       }},
      {"copy-to-device-unchecked", "ranges are inside their allocation",
       [](Table& t) {
         t.copy_to_device = [](Stream s, Memory m, Size at, const void* from, Size n, Status* e) {
           return outside(m, at, n) ? weir_result{WEIR_OK} : real().copy_to_device(s, m, at, from, n, e);
         };
       }},
      {"copy-to-device-cut-to-fit", "a range past the end changes nothing",
       [](Table& t) {
         t.copy_to_device = [](Stream s, Memory m, Size at, const void* from, Size n, Status* e) {
           const Size all = size_of(m);
           const weir_result result = real().copy_to_device(s, m, at, from, n, e);
           if (result == WEIR_ERROR_INVALID && at < all)
             real().copy_to_device(s, m, at, from, all - at < 100 ? all - at : 100, nullptr);
           return result;
         };
       }},
      {"copy-wrapping-range-accepted", "offset + size may not wrap",
       [](Table& t) {
         t.copy_to_device = [](Stream s, Memory m, Size at, const void* from, Size n, Status* e) {
           return at + n < at ? weir_result{WEIR_OK} : real().copy_to_device(s, m, at, from, n, e);
         };
       }},
      {"copy-to-host-unchecked", "ranges are inside their allocation",
       [](Table& t) {
         t.copy_to_host = [](Stream s, void* to, Memory m, Size at, Size n, Status* e) {
           return outside(m, at, n) ? weir_result{WEIR_OK} : real().copy_to_host(s, to, m, at, n, e);
         };
       }},
      {"copy-destination-unchecked", "ranges are inside their allocation",
       [](Table& t) {
         t.copy_on_device = [](Stream s, Memory d, Size to, Memory m, Size from, Size n, Status* e) {
           return outside(d, to, n) ? weir_result{WEIR_OK} : real().copy_on_device(s, d, to, m, from, n, e);
         };
       }},
      {"copy-source-unchecked", "ranges are inside their allocation",
       [](Table& t) {
         t.copy_on_device = [](Stream s, Memory d, Size to, Memory m, Size from, Size n, Status* e) {
           return outside(m, from, n) ? weir_result{WEIR_OK} : real().copy_on_device(s, d, to, m, from, n, e);
         };
       }},
      {"copy-overlap-accepted", "overlapping ranges are invalid",
       [](Table& t) {
         t.copy_on_device = [](Stream s, Memory d, Size to, Memory m, Size from, Size n, Status* e) {
           const bool overlap = d == m && to < from + n && from < to + n;
           return overlap ? weir_result{WEIR_OK} : real().copy_on_device(s, d, to, m, from, n, e);
         };
       }},
      {"copy-touching-ranges-refused", "ranges that touch do not overlap",
       [](Table& t) {
         t.copy_on_device = [](Stream s, Memory d, Size to, Memory m, Size from, Size n, Status* e) {
           if (d == m && n && to <= from + n && from <= to + n)
             return refuse(e, WEIR_ERROR_INVALID, "the ranges overlap");
           return real().copy_on_device(s, d, to, m, from, n, e);
         };
       }},
      {"copy-of-nothing-refused", "a size of 0 does nothing",
       [](Table& t) {
         t.copy_to_host = [](Stream s, void* to, Memory m, Size at, Size n, Status* e) {
           return n == 0 ? refuse(e, WEIR_ERROR_INVALID, "size is 0")
                         : real().copy_to_host(s, to, m, at, n, e);
         };
       }},
      {"copy-wrong-code", "bad ranges return WEIR_ERROR_INVALID",
       [](Table& t) {
         t.copy_to_host = [](Stream s, void* to, Memory m, Size at, Size n, Status* e) {
           return outside(m, at, n) ? refuse(e, WEIR_ERROR_UNKNOWN, "bad range")
                                    : real().copy_to_host(s, to, m, at, n, e);
         };
       }},
      {"copy-refusal-without-words", "a failure has a message",
       [](Table& t) {
         t.copy_to_device = [](Stream s, Memory m, Size at, const void* from, Size n, Status* e) {
           return outside(m, at, n) ? refuse(e, WEIR_ERROR_INVALID, "")
                                    : real().copy_to_device(s, m, at, from, n, e);
         };
       }},
      {"fill-pattern-cut", "a pattern of 16 bytes is repeated whole",
       [](Table& t) {
         t.fill = [](Stream s, Memory m, Size at, Size n, const void* pattern, std::uint32_t width,
                     Status* e) { return real().fill(s, m, at, n, pattern, width == 16 ? 8 : width, e); };
       }},
      {"fill-of-two-bytes-as-one", "a pattern of 2 bytes is repeated whole",
       [](Table& t) {
         t.fill = [](Stream s, Memory m, Size at, Size n, const void* pattern, std::uint32_t width,
                     Status* e) {
           return real().fill(s, m, at, n, pattern, width == 2 && at % 2 == 0 && n % 2 == 0 ? 1 : width, e);
         };
       }},
      {"fill-one-pattern-short", "a fill reaches the end of its range",
       [](Table& t) {
         t.fill = [](Stream s, Memory m, Size at, Size n, const void* pattern, std::uint32_t width,
                     Status* e) {
           return real().fill(s, m, at, n > width && !outside(m, at, n) ? n - width : n, pattern, width, e);
         };
       }},
      {"fill-large-cut", "large fills are whole",
       [](Table& t) {
         t.fill = [](Stream s, Memory m, Size at, Size n, const void* pattern, std::uint32_t width,
                     Status* e) {
           return real().fill(s, m, at, n > (64u << 20) ? (64u << 20) : n, pattern, width, e);
         };
       }},
      {"fill-offset-ignored", "a fill begins at its offset",
       [](Table& t) {
         t.fill = [](Stream s, Memory m, Size at, Size n, const void* pattern, std::uint32_t width,
                     Status* e) {
           return real().fill(s, m, outside(m, at, n) ? at : 0, n, pattern, width, e);
         };
       }},
      {"fill-odd-widths-accepted", "a pattern has 1, 2, 4, 8 or 16 bytes",
       [](Table& t) {
         t.fill = [](Stream s, Memory m, Size at, Size n, const void* pattern, std::uint32_t width,
                     Status* e) {
           return width == 3 || width == 12 ? weir_result{WEIR_OK}
                                            : real().fill(s, m, at, n, pattern, width, e);
         };
       }},
      {"fill-undivided-ranges-accepted", "the pattern divides offset and size",
       [](Table& t) {
         t.fill = [](Stream s, Memory m, Size at, Size n, const void* pattern, std::uint32_t width,
                     Status* e) {
           const bool undivided = (width == 4 || width == 8) && (at % width || n % width);
           return undivided ? weir_result{WEIR_OK} : real().fill(s, m, at, n, pattern, width, e);
         };
       }},
      {"fill-unchecked", "ranges are inside their allocation",
       [](Table& t) {
         t.fill = [](Stream s, Memory m, Size at, Size n, const void* pattern, std::uint32_t width,
                     Status* e) {
           return outside(m, at, n) ? weir_result{WEIR_OK} : real().fill(s, m, at, n, pattern, width, e);
         };
       }},
      {"fill-of-nothing-refused", "a size of 0 does nothing",
       [](Table& t) {
         t.fill = [](Stream s, Memory m, Size at, Size n, const void* pattern, std::uint32_t width,
                     Status* e) {
           return n == 0 ? refuse(e, WEIR_ERROR_INVALID, "size is 0")
                         : real().fill(s, m, at, n, pattern, width, e);
         };
       }},
      // Freed memory keeps its entry, and writes of the host are not noticed.
      {"fill-skipped-where-it-was-the-last", "memory holds what was written to it last",
       [](Table& t) {
         struct Last {
           Size at, size;
           std::string pattern;
           bool operator==(const Last&) const = default;
         };
         static std::mutex mutex;
         static std::map<std::uint64_t, Last> last;  // by address
         static const auto forget = [](Memory m) {
           const std::lock_guard lock(mutex);
           last.erase(address_of(m));
         };
         static const auto forget_all = [] {
           const std::lock_guard lock(mutex);
           last.clear();
         };
         t.fill = [](Stream s, Memory m, Size at, Size n, const void* pattern, std::uint32_t width,
                     Status* e) {
           const bool whole = n && n == size_of(m);
           if (whole && width <= 16) {
             Last now{at, n, std::string(static_cast<const char*>(pattern), width)};
             const std::lock_guard lock(mutex);
             Last& before = last[address_of(m)];
             if (before == now) return weir_result{WEIR_OK};
             before = std::move(now);
           } else {
             forget(m);
           }
           return real().fill(s, m, at, n, pattern, width, e);
         };
         t.copy_to_device = [](Stream s, Memory to, Size at, const void* from, Size n, Status* e) {
           forget(to);
           return real().copy_to_device(s, to, at, from, n, e);
         };
         t.copy_on_device = [](Stream s, Memory to, Size at, Memory from, Size from_at, Size n, Status* e) {
           forget(to);
           return real().copy_on_device(s, to, at, from, from_at, n, e);
         };
         t.copy_peer = [](Stream s, Memory to, Size at, Memory from, Size from_at, Size n, Status* e) {
           forget(to);
           return real().copy_peer(s, to, at, from, from_at, n, e);
         };
         t.kernel_launch = [](Stream s, const weir_launch* launch, Status* e) {
           forget_all();
           return real().kernel_launch(s, launch, e);
         };
         t.graph_launch = [](weir_graph graph, Stream s, Status* e) {
           forget_all();
           return real().graph_launch(graph, s, e);
         };
       }},
      {"fill-pattern-read-late", "the pattern is read before fill returns",
       [](Table& t) {
         t.fill = [](Stream s, Memory m, Size at, Size n, const void* pattern, std::uint32_t width,
                     Status* e) {
           const weir_result result = real().fill(s, m, at, n, pattern, width, e);
           if (result != WEIR_OK || width != 8 || n == 0) return result;
           struct Late {
             unsigned char* to;
             const void* pattern;
           };
           weir_memory_info info{};
           info.struct_size = sizeof info;
           real().memory_get_info(m, &info, nullptr);
           auto* late = new Late{static_cast<unsigned char*>(info.host_pointer) + at, pattern};
           return real().stream_host_callback(
               s,
               [](void* user) {
                 const auto* now = static_cast<Late*>(user);
                 std::memcpy(now->to, now->pattern, 8);
                 delete now;
               },
               late, e);
         };
       }},
  };
  return mutants;
}

}  // namespace mutant
