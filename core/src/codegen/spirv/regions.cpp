// SPDX-License-Identifier: Apache-2.0
#include "codegen/spirv/regions.hpp"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <bit>
#include <weir/error.hpp>

namespace weir::codegen::spirv {
namespace {

constexpr unsigned device_space = 1, block_space = 3;

StorageClass storage_of(const llvm::Value* object) {
  if (llvm::isa<llvm::AllocaInst>(object)) return StorageClass::Function;
  const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(object);
  if (global && global->getAddressSpace() == block_space) return StorageClass::Workgroup;
  if (global && global->isConstant() && global->hasInitializer()) return StorageClass::Private;
  throw Error(ErrorCode::compile,
              "SPIR-V: an access is to memory that is neither an array nor a local, the block's memory or a "
              "table; report this as a bug of Weir");
}

/// The objects that an address may point into. LLVM's structured control flow merges addresses with undefined
/// ones, of paths on which the address is not used.
llvm::SmallVector<const llvm::Value*, 4> objects_of(const llvm::Value* pointer) {
  const auto is_undefined = [](const llvm::Value* object) { return llvm::isa<llvm::UndefValue>(object); };
  llvm::SmallVector<const llvm::Value*, 4> objects;
  llvm::getUnderlyingObjects(pointer, objects, nullptr, 0);
  if (!llvm::all_of(objects, is_undefined)) llvm::erase_if(objects, is_undefined);
  return objects;
}

}  // namespace

bool is_device_address(const llvm::Type* type) {
  return type->getPointerAddressSpace() == device_space;
}

bool is_block_address(const llvm::Type* type) {
  return type->getPointerAddressSpace() == block_space;
}

Regions::Regions(const llvm::Module& module) {
  for (const llvm::Function& function : module)
    for (const llvm::Instruction& i : llvm::instructions(function)) {
      if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&i))
        look_at(load->getPointerOperand(), load->getType(), load->getAlign());
      else if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&i))
        look_at(store->getPointerOperand(), store->getValueOperand()->getType(), store->getAlign());
      else if (const auto* change = llvm::dyn_cast<llvm::AtomicRMWInst>(&i))
        look_at(change->getPointerOperand(), change->getType(), change->getAlign());
      else if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&i))
        look_at(exchange->getPointerOperand(), exchange->getNewValOperand()->getType(), exchange->getAlign());
    }
  lay_out(module.getDataLayout());
}

void Regions::look_at(const llvm::Value* pointer, const llvm::Type* type, llvm::Align align) {
  if (is_device_address(pointer->getType())) return;
  const auto objects = objects_of(pointer);
  std::size_t region = region_of(objects.front());
  for (const llvm::Value* object : objects) region = join(region, region_of(object));
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  const unsigned components = vector ? vector->getNumElements() : 1;
  const unsigned all_bits = type->isIntegerTy(1) ? 8 : type->getPrimitiveSizeInBits().getFixedValue();
  const unsigned bits = all_bits / components, aligned_bits = unsigned(8 * align.value());
  reshape(regions_[region], std::min(bits, aligned_bits), all_bits <= aligned_bits ? components : 1);
}

/// After one more access. Elements are vectors as long as all accesses have one shape.
void Regions::reshape(Region& region, unsigned bits, unsigned components) {
  const bool is_first = region.bits == 0;
  const bool differs = !is_first && (region.bits != bits || region.components != components);
  region.bits = is_first ? bits : std::min(region.bits, bits);
  region.components = differs ? 1 : components;
}

std::size_t Regions::region_of(const llvm::Value* object) {
  const auto [found, added] = of_object_.try_emplace(object, regions_.size());
  if (added) {
    Region& region = regions_.emplace_back();
    region.storage = storage_of(object);
    region.objects = {object};
  }
  return found->second;
}

std::size_t Regions::join(std::size_t a, std::size_t b) {
  if (a == b) return a;
  if (regions_[a].storage != regions_[b].storage)
    throw Error(ErrorCode::compile,
                "SPIR-V: one access is to memory of two kinds; report this as a bug of Weir");
  if (regions_[b].bits) reshape(regions_[a], regions_[b].bits, regions_[b].components);
  for (const llvm::Value* object : regions_[b].objects) {
    regions_[a].objects.push_back(object);
    of_object_[object] = a;
  }
  regions_[b].objects.clear();
  return a;
}

void Regions::lay_out(const llvm::DataLayout& layout) {
  constexpr std::uint64_t align = 16;
  for (Region& region : regions_)
    for (const llvm::Value* object : region.objects) {
      const auto* local = llvm::dyn_cast<llvm::AllocaInst>(object);
      const std::uint64_t size =
          local ? local->getAllocationSize(layout)->getFixedValue()
                : layout.getTypeAllocSize(llvm::cast<llvm::GlobalVariable>(object)->getValueType());
      offsets_[object] = region.bytes;
      region.bytes += (std::max<std::uint64_t>(size, 1) + align - 1) / align * align;
    }
}

Region* Regions::of(const llvm::Value* pointer) {
  if (is_device_address(pointer->getType())) return nullptr;
  return &regions_.at(of_object_.at(objects_of(pointer).front()));
}

std::uint64_t Regions::offset(const llvm::Value* object) const {
  const auto found = offsets_.find(object);
  return found == offsets_.end() ? 0 : found->second;
}

}  // namespace weir::codegen::spirv
