// SPDX-License-Identifier: Apache-2.0
// Source lines in code from the cache: those of the running program, or none.
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "compilation/cached_compiler.hpp"
#include "compilation/kept_code.hpp"
#include "compilation/kernels.hpp"
#include "compilation/remote_compiler.hpp"
#include "temporary_store.hpp"

namespace weir::test {
namespace {

/// The names of the sections that a debugger reads.
std::vector<std::string> sections(const codegen::CodeObject& object) {
  const auto* bytes = reinterpret_cast<const char*>(object.bytes.data());
  Elf64_Ehdr header;
  std::memcpy(&header, bytes, sizeof header);
  std::vector<Elf64_Shdr> all(header.e_shnum);
  std::memcpy(all.data(), bytes + header.e_shoff, all.size() * sizeof(Elf64_Shdr));
  std::vector<std::string> names;
  for (const Elf64_Shdr& section : all)
    if (section.sh_type != SHT_NULL)
      names.emplace_back(bytes + all[header.e_shstrndx].sh_offset + section.sh_name);
  return names;
}

class Lines : public testing::Test {
 protected:
  codegen::CodeObject compile(std::uint32_t line) {
    PlannedKernel kernel(chain_text(2));
    kernel.kernel.files = {"kernel.cpp"};
    for (passes::PlannedTask& planned : kernel.plan.tasks) {
      planned.task.location = {0, line, 1};
      for (ir::Statement& statement : planned.task.body.statements) statement.location = {0, line + 1, 3};
    }
    compilation::CachedCompiler compiler(TemporaryStore(folder.path() / "code").store->settings(),
                                         compilation::generator_identity(), &compilation::compiler);
    return kernel.compile(compiler);
  }
  std::size_t entries() const { return cache::list_entries(folder.path() / "code").size(); }

  TemporaryFolder folder;
};

TEST_F(Lines, AreKeptWhileTheKernelDoesNotMove) {
  const codegen::CodeObject generated = compile(10), found = compile(10);
  EXPECT_THAT(sections(found), testing::Contains(".debug_line"));
  EXPECT_EQ(found.bytes, generated.bytes);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Lines, AreRemovedWhenItHasMoved) {
  const codegen::CodeObject generated = compile(10), found = compile(11);
  EXPECT_EQ(entries(), 1u);
  EXPECT_THAT(sections(found), testing::Not(testing::Contains(testing::HasSubstr("debug"))));
  EXPECT_THAT(sections(found), testing::IsSupersetOf({".text", ".dynsym", ".symtab"}));
  ASSERT_EQ(found.bytes.size(), generated.bytes.size());
  EXPECT_THAT(sections(compile(10)), testing::Contains(".debug_line")) << "the entry still has them";
}

// proves R32
TEST_F(Lines, DamagedObjectsAreLeftAsTheyAre) {
  const codegen::CodeObject generated = compile(10);
  for (std::size_t size = 0; size < generated.bytes.size(); size += 5) {
    codegen::CodeObject cut = generated;
    cut.bytes.resize(size);
    compilation::remove_source_lines(cut);
    EXPECT_EQ(cut.bytes.size(), size);
  }
  for (std::size_t at = 0; at < sizeof(Elf64_Ehdr); ++at) {
    codegen::CodeObject altered = generated;
    altered.bytes[at] = std::byte{0xff};
    compilation::remove_source_lines(altered);
  }
}

}  // namespace
}  // namespace weir::test
