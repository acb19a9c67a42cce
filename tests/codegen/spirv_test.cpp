// SPDX-License-Identifier: Apache-2.0
// SPIR-V modules, without a device: the corpus, the launch convention, refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>
#include <weir/error.hpp>

#include "codegen/codegen.hpp"
#include "ir/parser.hpp"
#include "kernels.hpp"
#include "passes/plan.hpp"
#include "ptx_kernels.hpp"
#include "spirv_accesses.hpp"
#include "spirv_val.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;

constexpr codegen::LaunchAssumptions nothing{};
constexpr codegen::LaunchAssumptions everything{
    .no_alias = true, .index32 = true, .aligned = true, .device_local = true};
constexpr const char* shuffling =
    "+int8,+int16,+int64,+float16,+float64,+atomic-int64,+vectors,+subgroup-shuffle,+mode-denormals-f32,"
    "+mode-specials-f32,+mode-rte-f32";

std::vector<std::byte> compile(const std::string& text, const codegen::Target& target) {
  const ir::Kernel kernel = ir::parse(text, "test");
  const passes::Plan plan = passes::make_plan(kernel, 8);
  std::vector<const ir::Task*> tasks;
  for (const passes::PlannedTask& planned : plan.tasks) tasks.push_back(&planned.task);
  if (tasks.empty()) return {};
  return weir_codegen(weir_codegen_abi)->compile(kernel, tasks, target).bytes;
}

std::string refusal(const std::string& text, const codegen::Target& target) {
  try {
    compile(text, target);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    return error.what();
  }
  return "";
}

TEST(SpirvModule, OfEveryKernelOfTheCorpusIsValid) {
  WEIR_NEEDS_SPIRV_VAL();
  std::vector<std::string> texts = ptx_kernels();
  for (const auto& path : files_of("tests/ir/kernels")) texts.push_back(read_file(path));
  for (const std::string& text : texts)
    for (const codegen::LaunchAssumptions& assumptions : {nothing, everything})
      for (const std::uint32_t lanes : {8u, 32u, 64u}) {
        const auto module = compile(text, {"spirv-vulkan", "vulkan1.3", shuffling, lanes, 1024, assumptions});
        if (module.empty()) continue;
        EXPECT_EQ(invalidity(module), "") << lanes << " lanes\n" << text;
      }
}

TEST(SpirvModule, HasTheVersionOfVulkan13) {
  const auto module = compile(saxpy, {"spirv-vulkan", "vulkan1.3", "", 8, 1024});
  std::uint32_t words[2];
  std::memcpy(words, module.data(), sizeof words);
  EXPECT_EQ(words[0], 0x07230203u);
  EXPECT_EQ(words[1], 0x00010600u);
}

/// The number of comparisons of 64-bit integers that were extended from signed ones.
int comparisons_of_extended(const std::vector<std::byte>& module) {
  constexpr std::uint32_t type_int = 21, s_convert = 114, first_comparison = 170,
                          last_comparison = 179;  // OpIEqual to OpSLessThanEqual
  const std::vector<std::uint32_t> words = words_of(module);
  std::set<std::uint32_t> longs, extended;
  int found = 0;
  for (std::size_t at = 5; at < words.size(); at += words[at] >> 16) {
    const std::uint32_t opcode = words[at] & 0xffff;
    if (opcode == type_int && words[at + 2] == 64) longs.insert(words[at + 1]);
    if (opcode == s_convert && longs.contains(words[at + 1])) extended.insert(words[at + 2]);
    if (opcode >= first_comparison && opcode <= last_comparison)
      found += extended.contains(words[at + 3]) || extended.contains(words[at + 4]);
  }
  return found;
}

