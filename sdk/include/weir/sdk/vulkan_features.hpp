// SPDX-License-Identifier: Apache-2.0
// Features of a Vulkan device, as its driver lists them in weir_code_target::features and code generation
// reads them: "+float64,+int64". A feature that is not listed is absent.
#pragma once

namespace weir::sdk::vulkan_feature {

// Types, in registers and in memory. int64 is needed by all code, because addresses are integers.
inline constexpr char int8[] = "int8";        ///< shaderInt8 and storageBuffer8BitAccess
inline constexpr char int16[] = "int16";      ///< shaderInt16 and storageBuffer16BitAccess
inline constexpr char int64[] = "int64";      ///< shaderInt64
inline constexpr char float16[] = "float16";  ///< shaderFloat16 and storageBuffer16BitAccess
inline constexpr char float64[] = "float64";  ///< shaderFloat64

// Operations.
inline constexpr char atomic_int64[] = "atomic-int64";              ///< shaderBufferInt64Atomics
inline constexpr char atomic_float32_add[] = "atomic-float32-add";  ///< shaderBufferFloat32AtomicAdd
inline constexpr char atomic_float64_add[] = "atomic-float64-add";  ///< shaderBufferFloat64AtomicAdd
/// OpGroupNonUniformShuffle in full subgroups of `lanes` invocations with consecutive numbers.
inline constexpr char subgroup_shuffle[] = "subgroup-shuffle";
/// OpGroupNonUniformBallot in such subgroups.
inline constexpr char subgroup_ballot[] = "subgroup-ballot";
/// Division and remainder of 64-bit integers by the device's own instructions.
inline constexpr char divide_int64[] = "divide-int64";
/// Memory is also ordered by threads that do not synchronise with others of their block.
inline constexpr char memory_order[] = "memory-order";
/// Accesses of vectors, and arguments that are push constants too, are compiled in reasonable time.
inline constexpr char vectors[] = "vectors";

// Arithmetic that was measured to be rounded correctly, for every operand but subnormal ones.
inline constexpr char exact_f32_divide[] = "exact-f32-divide";
inline constexpr char exact_f64_divide[] = "exact-f64-divide";
inline constexpr char exact_f32_sqrt[] = "exact-f32-sqrt";
inline constexpr char exact_f64_sqrt[] = "exact-f64-sqrt";
inline constexpr char exact_f32_fma[] = "exact-f32-fma";
inline constexpr char exact_f64_fma[] = "exact-f64-fma";

// Measured: operations neither read subnormal numbers as 0 nor return 0 for them.
inline constexpr char denormals_f16[] = "denormals-f16";
inline constexpr char denormals_f32[] = "denormals-f32";
inline constexpr char denormals_f64[] = "denormals-f64";

// Execution modes of the device, which all code then declares: shaderDenormPreserveFloat32,
// shaderSignedZeroInfNanPreserveFloat32, shaderRoundingModeRTEFloat32, and so on.
inline constexpr char mode_denormals_f16[] = "mode-denormals-f16";
inline constexpr char mode_denormals_f32[] = "mode-denormals-f32";
inline constexpr char mode_denormals_f64[] = "mode-denormals-f64";
inline constexpr char mode_specials_f16[] = "mode-specials-f16";
inline constexpr char mode_specials_f32[] = "mode-specials-f32";
inline constexpr char mode_specials_f64[] = "mode-specials-f64";
inline constexpr char mode_rte_f16[] = "mode-rte-f16";
inline constexpr char mode_rte_f32[] = "mode-rte-f32";
inline constexpr char mode_rte_f64[] = "mode-rte-f64";

inline constexpr const char* all[] = {
    int8,
    int16,
    int64,
    float16,
    float64,
    atomic_int64,
    atomic_float32_add,
    atomic_float64_add,
    subgroup_shuffle,
    subgroup_ballot,
    divide_int64,
    memory_order,
    vectors,
    exact_f32_divide,
    exact_f64_divide,
    exact_f32_sqrt,
    exact_f64_sqrt,
    exact_f32_fma,
    exact_f64_fma,
    denormals_f16,
    denormals_f32,
    denormals_f64,
    mode_denormals_f16,
    mode_denormals_f32,
    mode_denormals_f64,
    mode_specials_f16,
    mode_specials_f32,
    mode_specials_f64,
    mode_rte_f16,
    mode_rte_f32,
    mode_rte_f64,
};

}  // namespace weir::sdk::vulkan_feature
