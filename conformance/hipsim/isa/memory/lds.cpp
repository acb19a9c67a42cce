// SPDX-License-Identifier: Apache-2.0
// LDS: loads, stores, and the moves between lanes that go through its crossbar.
#include "isa/code/operations.hpp"
#include "isa/memory/forms.hpp"
#include "isa/memory/lane_memory.hpp"

namespace weir::hipsim {
namespace {

/// ds_read: operands are result, address.
template <unsigned bytes, Widen widen>
void load_lds(Wave& w, const Instruction& i) {
  const u32* address = w.v[i.src[1].index];
  u32 value[4] = {};
  each_lane(w.exec(), [&](unsigned l) {
    load_lds(w, l, address[l] + u32(i.offset), bytes, value);
    place<bytes, widen>(w, i.src[0].index, l, value);
  });
}

/// ds_write: operands are address, data.
template <unsigned bytes, bool high>
void store_lds(Wave& w, const Instruction& i) {
  const u32* address = w.v[i.src[0].index];
  u32 value[4];
  each_lane(w.exec(), [&](unsigned l) {
    take<bytes, high>(w, i.src[1].index, l, value);
    store_lds(w, l, address[l] + u32(i.offset), bytes, value);
  });
}

/// Two elements, whose offsets count elements (or 64 of them).
template <unsigned bytes, unsigned step>
void load_two(Wave& w, const Instruction& i) {
  const u32* address = w.v[i.src[1].index];
  each_lane(w.exec(), [&](unsigned l) {
    u32 value[4] = {};
    const u32 a = address[l];
    load_lds(w, l, a + u32(i.offset) * bytes * step, bytes, value);
    load_lds(w, l, a + u32(i.offset1) * bytes * step, bytes, value + bytes / 4);
    place<2 * bytes, Widen::none>(w, i.src[0].index, l, value);
  });
}

template <unsigned bytes, unsigned step>
void store_two(Wave& w, const Instruction& i) {
  const u32* address = w.v[i.src[0].index];
  each_lane(w.exec(), [&](unsigned l) {
    u32 value[2];
    take<bytes, false>(w, i.src[1].index, l, value);
    store_lds(w, l, address[l] + u32(i.offset) * bytes * step, bytes, value);
    take<bytes, false>(w, i.src[2].index, l, value);
    store_lds(w, l, address[l] + u32(i.offset1) * bytes * step, bytes, value);
  });
}

/// Each lane writes to the lane that its address names (4 bytes per lane, modulo the wave size).
void permute(Wave& w, const Instruction& i) {
  u32 out[64] = {};
  const u64 exec = w.exec();
  each_lane(exec, [&](unsigned l) {
    const u32 to = (w.v[i.src[1].index][l] + u32(i.offset)) / 4 % w.lanes;
    out[to] = w.v[i.src[2].index][l];
  });
  each_lane(exec, [&](unsigned l) { w.v[i.src[0].index][l] = out[l]; });
}

/// Each lane reads from the lane that its address names; inactive lanes read as 0.
void backward_permute(Wave& w, const Instruction& i) {
  u32 out[64] = {};
  const u64 exec = w.exec();
  each_lane(exec, [&](unsigned l) {
    const u32 from = (w.v[i.src[1].index][l] + u32(i.offset)) / 4 % w.lanes;
    out[l] = exec >> from & 1 ? w.v[i.src[2].index][from] : 0;
  });
  each_lane(exec, [&](unsigned l) { w.v[i.src[0].index][l] = out[l]; });
}

/// Permutes rows of 32 lanes, or of four, as the offset specifies.
void swizzle(Wave& w, const Instruction& i) {
  u32 out[64] = {};
  const u64 exec = w.exec();
  const u32 o = u32(i.offset);
  each_lane(exec, [&](unsigned l) {
    u32 from;
    if (o & 0x8000)
      from = (l & ~3u) | (o >> 2 * (l & 3) & 3);
    else
      from = (l & ~31u) | ((((l & 31) & (o & 31)) | (o >> 5 & 31)) ^ (o >> 10 & 31));
    out[l] = exec >> from & 1 ? w.v[i.src[1].index][from] : 0;
  });
  each_lane(exec, [&](unsigned l) { w.v[i.src[0].index][l] = out[l]; });
}

}  // namespace

void define_local_memory(OperationTable& t) {
  using W = Widen;
  const auto add = [&](std::initializer_list<std::string_view> names, Handler run) {
    t.add(names, memory(run));
  };
  add({"ds_read_b32", "ds_load_b32"}, load_lds<4, W::none>);
  add({"ds_read_b64", "ds_load_b64"}, load_lds<8, W::none>);
  add({"ds_read_b96", "ds_load_b96"}, load_lds<12, W::none>);
  add({"ds_read_b128", "ds_load_b128"}, load_lds<16, W::none>);
  add({"ds_read_u8", "ds_load_u8"}, load_lds<1, W::zero>);
  add({"ds_read_i8", "ds_load_i8"}, load_lds<1, W::sign>);
  add({"ds_read_u16", "ds_load_u16"}, load_lds<2, W::zero>);
  add({"ds_read_i16", "ds_load_i16"}, load_lds<2, W::sign>);
  add({"ds_read_u8_d16", "ds_load_u8_d16"}, load_lds<1, W::low>);
  add({"ds_read_i8_d16", "ds_load_i8_d16"}, load_lds<1, W::low_sign>);
  add({"ds_read_u16_d16", "ds_load_u16_d16"}, load_lds<2, W::low>);
  add({"ds_read_u8_d16_hi", "ds_load_u8_d16_hi"}, load_lds<1, W::high>);
  add({"ds_read_i8_d16_hi", "ds_load_i8_d16_hi"}, load_lds<1, W::high_sign>);
  add({"ds_read_u16_d16_hi", "ds_load_u16_d16_hi"}, load_lds<2, W::high>);
  add({"ds_write_b8", "ds_store_b8"}, store_lds<1, false>);
  add({"ds_write_b16", "ds_store_b16"}, store_lds<2, false>);
  add({"ds_write_b32", "ds_store_b32"}, store_lds<4, false>);
  add({"ds_write_b64", "ds_store_b64"}, store_lds<8, false>);
  add({"ds_write_b96", "ds_store_b96"}, store_lds<12, false>);
  add({"ds_write_b128", "ds_store_b128"}, store_lds<16, false>);
  add({"ds_write_b8_d16_hi", "ds_store_b8_d16_hi"}, store_lds<1, true>);
  add({"ds_write_b16_d16_hi", "ds_store_b16_d16_hi"}, store_lds<2, true>);
  add({"ds_read2_b32", "ds_load_2addr_b32"}, load_two<4, 1>);
  add({"ds_read2st64_b32", "ds_load_2addr_stride64_b32"}, load_two<4, 64>);
  add({"ds_read2_b64", "ds_load_2addr_b64"}, load_two<8, 1>);
  add({"ds_read2st64_b64", "ds_load_2addr_stride64_b64"}, load_two<8, 64>);
  add({"ds_write2_b32", "ds_store_2addr_b32"}, store_two<4, 1>);
  add({"ds_write2st64_b32", "ds_store_2addr_stride64_b32"}, store_two<4, 64>);
  add({"ds_write2_b64", "ds_store_2addr_b64"}, store_two<8, 1>);
  add({"ds_write2st64_b64", "ds_store_2addr_stride64_b64"}, store_two<8, 64>);
  add({"ds_permute_b32"}, permute);
  add({"ds_bpermute_b32"}, backward_permute);
  add({"ds_swizzle_b32"}, swizzle);
  add({"ds_nop"}, [](Wave&, const Instruction&) {});
}

}  // namespace weir::hipsim
