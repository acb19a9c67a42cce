// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/task_function.hpp"

#include <algorithm>
#include <bit>
#include <weir/error.hpp>

#include "codegen/targets/thread_model.hpp"
#include "ir/error_record.hpp"

namespace weir::codegen {
namespace {

constexpr std::uint64_t block_memory_alignment = 16;  // bytes

}  // namespace

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
  if (!task.cooperative || !device.threads()) return;
  replicated.emplace(task);
  if (const std::size_t copies = replicated->copies().size())
    scratch_copies = new_block_memory(llvm::ArrayType::get(b.getInt64Ty(), copies), "_copies");
}

llvm::BasicBlock* TaskFunction::new_block(const char* name) {
  return llvm::BasicBlock::Create(context, name, function);
}

llvm::Value* TaskFunction::block() {
  return is_alone() ? i32(0) : device.threads()->block(b);
}

llvm::Value* TaskFunction::blocks() {
  const ThreadModel& threads = *device.threads();
  return is_alone() ? i32(1) : threads.grid(b, threads.block_threads(kernel, task));
}

llvm::AllocaInst* TaskFunction::stack_slot(llvm::Type* type, std::uint64_t count, const char* name) {
  llvm::BasicBlock& entry = function->getEntryBlock();
  Builder at(&entry, entry.begin());
  return at.CreateAlloca(count == 1 ? type : llvm::ArrayType::get(type, count), nullptr, name);
}

llvm::GlobalVariable* TaskFunction::new_block_memory(llvm::Type* type, const std::string& name) {
  auto* shared = new llvm::GlobalVariable(
      module, type, false, llvm::GlobalValue::InternalLinkage, llvm::PoisonValue::get(type), task.name + name,
      nullptr, llvm::GlobalValue::NotThreadLocal, device.threads()->shared_space());
  shared->setAlignment(llvm::Align(block_memory_alignment));
  return shared;
}

llvm::GlobalVariable* TaskFunction::block_memory(llvm::Type* type, const std::string& name) {
  block_memory_.push_back({new_block_memory(type, name), name, phase_});
  return block_memory_.back().variable;
}

llvm::GlobalVariable* TaskFunction::named_block_memory(llvm::Type* type, const std::string& name) {
  for (const BlockMemory& memory : block_memory_)
    if (memory.phase == phase_ && memory.name == name) return memory.variable;
  return block_memory(type, name);
}

llvm::Value* TaskFunction::scratch_address(std::uint64_t offset) {
  const auto copy = replicated ? replicated->copy_at(offset) : std::nullopt;
  return copy ? b.CreateInBoundsGEP(scratch_copies->getValueType(), scratch_copies, {i32(0), i32(*copy)})
              : b.CreateInBoundsGEP(b.getInt8Ty(), arguments.scratch(), i64(offset));
}

void TaskFunction::lay_out_block_memory() {
  if (phase_ == 0 || block_memory_.empty()) return;
  std::map<unsigned, std::vector<BlockMemory>> together;  // by the bits of the elements they are divided into
  for (const BlockMemory& memory : block_memory_) {
    const auto* array = llvm::cast<llvm::ArrayType>(memory.variable->getValueType());
    const unsigned bits = std::bit_ceil(unsigned(array->getElementType()->getPrimitiveSizeInBits()));
    together[device.threads()->overlays_block_memory() ? 32 : std::clamp(bits, 8u, 32u)].push_back(memory);
  }
  for (const auto& [bits, memories] : together) lay_out(memories);
  block_memory_.clear();
}

/// The variables of one phase follow one another from the first byte on.
void TaskFunction::lay_out(std::span<const BlockMemory> memories) {
  std::map<std::size_t, std::uint64_t> ends;
  std::vector<std::uint64_t> offsets;
  std::uint64_t size = 0;
  for (const BlockMemory& memory : memories) {
    std::uint64_t& end = ends[memory.phase];
    offsets.push_back(end);
    const std::uint64_t bytes = module.getDataLayout().getTypeAllocSize(memory.variable->getValueType());
    size = std::max(size, end + bytes);
    end = llvm::alignTo(end + bytes, block_memory_alignment);
  }
  if (ends.size() < 2) return;
  llvm::GlobalVariable* place = new_block_memory(llvm::ArrayType::get(b.getInt8Ty(), size), "_phases");
  for (std::size_t k = 0; k < memories.size(); ++k) {
    llvm::Constant* own = llvm::ConstantExpr::getInBoundsGetElementPtr(b.getInt8Ty(), place, i64(offsets[k]));
    memories[k].variable->replaceAllUsesWith(own);
    memories[k].variable->eraseFromParent();
  }
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

llvm::AllocaInst* StackFrame::lend(TaskFunction& f, const ir::Statement& s, std::uint64_t threads) {
  std::vector<Slot>& slots = slots_.at(s.index);
  const auto unused = std::find_if(slots.begin(), slots.end(), [](const Slot& slot) { return !slot.lent; });
  if (unused != slots.end()) {
    unused->lent = true;
    return unused->storage;
  }
  llvm::AllocaInst* storage = f.stack_slot(memory_type(f.context, s.type), s.immediate * threads, "local");
  storage->setAlignment(llvm::Align(threads > 1 ? 64 : s.immediate > 1 ? 16 : size_of(s.type)));
  bytes_ += s.immediate * threads * size_of(s.type);
  slots.push_back({storage, true});
  return storage;
}

void StackFrame::give_back(std::uint32_t local, const llvm::AllocaInst* storage) {
  for (Slot& slot : slots_.at(local))
    if (slot.storage == storage) slot.lent = false;
}

}  // namespace weir::codegen
