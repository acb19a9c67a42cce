// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <optional>

#include "execute/launch.hpp"
#include "execute/wave_start.hpp"
#include "execute/workers.hpp"
#include "isa/code/program.hpp"

namespace weir::hipsim {
namespace {

/// The number of instructions after which another wave of the workgroup runs, so that waves may wait for each
/// other.
constexpr unsigned turn = 4096;
constexpr unsigned rows = 513;  // vector registers, accumulation registers, one spare

/// A thread's buffers for running workgroups, reused between launches.
struct Bench {
  std::vector<Wave> waves;
  struct alignas(64) Line {
    Wave::Row lanes;
  };
  std::unique_ptr<Line[]> registers;  // not cleared, so that only pages in use take memory
  std::size_t register_rows = 0;
  std::vector<std::uint8_t> lds;
  std::unique_ptr<std::uint8_t[]> scratch;
  std::size_t scratch_size = 0;
  LdsShadow shadow;
};

struct Shared {
  const Launch& launch;
  const LaunchMemory& memory;
  std::atomic<std::uint64_t> next_group{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  LaunchResult result;
};

std::string place(const Wave& w) {
  return fmt::format("workgroup ({}, {}, {}), wave {}", w.group->id[0], w.group->id[1], w.group->id[2], w.id);
}

void fail(Shared& shared, const Wave& w, const Fault& fault) {
  const Instruction& i = w.program->instructions()[w.current];
  const std::string lane = fault.lane < 0 ? "" : fmt::format(", lane {}", fault.lane);
  const std::string message = fmt::format("kernel {}, {}{}, at {:#x} \"{}\": {}", shared.launch.kernel->name,
                                          place(w), lane, i.pc, w.program->text(w.current), fault.what());
  shared.stop = true;
  const std::scoped_lock lock(shared.mutex);
  if (shared.result.failed) return;
  shared.result.failed = true;
  shared.result.kind = fault.kind;
  shared.result.message = message;
}

const char* name_of(LdsAccess access) {
  return access == LdsAccess::read ? "reads" : access == LdsAccess::write ? "writes" : "updates";
}

void report_race(const Wave& w, const LdsRace& race) {
  const auto& shared = *static_cast<const Shared*>(w.group->launch);
  const std::string what = fmt::format(
      "{} byte {:#x} of LDS, which wave {} {} too since the last barrier: their order is undefined",
      name_of(race.access), race.address, race.other_wave, name_of(race.other_access));
  if (shared.launch.races == RaceCheck::error)
    throw Fault(FaultKind::race, what, int(race.lane), race.address);
  auto& mutable_shared = const_cast<Shared&>(shared);
  const std::scoped_lock lock(mutable_shared.mutex);
  auto& reports = mutable_shared.result.reports;
  constexpr std::size_t enough = 16;
  if (reports.size() >= enough) return;
  const Instruction& i = w.program->instructions()[w.current];
  reports.push_back(fmt::format("kernel {}, {}, lane {}, at {:#x} \"{}\": {}", shared.launch.kernel->name,
                                place(w), race.lane, i.pc, w.program->text(w.current), what));
}

/// Runs an instruction between s_set_gpr_idx_on and _off, where vector registers are indexed relative to M0.
void run_indexed(Wave& w, const Instruction& original) {
  Instruction i = original;
  const unsigned index = w.s[slot::m0] & 0xff;
  for (unsigned k = 0; k < 3; ++k)
    if (i.src[k].kind == OperandKind::vgpr && (w.gpr_index_mode >> k & 1))
      i.src[k].index = std::uint16_t((i.src[k].index + index) % 256);
  if (i.dst[0].kind == OperandKind::vgpr && (w.gpr_index_mode >> 3 & 1))
    i.dst[0].index = std::uint16_t((i.dst[0].index + index) % 256);
  i.run(w, i);
}

/// Runs a wave until it waits, ends, or has used its turn. Returns the number of executed instructions.
unsigned run_wave(Wave& w) {
  const Instruction* code = w.program->instructions().data();
  std::uint32_t control = 0x1f80u;
  unsigned count = 0;
  try {
    for (; count < turn && w.state == WaveState::running; ++count) {
      w.current = w.next++;
      const Instruction& i = code[w.current];
      if (const std::uint32_t wanted = w.float_control[unsigned(i.float_group)]; wanted != control) {
        _mm_setcsr(wanted);
        control = wanted;
      }
      if (w.gpr_index) [[unlikely]]
        run_indexed(w, i);
      else
        i.run(w, i);
    }
  } catch (...) {
    _mm_setcsr(0x1f80u);
    throw;
  }
  if (control != 0x1f80u) _mm_setcsr(0x1f80u);
  return count;
}

std::uint32_t scratch_per_lane(const Launch& launch) {
  std::uint32_t bytes = launch.kernel->private_bytes;
  if (launch.kernel->dynamic_stack) bytes += launch.stack_bytes;
  return (bytes + 15) & ~15u;
}

void prepare(Bench& bench, Shared& shared, Workgroup& group, unsigned waves) {
  const Launch& launch = shared.launch;
  const unsigned lanes = launch.kernel->lanes;
  if (bench.register_rows < std::size_t(waves) * rows) {
    bench.register_rows = std::size_t(waves) * rows;
    bench.registers = std::make_unique_for_overwrite<Bench::Line[]>(bench.register_rows);
  }
  const std::uint32_t lane_scratch = scratch_per_lane(launch);
  const std::size_t wave_scratch = std::size_t(lane_scratch) * lanes;
  if (bench.scratch_size < wave_scratch * waves) {
    bench.scratch.reset(new std::uint8_t[wave_scratch * waves]());
    bench.scratch_size = wave_scratch * waves;
  }
  group.lds_bytes = launch.kernel->lds_bytes + launch.shape.dynamic_lds;
  if (bench.lds.size() < group.lds_bytes) bench.lds.resize(group.lds_bytes);
  group.lds = bench.lds.data();
  if (launch.races != RaceCheck::off) {
    bench.shadow.begin(group.lds_bytes);
    group.shadow = &bench.shadow;
    group.report_race = report_race;
    group.launch = &shared;
  }
  bench.waves.assign(waves, Wave{});
  for (unsigned n = 0; n < waves; ++n) {
    Wave& w = bench.waves[n];
    w.v = &bench.registers[std::size_t(n) * rows].lanes;
    w.lanes = lanes;
    w.id = n;
    w.group = &group;
    start_wave(w, launch, shared.memory,
               {bench.scratch.get(), std::uint32_t(wave_scratch * n), lane_scratch});
  }
}

/// The state of a workgroup.
enum class Progress : std::uint8_t { ended, passed_barrier, running, asleep };

/// Runs each wave of a workgroup for one turn. Adds the executed instructions.
Progress run_turn(Bench& bench, Shared& shared, Workgroup& group, std::uint64_t& executed) {
  const std::uint64_t limit = shared.launch.instruction_limit;
  bool running = false, asleep = false, waiting = false;
  for (Wave& w : bench.waves) {
    if (w.state == WaveState::asleep) w.state = WaveState::running;
    if (w.state == WaveState::running) {
      try {
        executed += run_wave(w);
      } catch (const Fault& fault) {
        fail(shared, w, fault);
        return Progress::ended;
      }
    }
    running |= w.state == WaveState::running;
    asleep |= w.state == WaveState::asleep;
    waiting |= w.state == WaveState::at_barrier;
  }
  if (shared.stop) return Progress::ended;
  if (running || asleep) {
    if (!limit || executed <= limit * bench.waves.size())
      return asleep ? Progress::asleep : Progress::running;
    fail(
        shared, bench.waves[0],
        Fault(FaultKind::bad_state, fmt::format("has not ended after {} instructions for each wave", limit)));
    return Progress::ended;
  }
  if (!waiting) return Progress::ended;
  for (Wave& w : bench.waves)
    if (w.state == WaveState::at_barrier) w.state = WaveState::running;
  if (group.shadow) group.shadow->next_epoch();
  return Progress::passed_barrier;
}

std::uint64_t group_count(const LaunchShape& shape) {
  return std::uint64_t(shape.grid[0]) * shape.grid[1] * shape.grid[2];
}

unsigned wave_count(const Launch& launch) {
  const LaunchShape& shape = launch.shape;
  const std::uint32_t threads = shape.block[0] * shape.block[1] * shape.block[2];
  return (threads + launch.kernel->lanes - 1) / launch.kernel->lanes;
}

void number(Workgroup& group, const LaunchShape& shape, std::uint64_t n) {
  group.id[0] = std::uint32_t(n % shape.grid[0]);
  group.id[1] = std::uint32_t(n / shape.grid[0] % shape.grid[1]);
  group.id[2] = std::uint32_t(n / shape.grid[0] / shape.grid[1]);
}

/// Runs `part`, which returns the number of executed instructions, with the host's control word of a wave.
template <class Part>
void run_part(Shared& shared, Part&& part) {
  const unsigned host_control = _mm_getcsr();
  _mm_setcsr(0x1f80u);
  std::uint64_t executed = 0;
  try {
    part(executed);
  } catch (const std::exception& error) {
    shared.stop = true;
    const std::scoped_lock lock(shared.mutex);
    if (!shared.result.failed)
      shared.result = {true,
                       FaultKind::bad_state,
                       fmt::format("kernel {}: {}", shared.launch.kernel->name, error.what()),
                       {},
                       0};
  }
  _mm_setcsr(host_control);
  const std::scoped_lock lock(shared.mutex);
  shared.result.instructions += executed;
}

void run_groups(Shared& shared) {
  thread_local Bench bench;
  MemoryView view(*shared.launch.memory);
  view.set_private_range(shared.memory.begin(), shared.memory.end());
  run_part(shared, [&](std::uint64_t& executed) {
    while (!shared.stop) {
      const std::uint64_t n = shared.next_group++;
      if (n >= group_count(shared.launch.shape)) break;
      Workgroup group;
      number(group, shared.launch.shape, n);
      group.memory = &view;
      prepare(bench, shared, group, wave_count(shared.launch));
      std::uint64_t own = 0;
      while (run_turn(bench, shared, group, own) != Progress::ended) {
      }
      executed += own;
    }
  });
}

/// A workgroup of a cooperative launch.
struct Resident {
  Resident(Shared& shared, std::uint64_t n) : view(*shared.launch.memory) {
    view.set_private_range(shared.memory.begin(), shared.memory.end());
    number(group, shared.launch.shape, n);
    group.memory = &view;
    group.cooperative = true;
    prepare(bench, shared, group, wave_count(shared.launch));
  }
  Bench bench;
  Workgroup group;
  MemoryView view;
  std::uint64_t executed = 0;
};

/// The workgroups of a cooperative launch that no thread runs at the moment.
class Turns {
 public:
  explicit Turns(Shared& shared) {
    for (std::uint64_t n = 0; n < group_count(shared.launch.shape); ++n)
      waiting_.push_back(std::make_unique<Resident>(shared, n));
  }

