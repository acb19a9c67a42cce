// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/task_function.hpp"

#include <weir/error.hpp>

#include "codegen/targets/thread_model.hpp"
#include "ir/error_record.hpp"

namespace weir::codegen {

llvm::Type* register_type(llvm::LLVMContext& context, ScalarType type) {
  return type == ScalarType::boolean ? llvm::Type::getInt1Ty(context) : memory_type(context, type);
}

llvm::Type* memory_type(llvm::LLVMContext& context, ScalarType type) {
  switch (type) {
    case ScalarType::f16:
      return llvm::Type::getHalfTy(context);
    case ScalarType::f32:
      return llvm::Type::getFloatTy(context);
    case ScalarType::f64:
      return llvm::Type::getDoubleTy(context);
    default:
      return llvm::Type::getIntNTy(context, unsigned(8 * size_of(type)));
  }
}

TaskFunction::TaskFunction(llvm::Module& in, const ir::Kernel& of, const ir::Task& lowered,
                           const DeviceModel& target, DebugLines* source_lines)
    : module(in),
      context(in.getContext()),
      kernel(of),
      task(lowered),
      device(target),
      lines(source_lines),
      b(context),
      function(device.declare_entry(module, kernel, task)),
      arguments(kernel, task),
      frame(task.local_count) {
  if (kernel.options.fast_math) {
    // NaN and infinity keep their semantics, because kernels test for them.
    llvm::FastMathFlags flags = llvm::FastMathFlags::getFast();
    flags.setNoNaNs(false);
    flags.setNoInfs(false);
    b.setFastMathFlags(flags);
  }
  number_sites(task.body);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
  if (lines) b.SetCurrentDebugLocation(lines->begin(*function, task));
  return_block = llvm::BasicBlock::Create(context, "return", function);
  arguments.load(b, *function, device);
}

llvm::BasicBlock* TaskFunction::new_block(const char* name) {
  return llvm::BasicBlock::Create(context, name, function);
}

llvm::AllocaInst* TaskFunction::stack_slot(llvm::Type* type, std::uint64_t count, const char* name) {
  llvm::BasicBlock& entry = function->getEntryBlock();
  Builder at(&entry, entry.begin());
  return at.CreateAlloca(count == 1 ? type : llvm::ArrayType::get(type, count), nullptr, name);
}

llvm::GlobalVariable* TaskFunction::block_memory(llvm::Type* type, const char* name) {
  for (BlockMemory& memory : block_memory_) {
    if (memory.used || memory.variable->getValueType() != type) continue;
    memory.used = true;
    return memory.variable;
  }
  auto* shared = new llvm::GlobalVariable(
      module, type, false, llvm::GlobalValue::InternalLinkage, llvm::PoisonValue::get(type), task.name + name,
      nullptr, llvm::GlobalValue::NotThreadLocal, device.threads()->shared_space());
  shared->setAlignment(llvm::Align(16));
  block_memory_.push_back({shared, true});
  return shared;
}

void TaskFunction::reuse_block_memory() {
  for (BlockMemory& memory : block_memory_) memory.used = false;
}

llvm::Function* TaskFunction::cold_function(const std::string& name, llvm::ArrayRef<llvm::Type*> parameters) {
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), parameters, false);
  llvm::Function* f = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module);
  f->addFnAttr(llvm::Attribute::NoInline);
  f->addFnAttr(llvm::Attribute::Cold);
  f->addFnAttr(llvm::Attribute::NoUnwind);
  return f;
}

void TaskFunction::jump(llvm::BasicBlock* to) {
  if (!ended()) b.CreateBr(to);
}

void TaskFunction::fail(const std::string& reason) const {
  throw Error(ErrorCode::compile, "kernel '" + kernel.name + "', task '" + task.name + "': " + reason);
}

void TaskFunction::number_sites(const ir::Block& block) {
  for (const ir::Statement& s : block.statements) {
    loops_ += s.op == ir::Op::parallel || s.op == ir::Op::reduce;
    if (s.op == ir::Op::shared_atomic) updated_.insert(s.index);
    if (ir::has_site(s)) sites_.emplace(&s, std::uint32_t(sites_.size()));
    for (const ir::Block& body : s.bodies) number_sites(body);
  }
}

}  // namespace weir::codegen
