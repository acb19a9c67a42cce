// SPDX-License-Identifier: Apache-2.0
// Loads and stores of global, flat and scratch memory.
#include <algorithm>

#include "isa/code/operations.hpp"
#include "isa/memory/forms.hpp"
#include "isa/memory/lane_memory.hpp"

namespace weir::hipsim {
namespace {

/// Whether all lanes stay within one valid memory block, so that one lookup in the table suffices.
bool all_good(Wave& w, const FlatAddress& at, unsigned bytes) {
  u64 lowest = ~0ull, highest = 0;
  each_lane(w.exec(), [&](unsigned l) {
    const u64 address = at(l);
    lowest = std::min(lowest, address), highest = std::max(highest, address);
  });
  return lowest <= highest && highest <= ~0ull - bytes &&
         w.group->memory->good(lowest, highest - lowest + bytes);
}

template <unsigned bytes, Widen widen>
void load(Wave& w, const Instruction& i, Space space) {
  const unsigned to = i.src[0].index;
  u32 value[4] = {};
  if (space == Space::scratch) {
    const ScratchAddress at(w, i.src[1], i.src[2], i.offset);
    each_lane(w.exec(), [&](unsigned l) {
      load_scratch(w, l, at(l), bytes, value);
      place<bytes, widen>(w, to, l, value);
    });
    return;
  }
  // The result may be a register of the address: lanes do not access each other's.
  const FlatAddress at(w, i.src[1], i.src[2], i.offset);
  if (space == Space::flat)
    each_lane(w.exec(), [&](unsigned l) {
      load_flat(w, l, at(l), bytes, value);
      place<bytes, widen>(w, to, l, value);
    });
  else if (all_good(w, at, bytes))
    each_lane(w.exec(), [&](unsigned l) {
      load_unchecked(at(l), bytes, value);
      place<bytes, widen>(w, to, l, value);
    });
  else
    each_lane(w.exec(), [&](unsigned l) {
      load_global(w, l, at(l), bytes, value);
      place<bytes, widen>(w, to, l, value);
    });
}

template <unsigned bytes, bool high>
void store(Wave& w, const Instruction& i, Space space) {
  const unsigned from = i.src[1].index;
  u32 value[4];
  if (space == Space::scratch) {
    const ScratchAddress at(w, i.src[0], i.src[2], i.offset);
    each_lane(w.exec(), [&](unsigned l) {
      take<bytes, high>(w, from, l, value);
      store_scratch(w, l, at(l), bytes, value);
    });
    return;
  }
  const FlatAddress at(w, i.src[0], i.src[2], i.offset);
  if (space == Space::global && all_good(w, at, bytes)) {
    each_lane(w.exec(), [&](unsigned l) {
      take<bytes, high>(w, from, l, value);
      store_unchecked(at(l), bytes, value);
    });
    return;
  }
  each_lane(w.exec(), [&](unsigned l) {
    take<bytes, high>(w, from, l, value);
    if (space == Space::flat)
      store_flat(w, l, at(l), bytes, value);
    else
      store_global(w, l, at(l), bytes, value);
  });
}

template <Space space>
void define_space(OperationTable& t, const std::string& prefix) {
  each_form(
      [&]<unsigned bytes, Widen widen>(const char* name) {
        t.add(prefix + name, memory([](Wave& w, const Instruction& i) { load<bytes, widen>(w, i, space); }));
      },
      [&]<unsigned bytes, bool high>(const char* name) {
        t.add(prefix + name, memory([](Wave& w, const Instruction& i) { store<bytes, high>(w, i, space); }));
      });
}

}  // namespace

void define_global_memory(OperationTable& t) {
  define_space<Space::global>(t, "global_");
  define_space<Space::flat>(t, "flat_");
  define_space<Space::scratch>(t, "scratch_");
  // The host keeps its caches coherent.
  for (const char* name :
       {"buffer_wbl2", "buffer_inv", "buffer_invl2", "buffer_wbinvl1", "buffer_wbinvl1_vol", "buffer_gl0_inv",
        "buffer_gl1_inv", "global_wb", "global_inv", "global_wbinv"})
    t.add(name, memory([](Wave&, const Instruction&) {}));
}

}  // namespace weir::hipsim
