// SPDX-License-Identifier: Apache-2.0
#include "execute/wave_start.hpp"

#include <algorithm>
#include <cstring>

namespace weir::hipsim {
namespace {

/// The value of a hidden argument: LLVM's "User Guide for AMDGPU Backend", "Code Object V5 Metadata".
std::uint64_t hidden_value(const std::string& kind, const LaunchShape& shape, std::uint64_t queue) {
  const unsigned axis = kind.back() == 'y' ? 1 : kind.back() == 'z' ? 2 : 0;
  if (kind.starts_with("hidden_block_count_")) return shape.grid[axis];
  if (kind.starts_with("hidden_group_size_")) return shape.block[axis];
  if (kind == "hidden_grid_dims") {
    const auto more = [&](unsigned k) { return std::uint64_t(shape.grid[k]) * shape.block[k] > 1; };
    return more(2) ? 3 : more(1) ? 2 : 1;
  }
  if (kind == "hidden_private_base") return aperture::private_high;
  if (kind == "hidden_shared_base") return aperture::shared_high;
  if (kind == "hidden_dynamic_lds_size") return shape.dynamic_lds;
  if (kind == "hidden_queue_ptr") return queue;
  return 0;  // offsets, remainders, and features that HIP does not provide
}

template <class T>
void put(std::uint64_t at, T value) {
  std::memcpy(reinterpret_cast<void*>(at), &value, sizeof(value));
}

enum Property : std::uint16_t {
  private_segment_buffer = 1 << 0,
  dispatch_ptr = 1 << 1,
  queue_ptr = 1 << 2,
  kernarg_segment_ptr = 1 << 3,
  dispatch_id = 1 << 4,
  flat_scratch_init = 1 << 5,
  private_segment_size = 1 << 6
};

/// Fills registers in the hardware's order.
struct Filler {
  Wave& w;
  unsigned next = 0;
  void word(std::uint32_t value) {
    if (next < slot::vcc) w.s[next++] = value;
  }
  void pair(std::uint64_t value) { word(std::uint32_t(value)), word(std::uint32_t(value >> 32)); }
};

bool flat_scratch_in_hardware(const std::string& architecture, unsigned generation) {
  return generation >= 11 || architecture == "gfx940" || architecture == "gfx941" ||
         architecture == "gfx942" || architecture == "gfx950";
}
bool packed_workitem_ids(const std::string& architecture, unsigned generation) {
  return flat_scratch_in_hardware(architecture, generation) || architecture == "gfx90a";
}

void fill_user_registers(Filler& f, const Kernel& k, const LaunchMemory& memory,
                         const ScratchPlace& scratch) {
  const auto base = reinterpret_cast<std::uint64_t>(scratch.base);
  if (k.properties & private_segment_buffer) {
    f.word(std::uint32_t(base));
    // Stride 0, swizzled, indexed by the lane's number.
    f.word(std::uint32_t(base >> 32 & 0xffff) | 1u << 31);
    f.word(~0u);
    f.word(1u << 23);
  }
  if (k.properties & dispatch_ptr) f.pair(memory.packet());
  if (k.properties & queue_ptr) f.pair(memory.queue());
  if (k.properties & kernarg_segment_ptr) f.pair(memory.arguments());
  if (k.properties & dispatch_id) f.pair(1);
  if (k.properties & flat_scratch_init) f.pair(base);
  if (k.properties & private_segment_size) f.word(scratch.bytes_per_lane);
  const unsigned words = k.preload & 127, first = k.preload >> 7;
  for (unsigned n = 0; n < words; ++n) {
    std::uint32_t value;
    std::memcpy(&value, reinterpret_cast<const void*>(memory.arguments() + 4 * (first + n)), 4);
    f.word(value);
  }
}

void fill_workitem_ids(Wave& w, const Launch& launch, bool packed) {
  const std::uint32_t* block = launch.shape.block;
  const unsigned wanted = launch.kernel->resource2 >> 11 & 3;
  // Counted, because four divisions for each lane take half of the time of grids of small groups.
  const std::uint32_t first = w.id * w.lanes;
  std::uint32_t x = first % block[0], y = first / block[0] % block[1], z = first / block[0] / block[1];
  for (unsigned l = 0; l < w.lanes; ++l) {
    if (packed) {
      w.v[0][l] = x | y << 10 | z << 20;
    } else {
      w.v[0][l] = x;
      if (wanted >= 1) w.v[1][l] = y;
      if (wanted >= 2) w.v[2][l] = z;
    }
    if (++x < block[0]) continue;
    x = 0;
    if (++y < block[1]) continue;
    y = 0;
    ++z;
  }
}

}  // namespace

LaunchMemory::LaunchMemory(const Launch& launch) {
  const Kernel& kernel = *launch.kernel;
  constexpr std::uint64_t alignment = 64, packet_size = 64, queue_size = 256;
  const std::uint64_t arguments = (std::uint64_t(kernel.argument_bytes) + alignment) & ~(alignment - 1);
  size_ = arguments + packet_size + queue_size;
  storage_.reset(new std::uint8_t[size_ + alignment]());
  begin_ = (reinterpret_cast<std::uintptr_t>(storage_.get()) + alignment - 1) & ~(alignment - 1);
  packet_ = begin_ + arguments;
  queue_ = packet_ + packet_size;
  const std::size_t given = std::min<std::size_t>(launch.arguments.size(), kernel.argument_bytes);
  if (given) std::memcpy(reinterpret_cast<void*>(begin_), launch.arguments.data(), given);
  for (const KernelArgument& a : kernel.arguments)
    if (a.hidden() && a.size <= 8) {
      const std::uint64_t value = hidden_value(a.kind, launch.shape, queue_);
      std::memcpy(reinterpret_cast<void*>(begin_ + a.offset), &value, a.size);
    }
  // The dispatch packet of the HSA runtime specification.
  const LaunchShape& s = launch.shape;
  put<std::uint16_t>(packet_ + 2, 3);
  for (unsigned k = 0; k < 3; ++k) {
    put<std::uint16_t>(packet_ + 4 + 2 * k, std::uint16_t(s.block[k]));
    put<std::uint32_t>(packet_ + 12 + 4 * k, s.grid[k] * s.block[k]);
  }
  put<std::uint32_t>(packet_ + 24, kernel.private_bytes);
  put<std::uint32_t>(packet_ + 28, kernel.lds_bytes + s.dynamic_lds);
  put<std::uint64_t>(packet_ + 32, kernel.descriptor);
  put<std::uint64_t>(packet_ + 40, begin_);
  // The apertures' places in the queue.
  put<std::uint32_t>(queue_ + 0x40, aperture::shared_high);
  put<std::uint32_t>(queue_ + 0x44, aperture::private_high);
}

void start_wave(Wave& w, const Launch& launch, const LaunchMemory& memory, const ScratchPlace& scratch) {
  const Kernel& k = *launch.kernel;
  const std::string& architecture = launch.code->architecture();
  w.generation = generation_of(architecture);
  w.full = w.lanes == 64 ? ~0ull : 0xffffffffull;
  const std::uint32_t threads = launch.shape.block[0] * launch.shape.block[1] * launch.shape.block[2];
  const std::uint32_t first = w.id * w.lanes, here = threads - first < w.lanes ? threads - first : w.lanes;
  w.set64(slot::exec, here == 64 ? ~0ull : (1ull << here) - 1);
  w.s[slot::shared_base + 1] = aperture::shared_high;
  w.s[slot::shared_limit + 1] = aperture::shared_high;
  w.s[slot::shared_limit] = ~0u;
  w.s[slot::private_base + 1] = aperture::private_high;
  w.s[slot::private_limit + 1] = aperture::private_high;
  w.s[slot::private_limit] = ~0u;
  w.s[slot::m0] = ~0u;  // before GFX9, M0 limits LDS accesses; all ones means no limit
  w.set64(slot::flat_scratch, reinterpret_cast<std::uint64_t>(scratch.base + scratch.offset));

  Filler f{w};
  fill_user_registers(f, k, memory, scratch);
  const unsigned user = k.resource2 >> 1 & 31;
  if (user > f.next) f.next = user;
  const bool hardware_scratch = flat_scratch_in_hardware(architecture, w.generation);
  if (w.generation >= 12) {
    w.s[slot::ttmp + 9] = w.group->id[0];
    w.s[slot::ttmp + 7] = (w.group->id[1] & 0xffff) | w.group->id[2] << 16;
  } else {
    for (unsigned axis = 0; axis < 3; ++axis)
      if (k.resource2 >> (7 + axis) & 1) f.word(w.group->id[axis]);
    if (k.resource2 >> 10 & 1) f.word(0);
    if ((k.resource2 & 1) && !hardware_scratch) f.word(scratch.offset);
  }
  fill_workitem_ids(w, launch, packed_workitem_ids(architecture, w.generation));
  w.scratch = scratch.base + scratch.offset;
  w.scratch_bytes = scratch.bytes_per_lane;

  std::uint32_t bits = k.resource1 >> 12 & 0xff;  // rounding and denormals, in the order of the MODE register
  if (w.generation >= 12 || (k.resource1 >> 21 & 1)) bits |= mode::dx10_clamp;
  if (w.generation >= 12 || (k.resource1 >> 23 & 1)) bits |= mode::ieee;
  w.set_mode(bits);
  w.program = &launch.code->program(w.lanes);
  std::uint64_t entry = k.entry;
  // Hardware that preloads arguments skips the 256 bytes of code that load them on older firmware.
  if (k.preload & 127) entry += 256;
  const std::int64_t index = w.program->index_at(entry);
  if (index < 0) throw Fault(FaultKind::bad_state, "starts where no instruction is", -1, entry);
  w.next = std::uint32_t(index);
}

}  // namespace weir::hipsim
