// SPDX-License-Identifier: Apache-2.0
// NVIDIA GPUs: PTX, which the driver compiles for the device when it loads it.
#include <llvm/ADT/StringExtras.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>
#include <weir/error.hpp>

#include "codegen/optimisation/passes.hpp"
#include "codegen/targets/gpu_model.hpp"
#include "ir/groups.hpp"
#include "near_words.hpp"

namespace weir::codegen {
namespace {

using llvm::Value;

constexpr const char* ptx_triple = "nvptx64-nvidia-cuda";

void initialize_ptx() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

/// Architectures for which code is generated, and the oldest PTX version that supports each.
struct Architecture {
  unsigned sm, ptx;
};
constexpr Architecture architectures[] = {{70, 60},  {72, 61},  {75, 63},  {80, 70},  {86, 71},
                                          {87, 74},  {88, 90},  {89, 78},  {90, 78},  {100, 86},
                                          {101, 86}, {103, 88}, {110, 90}, {120, 87}, {121, 88}};
constexpr unsigned ptx_versions[] = {60, 61, 62, 63, 64, 65, 70, 71, 72, 73, 74, 75, 76,
                                     77, 78, 80, 81, 82, 83, 84, 85, 86, 87, 88, 90};

[[noreturn]] void refuse(const std::string& words) {
  throw Error(ErrorCode::unsupported, words);
}

std::vector<std::string> architecture_names() {
  std::vector<std::string> names;
  for (const Architecture& a : architectures) names.push_back("sm_" + std::to_string(a.sm));
  return names;
}

/// The number in "sm_90" or "sm_90a". Code for an architecture runs on newer ones, so a device newer than
/// LLVM gets code for the newest architecture that LLVM supports. Devices name the PTX version that their
/// driver accepts; without it, an unknown number is an error.
unsigned architecture_number(const std::string& cpu, bool of_device) {
  llvm::StringRef rest = cpu;
  unsigned number = 0;
  const bool named = rest.consume_front("sm_") && !rest.consumeInteger(10, number);
  if (!named || (!rest.empty() && rest != "a" && rest != "f"))
    refuse("'" + cpu +
           "' is not an NVIDIA architecture; expected sm_NN such as sm_90, as weir info lists it" +
           suggestion(cpu, architecture_names()));
  if (number < architectures[0].sm)
    refuse("NVIDIA architecture '" + cpu + "' is older than generated code can be; it needs sm_70 or newer");
  const auto known = [&](const Architecture& a) { return a.sm == number; };
  if (!of_device && std::ranges::none_of(architectures, known))
    refuse("'" + cpu + "' is not an NVIDIA architecture that code is generated for: " +
           llvm::join(architecture_names(), ", ") +
           "; for a newer device add the PTX version that its driver takes, as in " + cpu + ":+ptx" +
           std::to_string(std::end(ptx_versions)[-1]) + suggestion(cpu, architecture_names()));
  return number;
}

/// The PTX version that `features` allow ("+ptx86"), in LLVM's numbering; 0 when they name none.
unsigned allowed_ptx(const std::string& features) {
  unsigned allowed = 0;
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(features).split(parts, ',', -1, false);
  for (llvm::StringRef part : parts) {
    unsigned version = 0;
    if (!part.consume_front("+ptx") || part.getAsInteger(10, version))
      refuse((llvm::Twine("'") + part +
              "' is not a feature of NVIDIA targets; expected +ptxNN, the newest PTX that the driver takes")
                 .str());
    allowed = version;
  }
  if (allowed == 0) return 0;
  if (allowed < architectures[0].ptx)
    refuse("PTX " + std::to_string(allowed / 10) + "." + std::to_string(allowed % 10) +
           " is too old for generated code, which needs 6.0; update the NVIDIA driver");
  return *(std::upper_bound(std::begin(ptx_versions), std::end(ptx_versions), allowed) - 1);
}

/// LLVM reads an array that no other argument aliases and the kernel does not write through a cache of
/// constants. Its NVPTX back end (22.1.8) crashes when it selects an atomic load for that. Such a load
/// remains of an atomic operation that changes nothing, such as an addition of 0. An argument that is not
/// marked as read-only is loaded in the ordinary way.
void keep_atomic_loads(llvm::Module& module) {
  for (llvm::Function& function : module)
    for (const llvm::Instruction& i : llvm::instructions(function))
      if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&i); load && load->isAtomic())
        if (const auto* array =
                llvm::dyn_cast<llvm::Argument>(llvm::getUnderlyingObject(load->getPointerOperand(), 0)))
          function.removeParamAttr(array->getArgNo(), llvm::Attribute::ReadOnly);
}

