// SPDX-License-Identifier: Apache-2.0
// Branches, calls, barriers, the MODE register and the end of a wave.
#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "isa/code/program.hpp"
#include "isa/scalar/forms.hpp"
#include "isa/state/workgroup.hpp"

namespace weir::hipsim {
namespace {

void go_to(Wave& w, u64 address) {
  const std::int64_t index = w.program->index_at(address);
  if (index < 0)
    throw Fault(FaultKind::bad_state,
                fmt::format("jumps to {:#x}, where no instruction of this code object starts", address), -1,
                address);
  w.next = u32(index);
}

template <class Condition>
void branch(OperationTable& t, const char* name, Condition) {
  t.add(name, scalar(1, [](Wave& w, const Instruction& i) {
          if (Condition{}(w)) w.next = i.target;
        }));
}

void define_branches(OperationTable& t) {
  branch(t, "s_branch", [](const Wave&) { return true; });
  branch(t, "s_cbranch_scc0", [](const Wave& w) { return !w.scc; });
  branch(t, "s_cbranch_scc1", [](const Wave& w) { return w.scc; });
  branch(t, "s_cbranch_vccz", [](const Wave& w) { return w.vcc() == 0; });
  branch(t, "s_cbranch_vccnz", [](const Wave& w) { return w.vcc() != 0; });
  branch(t, "s_cbranch_execz", [](const Wave& w) { return w.exec() == 0; });
  branch(t, "s_cbranch_execnz", [](const Wave& w) { return w.exec() != 0; });
  t.add("s_getpc_b64", scalar(0, [](Wave& w, const Instruction& i) {
          w.set64(i.dst[0].index, w.program->address_of(w.next));
        }));
  t.add({"s_setpc_b64"}, scalar(1, [](Wave& w, const Instruction& i) { go_to(w, scalar64(w, i.src[0])); }));
  t.add("s_swappc_b64", scalar(1, [](Wave& w, const Instruction& i) {
          const u64 target = scalar64(w, i.src[0]);
          w.set64(i.dst[0].index, w.program->address_of(w.next));
          go_to(w, target);
        }));
  t.add("s_call_b64", scalar(1, [](Wave& w, const Instruction& i) {
          w.set64(i.dst[0].index, w.program->address_of(w.next));
          w.next = i.target;
        }));
}

/// The value of a hardware register that kernels can read.
u32 hardware_register(const Wave& w, unsigned id) {
  switch (id) {
    case 1:
      return w.mode;
    case 2:
      return u32(w.scc) | u32(w.exec() == 0) << 9 | u32(w.vcc() == 0) << 10;
    case 3:
      return w.trap_status;
    case 15:
      return aperture::shared_high >> 16 | (aperture::private_high >> 16) << 16;
    case 20:
      return w.s[slot::flat_scratch];
    case 21:
      return w.s[slot::flat_scratch + 1];
    case 29:
      return u32(std::chrono::steady_clock::now().time_since_epoch().count()) & 0xfffff;
    default:
      return 0;
  }
}

/// i.offset holds id, first bit and size, packed as in the instruction.
u32 field_mask(const Instruction& i) {
  const unsigned size = u32(i.offset) >> 11 & 31;
  return size == 31 ? ~0u : (1u << (size + 1)) - 1;
}

void set_register(Wave& w, const Instruction& i, u32 value) {
  const unsigned id = u32(i.offset) & 63, shift = u32(i.offset) >> 6 & 31;
  const u32 mask = field_mask(i) << shift;
  const u32 merged = (hardware_register(w, id) & ~mask) | (value << shift & mask);
  switch (id) {
    case 1:
      w.set_mode(merged);
      break;
    case 3:
      w.trap_status = merged;
      break;
    case 20:
      w.s[slot::flat_scratch] = merged;
      break;
    case 21:
      w.s[slot::flat_scratch + 1] = merged;
      break;
    default:
      throw Fault(FaultKind::unknown_instruction,
                  fmt::format("writes hardware register {}, which the simulator does not have", id));
  }
}

void define_registers(OperationTable& t) {
  t.add("s_getreg_b32", scalar(0, [](Wave& w, const Instruction& i) {
          w.s[i.dst[0].index] =
              hardware_register(w, u32(i.offset) & 63) >> (u32(i.offset) >> 6 & 31) & field_mask(i);
        }));
  t.add({"s_setreg_b32", "s_setreg_imm32_b32"},
        scalar(1, [](Wave& w, const Instruction& i) { set_register(w, i, scalar32(w, i.src[0])); }));
  t.add("s_round_mode", scalar(1, [](Wave& w, const Instruction& i) {
          w.set_mode((w.mode & ~15u) | (scalar32(w, i.src[0]) & 15));
        }));
  t.add("s_denorm_mode", scalar(1, [](Wave& w, const Instruction& i) {
          w.set_mode((w.mode & ~0xf0u) | (scalar32(w, i.src[0]) & 15) << 4);
        }));
}

/// Runs the following instructions, up to s_set_gpr_idx_off, with vector registers indexed relative to M0.
/// LLVM puts only moves in between.
void indexed(Wave& w, const Instruction& i) {
  w.s[slot::m0] = (w.s[slot::m0] & ~0xf0ffu) | (scalar32(w, i.src[0]) & 0xff) | u32(i.offset & 15) << 12;
  w.gpr_index_mode = u32(i.offset) & 15;
  w.gpr_index = true;
}

void define_indexing(OperationTable& t) {
  t.add("s_set_gpr_idx_on", scalar(1, indexed));
  t.add("s_set_gpr_idx_off", scalar(0, [](Wave& w, const Instruction&) { w.gpr_index = false; }));
  t.add("s_set_gpr_idx_mode", scalar(0, [](Wave& w, const Instruction& i) {
          w.gpr_index_mode = u32(i.offset) & 15;
          w.s[slot::m0] = (w.s[slot::m0] & ~0xf000u) | w.gpr_index_mode << 12;
        }));
  t.add("s_set_gpr_idx_idx", scalar(1, [](Wave& w, const Instruction& i) {
          w.s[slot::m0] = (w.s[slot::m0] & ~0xffu) | (scalar32(w, i.src[0]) & 0xff);
        }));
}

void nothing(Wave&, const Instruction&) {}

}  // namespace

void define_scalar_control(OperationTable& t) {
  define_branches(t);
  define_registers(t);
  define_indexing(t);
  t.add({"s_endpgm", "s_endpgm_saved"},
        scalar(0, [](Wave& w, const Instruction&) { w.state = WaveState::ended; }));
  t.add({"s_barrier", "s_barrier_wait"},
        scalar(0, [](Wave& w, const Instruction&) { w.state = WaveState::at_barrier; }));
  t.add("s_trap", scalar(0, [](Wave&, const Instruction&) {
          throw Fault(FaultKind::trap,
                      "the kernel stopped itself (s_trap), as after a failed check or in unreachable code");
        }));
  // No effect: memory operations complete before the next instruction begins, and time is not simulated.
  for (const char* name : {"s_nop",
                           "s_waitcnt",
                           "s_waitcnt_vscnt",
                           "s_waitcnt_vmcnt",
                           "s_waitcnt_expcnt",
                           "s_waitcnt_lgkmcnt",
                           "s_waitcnt_depctr",
                           "s_wait_idle",
                           "s_wait_loadcnt",
                           "s_wait_storecnt",
                           "s_wait_samplecnt",
                           "s_wait_bvhcnt",
                           "s_wait_expcnt",
                           "s_wait_dscnt",
                           "s_wait_kmcnt",
                           "s_wait_loadcnt_dscnt",
                           "s_wait_storecnt_dscnt",
                           "s_wait_alu",
                           "s_wait_event",
                           "s_delay_alu",
                           "s_clause",
                           "s_inst_prefetch",
                           "s_set_inst_prefetch_distance",
                           "s_setprio",
                           "s_sendmsg",
                           "s_icache_inv",
                           "s_dcache_inv",
                           "s_dcache_inv_vol",
                           "s_dcache_wb",
                           "s_dcache_wb_vol",
                           "s_gl1_inv",
                           "s_barrier_signal",
                           "s_incperflevel",
                           "s_decperflevel",
                           "s_ttracedata",
                           "s_ttracedata_imm",
                           "s_version",
                           "s_prefetch_inst",
                           "s_prefetch_inst_pc_rel",
                           "s_prefetch_data",
                           "s_set_vgpr_msb",
                           "v_nop",
                           "v_clrexcp",
                           "v_pipeflush"})
    t.add(name, memory(nothing));
  // A sleeping wave waits for another one, so the other waves run.
  for (const char* name : {"s_sleep", "s_sleep_var"})
    t.add(name, memory([](Wave& w, const Instruction&) {
            if (w.group->cooperative)
              w.state = WaveState::asleep;  // until its workgroup's next turn
            else
              std::this_thread::sleep_for(std::chrono::microseconds(5));
          }));
  t.add("unknown",
        memory([](Wave&, const Instruction& i) { throw Fault(FaultKind::unknown_instruction, i.problem); }));
}

}  // namespace weir::hipsim
