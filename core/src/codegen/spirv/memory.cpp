// SPDX-License-Identifier: Apache-2.0
// Addresses, loads, stores and atomic operations. A pointer is an integer: an address in device memory, or an
// offset in a region.
#include <llvm/IR/GetElementPtrTypeIterator.h>

#include <bit>

#include "codegen/spirv/function_translation.hpp"

namespace weir::codegen::spirv {
void FunctionTranslation::address(const llvm::GetElementPtrInst& i) {
  const Id type = b_.integer_type(64);
  llvm::SmallMapVector<llvm::Value*, llvm::APInt, 4> variable;
  llvm::APInt constant(64, 0);
  if (!llvm::cast<llvm::GEPOperator>(i).collectOffset(function_.getDataLayout(), 64, variable, constant))
    refuse("an address has an index of unknown scale");
  Id sum = value(i.getPointerOperand());
  for (const auto& [index, scale] : variable) {
    Id wide = value(index);
    if (!index->getType()->isIntegerTy(64)) wide = add(Op::SConvert, type, {wide});
    if (!scale.isOne()) wide = add(Op::IMul, type, {wide, number(64, scale.getZExtValue())});
    sum = add(Op::IAdd, type, {sum, wide});
  }
  if (constant.isZero()) return add_as(i, Op::CopyObject, {sum});
  add_as(i, Op::IAdd, {sum, number(64, constant.getZExtValue())});
}

Id FunctionTranslation::device_pointer(Id address, Id type) {
  return add(Op::ConvertUToPtr, b_.pointer_type(StorageClass::PhysicalStorageBuffer, type), {address});
}

/// An integer of memory_bits(), or a vector of such.
Id FunctionTranslation::bits_type(const llvm::Type* type) {
  const Id bits = b_.integer_type(memory_bits(type->getScalarType()));
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector ? b_.vector_type(bits, vector->getNumElements()) : bits;
}

/// A value as one of bits_type().
Id FunctionTranslation::to_bits(const llvm::Value* v) {
  const llvm::Type* type = v->getType();
  if (type->isIntegerTy(1))
    return add(Op::Select, b_.integer_type(8), {value(v), number(8, 1), number(8, 0)});
  if (!type->isFPOrFPVectorTy()) return value(v);
  return add(Op::Bitcast, bits_type(type), {value(v)});
}

void FunctionTranslation::from_bits(const llvm::Value& defined, Id bits) {
  const llvm::Type* type = defined.getType();
  if (type->isIntegerTy(1)) return add_as(defined, Op::INotEqual, {bits, number(8, 0)});
  add_as(defined, type->isFPOrFPVectorTy() ? Op::Bitcast : Op::CopyObject, {bits});
}

/// The element `index` elements after an offset in bytes.
Id FunctionTranslation::element(Region& region, Id offset, std::uint64_t index) {
  const Id type = b_.integer_type(64);
  const auto shift = std::uint64_t(std::countr_zero(region.bits / 8 * region.components));
  Id at = shift ? add(Op::ShiftRightLogical, type, {offset, number(64, shift)}) : offset;
  if (index > 0) at = add(Op::IAdd, type, {at, number(64, index)});
  at = add(Op::UConvert, b_.integer_type(32), {at});
  const Id variable =
      region.storage == StorageClass::Function ? locals_.at(&region) : module_.variable(region);
  return add(Op::AccessChain, b_.pointer_type(region.storage, module_.element_type(region)), {variable, at});
}

/// The number of `bits` that follows `place` others at an offset in bytes.
Id FunctionTranslation::load_number(Region& region, Id offset, unsigned bits, unsigned place) {
  const Id part = b_.integer_type(region.bits), whole = b_.integer_type(bits);
  const unsigned parts = bits / region.bits;
  Id result = 0;
  for (unsigned k = 0; k < parts; ++k) {
    Id loaded = add(Op::Load, part, {element(region, offset, place * parts + k)});
    if (parts == 1) return loaded;
    loaded = add(Op::UConvert, whole, {loaded});
    if (k > 0) loaded = add(Op::ShiftLeftLogical, whole, {loaded, number(32, k * region.bits)});
    result = k > 0 ? add(Op::BitwiseOr, whole, {result, loaded}) : loaded;
  }
  return result;
}

void FunctionTranslation::store_number(Region& region, Id offset, Id stored, unsigned bits, unsigned place) {
  const Id part = b_.integer_type(region.bits), whole = b_.integer_type(bits);
  const unsigned parts = bits / region.bits;
  for (unsigned k = 0; k < parts; ++k) {
    Id element_value = stored;
    if (k > 0) element_value = add(Op::ShiftRightLogical, whole, {stored, number(32, k * region.bits)});
    if (parts != 1) element_value = add(Op::UConvert, part, {element_value});
    put(code_, Op::Store, {element(region, offset, place * parts + k), element_value});
  }
}

void FunctionTranslation::load(Region& region, const llvm::LoadInst& i) {
  const Id offset = value(i.getPointerOperand());
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(i.getType());
  if (!vector) return from_bits(i, load_number(region, offset, memory_bits(i.getType()), 0));
  const Id numbers = bits_type(vector);
  if (region.components > 1) return from_bits(i, add(Op::Load, numbers, {element(region, offset, 0)}));
  Words parts;
  for (unsigned k = 0; k < vector->getNumElements(); ++k)
    parts.push_back(load_number(region, offset, memory_bits(vector->getElementType()), k));
  from_bits(i, add(Op::CompositeConstruct, numbers, parts));
}

void FunctionTranslation::store(Region& region, const llvm::StoreInst& i) {
  const Id offset = value(i.getPointerOperand()), stored = to_bits(i.getValueOperand());
  const llvm::Type* type = i.getValueOperand()->getType();
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (!vector) return store_number(region, offset, stored, memory_bits(type), 0);
  if (region.components > 1) return put(code_, Op::Store, {element(region, offset, 0), stored});
  const unsigned bits = memory_bits(vector->getElementType());
  for (unsigned k = 0; k < vector->getNumElements(); ++k)
    store_number(region, offset, add(Op::CompositeExtract, b_.integer_type(bits), {stored, k}), bits, k);
}

void FunctionTranslation::load(const llvm::LoadInst& i) {
  const llvm::Type* type = i.getType();
  if (Region* region = module_.regions.of(i.getPointerOperand())) return load(*region, i);
  if (i.isAtomic()) {
    const Id of_bits = b_.integer_type(memory_bits(type));
    const Id pointer = atomic_pointer(i.getPointerOperand(), memory_bits(type));
    return from_bits(i, add(Op::AtomicLoad, of_bits,
                            {pointer, number(32, scope::device), number(32, semantics::relaxed)}));
  }
  const Id in_memory = type->isIntegerTy(1) ? b_.integer_type(8) : module_.type(type);
  const Words access{device_pointer(value(i.getPointerOperand()), in_memory), aligned,
                     std::uint32_t(i.getAlign().value())};
  if (type->isIntegerTy(1)) return from_bits(i, add(Op::Load, in_memory, access));
  add_as(i, Op::Load, access);
}

void FunctionTranslation::store(const llvm::StoreInst& i) {
  const llvm::Value* stored = i.getValueOperand();
  const llvm::Type* type = stored->getType();
  if (Region* region = module_.regions.of(i.getPointerOperand())) return store(*region, i);
  if (i.isAtomic()) {
    const bool releases = module_.orders_memory() && llvm::isReleaseOrStronger(i.getOrdering());
    const Id pointer = atomic_pointer(i.getPointerOperand(), memory_bits(type));
    put(code_, Op::AtomicStore,
        {pointer, number(32, scope::device),
         number(32, releases ? semantics::release | semantics::arrays : semantics::relaxed),
         to_bits(stored)});
    return;
  }
  const bool boolean = type->isIntegerTy(1);
  const Id in_memory = boolean ? b_.integer_type(8) : module_.type(type);
  const Id written = boolean ? to_bits(stored) : value(stored);
  put(code_, Op::Store,
      {device_pointer(value(i.getPointerOperand()), in_memory), written, aligned,
       std::uint32_t(i.getAlign().value())});
}

Id FunctionTranslation::atomic_pointer(const llvm::Value* pointer, unsigned bits) {
  if (bits == 64) b_.need(Capability::Int64Atomics);
  Region* region = module_.regions.of(pointer);
  if (!region) return device_pointer(value(pointer), b_.integer_type(bits));
  if (region->bits != bits || region->storage != StorageClass::Workgroup)
    refuse("an atomic operation is on memory that other accesses divide");
  return element(*region, value(pointer), 0);
}

void FunctionTranslation::atomic(const llvm::AtomicRMWInst& i) {
  const unsigned bits = memory_bits(i.getType());
  const bool in_block = module_.regions.of(i.getPointerOperand()) != nullptr;
  const Id within = number(32, in_block ? scope::block : scope::device),
           order = number(32, semantics::relaxed);
  if (i.getOperation() == llvm::AtomicRMWInst::FAdd) {
    b_.need(bits == 32 ? Capability::AtomicFloat32AddEXT : Capability::AtomicFloat64AddEXT);
    b_.need_extension("SPV_EXT_shader_atomic_float_add");
    const Id pointer = device_pointer(value(i.getPointerOperand()), b_.float_type(bits));
    return add_as(i, Op::AtomicFAddEXT, {pointer, within, order, value(i.getValOperand())});
  }
  Op op = Op::AtomicExchange;
  switch (i.getOperation()) {
    case llvm::AtomicRMWInst::Xchg:
      break;
    case llvm::AtomicRMWInst::Add:
      op = Op::AtomicIAdd;
      break;
    case llvm::AtomicRMWInst::Sub:
      op = Op::AtomicISub;
      break;
    case llvm::AtomicRMWInst::And:
      op = Op::AtomicAnd;
      break;
    case llvm::AtomicRMWInst::Or:
      op = Op::AtomicOr;
      break;
    case llvm::AtomicRMWInst::Xor:
      op = Op::AtomicXor;
      break;
    case llvm::AtomicRMWInst::Min:
      op = Op::AtomicSMin;
      break;
    case llvm::AtomicRMWInst::UMin:
      op = Op::AtomicUMin;
      break;
    case llvm::AtomicRMWInst::Max:
      op = Op::AtomicSMax;
      break;
    case llvm::AtomicRMWInst::UMax:
      op = Op::AtomicUMax;
      break;
    default:
      refuse("an atomic operation has no translation");
  }
  const Id pointer = atomic_pointer(i.getPointerOperand(), bits);
  from_bits(i, add(op, b_.integer_type(bits), {pointer, within, order, to_bits(i.getValOperand())}));
}

void FunctionTranslation::exchange(const llvm::AtomicCmpXchgInst& i) {
  const llvm::Value* expected = i.getCompareOperand();
  const unsigned bits = memory_bits(expected->getType());
  const Id type = b_.integer_type(bits);
  const bool in_block = module_.regions.of(i.getPointerOperand()) != nullptr;
  const Id within = number(32, in_block ? scope::block : scope::device),
           order = number(32, semantics::relaxed);
  const Id pointer = atomic_pointer(i.getPointerOperand(), bits);
  const Id old = add(Op::AtomicCompareExchange, type,
                     {pointer, within, order, order, value(i.getNewValOperand()), value(expected)});
  add_as(i, Op::CompositeConstruct, {old, add(Op::IEqual, b_.bool_type(), {old, value(expected)})});
}

}  // namespace weir::codegen::spirv
