// SPDX-License-Identifier: Apache-2.0
// A SPIR-V module in memory: its sections, and its types and constants, each declared once.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace weir::codegen::spirv {

enum class Op : std::uint16_t {
#define WEIR_SPIRV_OP(name, number) name = number,
#include "codegen/spirv/opcodes.def"
#undef WEIR_SPIRV_OP
};

enum class Capability : std::uint32_t {
  Shader = 1,
  Float16 = 9,
  Float64 = 10,
  Int64 = 11,
  Int64Atomics = 12,
  Int16 = 22,
  Int8 = 39,
  GroupNonUniform = 61,
  GroupNonUniformBallot = 64,
  GroupNonUniformShuffle = 65,
  StorageBuffer16BitAccess = 4433,
  StorageBuffer8BitAccess = 4448,
  DenormPreserve = 4464,
  SignedZeroInfNanPreserve = 4466,
  RoundingModeRTE = 4467,
  PhysicalStorageBufferAddresses = 5347,
  AtomicFloat32AddEXT = 6033,
  AtomicFloat64AddEXT = 6034,
};

enum class StorageClass : std::uint32_t {
  Input = 1,
  Workgroup = 4,
  Private = 6,
  Function = 7,
  PushConstant = 9,
  PhysicalStorageBuffer = 5349,
};

enum class Decoration : std::uint32_t {
  SpecId = 1,
  Block = 2,
  BuiltIn = 11,
  Offset = 35,
  NoContraction = 42
};
enum class BuiltIn : std::uint32_t { NumWorkgroups = 24, WorkgroupId = 26, LocalInvocationId = 27 };
enum class Mode : std::uint32_t {
  LocalSizeId = 38,
  DenormPreserve = 4459,
  SignedZeroInfNanPreserve = 4461,
  RoundingModeRTE = 4462,
};
/// Of GLSL.std.450.
enum class Extended : std::uint32_t {
  RoundEven = 2,
  Trunc = 3,
  FAbs = 4,
  Floor = 8,
  Ceil = 9,
  Sqrt = 31,
  InverseSqrt = 32,
  Fma = 50,
  FindILsb = 73,
  FindUMsb = 75,
};

namespace scope {
inline constexpr std::uint32_t device = 1, block = 2, lanes = 3;
}
/// Bits of memory semantics.
namespace semantics {
inline constexpr std::uint32_t relaxed = 0, release = 4, acquire_release = 8, arrays = 0x40,
                               block_memory = 0x100;
}

using Id = std::uint32_t;
using Words = std::vector<std::uint32_t>;

/// Appends an instruction.
void put(Words& section, Op op, const Words& operands);
/// Appends the words of a literal string.
void put_string(Words& words, std::string_view text);

class ModuleBuilder {
 public:
  Id new_id() { return next_++; }

  // Declarations; equal ones get the same id.
  /// Throws Error{unsupported} for a forbidden capability.
  void need(Capability capability);
  void forbid(std::map<Capability, std::string> features) { forbidden_ = std::move(features); }
  void need_extension(const std::string& name) { extensions_.insert(name); }
  Id void_type() { return declared(Op::TypeVoid, {}); }
  Id bool_type() { return declared(Op::TypeBool, {}); }
  /// Of 8, 16, 32 or 64 bits; without a sign, which instructions have instead.
  Id integer_type(unsigned bits);
  /// Of 16, 32 or 64 bits.
  Id float_type(unsigned bits);
  Id vector_type(Id component, std::uint32_t count) { return declared(Op::TypeVector, {component, count}); }
  Id array_type(Id element, std::uint32_t count) {
    return declared(Op::TypeArray, {element, integer(32, count)});
  }
  Id struct_type(const Words& members) { return declared(Op::TypeStruct, members); }
  Id pointer_type(StorageClass storage, Id type) {
    return declared(Op::TypePointer, {std::uint32_t(storage), type});
  }
  Id function_type(Id result, const Words& parameters);
  Id boolean(bool value) {
    return declared_value(value ? Op::ConstantTrue : Op::ConstantFalse, bool_type(), {});
  }
  Id integer(unsigned bits, std::uint64_t value);
  /// A constant with these bits.
  Id real(unsigned bits, std::uint64_t pattern);
  Id null(Id type) { return declared_value(Op::ConstantNull, type, {}); }
  Id undefined(Id type) { return declared_value(Op::Undef, type, {}); }
  Id composite(Id type, const Words& members) { return declared_value(Op::ConstantComposite, type, members); }
  /// A specialisation constant of type u32.
  Id specialisation(std::uint32_t number, std::uint32_t value);
  /// A specialisation constant of type bool that is false.
  Id specialised_flag(std::uint32_t number);
  /// A variable that shaders read from the device: a vector of three u32.
  Id built_in(BuiltIn what);
  /// GLSL.std.450.
  Id extended_set();

  void decorate(Id id, Decoration decoration, const Words& operands = {});
  void decorate_member(Id type, std::uint32_t member, Decoration decoration, const Words& operands);
  void name(Id id, std::string_view text);
  Id variable(StorageClass storage, Id type, Id initial = 0);
  void entry_point(Id function, std::string_view name, const Words& variables);
  void mode(Id function, Mode mode, const Words& operands);
  void mode_of_ids(Id function, Mode mode, const Words& ids);

  /// The code of functions.
  Words& code() { return code_; }
  /// The module for Vulkan 1.3.
  Words finish() const;

 private:
  Id declared(Op op, const Words& operands);
  Id declared_value(Op op, Id type, const Words& operands);

  Id next_ = 1;
  std::set<Capability> capabilities_{Capability::Shader, Capability::PhysicalStorageBufferAddresses,
                                     Capability::Int64};
  std::map<Capability, std::string> forbidden_;  // and the features that are missing for them
  std::set<std::string> extensions_;
  std::map<Words, Id> known_;
  std::map<std::uint32_t, Id> specialisations_;
  std::map<BuiltIn, Id> built_ins_;
  Id extended_ = 0;
  Words entries_, modes_, names_, decorations_, declarations_, code_;
};

}  // namespace weir::codegen::spirv
