// SPDX-License-Identifier: Apache-2.0
// The functions that compute divisions, square roots and fused multiply-adds exactly return this machine's
// bits, which are rounded correctly, for special operands and random ones.
#include <gtest/gtest.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "codegen/optimisation/passes.hpp"

namespace weir::test {
namespace {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

enum class Operation { divide, root, fma };

/// Code for T(T, T, T) after the passes, compiled for this machine.
class Compiled {
 public:
  Compiled(Operation operation, bool single, const codegen::ExactOperations& device) {
    static const bool ready = [] {
      return !llvm::InitializeNativeTarget() && !llvm::InitializeNativeTargetAsmPrinter();
    }();
    EXPECT_TRUE(ready);
    auto context = std::make_unique<llvm::LLVMContext>();
    auto module = std::make_unique<llvm::Module>("exact", *context);
    jit_ = llvm::cantFail(llvm::orc::LLJITBuilder().create());
    module->setDataLayout(jit_->getDataLayout());
    llvm::Type* type = single ? llvm::Type::getFloatTy(*context) : llvm::Type::getDoubleTy(*context);
    auto* f = llvm::Function::Create(llvm::FunctionType::get(type, {type, type, type}, false),
                                     llvm::Function::ExternalLinkage, "compute", *module);
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(*context, "entry", f));
    llvm::Value *x = f->getArg(0), *y = f->getArg(1), *z = f->getArg(2);
    b.CreateRet(operation == Operation::divide ? b.CreateFDiv(x, y)
                : operation == Operation::root ? b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x)
                                               : b.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {x, y, z}));
    llvm::ModuleAnalysisManager analyses;
    codegen::ExactArithmetic(device).run(*module, analyses);
    EXPECT_EQ(f->getEntryBlock().size(), 2u);  // a call and the return
    EXPECT_TRUE(llvm::isa<llvm::CallInst>(f->getEntryBlock().front()) &&
                !llvm::isa<llvm::IntrinsicInst>(f->getEntryBlock().front()));
    llvm::cantFail(jit_->addIRModule({std::move(module), std::move(context)}));
    address_ = llvm::cantFail(jit_->lookup("compute")).getValue();
  }
  template <class T>
  T operator()(T x, T y, T z) const {
    return reinterpret_cast<T (*)(T, T, T)>(address_)(x, y, z);
  }

 private:
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  std::uint64_t address_ = 0;
};

template <class T>
std::vector<T> special_numbers() {
  using L = std::numeric_limits<T>;
  std::vector<T> numbers;
  for (const T x : {T(0),
                    L::denorm_min(),
                    T(3) * L::denorm_min(),
                    L::min() - L::denorm_min(),
                    L::min(),
                    L::min() * T(1.5),
                    T(0.5),
                    T(1) - L::epsilon() / 2,
                    T(1),
                    T(1) + L::epsilon(),
                    T(1.5),
                    T(2),
                    T(3),
                    T(7),
                    T(10),
                    T(1) / T(3),
                    L::max() / 2,
                    L::max(),
                    L::infinity(),
                    L::quiet_NaN()}) {
    numbers.push_back(x);
    numbers.push_back(-x);
  }
  return numbers;
}

template <class T>
T expected(Operation operation, T x, T y, T z) {
  return operation == Operation::divide ? x / y
         : operation == Operation::root ? std::sqrt(x)
                                        : std::fma(x, y, z);
}

template <class T>
bool same(T a, T b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<Bits<T>>(a) == std::bit_cast<Bits<T>>(b);
}

template <class T>
void compare(Operation operation, const codegen::ExactOperations& device) {
  const Compiled compute(operation, sizeof(T) == 4, device);
  int wrong = 0;
  const auto check = [&](T x, T y, T z) {
    const T is = compute(x, y, z), should = expected(operation, x, y, z);
    if (!same(is, should) && ++wrong <= 5)
      ADD_FAILURE() << std::hexfloat << x << ", " << y << ", " << z << ": found " << is << ", expected "
                    << should;
  };
  for (const T x : special_numbers<T>())
    for (const T y : special_numbers<T>())
      for (const T z : special_numbers<T>()) check(x, y, z);
  std::mt19937_64 random(1);
  const auto any = [&] { return std::bit_cast<T>(Bits<T>(random())); };
  const auto near_one = [&] { return T(1) + T(random() % 4096) * std::numeric_limits<T>::epsilon(); };
  for (int k = 0; k < 300000; ++k) check(any(), any(), any());
  for (int k = 0; k < 300000; ++k) {
    // Exponents that are close together, and sums that cancel.
    const T x = near_one(), y = near_one(), z = k % 2 ? -x * y : near_one();
    check(x, y, std::ldexp(z, k % 3 ? 0 : int(random() % 130) - 65));
    check(std::ldexp(x, std::numeric_limits<T>::min_exponent + int(random() % 8) - 4), y + T(random() % 5),
          z);
  }
  EXPECT_EQ(wrong, 0);
}

TEST(ExactArithmetic, DividesWithIntegers) {
  compare<float>(Operation::divide, {});
  compare<double>(Operation::divide, {});
}

TEST(ExactArithmetic, TakesRootsWithIntegers) {
  compare<float>(Operation::root, {});
  compare<double>(Operation::root, {});
}

TEST(ExactArithmetic, FusesWithIntegers) {
  compare<float>(Operation::fma, {});
  compare<double>(Operation::fma, {});
}

TEST(ExactArithmetic, ComputesSingleThroughDouble) {
  compare<float>(Operation::divide, {.f64_divide = true});
  compare<float>(Operation::root, {.f64_sqrt = true});
  compare<float>(Operation::fma, {.f64_adds = true});
}

}  // namespace
}  // namespace weir::test
