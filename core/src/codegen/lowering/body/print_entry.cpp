// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/body/print_entry.hpp"

#include "ir/print_buffer.hpp"

namespace weir::codegen {

using llvm::Value;

llvm::Function* print_entry(TaskFunction& lowering, std::size_t values) {
  const std::string name = "weir_print_" + std::to_string(values);
  if (llvm::Function* f = lowering.module.getFunction(name)) return f;
  llvm::LLVMContext& context = lowering.context;
  llvm::Type* word = llvm::Type::getInt64Ty(context);
  llvm::Type* half_word = llvm::Type::getInt32Ty(context);
  std::vector<llvm::Type*> parameters{lowering.arguments.print_buffer()->getType(), half_word, half_word};
  parameters.insert(parameters.end(), max_rank + values, word);
  llvm::Function* f = lowering.cold_function(name, parameters);
  const auto block = [&](const char* label) { return llvm::BasicBlock::Create(context, label, f); };
  Builder b(block("entry"));
  llvm::BasicBlock *room = block("room"), *fits = block("fits"), *crosses = block("crosses"),
                   *begins = block("begins"), *lost = block("lost"), *done = block("done");
  Value* buffer = f->getArg(0);
  const auto header = [&](std::size_t offset) {
    return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), buffer, offset);
  };
  const auto relaxed = llvm::AtomicOrdering::Monotonic;
  // Only threads of this device change the header while kernels run, so the atomics need the device's scope.
  const llvm::SyncScope::ID scope = lowering.device.device_scope(context);
  const auto add = [&](Value* to, Value* by) {
    return b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, to, by, llvm::Align(4), relaxed, scope);
  };
  Value* size = b.getInt32(ir::print_entry_words + std::uint32_t(values));
  Value* capacity =
      b.CreateAlignedLoad(half_word, header(offsetof(ir::PrintHeader, capacity)), llvm::Align(4));
  // A full buffer is not claimed from, so `claimed` does not wrap around.
  llvm::LoadInst* claimed = b.CreateAlignedLoad(half_word, buffer, llvm::Align(4));
  claimed->setAtomic(relaxed, scope);
  b.CreateCondBr(b.CreateICmpULT(claimed, capacity), room, lost);

  b.SetInsertPoint(room);
  Value* from = add(buffer, size);
  Value* entry = b.CreateInBoundsGEP(
      b.getInt8Ty(), buffer,
      b.CreateAdd(b.getInt64(ir::print_header_bytes), b.CreateShl(b.CreateZExt(from, word), 3)));
  b.CreateCondBr(b.CreateICmpULE(b.CreateAdd(from, size), capacity), fits, crosses);

  b.SetInsertPoint(fits);
  const auto put = [&](std::size_t offset, Value* value) {
    b.CreateAlignedStore(value, b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), entry, offset), llvm::Align(8));
  };
  Value* head = b.CreateOr(b.CreateZExt(f->getArg(1), word), b.CreateShl(b.CreateZExt(size, word), 32));
  put(offsetof(ir::PrintEntry, site), head);
  put(offsetof(ir::PrintEntry, launch), b.CreateZExt(f->getArg(2), word));
  for (unsigned i = 0; i < max_rank + values; ++i)
    put(offsetof(ir::PrintEntry, index) + 8 * i, f->getArg(3 + i));
  b.CreateBr(done);

  // The entry's first word ends the list, if it is inside the buffer.
  b.SetInsertPoint(crosses);
  b.CreateCondBr(b.CreateICmpULT(from, capacity), begins, lost);
  b.SetInsertPoint(begins);
  put(0, b.getInt64(0));
  b.CreateBr(lost);

  b.SetInsertPoint(lost);
  add(header(offsetof(ir::PrintHeader, lost)), b.getInt32(1));
  b.CreateBr(done);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
  return f;
}

}  // namespace weir::codegen
