// SPDX-License-Identifier: Apache-2.0
// Weir's LLVM passes, each in the source file of its name.
#pragma once

#include <llvm/IR/PassManager.h>

namespace weir::codegen {

/// Runs passes that use no analyses, one after the other; returns whether one changed the function.
template <class... Pass>
bool run_each(llvm::Function& function, Pass... passes) {
  llvm::FunctionAnalysisManager none;
  bool changed = false;
  ((changed |= !passes.run(function, none).areAllPreserved()), ...);
  return changed;
}

/// Replaces intrinsics by comparisons, selections and integer arithmetic, for targets that have only these.
/// It replaces minima and maxima of integers, funnel shifts, saturating and checked arithmetic, and
/// conversions with a defined result for every input. It also replaces sign copies, classes of floats, and
/// counts of bits in integers other than words. Erases hints for LLVM. The results have the same bits, except
/// for NaNs.
class BasicOperations : public llvm::PassInfoMixin<BasicOperations> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

/// Computes absolute values of words and of 64-bit integers as max(x, -x) in inline assembly. ptxas assumes
/// that results of `abs` are never negative, but that of the least integer is (tests/evidence/ptxas-abs.md).
/// On PTX only.
class AbsByMaximum : public llvm::PassInfoMixin<AbsByMaximum> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

/// Computes the maximum in max(min(x, 1), 0), and each maximum of floats with -0, with integers. ptxas turns
/// the former into min(max(x, 0), 1), which returns 0 instead of 1 for a NaN. It also turns min(max(x, -0),
/// 1) into that, which returns 0 instead of -0 for negative numbers (tests/evidence/ptxas-clamp.md).
/// Conversions to unsigned integers have a maximum with 0, too. On PTX only.
class ClampByBits : public llvm::PassInfoMixin<ClampByBits> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

/// Uses AVX-512's instruction that scales vectors by powers of two with a float exponent. LLVM has only
/// ldexp, whose exponent is an integer. The math library extracts that integer from a float's bits or rounds
/// it; this pass passes the float to the instruction. The bits of results do not change.
class DirectScaling : public llvm::PassInfoMixin<DirectScaling> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

/// Makes multiply-adds. An addition to a product in fast mode becomes an fma, because NVIDIA's compiler seems
/// to contract nothing under the float modes that Vulkan modules declare. A product of integers with a factor
/// of `x + 1`, which LLVM has factored, becomes `x * y + y` again. The device's multiply-add then takes one
/// instruction instead of two. Vectors must be scalarised before. On Vulkan devices only.
class MultiplyAdds : public llvm::PassInfoMixin<MultiplyAdds> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

/// Makes a negation the first operand of a minimum or maximum of signed words. ptxas merges max(max(x, -y),
/// z) and min(min(x, -y), z) to one instruction with y instead of -y (tests/evidence/ptxas-max3.md). Must run
/// just before instruction selection. On PTX only.
class NegationsFirst : public llvm::PassInfoMixin<NegationsFirst> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

/// Replaces llvm.minimumnum and llvm.maximumnum by comparisons and selects, and the reductions that LLVM
/// makes of them. LLVM 22 lowers the intrinsics wrongly for scalars on AVX512DQ. Its loop vectoriser reduces
/// vectors of them with llvm.vector.reduce.fmin and fmax, which do not order zeros
/// (tests/evidence/llvm-maximumnum.md). Must run after vectorisation, which recognises the intrinsics.
class MinMaxBySelect : public llvm::PassInfoMixin<MinMaxBySelect> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

/// Moves integer divisions whose operands do not change in a loop out of it, though the loop may not reach
/// them: the divisor becomes 1 where the division would be undefined. In a loop that LLVM 22 vectorises, an
/// address that depends on an unsigned one is right only if the first of the iterations reaches it
/// (tests/evidence/llvm-division.md). Must run before vectorisation.
class InvariantDivisions : public llvm::PassInfoMixin<InvariantDivisions> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

/// Takes the statement that iterations are independent from loops in which LLVM 22 would change the order of
/// accesses within an iteration. Its vectoriser makes one access of several that are a constant number of
/// bytes apart, at the position of the first load or of the last store. In loops with that statement, it does
/// not look for other accesses to the same bytes in between (tests/evidence/llvm-interleaved.md). Must run
/// before vectorisation.
class AccessesInOrder : public llvm::PassInfoMixin<AccessesInOrder> {
 public:
  /// `no_alias`: different arrays share no memory.
  explicit AccessesInOrder(bool no_alias) : no_alias_(no_alias) {}
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);

 private:
  bool no_alias_;
};

/// Compiles functions that load or store eight bytes under a mask without AVX512DQ. With it, LLVM 22 extends
/// the mask with KMOVB, which its register allocator treats as a copy. If the result is spilled, bits beyond
/// the eighth remain, and bytes after the eight are overwritten (tests/evidence/llvm-kmovb.md). Must run
/// after vectorisation. On x86-64 only.
class NoMaskExtension : public llvm::PassInfoMixin<NoMaskExtension> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

/// The operations that a device rounds correctly and its compiler translates correctly.
struct ExactOperations {
  bool f32_divide = false, f64_divide = false;
  bool f32_sqrt = false, f64_sqrt = false;
  bool f32_fma = false, f64_fma = false;
  bool i64_divide = false;  ///< also remainders
  bool f64_adds = false;    ///< sums and products of f64
};