/// The opcodes of instructions that compute integers of 8 or 16 bits. Loads, conversions, selections and
/// merges of paths only move them.
std::set<std::uint32_t> narrow_arithmetic(const std::vector<std::byte>& module) {
  constexpr std::uint32_t type_int = 21, first_arithmetic = 126,
                          last_arithmetic = 152;                  // OpSNegate to OpSMulExtended
  constexpr std::uint32_t first_shift = 194, last_bitwise = 205;  // to OpBitCount
  const std::vector<std::uint32_t> words = words_of(module);
  std::set<std::uint32_t> narrow, found;
  for (std::size_t at = 5; at < words.size(); at += words[at] >> 16) {
    const std::uint32_t opcode = words[at] & 0xffff;
    if (opcode == type_int && words[at + 2] < 32) narrow.insert(words[at + 1]);
    const bool computes = (opcode >= first_arithmetic && opcode <= last_arithmetic) ||
                          (opcode >= first_shift && opcode <= last_bitwise);
    if (computes && narrow.contains(words[at + 1])) found.insert(opcode);
  }
  return found;
}

// NVIDIA's compiler takes 0 - x of an i8 as a word: tests/evidence/vulkan.md.
TEST(SpirvModule, ComputesIntegersOfEightAndSixteenBitsInWords) {
  for (const std::string type : {"i8", "u8", "i16", "u16"}) {
    std::string text =
        "weir-ir 1\nkernel \"narrow\"\n  param @x : array<" + type +
        ", 1>\n{\n%zero = const 0 : i64\n%n = extent @x, 0 : i64\nparallel (%i) in (%zero to %n) {\n"
        "%v0 = load @x[%i] : " +
        type + "\n";
    int last = 0;
    for (const char* op :
         {"add", "sub", "mul", "div", "rem", "and", "or", "xor", "shl", "shr", "min", "max"}) {
      text += "%v" + std::to_string(last + 1) + " = " + op + " %v" + std::to_string(last) +
              ", %v0 : " + type + "\n";
      ++last;
    }
    text += "%r = neg %v" + std::to_string(last) + " : " + type + "\nstore @x[%i], %r\n}\n}\n";
    const auto module = compile(text, {"spirv-vulkan", "vulkan1.3", shuffling, 32, 1024, everything});
    EXPECT_THAT(narrow_arithmetic(module), testing::IsEmpty()) << type;
  }
}

// llvmpipe takes comparisons of sign-extended integers as false: tests/evidence/vulkan.md.
TEST(SpirvModule, ComparesBeforeTheExtension) {
  for (const std::string type : {"i8", "i16", "i32"}) {
    const auto module =
        compile("weir-ir 1\nkernel \"extended\"\n  param @x : array<" + type +
                    ", 1>\n  param @y : array<i64, 1>\n  param @z : array<i64, 1>\n{\n"
                    "%zero = const 0 : i64\n%n = extent @x, 0 : i64\nparallel (%i) in (%zero to %n) {\n"
                    "%x = load @x[%i] : " +
                    type +
                    "\n%t = cast %x : i64\n%a = abs %t : i64\n%c = const 5 : i64\n"
                    "%b = min %t, %c : i64\nstore @y[%i], %a\n%s = add %b, %t : i64\n"
                    "store @z[%i], %s\n}\n}\n",
                {"spirv-vulkan", "vulkan1.3", shuffling, 32, 1024, everything});
    EXPECT_EQ(comparisons_of_extended(module), 0) << type;
  }
}

/// The divisions, remainders and square roots that the device computes, without those of 32-bit integers.
int own_divisions(const std::vector<std::byte>& module) {
  constexpr std::uint32_t type_int = 21, ext_inst = 12, u_div = 134, f_div = 136, f_rem = 140, f_mod = 141,
                          sqrt = 31;
  const std::vector<std::uint32_t> words = words_of(module);
  std::set<std::uint32_t> longs;
  int found = 0;
  for (std::size_t at = 5; at < words.size(); at += words[at] >> 16) {
    const std::uint32_t opcode = words[at] & 0xffff;
    if (opcode == type_int && words[at + 2] == 64) longs.insert(words[at + 1]);
    const bool integers = opcode >= u_div && opcode <= f_mod && longs.contains(words[at + 1]);
    found += integers || opcode == f_div || opcode == f_rem || opcode == f_mod ||
             (opcode == ext_inst && words[at + 4] == sqrt);
  }
  return found;
}

