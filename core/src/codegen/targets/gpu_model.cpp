// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/gpu_model.hpp"

#include <algorithm>
#include <bit>
#include <weir/error.hpp>

#include "codegen/lowering/threads/block_reduction.hpp"
#include "codegen/lowering/threads/packets.hpp"
#include "ir/additions.hpp"
#include "ir/groups.hpp"

namespace weir::codegen {

using llvm::Value;
using Kind = ir::TaskArgument::Kind;

namespace {

// Small enough for 255 registers per thread, large enough to fill a multiprocessor with few blocks.
constexpr std::uint32_t usual_threads = 256;

// For loops with private counters. Fewer blocks add up their counts fewer times, and a thread
// can still have 128 registers. A histogram of 256 bins on an H200 took 0.97 of the time of 256 threads; 1024
// threads took 0.965.
constexpr std::uint32_t counting_threads = 512;

// For loops with long bodies, at least the threads that run together.
constexpr std::uint32_t least_threads = 32;

// A block runs all phases alone, or with as few others as fill the device. A thread can still have 128
// registers.
constexpr std::uint32_t phase_threads = 512;

constexpr std::size_t padding = ~std::size_t{0};

struct Field {
  llvm::Type* type;
  std::size_t argument;  // index in Task::arguments, or `padding`
};

/// The parameters of an entry, whose natural layout is the task's argument block. With index32 extents, the
/// upper half of an extent is padding.
std::vector<Field> parameters(llvm::LLVMContext& context, const ir::Task& task, bool index32,
                              unsigned space) {
  std::vector<std::size_t> order(task.arguments.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return task.arguments[a].offset < task.arguments[b].offset;
  });
  std::vector<Field> fields;
  std::uint32_t at = 0;
  const auto pad_to = [&](std::uint32_t offset) {
    while (at < offset) {
      // The largest part that keeps its natural alignment.
      const std::uint32_t aligned = at == 0 ? 8 : at & (~at + 1);
      const std::uint32_t bytes = std::min({8u, aligned, std::bit_floor(offset - at)});
      fields.push_back({llvm::IntegerType::get(context, 8 * bytes), padding});
      at += bytes;
    }
  };
  for (const std::size_t i : order) {
    const ir::TaskArgument& argument = task.arguments[i];
    pad_to(argument.offset);
    const bool half = index32 && argument.kind == Kind::extent;
    fields.push_back({half ? llvm::Type::getInt32Ty(context) : argument_type(context, argument, space), i});
    at += half ? 4 : argument.size;
  }
  pad_to(task.argument_bytes);
  return fields;
}

bool writes(const ir::Block& block, std::uint32_t parameter) {
  return std::any_of(block.statements.begin(), block.statements.end(), [&](const ir::Statement& s) {
    if ((s.op == ir::Op::store || s.op == ir::Op::atomic) && s.index == parameter) return true;
    return std::any_of(s.bodies.begin(), s.bodies.end(),
                       [&](const ir::Block& body) { return writes(body, parameter); });
  });
}

const ir::Statement* loop_of(const ir::Task& task) {
  return task.kind == ir::TaskKind::parallel && !task.body.statements.empty() ? &task.body.statements.back()
                                                                              : nullptr;
}

bool has_barriers(const ir::Task& task) {
  if (task.kind == ir::TaskKind::phases) return true;
  const ir::Statement* loop = loop_of(task);
  return loop && ir::is_group_loop(*loop);
}

}  // namespace

llvm::Function* GpuModel::declare_entry(llvm::Module& module, const ir::Kernel& kernel,
                                        const ir::Task& task) const {
  llvm::LLVMContext& context = module.getContext();
  const std::vector<Field> fields = parameters(context, task, assumptions_.index32, global_space());
  std::vector<llvm::Type*> types;
  for (const Field& field : fields) types.push_back(field.type);
  auto* f = llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, false),
                                   llvm::GlobalValue::ExternalLinkage, task.name, module);
  f->addFnAttr(llvm::Attribute::NoUnwind);
  for (unsigned p = 0; p < fields.size(); ++p) {
    if (fields[p].argument == padding) continue;
    const ir::TaskArgument& argument = task.arguments[fields[p].argument];
    f->addParamAttr(p, llvm::Attribute::NoUndef);
    if (argument.kind == Kind::extent) {
      // Extents are never negative: the host checks arguments.
      const unsigned bits = fields[p].type->getIntegerBitWidth();
      f->addParamAttr(p, llvm::Attribute::get(context, llvm::Attribute::Range,
                                              llvm::ConstantRange(llvm::APInt::getZero(bits),
                                                                  llvm::APInt::getSignedMinValue(bits))));
    }
    if (!argument.is_address()) continue;
    const bool array = argument.kind == Kind::array;
    // After a barrier, a thread may read elements that another thread wrote before it, through the same
    // argument. LLVM assumes that a barrier does not access memory that has no alias.
    const bool read_only = array && !writes(task.body, argument.parameter);
    const bool exchanged = has_barriers(task) && !read_only;
    if ((!array || assumptions_.no_alias) && !exchanged) f->addParamAttr(p, llvm::Attribute::NoAlias);
    if (read_only) f->addParamAttr(p, llvm::Attribute::ReadOnly);
    const std::uint64_t align = !array || assumptions_.aligned
                                    ? 16
                                    : size_of(kernel.parameters.at(argument.parameter).element.scalar);
    f->addParamAttr(p, llvm::Attribute::getWithAlignment(context, llvm::Align(align)));
  }
  mark_entry(*f, kernel, task);
  return f;
}

