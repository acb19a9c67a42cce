// SPDX-License-Identifier: Apache-2.0
// Weir's math library, compiled for each architecture and executed by the simulator, returns the same bits as
// its IR executed on this machine.
#include <gtest/gtest.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "compile.hpp"
#include "hip.hpp"
#include "initialize.hpp"

namespace weir::hipsim::test {
namespace {

constexpr unsigned count = 512, block = 128;

std::unique_ptr<llvm::Module> library(llvm::LLVMContext& context) {
  auto file = llvm::MemoryBuffer::getFile(WEIR_HIPSIM_MATH_BITCODE);
  if (!file) throw std::runtime_error("cannot read " WEIR_HIPSIM_MATH_BITCODE);
  auto module = llvm::parseBitcodeFile(**file, context);
  if (!module) throw std::runtime_error(llvm::toString(module.takeError()));
  return std::move(*module);
}

/// The tested functions take one or two numbers of a type and return one of that type.
bool is_tested(const llvm::Function& f) {
  if (f.isDeclaration() || !f.getName().starts_with("weir_") || f.arg_empty() || f.arg_size() > 2)
    return false;
  const bool number = f.getReturnType()->isFloatTy() || f.getReturnType()->isDoubleTy();
  for (const llvm::Argument& a : f.args())
    if (a.getType() != f.getReturnType()) return false;
  return number;
}

/// Adds NAME_kernel(out, a, b) for one number, and NAME_host(out, a, b, i) for the host.
void add_callers(llvm::Module& m, llvm::Function& f, bool device) {
  llvm::IRBuilder<> b(m.getContext());
  llvm::Type* pointer = b.getPtrTy(device ? 1 : 0);
  std::vector<llvm::Type*> types{pointer, pointer, pointer};
  if (!device) types.push_back(b.getInt32Ty());
  auto* caller = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), types, false),
                                        llvm::Function::ExternalLinkage, "call_" + f.getName(), m);
  if (device) {
    caller->setCallingConv(llvm::CallingConv::AMDGPU_KERNEL);
    caller->setVisibility(llvm::GlobalValue::ProtectedVisibility);
    caller->addFnAttr("amdgpu-flat-work-group-size", "1,128");
  }
  b.SetInsertPoint(llvm::BasicBlock::Create(m.getContext(), "entry", caller));
  llvm::Value* index;
  if (device) {
    llvm::Value* item = b.CreateIntrinsic(llvm::Intrinsic::amdgcn_workitem_id_x, {});
    llvm::Value* group = b.CreateIntrinsic(llvm::Intrinsic::amdgcn_workgroup_id_x, {});
    index = b.CreateAdd(b.CreateMul(group, b.getInt32(block)), item);
  } else {
    index = caller->getArg(3);
  }
  llvm::Type* type = f.getReturnType();
  const auto at = [&](unsigned argument) { return b.CreateGEP(type, caller->getArg(argument), index); };
  std::vector<llvm::Value*> inputs;
  for (unsigned k = 0; k < f.arg_size(); ++k) inputs.push_back(b.CreateLoad(type, at(1 + k)));
  llvm::CallInst* call = b.CreateCall(&f, inputs);
  call->setCallingConv(f.getCallingConv());
  b.CreateStore(call, at(0));
  b.CreateRetVoid();
}

template <class T>
std::vector<T> inputs(unsigned seed) {
  std::mt19937_64 random(seed);
  const T limit = std::numeric_limits<T>::max();
  const std::vector<T> special = {T(0),
                                  -T(0),
                                  T(1),
                                  -T(1),
                                  T(0.5),
                                  T(2),
                                  limit,
                                  -limit,
                                  std::numeric_limits<T>::infinity(),
                                  -std::numeric_limits<T>::infinity(),
                                  std::numeric_limits<T>::quiet_NaN(),
                                  std::numeric_limits<T>::min(),
                                  std::numeric_limits<T>::denorm_min(),
                                  T(1e-3)};
  std::vector<T> values(count);
  for (unsigned n = 0; n < count; ++n) {
    if (n < special.size() * special.size()) {
      values[n] = seed == 1 ? special[n % special.size()] : special[n / special.size()];
    } else if (n % 3 == 0) {
      values[n] = T(std::uniform_real_distribution<double>(-4, 4)(random));
    } else if (n % 3 == 1) {
      values[n] = T(std::uniform_real_distribution<double>(0, 100)(random));
    } else {
      const std::uint64_t bits = random();
      std::memcpy(&values[n], &bits, sizeof(T));
    }
  }
  return values;
}

template <class T>
void compare(const std::string& name, const LoadedKernel& kernel,
             void (*host)(void*, const void*, const void*, int)) {
  const std::vector<T> a = inputs<T>(1), b = inputs<T>(2);
  std::vector<T> expected(count), got(count);
  for (unsigned n = 0; n < count; ++n) host(expected.data(), a.data(), b.data(), int(n));
  DeviceArray<T> da(a), db(b), out(got);
  kernel.launch(count / block, block, out.pointer(), da.pointer(), db.pointer());
  got = out.read();
  for (unsigned n = 0; n < count; ++n) {
    if (std::isnan(expected[n]) && std::isnan(got[n])) continue;  // any NaN is accepted
    ASSERT_EQ(0, std::memcmp(&expected[n], &got[n], sizeof(T)))
        << name << "(" << a[n] << ", " << b[n] << ") is " << got[n] << ", on the host " << expected[n];
  }
}

class MathBits : public testing::TestWithParam<const char*> {};

TEST_P(MathBits, EveryFunctionGivesTheBitsOfTheHost) {
  initialize_llvm();
  std::vector<std::string> names, doubles;
  std::vector<std::uint8_t> image;
  {
    llvm::LLVMContext context;
    const auto module = library(context);
    std::vector<llvm::Function*> tested;
    for (llvm::Function& f : *module)
      if (is_tested(f)) tested.push_back(&f);
    for (llvm::Function* f : tested) add_callers(*module, *f, true);
    for (llvm::Function* f : tested)
      (f->getReturnType()->isDoubleTy() ? doubles : names).push_back(f->getName().str());
    image = compile(*module, GetParam());
  }
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = library(*context);
  auto jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
  module->setDataLayout(jit->getDataLayout());
  module->setTargetTriple(jit->getTargetTriple());
  std::vector<llvm::Function*> tested;
  for (llvm::Function& f : *module)
    if (is_tested(f)) tested.push_back(&f);
  for (llvm::Function* f : tested) add_callers(*module, *f, false);
  llvm::cantFail(jit->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context))));

  use_device_of(GetParam());
  const LoadedModule loaded(image);
  using Host = void (*)(void*, const void*, const void*, int);
  ASSERT_GT(names.size() + doubles.size(), 60u);
  const auto host = [&](const std::string& name) {
    return llvm::cantFail(jit->lookup("call_" + name)).toPtr<Host>();
  };
  for (const std::string& name : names) compare<float>(name, loaded.kernel("call_" + name), host(name));
  for (const std::string& name : doubles) compare<double>(name, loaded.kernel("call_" + name), host(name));
}

INSTANTIATE_TEST_SUITE_P(Architectures, MathBits, testing::Values("gfx90a", "gfx942", "gfx1100"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace weir::hipsim::test
