// SPDX-License-Identifier: Apache-2.0
// The simulator executes every instruction of LLVM's disassembler for these processors, except those listed
// here. Code generation emits none of the listed ones for arithmetic, memory, atomics or barriers.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "instruction_set.hpp"
#include "isa/code/program.hpp"
#include "places.hpp"
#include "rows.hpp"

namespace weir::hipsim::test {
namespace {

/// Instructions that are not executed: names, or prefixes of names ending in '*'.
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
    "ds_read_b64_tr_*",
    "ds_read_b96_tr_*",
    "v_cvt_scalef32_*",
    "v_cvt_f32_bf16",
    "v_ashr_pk_*",
    "v_cvt_sr_bf16_f32",
    "v_cvt_sr_f16_f32",
    "v_dot2c_f32_bf16",
    "v_pk_maximum3_f16",
    "v_pk_minimum3_f16",
    "v_prng_b32",
    // images, formats, instructions used only by graphics
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
    // memory operations that compilers do not emit: atomics of buffers and scalars, scalar stores, GDS, loads
    // into LDS
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
    "flat_atomic_cmpswap_f32",
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

bool matches(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

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

/// Executed instructions that neither a table's row nor a snippet names.
constexpr std::string_view without_a_test[] = {
    // no effect: memory operations complete at once, caches are the host's, timing is not simulated
    "s_nop",
    "s_waitcnt*",
    "s_wait_*",
    "s_delay_alu",
    "s_clause",
    "s_inst_prefetch",
    "s_set_inst_prefetch_distance",
    "s_setprio",
    "s_sendmsg",
    "s_icache_inv",
    "s_dcache_*",
    "s_gl1_inv",
    "s_barrier_signal",
    "s_incperflevel",
    "s_decperflevel",
    "s_ttracedata*",
    "s_version",
    "s_prefetch_*",
    "s_sleep*",
    "v_nop",
    "v_clrexcp",
    "v_pipeflush",
    "ds_nop",
    "buffer_wb*",
    "buffer_inv*",
    "buffer_gl*",
    "global_wb*",
    "global_inv",
    // a clock of the host
    "s_memtime",
    "s_memrealtime",
    "s_sendmsg_rtn_b64",
    // the end of a wave, in every snippet; barriers and traps, tested by the kernels of kernel_test.cpp
    "s_endpgm*",
    "s_barrier*",
    "s_trap",
};

/// The texts of the test files with snippets.
std::string snippets() {
  std::ostringstream all;
  for (const char* file : {"scalar_test", "vector_integer_test", "vector_float_test", "lanes_test",
                           "memory_test", "half_test", "control_test"})
    all << std::ifstream(::weir::test::source("tests/hipsim/" + std::string(file) + ".cpp")).rdbuf();
  return all.str();
}

bool names(const std::string& text, const std::string& name) {
  const auto in_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    std::string before = text.substr(at < 2 ? 0 : at - 2, at < 2 ? at : 2);
    const bool starts = before.ends_with("\\n") || before.empty() || !in_name(before.back());
    std::string_view rest = std::string_view(text).substr(at + name.size());
    for (std::string_view encoding : {"_e64", "_e32", "_dpp", "_sdwa"})
      if (rest.starts_with(encoding)) rest.remove_prefix(encoding.size());
    if (starts && (rest.empty() || !in_name(rest.front()))) return true;
  }
  return false;
}

TEST(Coverage, EveryExecutedInstructionIsTestedFromItsText) {
  const std::string text = snippets();
  ASSERT_GT(text.size(), 10000u) << "the tests with snippets are not found";
  std::set<std::string_view> used;
  for (const std::string processor : processors) {
    const Target target(processor);
    std::set<std::string> tested;
    for (const auto& [test, table] : all_tables()) {
      const std::vector<Case> cases = table(target);
      const std::vector<std::string> problems = problems_of(cases, target);
      for (std::size_t n = 0; n < cases.size(); ++n)
        if (problems[n].empty()) tested.insert(cases[n].name);
    }
    for (const auto& [name, example] : instructions_of(processor, target.lanes)) {
      if (!decode_text(example, target.generation, target.lanes).problem.empty() || tested.contains(name))
        continue;
      const auto excused = std::find_if(std::begin(without_a_test), std::end(without_a_test),
                                        [&](std::string_view pattern) { return matches(pattern, name); });
      if (excused != std::end(without_a_test))
        used.insert(*excused);
      else
        EXPECT_TRUE(names(text, name)) << processor << ":" << example << " has no row and no snippet";
    }
  }
  for (const std::string_view pattern : without_a_test)
    EXPECT_TRUE(used.contains(pattern)) << pattern << " is listed, but has a test or is of no processor";
}

}  // namespace
}  // namespace weir::hipsim::test
