// SPDX-License-Identifier: Apache-2.0
// Atomics on LDS. Waves of a workgroup share a host thread, so plain accesses are atomic.
#include <cstring>

#include "isa/code/operations.hpp"
#include "isa/memory/atomic_ops.hpp"
#include "isa/memory/lane_memory.hpp"

namespace weir::hipsim {
namespace {

/// The order of the two values of compare-and-swap, which GFX11 reversed.
enum class Order { none, compare_first, value_first };

// Takes the operation as an argument, so it is compiled once and not once per operation.
template <unsigned bytes, Order order, bool returns>
[[gnu::noinline]] void update(Wave& w, const Instruction& i, AtomicFunction function) {
  const unsigned first = returns ? 1 : 0;  // operands: [result,] address, data[, data]
  const u32* address = w.v[i.src[first].index];
  each_lane(w.exec(), [&](unsigned l) {
    u64 value = lane_value(w, i.src[first + 1].index, l, bytes);
    u64 compare = order == Order::none ? 0 : lane_value(w, i.src[first + 2].index, l, bytes);
    if (order == Order::compare_first) std::swap(value, compare);
    const u32 at = address[l] + u32(i.offset);
    require_lds(w, l, at, bytes, LdsAccess::atomic);
    u64 old = 0;
    std::memcpy(&old, w.group->lds + at, bytes);
    const u64 result = function(old, value, compare);
    std::memcpy(w.group->lds + at, &result, bytes);
    if (!returns) return;
    w.v[i.src[0].index][l] = u32(old);
    if (bytes == 8) w.v[i.src[0].index + 1u][l] = u32(old >> 32);
  });
}

template <std::size_t which, unsigned bytes, Order order, bool returns>
void atomic(Wave& w, const Instruction& i) {
  update<bytes, order, returns>(w, i, atomic_names[which].function);
}

template <std::size_t which, Order order>
Handler handler(bool returns) {
  if (atomic_names[which].bytes == 4)
    return returns ? atomic<which, 4, order, true> : atomic<which, 4, order, false>;
  return returns ? atomic<which, 8, order, true> : atomic<which, 8, order, false>;
}

/// Returns the handler that stores the old value, or the one that does not.
using HandlerOf = Handler (*)(bool returns);

void define_lds_atomic(OperationTable& t, const AtomicName& n, HandlerOf plain, HandlerOf compare_first,
                       HandlerOf value_first) {
  if (n.name.empty()) return;
  const std::string bits = n.bytes == 4 ? "32" : "64";
  const auto add = [&](const std::string& name, Handler quiet, Handler returning) {
    const std::size_t type = name.rfind('_');
    t.add("ds_" + name, memory(quiet));
    t.add("ds_" + name.substr(0, type) + "_rtn" + name.substr(type), memory(returning));
  };
  if (n.compares) {
    add("cmpst_b" + bits, compare_first(false), compare_first(true));
    add("cmpstore_b" + bits, value_first(false), value_first(true));
  } else if (n.name.starts_with("swap")) {
    for (const char* name : {"ds_wrxchg_rtn_b", "ds_storexchg_rtn_b"})
      t.add(name + bits, memory(plain(true)));
  } else {
    add(std::string(n.name), plain(false), plain(true));
  }
}

template <std::size_t... which>
void define_lds_atomics(OperationTable& t, std::index_sequence<which...>) {
  (define_lds_atomic(t, atomic_names[which], handler<which, Order::none>,
                     handler<which, Order::compare_first>, handler<which, Order::value_first>),
   ...);
}

}  // namespace

void define_local_atomics(OperationTable& t) {
  define_lds_atomics(t, std::make_index_sequence<atomic_name_count>());
}

}  // namespace weir::hipsim
