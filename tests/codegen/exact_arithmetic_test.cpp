// SPDX-License-Identifier: Apache-2.0
// The functions that compute divisions, square roots and fused multiply-adds exactly return this machine's
// bits, which are rounded correctly, for special operands and random ones.
#include <gtest/gtest.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>

#include <bit>
#include <cmath>
#include <functional>
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

/// Code for T(T, T, T) after the pass, compiled for this machine.
class Compiled {
 public:
  using Body = std::function<llvm::Value*(llvm::IRBuilder<>&, llvm::Type*, llvm::ArrayRef<llvm::Value*>)>;
  using TypeOf = llvm::Type* (*)(llvm::LLVMContext&);

  Compiled(TypeOf type_of, const codegen::ExactOperations& device, const Body& body) {
    static const bool ready = [] {
      return !llvm::InitializeNativeTarget() && !llvm::InitializeNativeTargetAsmPrinter();
    }();
    EXPECT_TRUE(ready);
    auto context = std::make_unique<llvm::LLVMContext>();
    auto module = std::make_unique<llvm::Module>("exact", *context);
    jit_ = llvm::cantFail(llvm::orc::LLJITBuilder().create());
    module->setDataLayout(jit_->getDataLayout());
    llvm::Type* type = type_of(*context);
    auto* f = llvm::Function::Create(llvm::FunctionType::get(type, {type, type, type}, false),
                                     llvm::Function::ExternalLinkage, "compute", *module);
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(*context, "entry", f));
    b.CreateRet(body(b, type, {f->getArg(0), f->getArg(1), f->getArg(2)}));
    llvm::ModuleAnalysisManager analyses;
    codegen::ExactArithmetic(device).run(*module, analyses);
    EXPECT_EQ(count_own_divisions(*module), 0) << "the device's division or root is still called";
    llvm::cantFail(jit_->addIRModule({std::move(module), std::move(context)}));
    address_ = llvm::cantFail(jit_->lookup("compute")).getValue();
  }
  template <class T>
  T operator()(T x, T y, T z) const {
    return reinterpret_cast<T (*)(T, T, T)>(address_)(x, y, z);
  }

 private:
  /// Those of the type that the pass replaces.
  static int count_own_divisions(const llvm::Module& module) {
    const llvm::Type* type = module.getFunction("compute")->getReturnType();
    int count = 0;
    for (const llvm::Function& f : module)
      for (const llvm::Instruction& i : llvm::instructions(f)) {
        const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
        const auto id = call ? call->getIntrinsicID() : llvm::Intrinsic::not_intrinsic;
        count += i.getType() == type && (i.getOpcode() == llvm::Instruction::FDiv || i.isIntDivRem() ||
                                         id == llvm::Intrinsic::sqrt || id == llvm::Intrinsic::fma);
      }
    return count;
  }

  std::unique_ptr<llvm::orc::LLJIT> jit_;
  std::uint64_t address_ = 0;
};

Compiled compiled(Operation operation, bool single, const codegen::ExactOperations& device) {
  return {single ? [](llvm::LLVMContext& c) { return llvm::Type::getFloatTy(c); }
                 : [](llvm::LLVMContext& c) { return llvm::Type::getDoubleTy(c); },
          device,
          [&](llvm::IRBuilder<>& b, llvm::Type* type, llvm::ArrayRef<llvm::Value*> x) -> llvm::Value* {
            if (operation == Operation::divide) return b.CreateFDiv(x[0], x[1]);
            if (operation == Operation::root) return b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x[0]);
            return b.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {x[0], x[1], x[2]});
          }};
}

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
  const Compiled compute = compiled(operation, sizeof(T) == 4, device);
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

TEST(ExactArithmetic, DividesThroughReciprocals) {
  compare<float>(Operation::divide, {.f64_adds = true});
  compare<double>(Operation::divide, {.f64_adds = true});
}

TEST(ExactArithmetic, TakesRootsThroughReciprocals) {
  compare<float>(Operation::root, {.f64_adds = true});
  compare<double>(Operation::root, {.f64_adds = true});
}

TEST(ExactArithmetic, ComputesSingleThroughDouble) {
  compare<float>(Operation::divide, {.f64_divide = true});
  compare<float>(Operation::root, {.f64_sqrt = true});
  compare<float>(Operation::fma, {.f64_adds = true});
}

std::uint64_t result_of(llvm::Instruction::BinaryOps operation, std::uint64_t x, std::uint64_t y) {
  const auto a = std::int64_t(x), b = std::int64_t(y);
  return operation == llvm::Instruction::UDiv   ? x / y
         : operation == llvm::Instruction::URem ? x % y
         : operation == llvm::Instruction::SDiv ? std::uint64_t(a / b)
                                                : std::uint64_t(a % b);
}

// Generated code divides neither by 0 nor the least number by -1.
bool is_defined(llvm::Instruction::BinaryOps operation, std::uint64_t x, std::uint64_t y) {
  const bool has_sign = operation == llvm::Instruction::SDiv || operation == llvm::Instruction::SRem;
  return y != 0 && !(has_sign && x == std::uint64_t{1} << 63 && y == ~std::uint64_t{0});
}

TEST(ExactArithmetic, DividesIntegersOf64Bits) {
  std::vector<std::uint64_t> numbers;
  for (unsigned bit = 0; bit < 64; ++bit)
    for (const std::uint64_t away : {~std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{1}})
      for (const bool negative : {false, true}) {
        const std::uint64_t x = (std::uint64_t{1} << bit) + away;
        numbers.push_back(negative ? -x : x);
      }
  std::mt19937_64 random(1);
  for (const auto operation :
       {llvm::Instruction::UDiv, llvm::Instruction::URem, llvm::Instruction::SDiv, llvm::Instruction::SRem}) {
    const Compiled compute([](llvm::LLVMContext& c) -> llvm::Type* { return llvm::Type::getInt64Ty(c); }, {},
                           [&](llvm::IRBuilder<>& b, llvm::Type*, llvm::ArrayRef<llvm::Value*> x) {
                             return b.CreateBinOp(operation, x[0], x[1]);
                           });
    int wrong = 0;
    const auto check = [&](std::uint64_t x, std::uint64_t y) {
      if (!is_defined(operation, x, y)) return;
      const std::uint64_t is = compute(x, y, std::uint64_t{0}), should = result_of(operation, x, y);
      if (is != should && ++wrong <= 5)
        ADD_FAILURE() << llvm::Instruction::getOpcodeName(operation) << " of " << x << " and " << y
                      << ": found " << is << ", expected " << should;
    };
    for (const std::uint64_t x : numbers)
      for (const std::uint64_t y : numbers) check(x, y);
    for (int k = 0; k < 300000; ++k) check(random() >> random() % 64, random() >> random() % 64);
    EXPECT_EQ(wrong, 0);
  }
}

TEST(ExactArithmetic, DividesNumbersThatFitIn32BitsWithoutACall) {
  llvm::LLVMContext context;
  llvm::Module module("exact", context);
  llvm::Type *word = llvm::Type::getInt32Ty(context), *wide = llvm::Type::getInt64Ty(context);
  auto* f = llvm::Function::Create(llvm::FunctionType::get(wide, {word, word}, false),
                                   llvm::Function::ExternalLinkage, "compute", module);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", f));
  b.CreateRet(b.CreateUDiv(b.CreateZExt(f->getArg(0), wide), b.CreateZExt(f->getArg(1), wide)));
  llvm::ModuleAnalysisManager analyses;
  codegen::ExactArithmetic({}).run(module, analyses);
  EXPECT_EQ(module.size(), 1u);
}

}  // namespace
}  // namespace weir::test