// NVIDIA's compiler changes conditions across them: tests/evidence/vulkan.md.
TEST(SpirvModule, DividesByItselfWhereTheDeviceMustNot) {
  std::string text = "weir-ir 1\nkernel \"divisions\"\n";
  for (const char* type : {"i64", "u64", "f32", "f64"})
    text += std::string("  param @") + type + " : array<" + type + ", 1>\n";
  text += "{\n%zero = const 0 : i64\n%n = extent @i64, 0 : i64\nparallel (%i) in (%zero to %n) {\n";
  for (const std::string type : {"i64", "u64", "f32", "f64"}) {
    text += "%" + type + "a = load @" + type + "[%i] : " + type + "\n%" + type + "b = load @" + type +
            "[%zero] : " + type + "\n%" + type + "c = div %" + type + "a, %" + type + "b : " + type + "\n%" +
            type + "d = rem %" + type + "c, %" + type + "b : " + type + "\n";
    if (type[0] == 'f') text += "%" + type + "e = math.sqrt %" + type + "d : " + type + "\n";
    text += "store @" + type + "[%i], %" + type + (type[0] == 'f' ? "e" : "d") + "\n";
  }
  text += "}\n}\n";
  const std::string safe =
      std::string(shuffling) +
      ",+divide-int64,+exact-f32-divide,+exact-f64-divide,+exact-f32-sqrt,+exact-f64-sqrt";
  EXPECT_EQ(own_divisions(compile(text, {"spirv-vulkan", "vulkan1.3", shuffling, 32, 1024, everything})), 0);
  EXPECT_GE(own_divisions(compile(text, {"spirv-vulkan", "vulkan1.3", safe, 32, 1024, everything})), 10);
}

/// The number of reads of the bits of an absolute value or a negation that the device computes in floats.
int signs_read_as_bits(const std::vector<std::byte>& module) {
  constexpr std::uint32_t ext_inst = 12, f_abs = 4, copy = 83, bitcast = 124, f_negate = 127, select = 169,
                          phi = 245;
  const std::vector<std::uint32_t> words = words_of(module);
  std::set<std::uint32_t> signs;
  int found = 0;
  for (int pass = 0; pass < 3; ++pass) {  // a phi may come before its operands
    found = 0;
    for (std::size_t at = 5; at < words.size(); at += words[at] >> 16) {
      const std::uint32_t opcode = words[at] & 0xffff, length = words[at] >> 16;
      if (opcode == f_negate || (opcode == ext_inst && words[at + 4] == f_abs)) signs.insert(words[at + 2]);
      if (opcode == copy || opcode == select || opcode == phi)
        for (std::uint32_t k = 3; k < length; ++k)
          if (signs.contains(words[at + k])) signs.insert(words[at + 2]);
      found += opcode == bitcast && signs.contains(words[at + 3]);
    }
  }
  return found;
}

// On an H200, the absolute value of an f64 keeps the sign of a NaN: tests/evidence/vulkan.md.
TEST(SpirvModule, ReadsNoBitsOfSignsThatTheDeviceComputes) {
  const std::string features = std::string(shuffling) + ",+exact-f64-fma";
  for (const std::string type : {"f32", "f64"})
    for (const std::string operation :
         {"rem %a, %b", "math.fmod %a, %b", "math.remainder %a, %b", "math.pow %a, %b", "math.atan2 %a, %b",
          "math.sin %a", "math.tan %a", "math.exp %a", "math.log %a", "math.tgamma %a", "math.cbrt %a",
          "math.round %a", "div %a, %b"}) {
      std::string text = "weir-ir 1\nkernel \"signs\"\n  param @x : array<" + type +
                         ", 1>\n{\n%zero = const 0 : i64\n%n = extent @x, 0 : i64\n"
                         "parallel (%i) in (%zero to %n) {\n%a = load @x[%i] : " +
                         type + "\n%b = load @x[%zero] : " + type + "\n%r = " + operation + " : " + type +
                         "\nstore @x[%i], %r\n}\n}\n";
      const auto module = compile(text, {"spirv-vulkan", "vulkan1.3", features, 32, 1024, everything});
      EXPECT_EQ(signs_read_as_bits(module), 0) << operation << " of " << type;
      EXPECT_EQ(invalidity(module), "") << operation << " of " << type;
    }
}

