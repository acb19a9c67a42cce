// SPDX-License-Identifier: Apache-2.0
// Atomics on global memory, also through flat and buffer addresses. They use host atomics, so they hold
// between workgroups, streams, simulated devices and the program.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "isa/code/operations.hpp"
#include "isa/code/program.hpp"
#include "isa/memory/atomic_ops.hpp"
#include "isa/memory/lane_memory.hpp"

namespace weir::hipsim {
namespace {

template <class T>
u64 update(u64 address, AtomicFunction f, u64 data, u64 compare) {
  auto* target = reinterpret_cast<T*>(address);
  T old = __atomic_load_n(target, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(target, &old, T(f(old, data, compare)), false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST)) {
  }
  return old;
}

template <unsigned bytes>
u64 update_global(Wave& w, unsigned l, u64 address, AtomicFunction f, u64 data, u64 compare) {
  if (address % bytes != 0)
    throw Fault(FaultKind::out_of_bounds, "is an atomic on an address that is not a multiple of its size",
                int(l), address);
  require_global(w, l, address, bytes, "updates");
  return bytes == 4 ? update<u32>(address, f, data, compare) : update<u64>(address, f, data, compare);
}

template <unsigned bytes>
u64 update_flat(Wave& w, unsigned l, u64 address, AtomicFunction f, u64 data, u64 compare) {
  const u32 high = u32(address >> 32);
  if (high != aperture::shared_high && high != aperture::private_high)
    return update_global<bytes>(w, l, address, f, data, compare);
  u64 old = 0;
  if (high == aperture::shared_high) {
    require_lds(w, l, u32(address), bytes, LdsAccess::atomic);
    std::memcpy(&old, w.group->lds + u32(address), bytes);
    const u64 value = f(old, data, compare);
    std::memcpy(w.group->lds + u32(address), &value, bytes);
    return old;
  }
  load_scratch(w, l, u32(address), bytes, &old);
  const u64 value = f(old, data, compare);
  store_scratch(w, l, u32(address), bytes, &value);
  return old;
}

/// The data of compare-and-swap is the new value, then the value to compare with.
/// Takes the operation as an argument, so it is compiled once and not once per operation.
template <unsigned bytes, bool compares, Space space>
[[gnu::noinline]] void update_lanes(Wave& w, const Instruction& i, AtomicFunction f) {
  const unsigned first = i.returns ? 1 : 0;  // operands: [result,] address, data[, base]
  const FlatAddress at(w, i.src[first], i.src[first + 2], i.offset);
  const unsigned data = i.src[first + 1].index;
  each_lane(w.exec(), [&](unsigned l) {
    const u64 compare = compares ? lane_value(w, data + bytes / 4, l, bytes) : 0;
    const u64 value = lane_value(w, data, l, bytes);
    const u64 old = space == Space::flat ? update_flat<bytes>(w, l, at(l), f, value, compare)
                                         : update_global<bytes>(w, l, at(l), f, value, compare);
    if (!i.returns) return;
    w.v[i.src[0].index][l] = u32(old);
    if (bytes == 8) w.v[i.src[0].index + 1u][l] = u32(old >> 32);
  });
}

/// Adds f32 values, with denormal numbers replaced by zeros of their sign.
u64 add_and_flush(u64 old, u64 data, u64) {
  const auto flushed = [](f32 x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; };
  const f32 sum = flushed(std::bit_cast<f32>(u32(old))) + flushed(std::bit_cast<f32>(u32(data)));
  return std::bit_cast<u32>(flushed(sum));
}

template <Space space>
void add_single(Wave& w, const Instruction& i) {
  const auto is_add = [](const AtomicName& n) { return n.name == "add_f32"; };
  static const AtomicFunction add =
      std::find_if(std::begin(atomic_names), std::end(atomic_names), is_add)->function;
  const std::string& processor = w.program->architecture();
  const bool flushes = processor == "gfx908" || processor == "gfx90a";  // later ones keep denormal numbers
  update_lanes<4, false, space>(w, i, flushes ? add_and_flush : add);
}

template <unsigned bytes, bool compares, std::size_t which, Space space>
void atomic(Wave& w, const Instruction& i) {
  update_lanes<bytes, compares, space>(w, i, atomic_names[which].function);
}

template <std::size_t which>
Handler handler(Space space) {
  const AtomicName& n = atomic_names[which];
  const bool flat = space == Space::flat;
  if (n.name == "add_f32") return flat ? add_single<Space::flat> : add_single<Space::global>;
  if (n.bytes == 4 && n.compares)
    return flat ? atomic<4, true, which, Space::flat> : atomic<4, true, which, Space::global>;
  if (n.bytes == 4)
    return flat ? atomic<4, false, which, Space::flat> : atomic<4, false, which, Space::global>;
  if (n.compares) return flat ? atomic<8, true, which, Space::flat> : atomic<8, true, which, Space::global>;
  return flat ? atomic<8, false, which, Space::flat> : atomic<8, false, which, Space::global>;
}

void define_one(OperationTable& t, const AtomicName& n, Handler global, Handler flat) {
  for (std::string_view name : {n.old_global, n.name}) {
    if (name.empty()) continue;
    t.add("global_atomic_" + std::string(name), memory(global));
    t.add("flat_atomic_" + std::string(name), memory(flat));
  }
}

template <std::size_t... which>
void define_all(OperationTable& t, std::index_sequence<which...>) {
  (define_one(t, atomic_names[which], handler<which>(Space::global), handler<which>(Space::flat)), ...);
}

}  // namespace

void define_global_atomics(OperationTable& t) {
  define_all(t, std::make_index_sequence<atomic_name_count>());
}

}  // namespace weir::hipsim