Value* GpuModel::argument(Builder& b, llvm::Function& entry, const ir::Task& task, std::size_t index) const {
  const std::vector<Field> fields = parameters(b.getContext(), task, assumptions_.index32, global_space());
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const Field& field) { return field.argument == index; });
  Value* v = entry.getArg(unsigned(found - fields.begin()));
  const ir::TaskArgument& argument = task.arguments[index];
  return argument.kind == Kind::extent ? b.CreateZExt(v, b.getInt64Ty(), "", assumptions_.index32) : v;
}

/// Adjacent threads take adjacent iterations.
Share GpuModel::share(Builder& b, llvm::Function&, const ir::Kernel& kernel, const ir::Task& task, Value* n,
                      bool) const {
  const std::uint32_t size = block_threads(kernel, task);
  llvm::Type* wide = b.getInt64Ty();
  if (task.kind == ir::TaskKind::phases && !task.cooperative)
    return {b.CreateZExt(thread(b), wide), n, b.getInt64(size)};
  Value* block = b.CreateZExt(this->block(b), wide);
  Value* step = b.CreateMul(b.CreateZExt(grid(b, size), wide), b.getInt64(size), "", true, true);
  Value* begin = b.CreateMul(block, b.getInt64(size), "", true, true);
  if (size > 1) begin = b.CreateAdd(begin, b.CreateZExt(thread(b), wide), "", true, true);
  return {begin, n, step};
}

Share GpuModel::share_of_block(Builder& b, llvm::Function&, const ir::Kernel& kernel, const ir::Task& task,
                               Value* n) const {
  llvm::Type* wide = b.getInt64Ty();
  return {b.CreateZExt(block(b), wide), n, b.CreateZExt(grid(b, block_threads(kernel, task)), wide)};
}

std::uint32_t GpuModel::block_threads(const ir::Kernel& kernel, const ir::Task& task) const {
  switch (task.kind) {
    case ir::TaskKind::serial:
      return 1;
    case ir::TaskKind::phases:
      if (max_block_threads_ < ir::reduce_lanes) return usual_threads;
      return std::min(phase_threads, std::bit_floor(max_block_threads_));
    case ir::TaskKind::reduce_final:
      return std::clamp(std::bit_floor(max_block_threads_), std::uint32_t(ir::reduce_lanes),
                        std::uint32_t(ir::reduce_final_lanes));
    default: {
      if (const ir::Statement* loop = loop_of(task); loop && ir::is_group_loop(*loop))
        return threads_of(kernel, *loop);
      if (max_block_threads_ < ir::reduce_lanes) return usual_threads;
      const ir::Statement* loop = loop_of(task);
      const bool is_long = loop && has_long_body(kernel, *loop, assumptions_);
      const std::uint32_t wanted = counts_privately(kernel, task) ? counting_threads
                                   : is_long                      ? std::max(least_threads, lanes())
                                                                  : usual_threads;
      return std::min(wanted, std::bit_floor(max_block_threads_));
    }
  }
}

std::uint32_t GpuModel::threads_of(const ir::Kernel& kernel, const ir::Statement& loop) const {
  const std::uint64_t threads = ir::group_threads(loop);
  const bool is_known = max_block_threads_ >= ir::reduce_lanes;  // not for code that is compiled offline
  if (is_known && threads > max_block_threads_)
    throw Error(ErrorCode::unsupported, "kernel '" + kernel.name + "': a group has " +
                                            std::to_string(threads) + " threads, more than the " +
                                            std::to_string(max_block_threads_) +
                                            " of the device; use smaller groups");
  return std::uint32_t(threads);
}

bool GpuModel::counts_privately(const ir::Kernel& kernel, const ir::Task& task) const {
  const ir::Statement* loop = loop_of(task);
  return loop && assumptions_.no_alias && ir::counters_of(kernel, *loop);
}

CodeObject::Entry GpuModel::launch_shape(const ir::Kernel& kernel, const ir::Task& task) const {
  CodeObject::Entry entry;
  const std::uint32_t threads = block_threads(kernel, task);
  entry.block[0] = threads;
  entry.block_share = threads;
  if (const ir::Statement* loop = loop_of(task); loop && !ir::is_group_loop(*loop)) {
    entry.block_share *= packet_width(kernel, *loop, assumptions_);
    if (counts_privately(kernel, task)) {
      entry.waves = 1;
    } else {
      entry.block_share *= tile_packets(kernel, *loop, assumptions_);
      if (accesses_wide(kernel, *loop, assumptions_)) entry.waves = CodeObject::every_block;
    }
  }
  if (task.kind == ir::TaskKind::reduce_partial)
    entry.block_share = reduces_in_strips(task.body.statements.back()) ? 1 : threads / ir::reduce_lanes;
  return entry;
}

}  // namespace weir::codegen