// A loop that sets memory of a block to zero becomes a fill, which must not divide what atomics access.
TEST(SpirvModule, FillsMemoryOfABlockInWords) {
  for (const std::string type : {"i32", "i64", "u64"}) {
    const std::string text =
        "weir-ir 1\nkernel \"fill\"\n{\n%zero = const 0 : i64\n%n = const 4 : i64\n"
        "%k = const 30 : i64\n%one = const 1 : i64\n"
        "parallel (%g, %t) in (%zero to %n, %zero to %one) group 1 {\n"
        "shared $s : " +
        type + "[30]\nfor %j = %t to %k step %one {\n%v = const 0 : " + type +
        "\nset $s[%j], %v\n}\n%w = const 3 : " + type + "\n%o = shared_atomic.mul $s[%t], %w : " + type +
        "\n}\n}\n";
    const auto module = compile(text, {"spirv-vulkan", "vulkan1.3", shuffling, 32, 1024, everything});
    EXPECT_EQ(invalidity(module), "") << type;
  }
}

/// How often the module has the instruction `opcode`.
int count_of(const std::vector<std::byte>& module, std::uint32_t opcode) {
  const std::vector<std::uint32_t> words = words_of(module);
  int found = 0;
  for (std::size_t at = 5; at < words.size(); at += words[at] >> 16) found += (words[at] & 0xffff) == opcode;
  return found;
}

// A subgroup of 32 has one word of bits; of larger ones the thread takes the word with its own bit.
TEST(SpirvModule, TakesBallotsOfSubgroupsWhereTheDeviceHasThem) {
  WEIR_NEEDS_SPIRV_VAL();
  constexpr std::uint32_t group_ballot = 339, extract_dynamic = 77, atomic_or = 241;
  const std::string text = read_file(files_of("tests/ir/kernels").front().parent_path() / "ballots.weir");
  const std::string features = std::string(shuffling) + ",+subgroup-ballot";
  for (const std::uint32_t lanes : {32u, 64u}) {
    const auto module = compile(text, {"spirv-vulkan", "vulkan1.3", features, lanes, 1024, everything});
    EXPECT_EQ(invalidity(module), "") << lanes;
    EXPECT_EQ(count_of(module, group_ballot), 2) << lanes;  // not of one thread, nor of parts of subgroups
    EXPECT_EQ(count_of(module, extract_dynamic), lanes == 32 ? 0 : 2) << lanes;
  }
  for (const auto& [listed, lanes] : {std::pair{std::string(shuffling), 32u}, {features, 8u}}) {
    const auto module = compile(text, {"spirv-vulkan", "vulkan1.3", listed, lanes, 1024, everything});
    EXPECT_EQ(invalidity(module), "") << listed;
    EXPECT_EQ(count_of(module, group_ballot), 0) << listed;
    // Not 32 loads in each thread, with which llvmpipe took a minute to compile a sort.
    EXPECT_EQ(count_of(module, atomic_or), 4) << listed;
  }
}

// A launch chooses by a specialisation constant whether it passes the arguments as push constants.
TEST(SpirvModule, TakesArgumentsFromPushConstantsOfDevicesWithVectors) {
  constexpr std::uint32_t spec_constant_false = 49;
  const auto choices = [&](const std::string& features) {
    return count_of(compile(saxpy, {"spirv-vulkan", "vulkan1.3", features, 32, 1024, everything}),
                    spec_constant_false);
  };
  EXPECT_EQ(choices("+int64,+vectors"), 1);
  EXPECT_EQ(choices("+int64"), 0);
}

using Storage = SpirvAccess::Storage;

/// The components that are extracted from loaded vectors.
std::set<std::uint32_t> extracted_components(const std::vector<std::byte>& module) {
  constexpr std::uint32_t type_vector = 23, load = 61, extract = 81;
  const std::vector<std::uint32_t> words = words_of(module);
  std::set<std::uint32_t> types, vectors, found;
  for (std::size_t at = 5; at < words.size(); at += words[at] >> 16) {
    const std::uint32_t opcode = words[at] & 0xffff;
    if (opcode == type_vector) types.insert(words[at + 1]);
    if (opcode == load && types.contains(words[at + 1])) vectors.insert(words[at + 2]);
    if (opcode == extract && vectors.contains(words[at + 3])) found.insert(words[at + 4]);
  }
  return found;
}

