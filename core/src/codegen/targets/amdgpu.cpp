// SPDX-License-Identifier: Apache-2.0
// AMD GPUs: an HSACO, which is LLVM's object linked as a shared object.
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>

#include <bit>
#include <mutex>
#include <tuple>
#include <weir/error.hpp>

#include "codegen/optimisation/passes.hpp"
#include "codegen/targets/gpu_model.hpp"
#include "codegen/targets/link.hpp"
#include "codegen/targets/target_features.hpp"
#include "near_words.hpp"

namespace weir::codegen {
namespace {

using llvm::Value;

constexpr const char* amdgpu_triple = "amdgcn-amd-amdhsa";
constexpr std::uint32_t code_object_version = 5;
constexpr std::size_t grid_size_x =
    12;  // in the dispatch packet of the HSA runtime specification, in threads

void initialize_amdgpu() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
  });
}

[[noreturn]] void refuse(const std::string& words) {
  throw Error(ErrorCode::unsupported, words);
}

/// LLVM's feature names are separated by commas.
void add_feature(std::string& features, const std::string& feature) {
  if (!features.empty()) features += ',';
  features += feature;
}

/// "gfx90a:sramecc+:xnack-", as in HIP: the processor, and the features in LLVM's syntax.
std::pair<std::string, std::string> parse_processor(const std::string& text) {
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(text).split(parts, ':');
  std::string features;
  for (llvm::StringRef part : llvm::ArrayRef(parts).drop_front()) {
    const char sign = part.empty() ? '\0' : part.back();
    if ((part.drop_back() != "sramecc" && part.drop_back() != "xnack") || (sign != '+' && sign != '-'))
      refuse(
          "'" + text +
          "' is not an AMD target; expected gfxNNN, with :sramecc+, :sramecc-, :xnack+ or :xnack- after it");
    add_feature(features, std::string(1, sign) + part.drop_back().str());
  }
  return {parts.empty() ? "" : parts[0].str(), features};
}

/// 9 for gfx90a, 11 for gfx1100; 0 for anything else.
unsigned generation_of(llvm::StringRef cpu) {
  if (!cpu.consume_front("gfx") || cpu.size() < 3 || cpu.contains('-')) return 0;
  unsigned generation = 0;
  return cpu.drop_back(2).getAsInteger(10, generation) ? 0 : generation;
}

std::vector<std::string> generated_processors(const llvm::MCSubtargetInfo& any) {
  std::vector<std::string> names = processor_names(any);
  std::erase_if(names, [](const std::string& name) { return generation_of(name) < 9; });
  return names;
}

class AmdgpuModel final : public GpuModel {
 public:
  explicit AmdgpuModel(const Target& target) : GpuModel(target), name_(target.cpu) {
    initialize_amdgpu();
    // "sramecc+:xnack-" as features belongs to the processor's name; LLVM's features begin with a sign.
    const bool hip_features =
        !target.features.empty() && target.features[0] != '+' && target.features[0] != '-';
    if (hip_features) name_ += ":" + target.features;
    std::tie(cpu_, features_) = parse_processor(name_);
    const unsigned generation = generation_of(cpu_);
    if (generation < 9)
      refuse("'" + target.cpu +
             "' is not an AMD processor that code is generated for; expected gfx906 or newer, as weir info "
             "lists it" +
             suggestion(cpu_, std::vector<std::string>{"gfx906", "gfx908", "gfx90a", "gfx942", "gfx1030",
                                                       "gfx1100"}));
    if (!target.features.empty() && !hip_features) add_feature(features_, named_features_ = target.features);
    // Processors before gfx10 have waves of 64. Later ones support both sizes, and shuffle values only within
    // halves of a wave of 64.
    wave_ = generation < 10 ? 64 : target.lanes == 64 ? 64 : 32;
    exchange_ = generation < 10 ? 64 : 32;
    if (generation >= 10) add_feature(features_, wave_ == 64 ? "+wavefrontsize64" : "+wavefrontsize32");
    // LLVM 22.1.8 makes a sum of products of bytes, which is an addition of them, also of a product and the
    // AND, OR, XOR or shift of another one (tests/evidence/amdgpu-compiler.md).
    for (const char* sums_of_products : {"-dot1-insts", "-dot7-insts", "-dot8-insts"})
      add_feature(features_, sums_of_products);
  }

