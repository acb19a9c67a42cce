// SPDX-License-Identifier: Apache-2.0
#include "codegen/spirv/module_builder.hpp"

#include <algorithm>
#include <weir/error.hpp>

namespace weir::codegen::spirv {
namespace {

constexpr std::uint32_t magic = 0x07230203, version = 0x00010600;
constexpr std::uint32_t addressing = 5348;  // PhysicalStorageBuffer64
constexpr std::uint32_t memory_model = 1;   // GLSL450
constexpr std::uint32_t compute = 5;        // GLCompute

void append(Words& to, const Words& words) {
  to.insert(to.end(), words.begin(), words.end());
}

Words joined(Words first, const Words& rest) {
  append(first, rest);
  return first;
}

}  // namespace

void put(Words& section, Op op, const Words& operands) {
  section.push_back(std::uint32_t(operands.size() + 1) << 16 | std::uint32_t(op));
  append(section, operands);
}

void put_string(Words& words, std::string_view text) {
  for (std::size_t begin = 0; begin <= text.size(); begin += 4) {
    std::uint32_t word = 0;
    for (std::size_t k = begin; k < std::min(begin + 4, text.size()); ++k)
      word |= std::uint32_t(std::uint8_t(text[k])) << 8 * (k - begin);
    words.push_back(word);
  }
}

void ModuleBuilder::need(Capability capability) {
  if (const auto found = forbidden_.find(capability); found != forbidden_.end())
    throw Error(ErrorCode::unsupported, "the generated code needs the feature " + found->second +
                                            ", which the Vulkan device lacks; use another function or type");
  capabilities_.insert(capability);
}

Id ModuleBuilder::declared(Op op, const Words& operands) {
  const auto [found, added] = known_.try_emplace(joined({std::uint32_t(op)}, operands), 0);
  if (!added) return found->second;
  found->second = new_id();
  put(declarations_, op, joined({found->second}, operands));
  return found->second;
}

Id ModuleBuilder::declared_value(Op op, Id type, const Words& operands) {
  const auto [found, added] = known_.try_emplace(joined({std::uint32_t(op), type}, operands), 0);
  if (!added) return found->second;
  found->second = new_id();
  put(declarations_, op, joined({type, found->second}, operands));
  return found->second;
}

Id ModuleBuilder::integer_type(unsigned bits) {
  if (bits == 8) need(Capability::Int8), need(Capability::StorageBuffer8BitAccess);
  if (bits == 16) need(Capability::Int16), need(Capability::StorageBuffer16BitAccess);
  return declared(Op::TypeInt, {bits, 0});
}

Id ModuleBuilder::float_type(unsigned bits) {
  if (bits == 16) need(Capability::Float16), need(Capability::StorageBuffer16BitAccess);
  if (bits == 64) need(Capability::Float64);
  return declared(Op::TypeFloat, {bits});
}

Id ModuleBuilder::function_type(Id result, const Words& parameters) {
  return declared(Op::TypeFunction, joined({result}, parameters));
}

Id ModuleBuilder::integer(unsigned bits, std::uint64_t value) {
  Words words{std::uint32_t(value)};
  if (bits == 64) words.push_back(std::uint32_t(value >> 32));
  return declared_value(Op::Constant, integer_type(bits), words);
}

Id ModuleBuilder::real(unsigned bits, std::uint64_t pattern) {
  Words words{std::uint32_t(pattern)};
  if (bits == 64) words.push_back(std::uint32_t(pattern >> 32));
  return declared_value(Op::Constant, float_type(bits), words);
}

Id ModuleBuilder::specialisation(std::uint32_t number, std::uint32_t value) {
  Id& id = specialisations_[number];
  if (id == 0) {
    const Id type = integer_type(32);
    id = new_id();
    put(declarations_, Op::SpecConstant, {type, id, value});
    decorate(id, Decoration::SpecId, {number});
  }
  return id;
}

Id ModuleBuilder::specialised_flag(std::uint32_t number) {
  Id& id = specialisations_[number];
  if (id == 0) {
    const Id type = bool_type();
    id = new_id();
    put(declarations_, Op::SpecConstantFalse, {type, id});
    decorate(id, Decoration::SpecId, {number});
  }
  return id;
}

Id ModuleBuilder::built_in(BuiltIn what) {
  Id& id = built_ins_[what];
  if (id == 0) {
    id = variable(StorageClass::Input, vector_type(integer_type(32), 3));
    decorate(id, Decoration::BuiltIn, {std::uint32_t(what)});
  }
  return id;
}

Id ModuleBuilder::extended_set() {
  if (extended_ == 0) extended_ = new_id();
  return extended_;
}

void ModuleBuilder::decorate(Id id, Decoration decoration, const Words& operands) {
  put(decorations_, Op::Decorate, joined({id, std::uint32_t(decoration)}, operands));
}

void ModuleBuilder::decorate_member(Id type, std::uint32_t member, Decoration decoration,
                                    const Words& operands) {
  put(decorations_, Op::MemberDecorate, joined({type, member, std::uint32_t(decoration)}, operands));
}

void ModuleBuilder::name(Id id, std::string_view text) {
  Words words{id};
  put_string(words, text);
  put(names_, Op::Name, words);
}

Id ModuleBuilder::variable(StorageClass storage, Id type, Id initial) {
  const Id pointer = pointer_type(storage, type);
  const Id id = new_id();
  Words words{pointer, id, std::uint32_t(storage)};
  if (initial != 0) words.push_back(initial);
  put(declarations_, Op::Variable, words);
  return id;
}

void ModuleBuilder::entry_point(Id function, std::string_view name, const Words& variables) {
  Words words{compute, function};
  put_string(words, name);
  put(entries_, Op::EntryPoint, joined(words, variables));
}

void ModuleBuilder::mode(Id function, Mode mode, const Words& operands) {
  put(modes_, Op::ExecutionMode, joined({function, std::uint32_t(mode)}, operands));
}

void ModuleBuilder::mode_of_ids(Id function, Mode mode, const Words& ids) {
  put(modes_, Op::ExecutionModeId, joined({function, std::uint32_t(mode)}, ids));
}

Words ModuleBuilder::finish() const {
  Words module{magic, version, 0, next_, 0};
  for (const Capability capability : capabilities_) put(module, Op::Capability, {std::uint32_t(capability)});
  for (const std::string& extension : extensions_) {
    Words words;
    put_string(words, extension);
    put(module, Op::Extension, words);
  }
  if (extended_ != 0) {
    Words words{extended_};
    put_string(words, "GLSL.std.450");
    put(module, Op::ExtInstImport, words);
  }
  put(module, Op::MemoryModel, {addressing, memory_model});
  for (const Words* section : {&entries_, &modes_, &names_, &decorations_, &declarations_, &code_})
    append(module, *section);
  return module;
}

}  // namespace weir::codegen::spirv