  std::unique_ptr<Resident> take() {
    const std::scoped_lock lock(mutex_);
    if (waiting_.empty()) return nullptr;
    std::unique_ptr<Resident> next = std::move(waiting_.front());
    waiting_.pop_front();
    return next;
  }
  void give_back(std::unique_ptr<Resident> resident) {
    const std::scoped_lock lock(mutex_);
    waiting_.push_back(std::move(resident));
  }

 private:
  std::mutex mutex_;
  std::deque<std::unique_ptr<Resident>> waiting_;
};

/// A workgroup goes on after its own barriers, so that it gets as far ahead of the others as they let it.
/// After so many it may be waiting for them between its barriers.
constexpr unsigned barriers_in_a_row = 1000;

/// Gives turns to workgroups until none is left, or other threads run all that are left.
void run_turns(Shared& shared, Turns& turns) {
  run_part(shared, [&](std::uint64_t& executed) {
    while (!shared.stop) {
      std::unique_ptr<Resident> next = turns.take();
      if (!next) break;
      const std::uint64_t before = next->executed;
      Progress progress = Progress::passed_barrier;
      for (unsigned n = 0; n < barriers_in_a_row && progress == Progress::passed_barrier; ++n)
        progress = run_turn(next->bench, shared, next->group, next->executed);
      executed += next->executed - before;
      if (progress != Progress::ended) turns.give_back(std::move(next));
    }
  });
}

unsigned worker_count = 0;

}  // namespace

void set_worker_count(unsigned count) {
  worker_count = count;
  if (count) Workers::instance().resize(count);
}

LaunchResult execute(const Launch& launch) {
  const LaunchMemory memory(launch);
  Shared shared{launch, memory, {}, {}, {}, {}};
  const std::uint64_t groups = group_count(launch.shape);
  const unsigned helpers = unsigned(std::min<std::uint64_t>(worker_count, groups > 0 ? groups - 1 : 0));
  if (launch.cooperative) {
    std::optional<Turns> turns;
    run_part(shared, [&](std::uint64_t&) { turns.emplace(shared); });
    if (turns) Workers::instance().run(helpers, [&] { run_turns(shared, *turns); });
  } else {
    Workers::instance().run(helpers, [&] { run_groups(shared); });
  }
  return std::move(shared.result);
}

}  // namespace weir::hipsim
