// SPDX-License-Identifier: Apache-2.0
// Buffer instructions: private memory before flat scratch, and raw and structured buffers. The resource's
// layout is documented under "Buffer Resource Descriptor" in the ISA documents.
#include "isa/code/operations.hpp"
#include "isa/memory/forms.hpp"
#include "isa/memory/lane_memory.hpp"

namespace weir::hipsim {
namespace {

struct Resource {
  Resource(const Wave& w, const Operand& o)
      : base(w.s[o.index] | u64(w.s[o.index + 1u] & 0xffff) << 32),
        stride(w.s[o.index + 1u] >> 16 & 0x3fff),
        records(w.s[o.index + 2u]),
        by_lane(w.s[o.index + 3u] >> 23 & 1) {}
  u64 base;
  u32 stride, records;
  bool by_lane;  ///< private memory: the lane's number is part of the address
};

/// The operands of a load or store: data, address or "off", resource, scalar offset.
struct BufferAddress {
  BufferAddress(const Wave& w, const Instruction& i) : resource(w, i.src[2]), wave(w), i(i) {
    scalar_offset = scalar32(w, i.src[3]);
    const Operand& a = i.src[1];
    index_row = i.index_enabled ? w.v[a.index] : nullptr;
    offset_row = i.offset_enabled ? w.v[a.index + (i.index_enabled ? 1u : 0u)] : nullptr;
  }
  u32 offset(unsigned lane) const { return u32(i.offset) + (offset_row ? offset_row[lane] : 0); }
  /// Private memory: the scalar offset counts bytes of the whole wave.
  u32 private_offset(unsigned lane) const {
    const u64 start = resource.base + scalar_offset - reinterpret_cast<u64>(wave.scratch);
    return u32(i64(start) / i64(wave.lanes)) + offset(lane);
  }
  bool in_range(unsigned lane, unsigned bytes) const {
    if (resource.stride != 0 && index_row) return index_row[lane] < resource.records;
    return u64(offset(lane)) + bytes <= resource.records;
  }
  u64 address(unsigned lane) const {
    return resource.base + scalar_offset + offset(lane) +
           (index_row ? u64(index_row[lane]) * resource.stride : 0);
  }
  Resource resource;
  const Wave& wave;
  const Instruction& i;
  u32 scalar_offset;
  const u32 *index_row, *offset_row;
};

template <unsigned bytes, Widen widen>
void load(Wave& w, const Instruction& i) {
  const BufferAddress at(w, i);
  each_lane(w.exec(), [&](unsigned l) {
    u32 value[4] = {};
    if (at.resource.by_lane)
      load_scratch(w, l, at.private_offset(l), bytes, value);
    else if (at.in_range(l, bytes))  // reads beyond the range of the resource return zero
      load_global(w, l, at.address(l), bytes, value);
    place<bytes, widen>(w, i.src[0].index, l, value);
  });
}

template <unsigned bytes, bool high>
void store(Wave& w, const Instruction& i) {
  const BufferAddress at(w, i);
  each_lane(w.exec(), [&](unsigned l) {
    u32 value[4];
    take<bytes, high>(w, i.src[0].index, l, value);
    if (at.resource.by_lane)
      store_scratch(w, l, at.private_offset(l), bytes, value);
    else if (at.in_range(l, bytes))
      store_global(w, l, at.address(l), bytes, value);
  });
}

}  // namespace

void define_buffer_memory(OperationTable& t) {
  each_form([&]<unsigned bytes, Widen widen>(
                const char* name) { t.add(std::string("buffer_") + name, memory(load<bytes, widen>)); },
            [&]<unsigned bytes, bool high>(const char* name) {
              t.add(std::string("buffer_") + name, memory(store<bytes, high>));
            });
}

}  // namespace weir::hipsim
