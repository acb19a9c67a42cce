// SPDX-License-Identifier: Apache-2.0
// Vulkan devices: SPIR-V 1.6 modules for Vulkan 1.3.
//
// LLVM's own SPIR-V target is not used for code. For a pointer to device memory that was an integer, it
// writes OpConvertUToPtr to CrossWorkgroup with the memory model Logical, which spirv-val refuses (22.1.8).
// Weir's IR is not translated directly either. Math functions are LLVM IR, and lowering gives operations
// their exact semantics in LLVM IR; a second path would repeat both. codegen/spirv/ translates optimised LLVM
// IR.
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <vector>
#include <weir/error.hpp>
#include <weir/sdk/vulkan_features.hpp>

#include "codegen/spirv/prepare.hpp"
#include "codegen/spirv/translate.hpp"
#include "codegen/targets/gpu_model.hpp"
#include "near_words.hpp"

namespace weir::codegen {
namespace {

using llvm::Value;
namespace feature = sdk::vulkan_feature;

// Its data layout is that of 64-bit addresses.
constexpr const char* spirv_triple = "spirv64-unknown-unknown";

void initialize_spirv() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeSPIRVTargetInfo();
    LLVMInitializeSPIRVTarget();
    LLVMInitializeSPIRVTargetMC();
  });
}

[[noreturn]] void refuse(const std::string& words) {
  throw Error(ErrorCode::unsupported, words);
}

/// Of a target that names no features: those of nearly all desktop GPUs. Devices always name theirs.
std::set<std::string> usual_features() {
  return {feature::int8,    feature::int16,        feature::int64,        feature::float16,
          feature::float64, feature::atomic_int64, feature::memory_order, feature::vectors};
}

std::set<std::string> parse_features(const std::string& text) {
  if (text.empty()) return usual_features();
  std::set<std::string> found;
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(text).split(parts, ',', -1, /*KeepEmpty=*/false);
  for (const llvm::StringRef part : parts) {
    const std::string name = part.drop_front().str();
    const bool known =
        std::ranges::any_of(feature::all, [&](const char* known_name) { return name == known_name; });
    if (!known || (part[0] != '+' && part[0] != '-'))
      refuse("'" + part.str() +
             "' is not a feature of Vulkan targets; expected + or - and a name such as float64" +
             suggestion(name, std::vector<std::string>(std::begin(feature::all), std::end(feature::all))));
    if (part[0] == '+')
      found.insert(name);
    else
      found.erase(name);
  }
  return found;
}

/// The feature that values of a type need in memory, or that computing with them needs; null for none.
const char* feature_of(ScalarType type, bool in_memory) {
  switch (type) {
    case ScalarType::boolean:
      return in_memory ? feature::int8 : nullptr;
    case ScalarType::i8:
    case ScalarType::u8:
      return feature::int8;
    case ScalarType::i16:
    case ScalarType::u16:
      return feature::int16;
    case ScalarType::f16:
      return feature::float16;
    case ScalarType::f64:
      return feature::float64;
    default:
      return nullptr;
  }
}

bool is_access(ir::Op op) {
  using ir::Op;
  return op == Op::load || op == Op::store || op == Op::argument || op == Op::local || op == Op::scratch_load;
}

class SpirvModel final : public GpuModel {
 public:
  explicit SpirvModel(const Target& target)
      : GpuModel(target), name_(target.cpu), features_(parse_features(target.features)) {
    initialize_spirv();
    if (!llvm::StringRef(name_).starts_with("vulkan1.") || name_ < "vulkan1.3")
      refuse(
          "'" + name_ +
          "' is not a Vulkan target that code is generated for; expected vulkan1.3, as weir info lists it");
    if (!has(feature::int64))
      refuse(
          "code for Vulkan needs the device's feature int64, because addresses are 64-bit integers; use "
          "another device");
    const std::uint32_t lanes = std::bit_floor(target.lanes);
    if (lanes < 32) return;
    if (has(feature::subgroup_shuffle)) exchange_ = std::min(lanes, std::uint32_t(ir::reduce_lanes));
    // A ballot has 128 bits.
    if (has(feature::subgroup_ballot) && lanes <= 128) ballot_ = lanes;
  }

