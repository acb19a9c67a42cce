// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/task_arguments.hpp"

#include <llvm/IR/MDBuilder.h>

#include <weir/error.hpp>

#include "codegen/lowering/task_function.hpp"

namespace weir::codegen {

using llvm::Value;

namespace {

Value* find_or_null(const std::map<std::pair<std::uint32_t, std::uint32_t>, Value*>& values,
                    std::uint32_t parameter, std::uint32_t part) {
  const auto found = values.find({parameter, part});
  return found == values.end() ? nullptr : found->second;
}

}  // namespace

llvm::Type* argument_type(llvm::LLVMContext& context, const ir::TaskArgument& argument, unsigned space) {
  using Kind = ir::TaskArgument::Kind;
  switch (argument.kind) {
    case Kind::extent:
    case Kind::launch_key:
    case Kind::repetition:
      return llvm::Type::getInt64Ty(context);
    case Kind::scalar:
      return memory_type(context, argument.type);
    case Kind::site_base:
    case Kind::launch:
      return llvm::Type::getInt32Ty(context);
    default:
      return llvm::PointerType::get(context, space);
  }
}

TaskArguments::TaskArguments(const ir::Kernel& kernel, const ir::Task& task)
    : kernel_(kernel), task_(task), arrays_(kernel.parameters.size()) {}

void TaskArguments::load(Builder& b, llvm::Function& entry, const DeviceModel& device) {
  for (std::size_t i = 0; i < task_.arguments.size(); ++i) {
    using Kind = ir::TaskArgument::Kind;
    const ir::TaskArgument& argument = task_.arguments[i];
    Value* value = device.argument(b, entry, task_, i);
    const std::pair<std::uint32_t, std::uint32_t> key{argument.parameter, argument.index};
    switch (argument.kind) {
      case Kind::array:
        arrays_.at(argument.parameter) = value;
        break;
      case Kind::scratch:
        scratch_ = value;
        break;
      case Kind::error:
        error_record_ = value;
        break;
      case Kind::extent:
        extents_[key] = value;
        break;
      case Kind::scalar:
        if (argument.type == ScalarType::boolean) value = b.CreateICmpNE(value, b.getInt8(0));
        scalars_[key] = value;
        break;
      case Kind::launch_key:
        launch_key_ = value;
        break;
      case Kind::repetition:
        repetitions_.at(argument.index) = value;
        break;
      case Kind::site_base:
        site_base_ = value;
        break;
      case Kind::print:
        print_buffer_ = value;
        break;
      case Kind::launch:
        launch_ = value;
        break;
      case Kind::barrier:
        barrier_ = value;
        break;
    }
  }
  if (device.assumptions().no_alias) make_scopes(entry);
}

// LLVM compares lists of scopes for each pair of accesses, so a kernel of very many arrays does without.
void TaskArguments::make_scopes(const llvm::Function& entry) {
  constexpr std::size_t max_arrays = 32;
  std::vector<std::size_t> loaded;  // parameters of the function say it themselves
  for (std::size_t p = 0; p < arrays_.size(); ++p)
    if (arrays_[p] && !llvm::isa<llvm::Argument>(arrays_[p])) loaded.push_back(p);
  if (loaded.size() < 2 || loaded.size() > max_arrays) return;
  llvm::MDBuilder build(entry.getContext());
  llvm::MDNode* const domain = build.createAnonymousAliasScopeDomain(entry.getName());
  std::vector<llvm::Metadata*> scopes;
  for ([[maybe_unused]] const std::size_t p : loaded)
    scopes.push_back(build.createAnonymousAliasScope(domain));
  scopes_.resize(arrays_.size());
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    std::vector<llvm::Metadata*> others = scopes;
    others.erase(others.begin() + std::ptrdiff_t(i));
    scopes_[loaded[i]] = {llvm::MDNode::get(entry.getContext(), scopes[i]),
                          llvm::MDNode::get(entry.getContext(), others)};
  }
}

void TaskArguments::mark_separate(std::uint32_t parameter, llvm::Instruction& access) const {
  if (scopes_.empty() || !scopes_.at(parameter).own) return;
  access.setMetadata(llvm::LLVMContext::MD_alias_scope, scopes_[parameter].own);
  access.setMetadata(llvm::LLVMContext::MD_noalias, scopes_[parameter].others);
}

Value* TaskArguments::expect(Value* value, const std::string& what) const {
  if (value) return value;
  throw Error(ErrorCode::compile,
              "kernel '" + kernel_.name + "', task '" + task_.name + "' uses " + what +
                  ", expected to find it among the task's arguments, which lack it; build the task with "
                  "ir::argument_needs");
}

Value* TaskArguments::array(std::uint32_t parameter) const {
  return expect(arrays_.at(parameter), "array '" + kernel_.parameters.at(parameter).name + "'");
}

Value* TaskArguments::extent(std::uint32_t parameter, std::uint32_t dimension) const {
  return expect(
      find_or_null(extents_, parameter, dimension),
      "extent " + std::to_string(dimension) + " of array '" + kernel_.parameters.at(parameter).name + "'");
}

bool TaskArguments::has_extent(std::uint32_t parameter, std::uint32_t dimension) const {
  return extents_.contains({parameter, dimension});
}

Value* TaskArguments::scalar(std::uint32_t parameter, std::uint32_t component) const {
  return expect(
      find_or_null(scalars_, parameter, component),
      "component " + std::to_string(component) + " of '" + kernel_.parameters.at(parameter).name + "'");
}

Value* TaskArguments::scratch() const {
  return expect(scratch_, "scratch");
}

Value* TaskArguments::launch_key() const {
  return expect(launch_key_, "the launch key");
}

Value* TaskArguments::repetition(std::uint32_t depth) const {
  return expect(repetitions_.at(depth), "the number of a repetition");
}

Value* TaskArguments::error_record() const {
  return expect(error_record_, "the error record");
}

Value* TaskArguments::site_base() const {
  return expect(site_base_, "the number of its first site");
}

Value* TaskArguments::print_buffer() const {
  return expect(print_buffer_, "the print buffer");
}

Value* TaskArguments::barrier() const {
  return expect(barrier_, "a barrier of the grid");
}

Value* TaskArguments::launch() const {
  return expect(launch_, "the number of the launch");
}

}  // namespace weir::codegen
