// SPDX-License-Identifier: Apache-2.0
// Accesses to arrays, scratch memory and local variables.
#include <cstring>

#include "interpreter/machine.hpp"
#include "ir/evaluate.hpp"

namespace weir::interpreter {

using ir::Op;
using ir::Statement;

std::uint64_t Machine::read(ScalarType type, const std::byte* from) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, from, size_of(type));
  return type == ScalarType::boolean ? bits != 0 : bits;
}

bool Machine::has_element(const Statement& s) const {
  const ArrayArgument& array = arguments_.arrays[s.index];
  for (std::size_t d = 0; d < array.extents.size(); ++d) {
    if (number(s.operands[d]) < 0 || number(s.operands[d]) >= array.extents[d]) return false;
  }
  return true;
}

// False if the access has no element.
bool Machine::inside(const Statement& s) const {
  switch (s.op) {
    case Op::load:
    case Op::store:
    case Op::atomic:
      return has_element(s);
    case Op::get:
      return s.operands.empty() || bits(s.operands[0]) < local_count(s);
    case Op::set:
      return s.operands.size() < 2 || bits(s.operands[0]) < local_count(s);
    case Op::shared_atomic: {
      const bool exchanges = s.immediate == static_cast<std::uint64_t>(ir::AtomicKind::compare_exchange);
      return s.operands.size() < (exchanges ? 3u : 2u) || bits(s.operands[0]) < local_count(s);
    }
    default:
      return true;
  }
}

std::uint64_t Machine::combine(const Statement& s, Op op, std::uint64_t a, std::uint64_t b) const {
  const ScalarType types[] = {s.type, s.type};
  const std::uint64_t operands[] = {a, b};
  const std::uint64_t result = ir::combine_values(op, s.type, a, b);
  if (observer_) observer_->computed(*this, s, types, operands, result);
  return result;
}

// The byte of the launch's memory at which the scalar begins.
std::size_t Machine::element(const Statement& s) const {
  const ArrayArgument& array = arguments_.arrays[s.index];
  std::size_t at = 0;
  for (std::size_t d = 0; d < array.extents.size(); ++d) {
    const std::int64_t extent = array.extents[d];
    std::int64_t index = number(s.operands[d]);
    if (!strict_) index = (index % extent + extent) % extent;
    at = at * static_cast<std::size_t>(extent) + static_cast<std::size_t>(index);
  }
  const ElementType& type = kernel_.parameters[s.index].element;
  return array.offset + (at * type.components() + s.component) * size_of(type.scalar);
}

std::uint64_t Machine::load(const Statement& s) {
  const std::size_t at = element(s);
  note(s, Access::read, at);
  return read(s.type, array_memory(s) + at);
}

void Machine::store(const Statement& s, std::uint64_t bits) {
  const std::size_t at = element(s);
  note(s, Access::write, at);
  std::memcpy(array_memory(s) + at, &bits, size_of(s.type));
}

std::uint64_t Machine::atomic(const Statement& s) {
  const std::size_t at = element(s);
  note(s, Access::update, at);
  std::byte* place = array_memory(s) + at;
  const std::uint64_t old = read(s.type, place), value = updated(s, old);
  std::memcpy(place, &value, size_of(s.type));
  return old;
}

std::uint64_t Machine::updated(const Statement& s, std::uint64_t old) const {
  const std::uint64_t value = bits(s.operands.back());
  switch (static_cast<ir::AtomicKind>(s.immediate)) {
    case ir::AtomicKind::add:
      return combine(s, Op::add, old, value);
    case ir::AtomicKind::sub:
      return combine(s, Op::sub, old, value);
    case ir::AtomicKind::mul:
      return combine(s, Op::mul, old, value);
    case ir::AtomicKind::min:
      return combine(s, Op::min, old, value);
    case ir::AtomicKind::max:
      return combine(s, Op::max, old, value);
    case ir::AtomicKind::bit_and:
      return old & value;
    case ir::AtomicKind::bit_or:
      return old | value;
    case ir::AtomicKind::bit_xor:
      return old ^ value;
    case ir::AtomicKind::exchange:
      return value;
    case ir::AtomicKind::compare_exchange:
      return old == bits(s.operands[s.operands.size() - 2]) ? value : old;
  }
  return old;
}

std::byte* Machine::scratch(const Statement& s, bool indexed) {
  std::size_t at = s.immediate;
  if (indexed) at += static_cast<std::size_t>(bits(s.operands[0])) * size_of(s.type);
  if (at + size_of(s.type) > scratch_->size()) throw CannotRun{};
  return scratch_->data() + at;
}

std::size_t Machine::local_index(const Statement& s, bool indexed) const {
  const std::uint64_t index = indexed ? bits(s.operands[0]) : 0;
  if (index >= local_count(s)) throw CannotRun{};
  return static_cast<std::size_t>(index + per_thread_[s.index] * thread_);
}

void Machine::observe_shared(const ir::Statement& s, Access access, std::size_t index) {
  if (observer_ && is_shared_[s.index]) observer_->shared_access(*this, s, access, index);
}

std::size_t Machine::local_count(const Statement& s) const {
  return per_thread_[s.index] != 0 ? per_thread_[s.index] : locals_[s.index].size();
}

}  // namespace weir::interpreter