/// ptxas makes a loop of an atomic operation that shared memory does not have. If that begins the body of
/// another loop, the warp does not converge after it, and a barrier in the body lets threads pass too early
/// (tests/evidence/ptxas-spin.md). A volatile load, which ptxas keeps before the operation, separates the
/// loops.
void separate_spins(llvm::Module& module) {
  constexpr unsigned shared = 3;
  for (llvm::Function& function : module)
    for (llvm::Instruction& i : llvm::instructions(function)) {
      auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&i);
      if (!atomic || atomic->getPointerAddressSpace() != shared ||
          atomic->getOperation() == llvm::AtomicRMWInst::Xchg)
        continue;
      llvm::Type* const type = atomic->getType();
      if (type->isFloatingPointTy() || type->isIntegerTy(64))
        llvm::IRBuilder<>(atomic).CreateAlignedLoad(type, atomic->getPointerOperand(), atomic->getAlign(),
                                                    true);
    }
}

class PtxModel final : public GpuModel {
 public:
  explicit PtxModel(const Target& target) : GpuModel(target) {
    initialize_ptx();
    const unsigned wanted = architecture_number(target.cpu, !target.features.empty());
    const unsigned allowed = allowed_ptx(target.features);
    // The newest architecture, up to the device's, that the PTX version supports.
    Architecture best{};
    for (const Architecture& a : architectures)
      if (a.sm <= wanted && a.sm >= best.sm && (allowed == 0 || a.ptx <= allowed)) best = a;
    cpu_ = "sm_" + std::to_string(best.sm);
    ptx_ = allowed ? allowed : best.ptx;
    features_ = "+ptx" + std::to_string(ptx_);
  }

  std::unique_ptr<llvm::TargetMachine> make_machine() const override {
    std::string message;
    const llvm::Triple triple(ptx_triple);
    const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple, message);
    if (!found)
      refuse("code generation for NVIDIA GPUs is missing from LLVM: " + message +
             "; reinstall weir-codegen, or build it with an LLVM that has this target");
    llvm::TargetOptions options;
    options.AllowFPOpFusion =
        llvm::FPOpFusion::Standard;  // contraction is allowed per operation, in fast mode only
    options.NoTrappingFPMath = true;
    return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(
        triple, cpu_, features_, options, std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
  }

  std::string target_name() const override { return cpu_; }
  llvm::SyncScope::ID device_scope(llvm::LLVMContext& context) const override {
    return context.getOrInsertSyncScopeID("device");
  }

  bool adds_flush() const override { return true; }  // for atom.add.f32 of global memory: PTX ISA
  // atom.add.noftz.f16 keeps subnormal numbers and rounds to nearest even. Up to CUDA 13.0, ptxas makes a
  // loop of it that compares and swaps the word. The instruction for two halves would change a neighbour that
  // is NaN.
  bool adds_floats(ScalarType type, bool /*in_block*/) const override {
    return type != ScalarType::f16 || ptx_ >= 63;
  }