/// Replaces divisions, square roots and fused multiply-adds of scalars that a device does not round correctly
/// by calls of exact functions. These compute f32 through f64 where the device has it, and with integers
/// otherwise. Divisions of 64-bit integers become those of 32 bits where the operands fit, else a loop.
/// Operations that fast mode allows to be inexact stay. Vectors must be scalarised before.
class ExactArithmetic : public llvm::PassInfoMixin<ExactArithmetic> {
 public:
  explicit ExactArithmetic(const ExactOperations& device) : device_(device) {}
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&);

 private:
  ExactOperations device_;
};

/// Hides each constant +0 to which something is added or from which something is subtracted. LLVM 22 selects
/// `0 - x` as the negation of x when an instruction uses the difference. For x = +0 this gives -0 instead of
/// +0 (tests/evidence/amdgpu-zero.md). It turns `-x + 0` into such a difference. Mesa's llvmpipe simplifies
/// `x + 0` to x and `x * 0` to 0 (tests/evidence/vulkan.md), also after it has unrolled a loop. With
/// Zeros::all, zeros of both signs are therefore hidden in products, quotients and fma, and where a variable,
/// a parameter or a result receives them. Must run just before instruction selection. On AMD GPUs and Vulkan
/// devices only.
class OpaqueZeros : public llvm::PassInfoMixin<OpaqueZeros> {
 public:
  enum class Zeros { of_sums, all };
  explicit OpaqueZeros(Zeros scope = Zeros::of_sums) : scope_(scope) {}
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);

 private:
  Zeros scope_;
};

/// Selects the smaller or larger of a float and a zero by a comparison that includes equality.
/// LLVM 22 turns `x < 0 ? x : 0` into a minimum, and `x > -0 ? x : -0` into a maximum. Instructions for these
/// order zeros on GPUs, but the selection returns the constant if both are zeros
/// (tests/evidence/select-zeros.md). LLVM does not change `x >= 0 ? 0 : x`. On NVIDIA and AMD GPUs.
class OrderedSelects : public llvm::PassInfoMixin<OrderedSelects> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

/// Selects between an f32 constant and -0 as integers. ptxas makes a conversion of -1 or 0 from an integer of
/// `c ? -1 : -0`, whose zero is positive (tests/evidence/ptxas-select.md). On NVIDIA GPUs only.
class IntegerSelects : public llvm::PassInfoMixin<IntegerSelects> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

/// Computes absolute values and negations of floats with integers where the bits of the result are read. LLVM
/// makes both of integer operations on bits. Vulkan does not define the sign that they give a NaN, and
/// NVIDIA's f64 absolute value keeps it (tests/evidence/vulkan.md). Later integer operations on these bits
/// would then be wrong. On Vulkan devices only.
class SignsByBits : public llvm::PassInfoMixin<SignsByBits> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

/// Computes absolute values of f32 with an integer operation if they are compared with a constant that is
/// zero or negative. ptxas assumes that `|x| > -1` is true, but it is false for NaN
/// (tests/evidence/ptxas-fabs.md). On PTX only.
class ComparedAbs : public llvm::PassInfoMixin<ComparedAbs> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

/// Hides products of f32 from their conversion to f16. LLVM 22 selects both as one v_fma_mixlo_f16 with an
/// addend of +0, which gives +0 instead of -0 (tests/evidence/amdgpu-half-products.md). Must run just before
/// instruction selection. On AMD GPUs only.
class SignedProducts : public llvm::PassInfoMixin<SignedProducts> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

/// Hides a minimum or maximum of floats in another one. LLVM 22 selects both as v_max3_f32, v_min3_f32 or
/// v_med3_f32, or as an operation whose result is clamped to 0 and 1. Some results are wrong for NaNs, and
/// for zeros that are bounds (tests/evidence/amdgpu-median.md). Pairs for which the instruction is right
/// stay. Must run just before instruction selection. On AMD GPUs only.
class SeparateMinMax : public llvm::PassInfoMixin<SeparateMinMax> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

/// When LLVM vectorises an outer loop, every access in it becomes a gather or a scatter. This pass converts
/// accesses to one address in all lanes into scalar loads, and accesses to consecutive addresses into vector
/// accesses.
class PlainAccesses : public llvm::PassInfoMixin<PlainAccesses> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

/// Prefetches the elements that the next iteration of an innermost loop accesses, if these are in more
/// streams than hardware prefetchers follow. Loops merged by a shared index access a hundred rows of arrays
/// at once. Must run after vectorisation, since only iterations that advance by half a cache line are worth
/// it. On x86-64 only.
class PrefetchStreams : public llvm::PassInfoMixin<PrefetchStreams> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

/// Computes with integers of 65 to 128 bits in two of 64, and with other integers that no type in memory has
/// in the next wider one. LLVM makes such integers of upper halves of products and of sums of counters.
/// Loads, stores, divisions and conversions to floats of integers of more than 64 bits stay.
class SplitIntegers : public llvm::PassInfoMixin<SplitIntegers> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

/// Computes with integers of 2 to 31 bits in 32 bits, because NVIDIA's compilers for PTX and SPIR-V
/// miscompile narrow ones (tests/evidence/ptxas-minmax.md, tests/evidence/vulkan.md). Operands are extended
/// by the signedness of the operation, and results are truncated where they are stored or leave the function.
/// For PTX, hidden conversions are inline assembly, because LLVM's instruction selection narrows arithmetic
/// between extensions that it recognises. The pass must then run last. Leaves intrinsics of words.
class WideIntegers : public llvm::PassInfoMixin<WideIntegers> {
 public:
  enum class Conversions { hidden, plain };
  explicit WideIntegers(Conversions conversions) : conversions_(conversions) {}
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);

 private:
  Conversions conversions_;
};

}  // namespace weir::codegen
