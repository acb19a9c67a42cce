// SPDX-License-Identifier: Apache-2.0
// Scalar loads, and the clocks.
#include <chrono>

#include "isa/memory/lane_memory.hpp"
#include "isa/scalar/forms.hpp"

namespace weir::hipsim {
namespace {

/// Operands: result, base, and an offset, which is a register, a constant, "null", or a register with
/// offset:N.
template <unsigned words>
void load(Wave& w, const Instruction& i) {
  u64 address = scalar64(w, i.src[1]);
  const Operand& o = i.src[2];
  // A constant is a signed immediate; a register is an unsigned offset.
  address += o.kind == OperandKind::constant ? u64(i64(o.k64)) : u64(scalar32(w, o));
  address = (address + u64(i64(i.offset))) & ~3ull;
  u32 value[16];
  load_global(w, 0, address, words * 4, value);
  for (unsigned k = 0; k < words; ++k) w.s[i.src[0].index + k] = value[k];
}

/// Loads from a buffer resource; reads beyond its range return zero.
template <unsigned words>
void buffer_load(Wave& w, const Instruction& i) {
  const unsigned r = i.src[1].index;
  const u64 base = w.s[r] | u64(w.s[r + 1] & 0xffff) << 32;
  const u32 offset = (scalar32(w, i.src[2]) + u32(i.offset)) & ~3u;
  u32 value[16] = {};
  if (u64(offset) + words * 4 <= w.s[r + 2]) load_global(w, 0, base + offset, words * 4, value);
  for (unsigned k = 0; k < words; ++k) w.s[i.src[0].index + k] = value[k];
}

template <unsigned words>
void add_loads(OperationTable& t, const char* old_name, const char* name) {
  for (const char* n : {old_name, name}) {
    t.add(std::string("s_load_") + n, memory(load<words>));
    t.add(std::string("s_buffer_load_") + n, memory(buffer_load<words>));
  }
}

template <unsigned bytes, bool sign>
void load_small(Wave& w, const Instruction& i) {
  const Operand& o = i.src[2];
  u64 address = scalar64(w, i.src[1]) + u64(i64(i.offset));
  address += o.kind == OperandKind::constant ? u64(i64(o.k64)) : u64(scalar32(w, o));
  u32 value = 0;
  load_global(w, 0, address, bytes, &value);
  if (sign) value = bytes == 1 ? u32(i32(std::int8_t(value))) : u32(i32(i16(value)));
  w.s[i.src[0].index] = value;
}

u64 ticks() {
  return u64(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace

void define_scalar_memory(OperationTable& t) {
  add_loads<1>(t, "dword", "b32");
  add_loads<2>(t, "dwordx2", "b64");
  add_loads<3>(t, "dwordx3", "b96");
  add_loads<4>(t, "dwordx4", "b128");
  add_loads<8>(t, "dwordx8", "b256");
  add_loads<16>(t, "dwordx16", "b512");
  t.add("s_load_u8", memory(load_small<1, false>));
  t.add("s_load_i8", memory(load_small<1, true>));
  t.add("s_load_u16", memory(load_small<2, false>));
  t.add("s_load_i16", memory(load_small<2, true>));
  t.add("s_memtime", memory([](Wave& w, const Instruction& i) { w.set64(i.src[0].index, ticks()); }));
  // This clock runs at 100 MHz.
  t.add("s_memrealtime",
        memory([](Wave& w, const Instruction& i) { w.set64(i.src[0].index, ticks() / 10); }));
  t.add({"s_sendmsg_rtn_b64"},
        scalar(0, [](Wave& w, const Instruction& i) { w.set64(i.dst[0].index, ticks() / 10); }));
}

}  // namespace weir::hipsim
