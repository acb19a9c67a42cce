// SPDX-License-Identifier: Apache-2.0
#include "codegen/spirv/module_translation.hpp"

#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <weir/error.hpp>
#include <weir/sdk/vulkan_launch.hpp>

#include "codegen/spirv/function_translation.hpp"

namespace weir::codegen::spirv {

namespace convention = sdk::vulkan_launch;

void refuse(const std::string& words) {
  throw Error(ErrorCode::compile, "SPIR-V: " + words + "; report this as a bug of Weir");
}

unsigned memory_bits(const llvm::Type* type) {
  if (type->isPointerTy()) return 64;
  return type->isIntegerTy(1) ? 8 : unsigned(type->getPrimitiveSizeInBits().getFixedValue());
}

bool is_declared_function(const llvm::Function& function) {
  return function.isIntrinsic() || function.isDeclaration();
}

ModuleTranslation::ModuleTranslation(llvm::Module& module, const TranslationOptions& options)
    : regions(module), module_(module), options_(options) {
  builder.forbid(options.missing);
}

Id ModuleTranslation::type(const llvm::Type* type) {
  if (type->isVoidTy()) return builder.void_type();
  if (type->isPointerTy()) return builder.integer_type(64);
  if (type->isIntegerTy(1)) return builder.bool_type();
  if (type->isIntegerTy()) {
    const unsigned bits = type->getIntegerBitWidth();
    if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
      refuse("an integer has " + std::to_string(bits) + " bits, expected 8, 16, 32 or 64");
    return builder.integer_type(bits);
  }
  if (type->isHalfTy() || type->isFloatTy() || type->isDoubleTy())
    return builder.float_type(type->getPrimitiveSizeInBits());
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type))
    return builder.vector_type(this->type(vector->getElementType()), vector->getNumElements());
  if (const auto* record = llvm::dyn_cast<llvm::StructType>(type)) {
    Words members;
    for (const llvm::Type* member : record->elements()) members.push_back(this->type(member));
    return builder.struct_type(members);
  }
  std::string text;
  llvm::raw_string_ostream(text) << *type;
  refuse("values of type " + text + " have no translation");
}

Id ModuleTranslation::constant(const llvm::Constant* constant) {
  const llvm::Type* of = constant->getType();
  if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(constant)) {
    if (of->isIntegerTy(1)) return builder.boolean(number->isOne());
    type(of);  // checks the width
    return builder.integer(number->getBitWidth(), number->getZExtValue());
  }
  if (const auto* real = llvm::dyn_cast<llvm::ConstantFP>(constant)) {
    const llvm::APInt bits = real->getValueAPF().bitcastToAPInt();
    return builder.real(bits.getBitWidth(), bits.getZExtValue());
  }
  if (llvm::isa<llvm::ConstantPointerNull>(constant)) return builder.integer(64, 0);
  if (of->isPointerTy() && !llvm::isa<llvm::UndefValue>(constant)) {
    llvm::APInt offset(64, 0);
    const llvm::Value* base =
        constant->stripAndAccumulateConstantOffsets(module_.getDataLayout(), offset, true);
    if (llvm::isa<llvm::GlobalVariable>(base) && !is_device_address(base->getType()))
      return builder.integer(64, regions.offset(base) + offset.getZExtValue());
  }
  if (of->isPointerTy() && !llvm::isa<llvm::UndefValue>(constant)) refuse("constant addresses of arrays");
  // Undefined values are zero, so that results do not depend on the device.
  if (llvm::isa<llvm::UndefValue>(constant) || constant->isNullValue()) return builder.null(type(of));
  if (llvm::isa<llvm::ConstantStruct, llvm::ConstantVector, llvm::ConstantDataVector>(constant)) {
    Words members;
    for (unsigned i = 0; const llvm::Constant* member = constant->getAggregateElement(i); ++i)
      members.push_back(this->constant(member));
    return builder.composite(type(of), members);
  }
  std::string text;
  llvm::raw_string_ostream(text) << *constant;
  refuse("the constant " + text + " has no translation");
}

Id ModuleTranslation::push_constants(const llvm::Function& entry, const std::vector<ArgumentField>& fields) {
  Words members{builder.integer_type(64)};
  for (const ArgumentField& field : fields) members.push_back(type(field.argument->getType()));
  const Id block = builder.struct_type(members);
  Id& variable = push_variables_[block];
  if (variable == 0) {
    builder.decorate(block, Decoration::Block);
    builder.decorate_member(block, 0, Decoration::Offset, {0});
    for (std::uint32_t k = 0; k < fields.size(); ++k)
      builder.decorate_member(block, k + 1, Decoration::Offset,
                              {convention::pushed_arguments_at + fields[k].offset});
    variable = builder.variable(StorageClass::PushConstant, block);
  }
  return push_constants_[&entry] = variable;
}

Id ModuleTranslation::element_type(const Region& region) {
  const Id number = builder.integer_type(region.bits);
  return region.components == 1 ? number : builder.vector_type(number, region.components);
}

