// SPDX-License-Identifier: Apache-2.0
// The processor of this machine, or another x86-64: entries follow weir/sdk/cpu_kernel.h.
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>
#include <weir/sdk/cpu_kernel.h>

#include <algorithm>
#include <initializer_list>
#include <mutex>
#include <weir/error.hpp>

#include "codegen/optimisation/passes.hpp"
#include "codegen/targets/device_model.hpp"
#include "codegen/targets/link.hpp"
#include "codegen/targets/target_features.hpp"
#include "near_words.hpp"

namespace weir::codegen {
namespace {

using llvm::Value;

constexpr const char* host_triple = "x86_64-unknown-linux-gnu";

// Without these features, rounding and fused multiply-add would be calls into a C library, with which code
// objects are not linked.
constexpr const char* needed_features[] = {"avx2", "fma", "f16c"};

void initialize_host() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
}

class HostModel final : public DeviceModel {
 public:
  explicit HostModel(const Target& target)
      : cpu_(target.cpu),
        features_(target.features),
        named_features_(target.features),
        no_alias_(target.assumptions.no_alias) {
    initialize_host();
    if (!cpu_.empty() && cpu_ != "native") return;
    // Drivers judge a code object by its processor's name, so that the code must not use more than the name
    // promises.
    const llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
    const auto all = [&](std::initializer_list<const char*> names) {
      return std::ranges::all_of(names, [&](const char* name) { return host.lookup(name); });
    };
    if (!all({"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}))
      cpu_ = llvm::sys::getHostCPUName().str();  // which make_machine refuses
    else
      cpu_ = all({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}) ? "x86-64-v4" : "x86-64-v3";
    // As the CPU driver chooses for launches.
    if (all({"avx512vbmi2"})) features_ = "-prefer-256-bit" + (features_.empty() ? "" : "," + features_);
  }

  std::unique_ptr<llvm::TargetMachine> make_machine() const override {
    std::string message;
    const llvm::Triple triple(host_triple);
    const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple, message);
    if (!found)
      throw Error(ErrorCode::unsupported,
                  "code generation for x86-64 is missing from LLVM: " + message +
                      "; reinstall weir-codegen, or build it with an LLVM that has this target");
    // Checked first, because LLVM prints messages about unknown processors.
    const std::unique_ptr<llvm::MCSubtargetInfo> any(found->createMCSubtargetInfo(triple, "", ""));
    if (!any->isCPUStringValid(cpu_))
      throw Error(
          ErrorCode::unsupported,
          "'" + cpu_ +
              "' is not an x86-64 processor supported by LLVM; name one as for clang -march=, or \"native\"" +
              suggestion(cpu_, processor_names(*any)));
    const std::unique_ptr<llvm::MCSubtargetInfo> plain(found->createMCSubtargetInfo(triple, cpu_, ""));
    check_features(
        *plain, named_features_,
        // Code objects are linked with no C library, whose functions soft-float and retpoline-external-thunk
        // would call.
        [](llvm::StringRef name) {
          return !name.ends_with("64bit") && !name.ends_with("bit-mode") && name != "soft-float" &&
                 name != "retpoline-external-thunk";
        },
        "features of x86-64 as for llc -mattr=, such as +avx512f,-prefer-256-bit");
    llvm::TargetOptions options;
    options.AllowFPOpFusion =
        llvm::FPOpFusion::Standard;  // contraction is allowed per operation, in fast mode only
    options.NoTrappingFPMath = true;
    std::unique_ptr<llvm::TargetMachine> machine(
        found->createTargetMachine(triple, cpu_, features_, options, llvm::Reloc::PIC_,
                                   llvm::CodeModel::Small, llvm::CodeGenOptLevel::Aggressive));
    const llvm::MCSubtargetInfo& chip = *machine->getMCSubtargetInfo();
    for (const char* feature : needed_features)
      if (!chip.checkFeatures(std::string("+") + feature))
        throw Error(ErrorCode::unsupported,
                    "processor '" + cpu_ + "' lacks " + feature +
                        "; generated code needs AVX2, FMA and F16C (x86-64-v3, 2013 and later)");
    has_avx512_ = chip.checkFeatures("+avx512f") && chip.checkFeatures("+avx512vl");
    return machine;
  }

  std::string target_name() const override { return cpu_; }
  // Drivers judge the processor's name only.
  std::string needs() const override { return added_features(named_features_); }

  llvm::Function* declare_entry(llvm::Module& module, const ir::Kernel&,
                                const ir::Task& task) const override {
    llvm::LLVMContext& context = module.getContext();
    llvm::Type* pointer = llvm::PointerType::get(context, 0);
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, pointer}, false);
    auto* f = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, task.name, module);
    f->addFnAttr(llvm::Attribute::NoUnwind);
    f->setUWTableKind(llvm::UWTableKind::Default);  // for backtraces from within a kernel
    f->addFnAttr("target-cpu", cpu_);
    f->addFnAttr("target-features", features_);
    f->addFnAttr("no-trapping-math", "true");
    for (unsigned i = 0; i < 2; ++i) {
      const std::uint64_t size = i == 0 ? task.argument_bytes : sizeof(weir_cpu_run);
      f->addParamAttr(i, llvm::Attribute::NoAlias);
      f->addParamAttr(i, llvm::Attribute::ReadOnly);
      f->addParamAttr(i, llvm::Attribute::NoUndef);
      if (size > 0) f->addDereferenceableParamAttr(i, size);
    }
    f->getArg(0)->setName("arguments");
    f->getArg(1)->setName("run");
    f->addParamAttr(0, llvm::Attribute::getWithAlignment(context, llvm::Align(16)));
    f->addParamAttr(1, llvm::Attribute::getWithAlignment(context, llvm::Align(8)));
    return f;
  }