  std::unique_ptr<llvm::TargetMachine> make_machine() const override {
    std::string message;
    const llvm::Triple triple(spirv_triple);
    const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple, message);
    if (!found)
      refuse("code generation for SPIR-V is missing from LLVM: " + message +
             "; reinstall weir-codegen, or build it with an LLVM that has this target");
    return std::unique_ptr<llvm::TargetMachine>(
        found->createTargetMachine(triple, "", "", llvm::TargetOptions(), std::nullopt, std::nullopt,
                                   llvm::CodeGenOptLevel::Aggressive));
  }

  std::string needs() const override {
    std::string list;
    for (const std::string& name : features_) list += (list.empty() ? "+" : ",+") + name;
    return list;
  }
  std::string target_name() const override { return "vulkan1.3"; }
  llvm::SyncScope::ID device_scope(llvm::LLVMContext& context) const override {
    return context.getOrInsertSyncScopeID("device");
  }
  // Nothing is promised for subnormal operands of atomic additions.
  bool adds_flush() const override { return true; }
  // The features are those of buffers. In memory of a block llvmpipe crashes on such additions, and on an
  // H200 a group with barriers hangs (tests/evidence/vulkan.md).
  bool adds_floats(ScalarType type, bool in_block) const override {
    if (type == ScalarType::f16 || in_block) return false;
    return has(type == ScalarType::f32 ? feature::atomic_float32_add : feature::atomic_float64_add);
  }

  void check(const ir::Kernel& kernel, const ir::Task& task) const override { check(kernel, task.body); }

  std::uint32_t lanes() const override { return exchange_; }
  Value* thread(Builder& b) const override { return number(b, spirv::thread_function); }
  Value* block(Builder& b) const override { return number(b, spirv::block_function); }
  Value* grid(Builder& b, std::uint32_t) const override {
    // Never 0, so that LLVM does not treat steps of loops as 0.
    llvm::CallInst* blocks = number(b, spirv::grid_function);
    blocks->setMetadata(llvm::LLVMContext::MD_range,
                        llvm::MDBuilder(b.getContext()).createRange(llvm::APInt(32, 1), llvm::APInt(32, 0)));
    return blocks;
  }
  Value* shuffle(Builder& b, Value* v, Value* lane) const override {
    llvm::Type* word = b.getInt32Ty();
    llvm::FunctionCallee shuffle =
        module_of(b).getOrInsertFunction(name_of(spirv::shuffle_function), word, word, word);
    return together(b, shuffle, {v, lane});
  }
  Value* shuffle_down(Builder& b, Value* v, std::uint32_t by) const override {
    return shuffle(b, v, b.CreateAnd(b.CreateAdd(thread(b), b.getInt32(by)), b.getInt32(exchange_ - 1)));
  }
  // 2 ULP. The exact form is made of an exact square root and an exact division, each some hundred
  // operations.
  Value* fast_math(Builder& b, ir::MathFunction function, llvm::ArrayRef<Value*> args) const override {
    llvm::Type* const type = args[0]->getType();
    if (function != ir::MathFunction::rsqrt || !type->isFloatTy()) return nullptr;
    llvm::FunctionCallee inverse =
        module_of(b).getOrInsertFunction(name_of(spirv::inverse_sqrt_function), type, type);
    llvm::CallInst* call = b.CreateCall(inverse, {args[0]});
    call->setDoesNotAccessMemory();
    call->setDoesNotThrow();
    return call;
  }
  std::uint32_t ballot_lanes() const override { return ballot_; }
  Value* ballot(Builder& b, Value* holds) const override {
    llvm::Type* word = b.getInt32Ty();
    Value* number = b.CreateAnd(b.CreateLShr(thread(b), 5), b.getInt32(ballot_ / 32 - 1));
    llvm::FunctionCallee ballot =
        module_of(b).getOrInsertFunction(name_of(spirv::ballot_function), word, b.getInt1Ty(), word);
    return together(b, ballot, {holds, number});
  }
  void barrier(Builder& b) const override { wait(b, spirv::barrier_function); }
  void barrier_of_lanes(Builder& b) const override { wait(b, spirv::lanes_barrier_function); }
  // A variable has elements of one size, the smallest that is accessed, and an atomic operation needs a whole
  // element. Counters have 32 bits, so values of 32 and 64 bits can overlay one another, but no smaller ones.
  bool overlays_block_memory() const override { return false; }
  /// Memory that atomic operations access too must not be divided into bytes.
  bool takes_fills() const override { return false; }
  /// With 16 KiB of counters a histogram takes 1.2 times as long as with 12 KiB on an H200
  /// (tests/evidence/vulkan.md).
  std::uint32_t max_private_counters() const override { return 3072; }

  void work_around(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) const override {
    spirv::prepare(module, analyses,
                   {.f32_divide = has(feature::exact_f32_divide),
                    .f64_divide = has(feature::exact_f64_divide),
                    .f32_sqrt = has(feature::exact_f32_sqrt),
                    .f64_sqrt = has(feature::exact_f64_sqrt),
                    .f32_fma = has(feature::exact_f32_fma),
                    .f64_fma = has(feature::exact_f64_fma),
                    .i64_divide = has(feature::divide_int64),
                    .f64_adds = has(feature::float64)},
                   has(feature::vectors));
  }

  std::vector<std::byte> translate(llvm::Module& module) const override {
    spirv::TranslationOptions options;
    options.orders_memory = has(feature::memory_order);
    options.pushes_arguments = has(feature::vectors);
    options.f16 = controls(feature::mode_denormals_f16, feature::mode_specials_f16, feature::mode_rte_f16);
    options.f32 = controls(feature::mode_denormals_f32, feature::mode_specials_f32, feature::mode_rte_f32);
    options.f64 = controls(feature::mode_denormals_f64, feature::mode_specials_f64, feature::mode_rte_f64);
    const std::pair<const char*, spirv::Capability> optional[] = {
        {feature::int8, spirv::Capability::Int8},
        {feature::int16, spirv::Capability::Int16},
        {feature::float16, spirv::Capability::Float16},
        {feature::float64, spirv::Capability::Float64},
        {feature::atomic_int64, spirv::Capability::Int64Atomics}};
    for (const auto& [name, capability] : optional)
      if (!has(name)) options.missing[capability] = name;
    const spirv::Words words = spirv::translate(module, options);
    std::vector<std::byte> bytes(words.size() * sizeof words[0]);
    std::memcpy(bytes.data(), words.data(), bytes.size());
    return bytes;
  }

  std::string disassemble(const std::vector<std::byte>&) const override {
    refuse("SPIR-V has no assembly in Weir; write the module to a file and pass it to spirv-dis");
  }

  std::vector<std::byte> link(const llvm::SmallVectorImpl<char>&) const override {
    throw Error(ErrorCode::compile, "a SPIR-V module is not linked");
  }

 protected:
  void mark_entry(llvm::Function& entry, const ir::Kernel&, const ir::Task&) const override {
    entry.addFnAttr("no-trapping-math", "true");
    entry.setConvergent();
  }

 private:
  bool has(const char* name) const { return features_.contains(name); }

  spirv::FloatControls controls(const char* denormals, const char* specials, const char* to_even) const {
    return {
        .keeps_denormals = has(denormals), .keeps_specials = has(specials), .rounds_to_even = has(to_even)};
  }

  static llvm::Module& module_of(Builder& b) { return *b.GetInsertBlock()->getModule(); }
  static llvm::StringRef name_of(std::string_view name) { return name; }

  static llvm::CallInst* number(Builder& b, std::string_view name) {
    llvm::FunctionCallee callee = module_of(b).getOrInsertFunction(name_of(name), b.getInt32Ty());
    llvm::CallInst* call = b.CreateCall(callee);
    call->setDoesNotAccessMemory();
    call->setDoesNotThrow();
    call->addFnAttr(llvm::Attribute::WillReturn);
    return call;
  }

  static void wait(Builder& b, std::string_view name) {
    llvm::FunctionCallee callee = module_of(b).getOrInsertFunction(name_of(name), b.getVoidTy());
    together(b, callee, {});
  }

  /// A call that all threads make together: LLVM must not copy it into branches. The function is marked too,
  /// because LLVM drops the mark of a call whose function has none.
  static llvm::CallInst* together(Builder& b, llvm::FunctionCallee callee, llvm::ArrayRef<Value*> operands) {
    llvm::cast<llvm::Function>(callee.getCallee())->setConvergent();
    llvm::CallInst* call = b.CreateCall(callee, operands);
    call->setConvergent();
    call->setDoesNotThrow();
    return call;
  }

  void check(const ir::Kernel& kernel, const ir::Block& block) const {
    for (const ir::Statement& s : block.statements) {
      const auto expect = [&](const char* needed) {
        if (needed && !has(needed)) lack(kernel, s, needed);
      };
      expect(feature_of(s.type, is_access(s.op)));
      if ((s.op == ir::Op::atomic || s.op == ir::Op::shared_atomic) && size_of(s.type) == 8)
        expect(feature::atomic_int64);
      for (const ir::Block& body : s.bodies) check(kernel, body);
    }
  }

  [[noreturn]] void lack(const ir::Kernel& kernel, const ir::Statement& s, const std::string& needed) const {
    const std::string statement =
        "statement " + ir::quoted_name(s.op) + " of type " + std::string(to_string(s.type));
    const std::string words = "kernel '" + kernel.name + "': " + statement + " needs the feature " + needed +
                              ", which the Vulkan device lacks; use another type or another device";
    if (!kernel.knows(s.location)) throw Error(ErrorCode::unsupported, words);
    throw Error(ErrorCode::unsupported, words, kernel.name, kernel.files[s.location.file], s.location.line);
  }

  std::string name_;
  std::set<std::string> features_;
  std::uint32_t exchange_ = 1, ballot_ = 1;
};

}  // namespace

std::unique_ptr<DeviceModel> make_spirv_model(const Target& target) {
  return std::make_unique<SpirvModel>(target);
}

}  // namespace weir::codegen
