// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/iteration.hpp"

namespace weir::codegen {

using llvm::Value;

Iteration::Iteration(TaskFunction& f)
    : end(f.return_block),
      f_(f),
      values_(f.task.value_count),
      types_(f.task.value_count, ScalarType::boolean),
      locals_(f.task.local_count),
      owns_(f.task.local_count) {}

Iteration::Iteration(Inherits, const Iteration& around)
    : f_(around.f_),
      values_(around.values_),
      types_(around.types_),
      locals_(around.locals_),
      owns_(around.locals_.size()),
      indices_(around.indices_),
      moved_array_(around.moved_array_),
      sums_(around.sums_) {}

Iteration::Iteration(const Iteration& around, const ir::Statement& loop, const std::vector<Value*>& indices)
    : Iteration(Inherits{}, around) {
  indices_ = indices;
  const ir::Block& body = loop.bodies.at(0);
  for (std::size_t d = 0; d < indices.size(); ++d) define(body.arguments.at(d), ScalarType::i64, indices[d]);
}

Iteration::Iteration(const Iteration& around, std::uint32_t moved_array, Value* address)
    : Iteration(Inherits{}, around) {
  end = around.end;
  moved_array_ = std::pair(moved_array, address);
}

Iteration::Iteration(const Iteration& around, const Sums& sums) : Iteration(Inherits{}, around) {
  end = around.end;
  sums_ = &sums;
}

Iteration::~Iteration() {
  for (std::uint32_t number = 0; number < owns_.size(); ++number)
    if (owns_[number]) f_.frame.give_back(number, locals_[number].storage);
}

Value* Iteration::value(ir::ValueId id) const {
  if (id >= values_.size() || !values_[id])
    f_.fail("value " + std::to_string(id) + " is used before it is defined; verify the kernel first");
  return values_[id];
}

void Iteration::define(ir::ValueId id, ScalarType type, Value* value) {
  if (id == ir::no_value) return;
  values_.at(id) = value;
  types_[id] = type;
}

void Iteration::move_to(const ir::Statement& loop, const std::vector<Value*>& indices) {
  indices_ = indices;
  const ir::Block& body = loop.bodies.at(0);
  for (std::size_t d = 0; d < indices.size(); ++d) define(body.arguments.at(d), ScalarType::i64, indices[d]);
}

const Iteration::Local& Iteration::declare(const ir::Statement& s) {
  Local& local = locals_.at(s.index);
  if (owns_[s.index]) return local;
  const std::uint64_t threads = s.component != 0 && thread->is_one_of_many ? thread->count : 1;
  if (s.op == ir::Op::shared && f_.device.threads()) {
    const bool in_words = size_of(s.type) < 4 && f_.updates(s.index);
    llvm::Type* element = in_words ? f_.b.getInt32Ty() : memory_type(f_.context, s.type);
    llvm::Type* type = llvm::ArrayType::get(element, s.immediate);
    local = {nullptr, s.type, s.immediate,
             threads, true,   f_.block_memory(type, "_shared" + std::to_string(s.index)),
             in_words};
    return local;
  }
  local = {f_.frame.lend(f_, s, threads), s.type, s.immediate, threads};
  local.shared = s.op == ir::Op::shared;
  local.address = local.storage;
  owns_[s.index] = true;
  return local;
}

const Iteration::Local& Iteration::local(std::uint32_t number) const {
  const Local& local = locals_.at(number);
  if (!local.address)
    f_.fail("local " + std::to_string(number) + " is used before it is declared; verify the kernel first");
  return local;
}

Value* Iteration::array(std::uint32_t parameter) const {
  if (moved_array_ && moved_array_->first == parameter) return moved_array_->second;
  return f_.arguments.array(parameter);
}

llvm::AllocaInst* Iteration::sum(const ir::Statement& addition) const {
  if (!sums_) return nullptr;
  const auto found = sums_->find(&addition);
  return found == sums_->end() ? nullptr : found->second;
}

bool Iteration::is_private(std::uint32_t parameter) const {
  return moved_array_ && moved_array_->first == parameter && !f_.device.threads();
}

}  // namespace weir::codegen