Id ModuleTranslation::table(const Region& region) {
  Words elements;
  const Id element = builder.integer_type(region.bits);
  const std::uint64_t size = region.bits / 8;
  std::vector<std::uint64_t> values(region.bytes / size, 0);
  for (const llvm::Value* object : region.objects) {
    const auto* global = llvm::cast<llvm::GlobalVariable>(object);
    llvm::Constant* initial = const_cast<llvm::Constant*>(global->getInitializer());
    llvm::Type* type = llvm::IntegerType::get(module_.getContext(), region.bits);
    const std::uint64_t bytes = module_.getDataLayout().getTypeAllocSize(global->getValueType());
    for (std::uint64_t at = 0; at + size <= bytes; at += size) {
      llvm::Constant* value =
          llvm::ConstantFoldLoadFromConst(initial, type, llvm::APInt(64, at), module_.getDataLayout());
      if (value && llvm::isa<llvm::UndefValue>(value)) continue;  // of a case that does not occur
      const auto* number = llvm::dyn_cast_or_null<llvm::ConstantInt>(value);
      if (!number) refuse("a table has an element that is not a number");
      values[(regions.offset(object) + at) / size] = number->getZExtValue();
    }
  }
  for (const std::uint64_t value : values) elements.push_back(builder.integer(region.bits, value));
  return builder.composite(builder.array_type(element, std::uint32_t(values.size())), elements);
}

Id ModuleTranslation::variable(Region& region) {
  if (region.variable == 0) {
    const Id initial = region.storage == StorageClass::Private ? table(region) : 0;
    const Id array = builder.array_type(element_type(region), region.elements());
    region.variable = builder.variable(region.storage, array, initial);
  }
  return region.variable;
}

/// The variables that an entry and the functions that it calls may use.
Words ModuleTranslation::interface_of(const llvm::Function& entry) {
  llvm::SetVector<const llvm::Function*> reached;
  reached.insert(&entry);
  std::set<Id> variables{push_constants_.at(&entry)};
  for (std::size_t k = 0; k < reached.size(); ++k)
    for (const llvm::Instruction& i : llvm::instructions(*reached[k])) {
      const llvm::Value* pointer = llvm::getLoadStorePointerOperand(&i);
      if (const auto* change = llvm::dyn_cast<llvm::AtomicRMWInst>(&i)) pointer = change->getPointerOperand();
      if (const auto* swap = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&i)) pointer = swap->getPointerOperand();
      if (pointer)
        if (Region* region = regions.of(pointer); region && region->storage != StorageClass::Function)
          variables.insert(variable(*region));
      const auto* call = llvm::dyn_cast<llvm::CallInst>(&i);
      const llvm::Function* callee = call ? call->getCalledFunction() : nullptr;
      if (!callee) continue;
      const std::string_view name = callee->getName();
      if (name == thread_function) variables.insert(builder.built_in(BuiltIn::LocalInvocationId));
      if (name == block_function) variables.insert(builder.built_in(BuiltIn::WorkgroupId));
      if (name == grid_function || callee->getIntrinsicID() == llvm::Intrinsic::arithmetic_fence)
        variables.insert(builder.built_in(BuiltIn::NumWorkgroups));
      if (!is_declared_function(*callee)) reached.insert(callee);
    }
  return {variables.begin(), variables.end()};
}

void ModuleTranslation::declare_entry(const llvm::Function& function) {
  const Id id = functions_.at(&function);
  builder.entry_point(id, std::string_view(function.getName()), interface_of(function));
  Words size;
  for (std::uint32_t d = 0; d < 3; ++d) size.push_back(builder.specialisation(convention::block_size + d, 1));
  builder.mode_of_ids(id, Mode::LocalSizeId, size);
  const std::pair<std::uint32_t, const FloatControls&> widths[] = {
      {16, options_.f16}, {32, options_.f32}, {64, options_.f64}};
  for (const auto& [bits, controls] : widths) {
    const auto promise = [&, bits = bits](bool holds, Capability capability, Mode mode) {
      if (!holds) return;
      builder.need(capability);
      builder.mode(id, mode, {bits});
    };
    promise(controls.keeps_denormals, Capability::DenormPreserve, Mode::DenormPreserve);
    promise(controls.keeps_specials, Capability::SignedZeroInfNanPreserve, Mode::SignedZeroInfNanPreserve);
    promise(controls.rounds_to_even, Capability::RoundingModeRTE, Mode::RoundingModeRTE);
  }
}

Words ModuleTranslation::run() {
  for (const llvm::Function& f : module_)
    if (!is_declared_function(f)) {
      functions_[&f] = builder.new_id();
      builder.name(functions_[&f], std::string_view(f.getName()));
    }
  for (llvm::Function& f : module_)
    if (!is_declared_function(f)) FunctionTranslation(*this, f).run();
  for (const llvm::Function& f : module_)
    if (!is_declared_function(f) && !f.hasLocalLinkage()) declare_entry(f);
  return builder.finish();
}

Words translate(llvm::Module& module, const TranslationOptions& options) {
  return ModuleTranslation(module, options).run();
}

}  // namespace weir::codegen::spirv
