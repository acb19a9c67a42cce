// SPDX-License-Identifier: Apache-2.0
// Addresses of array elements, locals and scratch; loads and stores.
#include <algorithm>

#include "codegen/lowering/body/body_lowering.hpp"

namespace weir::codegen {

using llvm::Value;

namespace {

constexpr std::uint64_t row_bytes = 16;  // see LaunchAssumptions::aligned

}  // namespace

/// An extent for computing an address. Where rows begin at multiples of 16 bytes, masks its low bits, so that
/// LLVM can derive the alignment.
Value* BodyLowering::row_extent(std::uint32_t parameter, std::uint32_t dimension) {
  Value* all = f_.arguments.extent(parameter, dimension);
  const ir::Parameter& array = kernel_.parameters.at(parameter);
  if (!device_.assumptions().aligned || dimension + 1 != array.rank) return all;
  const std::uint64_t size = array.element.size();
  const std::uint64_t multiple = row_bytes / std::min(row_bytes, size & (~size + 1));
  return multiple > 1 ? b_.CreateAnd(all, i64(~(multiple - 1))) : all;
}

// Indices are inside the array, and an array's bytes fit in the address space, so no step of the address
// computation wraps.
Value* BodyLowering::element_address(const ir::Statement& s, std::size_t operands) {
  const ir::Parameter& array = kernel_.parameters.at(s.index);
  std::vector<Value*> indices;
  for (std::size_t d = 0; d < array.rank; ++d) indices.push_back(it_.value(s.operands.at(d)));
  if (indices.size() > operands)
    f_.fail("an access to '" + array.name + "' has " + std::to_string(operands) + " indices, expected " +
            std::to_string(array.rank) + "; verify the kernel first");
  if (kernel_.options.check_bounds && array.rank != 0) {
    std::vector<Value*> extents;
    for (std::size_t d = 0; d < indices.size(); ++d)
      extents.push_back(f_.arguments.extent(s.index, std::uint32_t(d)));
    check_index(s, indices, extents);
  }
  Value* base = it_.array(s.index);
  Value* offset = indices.empty() ? i64(0) : indices[0];
  for (std::size_t d = 1; d < indices.size(); ++d)
    offset = b_.CreateAdd(b_.CreateMul(offset, row_extent(s.index, std::uint32_t(d)), "", true, true),
                          indices[d], "", true, true);
  llvm::Type* scalar = memory_type(context_, array.element.scalar);
  const auto flags = llvm::GEPNoWrapFlags::inBounds() | llvm::GEPNoWrapFlags::noUnsignedWrap();
  const std::uint64_t components = array.element.components();
  if (components == 1) return b_.CreateGEP(scalar, base, {offset}, "", flags);
  return b_.CreateGEP(llvm::ArrayType::get(scalar, components), base, {offset, i64(s.component)}, "", flags);
}

Value* BodyLowering::load_scalar(Type type, Value* address, bool independent,
                                 std::optional<std::uint32_t> array) {
  llvm::LoadInst* load =
      b_.CreateAlignedLoad(memory_type(context_, type), address, llvm::Align(size_of(type)));
  mark(*load, independent, array);
  return type == Type::boolean ? b_.CreateICmpNE(load, b_.getInt8(0)) : static_cast<Value*>(load);
}

void BodyLowering::store_scalar(Type type, Value* v, Value* address, bool independent,
                                std::optional<std::uint32_t> array) {
  if (type == Type::boolean) v = b_.CreateZExt(v, b_.getInt8Ty());
  mark(*b_.CreateAlignedStore(v, address, llvm::Align(size_of(type))), independent, array);
}

void BodyLowering::mark(llvm::Instruction& access, bool independent, std::optional<std::uint32_t> array) {
  if (independent && it_.access_group)
    access.setMetadata(llvm::LLVMContext::MD_access_group, it_.access_group);
  if (array) f_.arguments.mark_separate(*array, access);
}

void BodyLowering::declare_local(const ir::Statement& s) {
  const Iteration::Local& declared = it_.declare(s);
  llvm::AllocaInst* storage = declared.storage;
  if (!storage) return;  // in memory of the block
  // Iterations use a slot one after the other. Its lifetime restarts with each iteration, so that LLVM can
  // replace it by registers.
  b_.CreateLifetimeStart(storage);
  if (s.op == ir::Op::shared || s.component == 2) return;
  if (s.immediate * declared.threads == 1)
    b_.CreateStore(llvm::Constant::getNullValue(memory_type(context_, s.type)), storage);
  else
    b_.CreateMemSet(storage, b_.getInt8(0), s.immediate * declared.threads * size_of(s.type),
                    storage->getAlign());
}

Value* BodyLowering::local_address(const ir::Statement& s, bool indexed) {
  const Iteration::Local& local = it_.local(s.index);
  llvm::Type* type = local.in_words ? b_.getInt32Ty() : memory_type(context_, local.type);
  Value* index = indexed ? it_.value(s.operands.at(0)) : nullptr;
  if (indexed && kernel_.options.check_bounds) check_index(s, {index}, {i64(local.count)});
  if (local.count == 1) indexed = false;
  if (local.threads > 1) {
    Value* row = indexed ? b_.CreateNSWMul(index, i64(local.threads)) : i64(0);
    return b_.CreateInBoundsGEP(type, local.address, b_.CreateNSWAdd(row, it_.thread->number));
  }
  return indexed ? b_.CreateInBoundsGEP(type, local.address, index) : local.address;
}

Value* BodyLowering::load_local(const ir::Statement& s) {
  const Iteration::Local& local = it_.local(s.index);
  Value* address = local_address(s, !s.operands.empty());
  if (!local.in_words) return load_scalar(local.type, address, is_of_group(s));
  llvm::Type* bits = b_.getIntNTy(unsigned(8 * size_of(local.type)));
  Value* word = load_scalar(Type::u32, address, is_of_group(s));
  return b_.CreateBitCast(b_.CreateTrunc(word, bits), register_type(context_, local.type));
}

void BodyLowering::store_local(const ir::Statement& s) {
  const Iteration::Local& local = it_.local(s.index);
  Value* address = local_address(s, s.operands.size() > 1);
  Value* stored = it_.value(s.operands.back());
  if (!local.in_words) return store_scalar(local.type, stored, address, is_of_group(s));
  llvm::Type* bits = b_.getIntNTy(unsigned(8 * size_of(local.type)));
  store_scalar(Type::u32, b_.CreateZExt(b_.CreateBitCast(stored, bits), b_.getInt32Ty()), address,
               is_of_group(s));
}

Value* BodyLowering::scratch_address(const ir::Statement& s, bool indexed) {
  Value* address = f_.scratch_address(s.immediate);
  if (!indexed) return address;
  return b_.CreateInBoundsGEP(memory_type(context_, s.type), address, it_.value(s.operands.at(0)));
}

}  // namespace weir::codegen
