// SPDX-License-Identifier: Apache-2.0
// The simulator knows every instruction that LLVM's disassembler knows for these processors, but those that
// are listed here. None of these does code generation make of arithmetic, memory, atomics and barriers.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>

#include "isa/assembly_text.hpp"
#include "isa/disassembler.hpp"
#include "isa/program.hpp"

namespace weir::hipsim::test {
namespace {

/// The first word of a format's instructions, and where its operation stands in it.
struct Format {
  std::uint32_t word;
  unsigned shift, bits;
};

/// The formats of all generations, as the ISA documents draw them. What a generation lacks does not
/// disassemble.
constexpr Format formats[] = {
    {0x80000000, 23, 7},                                              // SOP2
    {0xb0000000, 23, 5},                                              // SOPK
    {0xbe800000, 8, 8},                                               // SOP1
    {0xbf000000, 16, 7},                                              // SOPC
    {0xbf800000, 16, 7},                                              // SOPP
    {0xc0000000, 18, 8},                                              // SMEM of GFX9
    {0xf4000000, 18, 8},  {0xf4000000, 13, 6},                        // and from GFX10 and GFX12 on
    {0x00000000, 25, 6},                                              // VOP2
    {0x7e000000, 9, 8},                                               // VOP1
    {0x7c000000, 17, 8},                                              // VOPC
    {0xd0000000, 16, 10}, {0xd4000000, 16, 10},                       // VOP3, GFX9 and later
    {0xd3800000, 16, 7},  {0xcc000000, 16, 7},                        // VOP3P, GFX9 and later
    {0xd8000000, 17, 8},  {0xd8000000, 18, 8},                        // DS, GFX9 and later
    {0xdc000000, 18, 7},  {0xdc004000, 18, 7},  {0xdc008000, 18, 7},  // flat, scratch, global
    {0xdc010000, 18, 7},  {0xdc020000, 18, 7},                        // scratch and global of GFX11
    {0xec000000, 14, 8},  {0xed000000, 14, 8},  {0xee000000, 14, 8},  // the three of GFX12
    {0xe0000000, 18, 7},  {0xc4000000, 14, 8},                        // buffers, before and from GFX12 on
    {0xe8000000, 15, 4},  {0xf0000000, 18, 7},                        // typed buffers, images
    {0xce000000, 20, 2},                                              // parameters in LDS
    {0xc8000000, 22, 4},  {0xc8000000, 17, 5}};                       // dual instructions

/// What is not executed: names, or with '*' the beginnings of names.
constexpr std::string_view not_executed[] = {
    // matrices, numbers of 8 bits, bfloat16
    "v_mfma_*",
    "v_wmma_*",
    "v_smfmac_*",
    "v_cvt_f32_bf8",
    "v_cvt_f32_fp8",
    "v_cvt_pk_bf8_f32",
    "v_cvt_pk_f32_bf8",
    "v_cvt_pk_f32_fp8",
    "v_cvt_pk_fp8_f32",
    "v_cvt_sr_bf8_f32",
    "v_cvt_sr_fp8_f32",
    "v_dot2_bf16_bf16",
    "v_dot2_f32_bf16",
    "v_dual_dot2acc_f32_bf16",
    "v_dot2_f16_f16",
    "global_load_tr_*",
    // images, formats, what only graphics needs
    "image_*",
    "tbuffer_*",
    "buffer_load_format_*",
    "buffer_load_d16_format_*",
    "buffer_load_d16_hi_format_x",
    "buffer_store_format_*",
    "buffer_store_d16_format_*",
    "buffer_store_d16_hi_format_x",
    "exp*",
    "v_interp_*",
    "lds_direct_load",
    "lds_param_load",
    "ds_direct_load",
    "ds_param_load",
    "ds_bvh_*",
    "v_cube*",
    "v_mullit_f32",
    "v_cvt_pknorm_i16_f16",
    "v_cvt_pknorm_u16_f16",
    "v_cvt_pk_norm_i16_f16",
    "v_cvt_pk_norm_u16_f16",
    "v_cvt_pkaccum_u8_f32",
    "v_screen_partition_4se_b32",
    "s_endpgm_ordered_ps_done",
    // memory that compilers do not use so: atomics of buffers and scalars, scalar stores, GDS, loads into LDS
    "buffer_atomic_*",

    "s_atomic_*",
    "s_buffer_atomic_*",
    "s_buffer_store_*",
    "s_buffer_load_i*",
    "s_buffer_load_u*",
    "s_buffer_prefetch_data",
    "s_store_*",
    "s_scratch_*",
    "s_dcache_discard*",
    "s_atc_probe*",
    "s_prefetch_data_pc_rel",
    "ds_gws_*",
    "ds_ordered_count",
    "ds_append",
    "ds_consume",
    "ds_add_gs_reg_rtn",
    "ds_sub_gs_reg_rtn",
    "global_load_lds_*",
    "scratch_load_lds_*",
    "global_load_block",
    "global_store_block",
    "scratch_load_block",
    "scratch_store_block",
    "global_load_addtid_b32",
    "global_store_addtid_b32",
    "global_load_dword_addtid",
    "global_store_dword_addtid",
    "global_atomic_ordered_add_b64",
    // LDS: two words at once, masks, comparisons of numbers
    "ds_add_src2_*",
    "ds_and_src2_*",
    "ds_dec_src2_*",
    "ds_inc_src2_*",
    "ds_max_src2_*",
    "ds_min_src2_*",
    "ds_or_src2_*",
    "ds_rsub_src2_*",
    "ds_sub_src2_*",
    "ds_write_src2_*",
    "ds_xor_src2_*",
    "ds_wrxchg2_*",
    "ds_wrxchg2st64_*",
    "ds_storexchg_2addr_*",
    "ds_mskor_*",
    "ds_wrap_rtn_b32",
    "ds_condxchg32_rtn_b64",
    "ds_cmpst_f*",
    "ds_cmpst_rtn_f*",
    "ds_cmpstore_f*",
    "ds_cmpstore_rtn_f*",
    "global_atomic_fcmpswap*",
    "global_atomic_cmpswap_f32",
    "ds_read_addtid_b32",
    "ds_write_addtid_b32",
    "ds_load_addtid_b32",
    "ds_store_addtid_b32",
    "ds_bpermute_fi_b32",
    // vectors: tables, moves by register number, sums of differences
    "v_trig_preop_f64",
    "v_movrelsd_b32",
    "v_swaprel_b32",
    "v_permlane16_var_b32",
    "v_permlanex16_var_b32",
    "v_mqsad_*",
    "v_qsad_*",
    "v_illegal",
    // control of other waves, of traps and debuggers, forks
    "s_alloc_vgpr",
    "s_barrier_init",
    "s_barrier_join",
    "s_barrier_leave",
    "s_barrier_signal_isfirst",
    "s_get_barrier_state",
    "s_cbranch_cdbg*",
    "s_cbranch_g_fork",
    "s_cbranch_i_fork",
    "s_cbranch_join",
    "s_rfe_*",
    "s_sendmsg_rtn_b32",
    "s_sendmsghalt",
    "s_sethalt",
    "s_setkill",
    "s_setvskip",
    "s_wakeup",
    "s_subvector_loop_*",
    "s_movrelsd_2_b32",
    "s_code_end",
};

/// What stands for the sources in the first word and in the second: scalar registers, vector registers, one
/// vector register. Some instructions take only the one or the other.
constexpr std::pair<std::uint32_t, std::uint32_t> sources[] = {
    {0, 0}, {0x100, 0x04020100}, {0, 0x00020100}, {0, 0x100}};

bool matches(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

/// The instructions of a processor, each by its name, with an example.
std::map<std::string, std::string> instructions_of(const std::string& processor, unsigned lanes) {
  const Disassembler disassembler(processor, lanes);
  std::map<std::string, std::string> found;
  for (const Format& format : formats)
    for (std::uint32_t operation = 0; operation < 1u << format.bits; ++operation)
      for (const auto& [first, second] : sources) {
        const std::array<std::uint32_t, 5> words{format.word | operation << format.shift | first, second};
        std::array<std::uint8_t, sizeof words> bytes;
        std::memcpy(bytes.data(), words.data(), sizeof words);
        std::string text;
        if (disassembler.instruction(bytes, 0, text) == 0 || text.find("/*Invalid") != text.npos) continue;
        // Both halves of a dual instruction count.
        const std::size_t both = text.find(" :: ");
        found.emplace(split_assembly(text.substr(0, both)).mnemonic, text);
        if (both != text.npos) found.emplace(split_assembly(text.substr(both + 4)).mnemonic, text);
      }
  return found;
}

constexpr const char* processors[] = {"gfx906",  "gfx908",  "gfx90a", "gfx942",
                                      "gfx1030", "gfx1100", "gfx1201"};

TEST(Coverage, EveryInstructionIsExecutedOrListed) {
  std::set<std::string_view> used;
  for (const std::string processor : processors) {
    const unsigned generation = generation_of(processor), lanes = generation >= 10 ? 32 : 64;
    const auto instructions = instructions_of(processor, lanes);
    EXPECT_GT(instructions.size(), 900u) << processor << ": the formats above miss most instructions";
    for (const auto& [name, text] : instructions) {
      const auto listed = std::find_if(std::begin(not_executed), std::end(not_executed),
                                       [&](std::string_view pattern) { return matches(pattern, name); });
      if (listed != std::end(not_executed)) {
        used.insert(*listed);
        continue;
      }
      EXPECT_EQ(decode_text(text, generation, lanes).problem, "") << processor << ":" << text;
    }
  }
  for (const std::string_view pattern : not_executed)
    EXPECT_TRUE(used.contains(pattern)) << pattern << " is listed, but no processor has it";
}

TEST(Coverage, WhatIsListedIsNotKnown) {
  for (const std::string processor : processors) {
    const unsigned generation = generation_of(processor), lanes = generation >= 10 ? 32 : 64;
    for (const auto& [name, text] : instructions_of(processor, lanes))
      for (const std::string_view pattern : not_executed)
        if (matches(pattern, name)) {
          EXPECT_NE(decode_text(text, generation, lanes).problem, "") << processor << ":" << text;
        }
  }
}

}  // namespace
}  // namespace weir::hipsim::test