// Vulkan's vectors have at most 4 components.
TEST(SpirvModule, AccessesAlignedNeighboursAsVectors) {
  const auto module = [](const std::string& type, const codegen::LaunchAssumptions& assumptions) {
    const auto compiled = compile("weir-ir 1\nkernel \"copy\"\n  param @to : array<" + type +
                                      ", 1>\n  param @from : array<" + type + ", 1>\n" + R"({
  %zero = const 0 : i64
  %n = extent @to, 0 : i64
  parallel (%i) in (%zero to %n) {
    %v = load @from[%i] : )" + type + R"(
    store @to[%i], %v
  }
}
)",
                                  {"spirv-vulkan", "vulkan1.3", shuffling, 32, 1024, assumptions});
    EXPECT_EQ(invalidity(compiled), "") << type;
    return compiled;
  };
  for (const auto& [type, components] :
       {std::pair{"f32", 4u}, {"u32", 4u}, {"i64", 2u}, {"f64", 2u}, {"f16", 4u}, {"i16", 4u}, {"u8", 4u}}) {
    const auto aligned = module(type, everything), unknown = module(type, nothing);
    EXPECT_EQ(extracted_components(aligned).size(), components) << type;
    for (const bool stores : {false, true}) {
      EXPECT_GT(count_accesses(aligned, stores, Storage::device, components), 0) << type << stores;
      for (const std::uint32_t length : {2u, 3u, 4u})
        EXPECT_EQ(count_accesses(unknown, stores, Storage::device, length), 0) << type << stores;
    }
  }
}

/// A group of 64 threads, each of which accesses $s[4 t] to $s[4 t + 3], and what `more` is.
std::vector<std::byte> group_module(const std::string& more) {
  std::string text = "weir-ir 1\nkernel \"rows\"\n  param @x : array<f32, 1>\n{\n%k0 = const 0 : i64\n";
  for (const std::string n : {"1", "2", "3", "4", "64"}) text += "%k" + n + " = const " + n + " : i64\n";
  text += "parallel (%g, %t) in (%k0 to %k4, %k0 to %k64) group 64 {\nshared $s : f32[256]\n";
  text += "%v = load @x[%t] : f32\n%p0 = mul %t, %k4 : i64\n";
  for (const std::string n : {"1", "2", "3"}) text += "%p" + n + " = add %p0, %k" + n + " : i64\n";
  for (const std::string n : {"0", "1", "2", "3"}) text += "set $s[%p" + n + "], %v\n";
  text += "barrier\n" + more;
  for (const std::string n : {"0", "1", "2", "3"}) text += "%r" + n + " = get $s[%p" + n + "] : f32\n";
  text += "%a = add %r0, %r1 : f32\n%b = add %r2, %r3 : f32\n%c = add %a, %b : f32\nstore @x[%t], %c\n}\n}\n";
  const auto module = compile(text, {"spirv-vulkan", "vulkan1.3", shuffling, 32, 1024, everything});
  EXPECT_EQ(invalidity(module), "") << text;
  return module;
}

// Memory of a block has elements of one shape: an access of another makes all of them scalars.
TEST(SpirvModule, AccessesMemoryOfABlockAsVectorsWhereAllAccessesAre) {
  const auto rows = group_module(""), mixed = group_module("%m = get $s[%t] : f32\nstore @x[%g], %m\n"),
             changed = group_module("%w = const 2 : f32\n%o = shared_atomic.add $s[%t], %w : f32\n");
  for (const bool stores : {false, true}) {
    EXPECT_EQ(count_accesses(rows, stores, Storage::block, 4), 1);
    EXPECT_EQ(count_accesses(rows, stores, Storage::block, 1), 0);
    for (const auto& scalars : {mixed, changed}) {
      EXPECT_EQ(count_accesses(scalars, stores, Storage::block, 4), 0);
      EXPECT_GE(count_accesses(scalars, stores, Storage::block, 1), 4);
    }
  }
}