  std::uint32_t lanes() const override { return 32; }
  Value* thread(Builder& b) const override {
    return b.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {});
  }
  Value* block(Builder& b) const override {
    return b.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, {});
  }
  Value* grid(Builder& b, std::uint32_t) const override {
    return b.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x, {});
  }
  Value* shuffle(Builder& b, Value* v, Value* lane) const override {
    return b.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_idx_i32, {},
                             {b.getInt32(~0u), v, lane, b.getInt32(31)});
  }
  Value* shuffle_down(Builder& b, Value* v, std::uint32_t by) const override {
    return b.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_down_i32, {},
                             {b.getInt32(~0u), v, b.getInt32(by), b.getInt32(31)});
  }
  Value* ballot(Builder& b, Value* holds) const override {
    return b.CreateIntrinsic(llvm::Intrinsic::nvvm_vote_ballot_sync, {}, {b.getInt32(~0u), holds});
  }
  // Not the aligned one, which counts whole warps. Before it, ptxas does not always make a warp converge that
  // a loop or a branch has split, and some of its threads pass too early (tests/evidence/ptxas-barrier.md).
  void barrier(Builder& b) const override {
    b.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier_cta_sync_all, {}, {b.getInt32(0)});
  }
  void barrier_of_lanes(Builder& b) const override {
    b.CreateIntrinsic(llvm::Intrinsic::nvvm_bar_warp_sync, {}, {b.getInt32(~0u)});
  }

  // The causality order of PTX's memory model is transitive over barriers and fences.
  bool fences_for_block() const override { return true; }
  void pause(Builder& b) const override {
    constexpr std::uint32_t nanoseconds = 20;
    if (ptx_ >= 63) b.CreateIntrinsic(llvm::Intrinsic::nvvm_nanosleep, {}, {b.getInt32(nanoseconds)});
  }

  Value* opaque(Builder& b, Value* v) const override {
    auto* const type = llvm::FunctionType::get(v->getType(), {v->getType()}, false);
    const char* const same = v->getType()->isIntegerTy(64) ? "=l,0" : "=r,0";
    llvm::CallInst* call = b.CreateCall(llvm::InlineAsm::get(type, "", same, /*hasSideEffects=*/false), {v});
    call->setDoesNotAccessMemory();
    call->setDoesNotThrow();
    return call;
  }

  Value* fast_math(Builder& b, ir::MathFunction function, llvm::ArrayRef<Value*> args) const override {
    if (!args[0]->getType()->isFloatTy()) return nullptr;
    const auto approximate = [&](llvm::Intrinsic::ID id, Value* x) {
      return llvm::Intrinsic::isOverloaded(id) ? b.CreateIntrinsic(id, {x->getType()}, {x})
                                               : b.CreateIntrinsic(id, {}, {x});
    };
    switch (function) {
      case ir::MathFunction::rsqrt:  // 2 ULP
        return approximate(llvm::Intrinsic::nvvm_rsqrt_approx_ftz_f, args[0]);
      case ir::MathFunction::exp2:  // 2 ULP
        return approximate(llvm::Intrinsic::nvvm_ex2_approx_ftz, args[0]);
      default:
        return nullptr;
    }
  }

  bool work_around_in(llvm::Function& function) const override {
    return run_each(function, AbsByMaximum(), ComparedAbs(), ClampByBits(), OrderedSelects(),
                    IntegerSelects(), NegationsFirst());
  }
  // WideIntegers leaves narrow values where they are loaded and stored, so it cannot run twice.
  void work_around(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) const override {
    keep_atomic_loads(module);
    separate_spins(module);
    llvm::ModulePassManager passes;
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(WideIntegers(WideIntegers::Conversions::hidden)));
    passes.run(module, analyses);
  }

  // Sums by key take 1.20 times as long with it, compaction 1.26 times. Loops over few values in registers
  // are up to 1.1 times as fast with it (tests/evidence/performance.md).
  bool reduces_strength(std::span<const ir::Task* const> tasks) const override {
    return std::ranges::none_of(tasks, [](const ir::Task* task) {
      return std::ranges::any_of(task->body.statements, ir::is_group_loop);
    });
  }

  llvm::CodeGenFileType object_type() const override { return llvm::CodeGenFileType::AssemblyFile; }
  std::vector<std::byte> link(const llvm::SmallVectorImpl<char>& text) const override {
    std::vector<std::byte> bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
  }

 protected:
  void mark_entry(llvm::Function& entry, const ir::Kernel& kernel, const ir::Task& task) const override {
    entry.setCallingConv(llvm::CallingConv::PTX_Kernel);
    entry.addFnAttr("target-cpu", cpu_);
    entry.addFnAttr("target-features", features_);
    entry.addFnAttr("no-trapping-math", "true");
    const std::uint32_t threads = block_threads(kernel, task);
    entry.addFnAttr("nvvm.maxntid", std::to_string(threads));
    if (const std::uint32_t resident = kernel.options.min_resident_threads)
      entry.addFnAttr("nvvm.minctasm", std::to_string((resident + threads - 1) / threads));
    if (kernel.options.fast_math) entry.addFnAttr("denormal-fp-math-f32", "preserve-sign,preserve-sign");
  }

 private:
  std::string cpu_, features_;
  unsigned ptx_ = 0;  ///< the version of PTX, 10 * major + minor
};

}  // namespace

std::unique_ptr<DeviceModel> make_ptx_model(const Target& target) {
  return std::make_unique<PtxModel>(target);
}

}  // namespace weir::codegen
