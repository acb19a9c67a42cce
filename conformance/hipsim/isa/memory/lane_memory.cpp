// SPDX-License-Identifier: Apache-2.0
#include "isa/memory/lane_memory.hpp"

#include <fmt/format.h>

#include <cstring>

namespace weir::hipsim {
namespace {

/// Relaxed atomic accesses: other workgroups may access the same memory at the same time.
template <class T>
void load_one(const void* from, void* to) {
  const T value = __atomic_load_n(static_cast<const T*>(from), __ATOMIC_RELAXED);
  std::memcpy(to, &value, sizeof(T));
}
template <class T>
void store_one(void* to, const void* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  __atomic_store_n(static_cast<T*>(to), value, __ATOMIC_RELAXED);
}

void copy_in(u64 address, unsigned bytes, void* out) {
  const auto* from = reinterpret_cast<const std::uint8_t*>(address);
  auto* to = static_cast<std::uint8_t*>(out);
  if (bytes >= 4 && address % 4 == 0) {
    if (bytes == 8 && address % 8 == 0) return load_one<u64>(from, to);
    for (unsigned k = 0; k < bytes; k += 4) load_one<u32>(from + k, to + k);
  } else if (bytes == 2 && address % 2 == 0) {
    load_one<u16>(from, to);
  } else {
    for (unsigned k = 0; k < bytes; ++k) load_one<std::uint8_t>(from + k, to + k);
  }
}

void copy_out(u64 address, unsigned bytes, const void* in) {
  auto* to = reinterpret_cast<std::uint8_t*>(address);
  const auto* from = static_cast<const std::uint8_t*>(in);
  if (bytes >= 4 && address % 4 == 0) {
    if (bytes == 8 && address % 8 == 0) return store_one<u64>(to, from);
    for (unsigned k = 0; k < bytes; k += 4) store_one<u32>(to + k, from + k);
  } else if (bytes == 2 && address % 2 == 0) {
    store_one<u16>(to, from);
  } else {
    for (unsigned k = 0; k < bytes; ++k) store_one<std::uint8_t>(to + k, from + k);
  }
}

}  // namespace

void require_global(Wave& w, unsigned lane, u64 address, unsigned bytes, const char* doing) {
  if (w.group->memory->good(address, bytes)) return;
  const MemoryTable& table = w.group->memory->table();
  const auto block = table.find(address);
  const bool freed = block && block->freed.load();
  throw Fault(freed ? FaultKind::use_after_free : FaultKind::out_of_bounds,
              fmt::format("{} {} bytes: {}", doing, bytes, table.judge(address, bytes)), int(lane), address);
}

void load_unchecked(u64 address, unsigned bytes, void* out) {
  copy_in(address, bytes, out);
}
void store_unchecked(u64 address, unsigned bytes, const void* in) {
  copy_out(address, bytes, in);
}

void load_global(Wave& w, unsigned lane, u64 address, unsigned bytes, void* out) {
  require_global(w, lane, address, bytes, "reads");
  copy_in(address, bytes, out);
}

void store_global(Wave& w, unsigned lane, u64 address, unsigned bytes, const void* in) {
  require_global(w, lane, address, bytes, "writes");
  copy_out(address, bytes, in);
}

std::uint8_t* scratch_word(Wave& w, unsigned lane, u32 offset, unsigned bytes) {
  if (u64(offset) + bytes > w.scratch_bytes)
    throw Fault(FaultKind::out_of_bounds,
                fmt::format("accesses {} bytes at {:#x} of private memory, of which each lane has {}", bytes,
                            offset, w.scratch_bytes),
                int(lane), offset);
  return w.scratch + (u64(offset / 4) * w.lanes + lane) * 4 + offset % 4;
}

// Private memory interleaves the lanes by words of 4 bytes.
void load_scratch(Wave& w, unsigned lane, u32 offset, unsigned bytes, void* out) {
  auto* to = static_cast<std::uint8_t*>(out);
  scratch_word(w, lane, offset, bytes);
  if (offset % 4 == 0 && bytes % 4 == 0)
    for (unsigned k = 0; k < bytes; k += 4) std::memcpy(to + k, scratch_word(w, lane, offset + k, 4), 4);
  else
    for (unsigned k = 0; k < bytes; ++k) to[k] = *scratch_word(w, lane, offset + k, 1);
}

void store_scratch(Wave& w, unsigned lane, u32 offset, unsigned bytes, const void* in) {
  const auto* from = static_cast<const std::uint8_t*>(in);
  scratch_word(w, lane, offset, bytes);
  if (offset % 4 == 0 && bytes % 4 == 0)
    for (unsigned k = 0; k < bytes; k += 4) std::memcpy(scratch_word(w, lane, offset + k, 4), from + k, 4);
  else
    for (unsigned k = 0; k < bytes; ++k) *scratch_word(w, lane, offset + k, 1) = from[k];
}

void require_lds(Wave& w, unsigned lane, u32 address, unsigned bytes, LdsAccess access) {
  const char* doing = access == LdsAccess::read ? "reads" : access == LdsAccess::write ? "writes" : "updates";
  if (u64(address) + bytes > w.group->lds_bytes)
    throw Fault(FaultKind::out_of_bounds,
                fmt::format("{} {} bytes at {:#x} of LDS, of which the workgroup has {}", doing, bytes,
                            address, w.group->lds_bytes),
                int(lane), address);
  if (!w.group->shadow) return;
  if (const auto race = w.group->shadow->touch(address, bytes, w.id, lane, access))
    w.group->report_race(w, *race);
}

void load_lds(Wave& w, unsigned lane, u32 address, unsigned bytes, void* out) {
  require_lds(w, lane, address, bytes, LdsAccess::read);
  std::memcpy(out, w.group->lds + address, bytes);
}

void store_lds(Wave& w, unsigned lane, u32 address, unsigned bytes, const void* in) {
  require_lds(w, lane, address, bytes, LdsAccess::write);
  std::memcpy(w.group->lds + address, in, bytes);
}

void load_flat(Wave& w, unsigned lane, u64 address, unsigned bytes, void* out) {
  const u32 high = u32(address >> 32);
  if (high == aperture::shared_high) return load_lds(w, lane, u32(address), bytes, out);
  if (high == aperture::private_high) return load_scratch(w, lane, u32(address), bytes, out);
  load_global(w, lane, address, bytes, out);
}

void store_flat(Wave& w, unsigned lane, u64 address, unsigned bytes, const void* in) {
  const u32 high = u32(address >> 32);
  if (high == aperture::shared_high) return store_lds(w, lane, u32(address), bytes, in);
  if (high == aperture::private_high) return store_scratch(w, lane, u32(address), bytes, in);
  store_global(w, lane, address, bytes, in);
}

}  // namespace weir::hipsim