TEST(SpirvModule, TakesTheDevicesInverseSquareRootInFastMath) {
  const auto module = [](const std::string& option) {
    const auto compiled = compile("weir-ir 1\nkernel \"k\"" + option + R"(
  param @x : array<f32, 1>
{
  %zero = const 0 : i64
  %n = extent @x, 0 : i64
  parallel (%i) in (%zero to %n) {
    %v = load @x[%i] : f32
    %r = math.rsqrt %v : f32
    store @x[%i], %r
  }
}
)",
                                  {"spirv-vulkan", "vulkan1.3", "+int64", 32, 1024, everything});
    EXPECT_EQ(invalidity(compiled), "") << option;
    return compiled;
  };
  EXPECT_LT(3 * module(" fast_math").size(), module("").size());
}

/// The kernel's one loop runs `body`, which stores to its arrays @a to @d.
std::vector<std::byte> loop_module(const std::string& type, const std::string& body, const char* option) {
  std::string text = std::string("weir-ir 1\nkernel \"k\"") + option + "\n";
  for (const char* name : {"a", "b", "c", "d"})
    text += std::string("  param @") + name + " : array<" + type + ", 1>\n";
  text += "{\n%zero = const 0 : i64\n%n = extent @a, 0 : i64\nparallel (%i) in (%zero to %n) {\n";
  for (const std::string name : {"a", "b", "c", "d"})
    text += "%" + name + " = load @" + name + "[%i] : " + type + "\n";
  const auto module =
      compile(text + body + "}\n}\n", {"spirv-vulkan", "vulkan1.3", shuffling, 32, 1024, everything});
  EXPECT_EQ(invalidity(module), "");
  return module;
}

/// The number of copies of a body with two stores, which packets of iterations repeat.
int bodies_of(const std::vector<std::byte>& module) {
  std::uint32_t stored = 0;
  for (const SpirvAccess& one : accesses_of(module)) stored += one.stores ? one.components : 0;
  return int(stored / 2);
}

// Under the modes of these modules NVIDIA's compiler seems to contract nothing: tests/evidence/vulkan.md.
TEST(SpirvModule, ContractsProductsAndSumsInFastMath) {
  constexpr std::uint32_t f_add = 129, f_sub = 131, f_mul = 133, ext_inst = 12;
  for (const std::string type : {"f32", "f64"}) {
    const std::string line = " : " + type + "\n";
    const std::string body = "%p = mul %a, %b" + line + "%q = add %p, %c" + line + "%r = sub %p, %d" + line +
                             "%s = mul %c, %d" + line + "%t = sub %q, %s" + line +
                             "store @a[%i], %t\nstore @b[%i], %r\n";
    const auto fast = loop_module(type, body, " fast_math"), exact = loop_module(type, body, "");
    EXPECT_EQ(count_of(fast, f_mul) + count_of(fast, f_add) + count_of(fast, f_sub), 0) << type;
    EXPECT_EQ(count_of(fast, ext_inst), 3 * bodies_of(fast)) << type;
    EXPECT_EQ(count_of(exact, f_mul), 2 * bodies_of(exact)) << type;
    EXPECT_EQ(count_of(exact, ext_inst), 0) << type;
  }
}

TEST(SpirvModule, KeepsAProductThatMoreThanSumsUse) {
  constexpr std::uint32_t f_mul = 133;
  const auto module = loop_module("f32",
                                  "%p = mul %a, %b : f32\n%q = add %p, %c : f32\n"
                                  "store @a[%i], %p\nstore @b[%i], %q\n",
                                  " fast_math");
  EXPECT_EQ(count_of(module, f_mul), bodies_of(module));
}