  Value* argument(Builder& b, llvm::Function& entry, const ir::Task& task, std::size_t index) const override {
    const ir::TaskArgument& argument = task.arguments[index];
    Value* address = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), entry.getArg(0), argument.offset);
    llvm::Type* type = argument_type(b.getContext(), argument, 0);
    llvm::LoadInst* load =
        b.CreateAlignedLoad(type, address, entry.getParent()->getDataLayout().getABITypeAlign(type));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b.getContext(), {}));
    // Extents are never negative: the host checks arguments.
    if (argument.kind == ir::TaskArgument::Kind::extent)
      load->setMetadata(llvm::LLVMContext::MD_range,
                        llvm::MDBuilder(b.getContext())
                            .createRange(llvm::APInt(64, 0), llvm::APInt::getSignedMinValue(64)));
    return load;
  }
  // Code for a CPU does not depend on the others.
  LaunchAssumptions assumptions() const override { return {.no_alias = no_alias_}; }
  // Locals of one iteration are on the stack of a worker thread, which has a few MiB.
  std::uint64_t max_stack_bytes() const override { return 1u << 20; }

  // The blocks of a run are one consecutive range. Long loops are divided at multiples of 16 iterations, so
  // that no two blocks write one cache line of an array that is aligned to one. The bounds are products in
  // f64, which grow with the block and are 0 for the first and n after the last, so that rounding leaves out
  // nothing: a division of integers takes LLVM and the processor longer.
  Share share(Builder& b, llvm::Function& entry, const ir::Kernel&, const ir::Task& task, Value* n,
              bool whole) const override {
    if (task.kind == ir::TaskKind::phases) return {b.getInt64(0), n, b.getInt64(1)};
    const auto [grid, first, end] = run_of(b, entry);
    Value* shift = b.getInt64(0);
    if (!whole)
      shift = b.CreateSelect(b.CreateICmpUGE(n, b.CreateMul(grid, b.getInt64(64))), b.getInt64(4), shift);
    Value* round = b.CreateSub(b.CreateShl(b.getInt64(1), shift), b.getInt64(1));
    Value* units = b.CreateLShr(b.CreateAdd(n, round), shift);
    llvm::Type* const f64 = b.getDoubleTy();
    Value* each = b.CreateFDiv(b.CreateSIToFP(units, f64), b.CreateSIToFP(grid, f64));
    const auto bound = [&](Value* block) {
      Value* unit = b.CreateFPToSI(b.CreateFMul(b.CreateSIToFP(block, f64), each), b.getInt64Ty());
      unit = b.CreateSelect(b.CreateICmpEQ(block, grid), units, unit);
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b.CreateShl(unit, shift), n);
    };
    return {bound(first), bound(end), b.getInt64(1)};
  }
  Value* has_first_block(Builder& b, llvm::Function& entry) const override {
    return b.CreateICmpEQ(run_of(b, entry).first, b.getInt64(0));
  }
  // Of few parts, whose number times that of the blocks has 64 bits.
  Share share_of_block(Builder& b, llvm::Function& entry, const ir::Kernel&, const ir::Task&,
                       Value* n) const override {
    const auto [grid, first, end] = run_of(b, entry);
    return {b.CreateUDiv(b.CreateMul(first, n), grid), b.CreateUDiv(b.CreateMul(end, n), grid),
            b.getInt64(1)};
  }

  std::size_t vector_bytes() const override { return has_avx512_ ? 64 : 32; }
  bool reduces_strength(std::span<const ir::Task* const>) const override { return false; }
  CodeObject::Entry launch_shape(const ir::Kernel&, const ir::Task&) const override { return {}; }

  MathOptions math_options() const override {
    return {.fast = false, .vector_variants = true, .scales = has_avx512_};
  }

  void work_around(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) const override {
    llvm::ModulePassManager passes;
    llvm::FunctionPassManager of_function;
    of_function.addPass(MinMaxBySelect());
    of_function.addPass(NoMaskExtension());
    of_function.addPass(PrefetchStreams());
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(of_function)));
    passes.run(module, analyses);
  }
  bool has_lines() const override { return true; }

  std::vector<std::byte> link(const llvm::SmallVectorImpl<char>& object) const override {
    // The CPU driver adds the load address at these relocations in debug sections.
    return link_shared_object(object, {"--emit-relocs"});
  }

 private:
  struct Run {
    Value *grid, *first, *end;  ///< blocks of the launch, and of this call; i64
  };
  static Run run_of(Builder& b, llvm::Function& entry) {
    const auto field = [&](llvm::Type* type, std::size_t offset) {
      llvm::LoadInst* load =
          b.CreateLoad(type, b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), entry.getArg(1), offset));
      load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b.getContext(), {}));
      return load;
    };
    llvm::Type* i64 = b.getInt64Ty();
    return {b.CreateZExt(field(b.getInt32Ty(), offsetof(weir_cpu_run, grid)), i64),
            field(i64, offsetof(weir_cpu_run, first_block)), field(i64, offsetof(weir_cpu_run, end_block))};
  }

  std::string cpu_, features_, named_features_;
  bool no_alias_;
  mutable bool has_avx512_ = false;
};

}  // namespace

std::unique_ptr<DeviceModel> make_host_model(const Target& target) {
  return std::make_unique<HostModel>(target);
}

}  // namespace weir::codegen