  std::unique_ptr<llvm::TargetMachine> make_machine() const override {
    std::string message;
    const llvm::Triple triple(amdgpu_triple);
    const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple, message);
    if (!found)
      refuse("code generation for AMD GPUs is missing from LLVM: " + message +
             "; reinstall weir-codegen, or build it with an LLVM that has this target");
    // Checked first, because LLVM prints messages about unknown processors.
    const std::unique_ptr<llvm::MCSubtargetInfo> any(found->createMCSubtargetInfo(triple, "", ""));
    if (!any->isCPUStringValid(cpu_))
      refuse("'" + cpu_ +
             "' is not an AMD processor supported by LLVM " LLVM_VERSION_STRING
             "; update Weir, or load a ready code object" +
             suggestion(cpu_, generated_processors(*any)));
    const std::unique_ptr<llvm::MCSubtargetInfo> plain(found->createMCSubtargetInfo(triple, cpu_, ""));
    const auto is_mode = [](llvm::StringRef name) {
      return name == "sramecc" || name == "xnack" || name == "cumode" || name == "tgsplit";
    };
    check_features(*plain, named_features_, is_mode,
                   "sramecc, xnack, cumode or tgsplit with + or - before it");
    llvm::TargetOptions options;
    options.AllowFPOpFusion =
        llvm::FPOpFusion::Standard;  // contraction is allowed per operation, in fast mode only
    options.NoTrappingFPMath = true;
    return std::unique_ptr<llvm::TargetMachine>(
        found->createTargetMachine(triple, cpu_, features_, options, llvm::Reloc::PIC_, std::nullopt,
                                   llvm::CodeGenOptLevel::Aggressive));
  }

  std::string target_name() const override { return name_; }
  llvm::SyncScope::ID device_scope(llvm::LLVMContext& context) const override {
    return context.getOrInsertSyncScopeID("agent");
  }

  // The memory instructions of these two treat subnormal f32 numbers as 0. Later processors preserve them:
  // LLVM's FeatureMemoryAtomicFAddF32DenormalSupport. Without assumptions LLVM generates loops.
  // LLVM adds other f64 in memory of a block in a loop that begins with a plain load, which is a race.
  bool adds_floats(ScalarType type, bool in_block) const override {
    const bool f64_in_block = cpu_ == "gfx90a" || cpu_.starts_with("gfx94") || cpu_.starts_with("gfx95");
    return type == ScalarType::f32 || (type == ScalarType::f64 && (!in_block || f64_in_block));
  }
  bool adds_flush() const override {
    return assumptions().device_local && (cpu_ == "gfx908" || cpu_ == "gfx90a");
  }
  // LLVM generates loops for operations that buses to other devices or to the host may not support.
  void mark_atomic(llvm::AtomicRMWInst& atomic) const override {
    if (!assumptions().device_local) return;
    llvm::MDNode* const yes = llvm::MDNode::get(atomic.getContext(), {});
    atomic.setMetadata("amdgpu.no.fine.grained.memory", yes);
    atomic.setMetadata("amdgpu.no.remote.memory", yes);
    // exact_add() passes only those additions to the device whose result does not depend on the mode; fast
    // mode allows all.
    if (atomic.getType()->isFloatTy() && adds_flush()) atomic.setMetadata("amdgpu.ignore.denormal.mode", yes);
  }

  std::uint32_t lanes() const override { return exchange_; }
  Value* thread(Builder& b) const override {
    return b.CreateIntrinsic(llvm::Intrinsic::amdgcn_workitem_id_x, {});
  }
  Value* block(Builder& b) const override {
    return b.CreateIntrinsic(llvm::Intrinsic::amdgcn_workgroup_id_x, {});
  }
  Value* grid(Builder& b, std::uint32_t block_threads) const override {
    Value* packet = b.CreateIntrinsic(llvm::Intrinsic::amdgcn_dispatch_ptr, {});
    llvm::LoadInst* threads = b.CreateAlignedLoad(
        b.getInt32Ty(), b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), packet, grid_size_x), llvm::Align(4));
    threads->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b.getContext(), {}));
    return b.CreateUDiv(threads, b.getInt32(block_threads));
  }
  Value* shuffle(Builder& b, Value* v, Value* lane) const override {
    // Lanes of the other half of a wave exchange nothing with these.
    if (exchange_ < wave_) lane = b.CreateOr(lane, b.CreateAnd(lane_of_wave(b), exchange_));
    return permuted(b, v, lane);
  }
  Value* shuffle_down(Builder& b, Value* v, std::uint32_t by) const override {
    return permuted(b, v, b.CreateAdd(lane_of_wave(b), b.getInt32(by)));  // wraps past the last lane
  }
  Value* ballot(Builder& b, Value* holds) const override {
    Value* bits = b.CreateIntrinsic(llvm::Intrinsic::amdgcn_ballot, {b.getIntNTy(wave_)}, {holds});
    if (wave_ == 32) return bits;
    Value* first = b.CreateAnd(thread(b), b.getInt32(32));  // of the thread's half of the wave
    return b.CreateTrunc(b.CreateLShr(bits, b.CreateZExt(first, b.getInt64Ty())), b.getInt32Ty());
  }
  void barrier(Builder& b) const override {
    const auto scope = b.getContext().getOrInsertSyncScopeID("workgroup");
    b.CreateFence(llvm::AtomicOrdering::Release, scope);
    b.CreateIntrinsic(llvm::Intrinsic::amdgcn_s_barrier, {});
    b.CreateFence(llvm::AtomicOrdering::Acquire, scope);
  }
  void barrier_of_lanes(Builder& b) const override {
    const auto scope = b.getContext().getOrInsertSyncScopeID("wavefront");
    b.CreateFence(llvm::AtomicOrdering::Release, scope);
    b.CreateIntrinsic(llvm::Intrinsic::amdgcn_wave_barrier, {});
    b.CreateFence(llvm::AtomicOrdering::Acquire, scope);
  }

  void pause(Builder& b) const override {
    b.CreateIntrinsic(llvm::Intrinsic::amdgcn_s_sleep, {}, {b.getInt32(1)});  // 64 clock cycles
  }

  Value* fast_math(Builder& b, ir::MathFunction function, llvm::ArrayRef<Value*> args) const override {
    if (function != ir::MathFunction::rsqrt || !args[0]->getType()->isFloatTy()) return nullptr;
    return b.CreateIntrinsic(llvm::Intrinsic::amdgcn_rsq, {args[0]->getType()}, {args[0]});  // 1 ULP
  }

  bool work_around_in(llvm::Function& function) const override {
    return run_each(function, OpaqueZeros(), SignedProducts(), SeparateMinMax(), OrderedSelects());
  }

  std::vector<std::byte> link(const llvm::SmallVectorImpl<char>& object) const override {
    return link_shared_object(object);
  }

 protected:
  void mark_entry(llvm::Function& entry, const ir::Kernel& kernel, const ir::Task& task) const override {
    llvm::Module& module = *entry.getParent();
    if (!module.getModuleFlag("amdhsa_code_object_version"))
      module.addModuleFlag(llvm::Module::Error, "amdhsa_code_object_version", 100 * code_object_version);
    entry.setCallingConv(llvm::CallingConv::AMDGPU_KERNEL);
    entry.setVisibility(llvm::GlobalValue::ProtectedVisibility);
    entry.addFnAttr("target-cpu", cpu_);
    entry.addFnAttr("target-features", features_);
    entry.addFnAttr("no-trapping-math", "true");
    const std::string threads = std::to_string(block_threads(kernel, task));
    entry.addFnAttr("amdgpu-flat-work-group-size", threads + "," + threads);
    entry.addFnAttr("uniform-work-group-size", "true");
    if (const std::uint32_t resident = kernel.options.min_resident_threads) {
      // Of a SIMD unit. A compute unit has four of 64 lanes, or two of 32 that run at most 16 waves each.
      const std::uint32_t threads_of_wave = wave_ * (wave_ == 64 ? 4 : 2);
      const std::uint32_t waves = std::min((resident + threads_of_wave - 1) / threads_of_wave, 16u);
      entry.addFnAttr("amdgpu-waves-per-eu", std::to_string(waves));
    }
    if (kernel.options.fast_math) entry.addFnAttr("denormal-fp-math-f32", "preserve-sign,preserve-sign");
  }

 private:
  static Value* permuted(Builder& b, Value* v, Value* lane) {
    Value* bytes = b.CreateShl(lane, 2);
    return b.CreateIntrinsic(llvm::Intrinsic::amdgcn_ds_bpermute, {}, {bytes, v});
  }
  Value* lane_of_wave(Builder& b) const {
    Value* lane = b.CreateIntrinsic(llvm::Intrinsic::amdgcn_mbcnt_lo, {}, {b.getInt32(~0u), b.getInt32(0)});
    if (wave_ == 64) lane = b.CreateIntrinsic(llvm::Intrinsic::amdgcn_mbcnt_hi, {}, {b.getInt32(~0u), lane});
    return lane;
  }

  std::string name_, cpu_, features_, named_features_;
  std::uint32_t wave_ = 64, exchange_ = 64;
};

}  // namespace

std::unique_ptr<DeviceModel> make_amdgpu_model(const Target& target) {
  return std::make_unique<AmdgpuModel>(target);
}

}  // namespace weir::codegen