/// The number of products of integers whose factor is a sum with 1.
int products_of_successors(const std::vector<std::byte>& module) {
  constexpr std::uint32_t constant = 43, i_add = 128, i_mul = 132;
  const std::vector<std::uint32_t> words = words_of(module);
  std::set<std::uint32_t> ones, sums;
  int found = 0;
  for (std::size_t at = 5; at < words.size(); at += words[at] >> 16) {
    const std::uint32_t opcode = words[at] & 0xffff;
    if (opcode == constant && words[at + 3] == 1) ones.insert(words[at + 2]);
    if (opcode == i_add && (ones.contains(words[at + 3]) || ones.contains(words[at + 4])))
      sums.insert(words[at + 2]);
    found += opcode == i_mul && (sums.contains(words[at + 3]) || sums.contains(words[at + 4]));
  }
  return found;
}

// LLVM makes (a + 1) * b of a * b + b, which takes two instructions instead of one multiply-add.
TEST(SpirvModule, AddsToProductsOfIntegers) {
  for (const std::string type : {"i32", "u32", "i64"}) {
    const std::string line = " : " + type + "\n";
    const auto module = loop_module(type,
                                    "%p = mul %a, %b" + line + "%q = add %p, %b" + line +  // q = (a + 1) * b
                                        "%r = mul %q, %b" + line + "%s = add %r, %q" + line +
                                        "store @a[%i], %q\nstore @b[%i], %s\n",
                                    "");
    EXPECT_EQ(products_of_successors(module), 0) << type;
  }
}

TEST(SpirvTarget, RefusesWhatNoCodeIsGeneratedFor) {
  EXPECT_THAT(refusal(saxpy, {"spirv-vulkan", "vulkan1.1", "", 8, 1024}), HasSubstr("expected vulkan1.3"));
  EXPECT_THAT(refusal(saxpy, {"spirv-vulkan", "native", "", 8, 1024}),
              HasSubstr("name it after the format, as in spirv-vulkan:vulkan1.3"));
  EXPECT_THAT(refusal(saxpy, {"spirv-vulkan", "vulkan1.3", "+float46", 8, 1024}),
              HasSubstr("did you mean float"));
  EXPECT_THAT(refusal(saxpy, {"spirv-vulkan", "vulkan1.3", "+float64", 8, 1024}), HasSubstr("feature int64"));
}

TEST(SpirvTarget, NamesTheStatementAndTheFeatureThatADeviceLacks) {
  EXPECT_THAT(refusal(float_sums, {"spirv-vulkan", "vulkan1.3", "+int64,+atomic-int64", 8, 1024}),
              HasSubstr("of type f64 needs the feature float64"));
  EXPECT_THAT(refusal(float_sums, {"spirv-vulkan", "vulkan1.3", "+int64,+float64", 8, 1024}),
              HasSubstr("'atomic' of type f64 needs the feature atomic-int64"));
}

/// The memory semantics of the module's atomic stores.
std::vector<std::uint32_t> orders_of_stores(const std::string& features) {
  constexpr const char* text = R"(weir-ir 1
kernel "checked" check_bounds
  param @x : array<f32, 1>
{
  %0 = const 0 : i64
  %1 = const 1000 : i64
  parallel (%2) in (%0 to %1) {
    %3 = const 1 : f32
    store @x[%2], %3
  }
}
)";
  const std::vector<std::byte> module = compile(text, {"spirv-vulkan", "vulkan1.3", features, 8, 1024});
  std::vector<std::uint32_t> words(module.size() / 4), orders;
  std::memcpy(words.data(), module.data(), module.size());
  constexpr std::size_t header = 5;
  constexpr std::uint32_t constant = 43, atomic_store = 228;  // opcodes
  std::map<std::uint32_t, std::uint32_t> constants;
  for (std::size_t at = header; at < words.size(); at += words[at] >> 16) {
    if ((words[at] & 0xffff) == constant) constants[words[at + 2]] = words[at + 3];
    if ((words[at] & 0xffff) == atomic_store) orders.push_back(constants.at(words[at + 3]));
  }
  return orders;
}

TEST(SpirvModule, StoresFailureReportsInReleaseOrderWhereTheDeviceHasIt) {
  constexpr std::uint32_t release = 0x4, arrays = 0x40;
  EXPECT_THAT(orders_of_stores("+int64,+memory-order"), testing::ElementsAre(release | arrays));
  EXPECT_THAT(orders_of_stores("+int64"), testing::ElementsAre(0u));
}

}  // namespace
}  // namespace weir::test
