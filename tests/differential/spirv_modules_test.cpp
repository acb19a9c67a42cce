// SPDX-License-Identifier: Apache-2.0
// SPIR-V modules of every operation on every type in every form of loop, and of random kernels, are valid for
// Vulkan 1.3. No code is executed here.
#include <gtest/gtest.h>

#include <map>
#include <tuple>
#include <weir/compile.hpp>
#include <weir/error.hpp>
#include <weir/program.hpp>

#include "aimed_kernel.hpp"
#include "bits_cases.hpp"
#include "choices.hpp"
#include "ir/printer.hpp"
#include "runnable_kernel.hpp"
#include "spirv_accesses.hpp"
#include "spirv_val.hpp"

namespace weir::test {
namespace {

constexpr const char* everything = "no_alias,index32,aligned,device_local";
// A device whose arithmetic is exact, and one that has only the types.
constexpr const char* exact =
    "+int8,+int16,+int64,+float16,+float64,+atomic-int64,+vectors,+atomic-float32-add,+atomic-float64-add,"
    "+exact-f32-divide,+exact-f64-divide,+exact-f32-sqrt,+exact-f64-sqrt,+exact-f32-fma,+exact-f64-fma";
constexpr const char* types = "+int8,+int16,+int64,+float16,+float64,+atomic-int64";

class SpirvModules : public testing::Test {
 protected:
  void check(const std::string& text, const char* features, const char* assume) {
    std::string found;
    try {
      const CompiledProgram compiled =
          compile(Program::parse(text), {"spirv-vulkan", "vulkan1.3", features, assume});
      if (compiled.tasks.empty()) return;
      found = invalidity(compiled.bytes);
      for (const SpirvAccess& one : accesses_of(compiled.bytes))
        accesses[{one.stores, one.storage, one.components}]++;
    } catch (const Error& error) {
      found = error.what();
    }
    ++modules;
    if (!found.empty() && ++invalid <= 5) ADD_FAILURE() << found << "\n" << text;
  }
  void check(const std::vector<Operation>& operations, std::size_t per_kernel, LoopForm form,
             const char* features) {
    for (std::size_t begin = 0; begin < operations.size(); begin += per_kernel) {
      const auto end = std::min(begin + per_kernel, operations.size());
      const std::vector<Operation> part(operations.begin() + std::ptrdiff_t(begin),
                                        operations.begin() + std::ptrdiff_t(end));
      check(kernel_text(part, form), features, everything);
    }
  }
  void TearDown() override { EXPECT_EQ(invalid, 0) << "of " << modules << " modules"; }

  int modules = 0, invalid = 0;
  std::map<std::tuple<bool, SpirvAccess::Storage, std::uint32_t>, int> accesses;
};

TEST_F(SpirvModules, OfEveryOperationAreValid) {
  WEIR_NEEDS_SPIRV_VAL();
  for (const LoopForm form : loop_forms) {
    check(arithmetic(), 48, form, exact);
    check(conversions(), 48, form, exact);
    // The atomic operations have one index.
    if (shape_of(form, 32).size() == 1) check(atomics(), 16, form, exact);
  }
  check(arithmetic(), 48, LoopForm::line, types);
  check(atomics(), 16, LoopForm::line, types);
}

TEST_F(SpirvModules, OfMathFunctionsAreValid) {
  WEIR_NEEDS_SPIRV_VAL();
  check(functions(), 8, LoopForm::line, exact);
  check(functions(), 8, LoopForm::branches, types);
}

TEST_F(SpirvModules, OfRandomKernelsAreValid) {
  WEIR_NEEDS_SPIRV_VAL();
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Choices choices(seed + 5000);
    check(ir::print(runnable_kernel(choices).kernel), seed % 2 ? exact : types, seed % 3 ? everything : "");
  }
  const auto check_aimed = [&](const Aim& aim, std::uint64_t seed) {
    Choices choices(seed + 6000);
    check(ir::print(aimed_kernel(aim, {aim}, choices).kernel), exact, everything);
  };
  const Aim groups{Row::gpu_group_blocks, kind_of(ir::Op::shared)};
  for (const Aim& aim :
       {Aim{Row::gpu_packets_4, kind_of(ir::Op::load)}, groups, {Row::gpu_tiles, kind_of(ir::Op::if_)}})
    for (std::uint64_t seed = 0; seed < 40; ++seed) check_aimed(aim, seed);
  // Random kernels reach tables of constants and the accesses of vectors. One in 30 with groups has those of
  // four components of a block. Which ones do depends on the order in which a compiler evaluates arguments.
  using Storage = SpirvAccess::Storage;
  const auto lacks = [&](bool stores) { return accesses[{stores, Storage::block, 4}] == 0; };
  for (std::uint64_t seed = 40; seed < 1000 && (lacks(false) || lacks(true)); ++seed)
    check_aimed(groups, seed);
  EXPECT_GT((accesses[{false, Storage::table, 1}]), 0) << "loads from tables";
  for (const bool stores : {false, true})
    for (const Storage storage : {Storage::device, Storage::block})
      for (const std::uint32_t components : {2u, 4u})
        EXPECT_GT((accesses[{stores, storage, components}]), 0)
            << (stores ? "stores to " : "loads from ") << (storage == Storage::block ? "a block" : "arrays")
            << " of " << components << " components";
}

}  // namespace
}  // namespace weir::test
