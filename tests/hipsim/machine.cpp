// SPDX-License-Identifier: Apache-2.0
#include "machine.hpp"

#include <immintrin.h>

#include "compile.hpp"

namespace weir::hipsim::test {

Machine::Machine(const std::string& architecture, unsigned lanes)
    : lds(1024), scratch(64 * 64), architecture_(architecture), registers_(513) {
  wave.generation = generation_of(architecture);
  wave.lanes = lanes ? lanes : wave.generation >= 10 ? 32 : 64;
  wave.full = wave.lanes == 64 ? ~0ull : 0xffffffffull;
  wave.v = &registers_[0].lanes;
  wave.group = &group;
  wave.scratch = scratch.data();
  wave.scratch_bytes = 64;
  wave.set64(slot::exec, wave.full);
  wave.s[slot::shared_base + 1] = aperture::shared_high;
  wave.s[slot::private_base + 1] = aperture::private_high;
  wave.set_mode(0xf0 | mode::ieee | mode::dx10_clamp);
  group.lds = lds.data();
  group.lds_bytes = std::uint32_t(lds.size());
  group.memory = &view_;
}

void Machine::run(const std::string& text) {
  load(text);
  wave.next = 0;
  wave.state = WaveState::running;
  while (wave.state == WaveState::running) execute_next();
}

void Machine::load(const std::string& text) {
  code_ = assemble(text + "\ns_endpgm", architecture_, wave.lanes);
  program_ = std::make_unique<Program>(code_, architecture_, wave.lanes);
  wave.program = program_.get();
}

void Machine::step(std::uint32_t index) {
  wave.next = index;
  execute_next();
}

/// Executes with the wave's rounding and denormal modes instead of the host's.
void Machine::execute_next() {
  wave.current = wave.next++;
  const Instruction& i = program_->instructions()[wave.current];
  const unsigned before = _mm_getcsr();
  _mm_setcsr(wave.float_control[unsigned(i.float_group)]);
  try {
    i.run(wave, i);
  } catch (...) {
    _mm_setcsr(before);
    throw;
  }
  _mm_setcsr(before);
}

void Machine::set_v(unsigned index, std::uint32_t value) {
  for (std::uint32_t& lane : registers_[index].lanes) lane = value;
}

void Machine::set_v64(unsigned index, std::uint64_t value) {
  set_v(index, std::uint32_t(value));
  set_v(index + 1, std::uint32_t(value >> 32));
}

std::uint64_t Machine::memory(std::uint64_t bytes) {
  return table_.allocate(bytes, 0, MemoryKind::device)->begin;
}

}  // namespace weir::hipsim::test
