// SPDX-License-Identifier: Apache-2.0
#include <charconv>

#include "isa/code/assembly_text.hpp"
#include "isa/code/operations.hpp"
#include "isa/code/program.hpp"

namespace weir::hipsim {
namespace {

Part parse_part(std::string_view text) {
  if (text == "BYTE_0") return Part::byte0;
  if (text == "BYTE_1") return Part::byte1;
  if (text == "BYTE_2") return Part::byte2;
  if (text == "BYTE_3") return Part::byte3;
  if (text == "WORD_0") return Part::word0;
  if (text == "WORD_1") return Part::word1;
  return Part::all;
}

std::uint8_t bits_of_list(std::string_view text) {
  unsigned bits = 0, place = 0;
  for (unsigned bit : parse_list(text)) bits |= (bit & 1) << place++;
  return std::uint8_t(bits);
}

struct DppName {
  std::string_view name;
  Dpp kind;
};
constexpr DppName dpp_names[] = {
    {"quad_perm", Dpp::quad_perm},       {"row_shl", Dpp::row_shl},
    {"row_shr", Dpp::row_shr},           {"row_ror", Dpp::row_ror},
    {"wave_shl", Dpp::wave_shl},         {"wave_rol", Dpp::wave_rol},
    {"wave_shr", Dpp::wave_shr},         {"wave_ror", Dpp::wave_ror},
    {"row_mirror", Dpp::row_mirror},     {"row_half_mirror", Dpp::row_half_mirror},
    {"row_newbcast", Dpp::row_newbcast}, {"row_share", Dpp::row_share},
    {"row_xmask", Dpp::row_xmask},       {"dpp8", Dpp::dpp8}};

bool apply_dpp(Instruction& i, const std::string& key, const std::string& value) {
  if (key == "row_bcast") {
    i.dpp = value == "15" ? Dpp::row_bcast15 : Dpp::row_bcast31;
    return true;
  }
  for (const DppName& n : dpp_names) {
    if (key != n.name) continue;
    i.dpp = n.kind;
    if (n.kind == Dpp::quad_perm || n.kind == Dpp::dpp8) {
      unsigned packed = 0, place = 0;
      const unsigned step = n.kind == Dpp::dpp8 ? 3 : 2;
      for (unsigned lane : parse_list(value)) packed |= lane << place, place += step;
      i.dpp8 = packed;
      i.dpp_argument = std::uint8_t(packed);
    } else if (!value.empty()) {
      i.dpp_argument = std::uint8_t(parse_integer(value).value_or(0));
    }
    return true;
  }
  return false;
}

/// Applies a modifier; false for unknown ones.
bool apply_modifier(Instruction& i, const std::string& key, const std::string& value) {
  const auto number = [&] { return parse_integer(value).value_or(0); };
  if (key == "clamp")
    i.clamp = true;
  else if (key == "mul")
    i.output_modifier = value == "2" ? 1 : 2;
  else if (key == "div")
    i.output_modifier = 3;
  else if (key == "offset")
    i.offset = std::int32_t(number());
  else if (key == "offset0")
    i.offset = std::int32_t(number());
  else if (key == "offset1")
    i.offset1 = std::int32_t(number());
  else if (key == "glc" || key == "sc0" || (key == "th" && value.find("RETURN") != value.npos))
    i.returns = true;
  else if (key == "offen")
    i.offset_enabled = true;
  else if (key == "idxen")
    i.index_enabled = true;
  else if (key == "lds")
    i.to_lds = true;
  else if (key == "bitop3")
    i.offset = std::int32_t(number());
  else if (key == "gds")
    i.gds = true;
  else if (key == "op_sel")
    i.op_sel = bits_of_list(value);
  else if (key == "op_sel_hi")
    i.op_sel_hi = bits_of_list(value);
  else if (key == "neg_lo")
    i.neg_lo = bits_of_list(value);
  else if (key == "neg_hi")
    i.neg_hi = bits_of_list(value);
  else if (key == "row_mask")
    i.row_mask = std::uint8_t(number());
  else if (key == "bank_mask")
    i.bank_mask = std::uint8_t(number());
  else if (key == "bound_ctrl")
    i.bound_control = true;
  else if (key == "fi")
    i.fetch_inactive = number() != 0;
  else if (key == "dst_sel")
    i.dst_part = parse_part(value);
  else if (key == "src0_sel")
    i.src[0].part = parse_part(value);
  else if (key == "src1_sel")
    i.src[1].part = parse_part(value);
  else if (key == "dst_unused")
    i.dst_unused = value == "UNUSED_SEXT"       ? DstUnused::sign_extend
                   : value == "UNUSED_PRESERVE" ? DstUnused::preserve
                                                : DstUnused::pad;
  else if (key == "slc" || key == "dlc" || key == "scc" || key == "sc1" || key == "nt" || key == "th" ||
           key == "scope")
    return true;  // cache controls have no effect: the simulator has no caches
  else
    return apply_dpp(i, key, value);
  return true;
}

bool accumulates(std::string_view name) {
  return name.starts_with("v_fmac_") || name.starts_with("v_mac_") || name.starts_with("v_dual_fmac_") ||
         name.starts_with("v_pk_fmac_") || name.starts_with("v_dot2c_") || name.starts_with("v_dot4c_") ||
         name.starts_with("v_dot8c_") || name.starts_with("v_dot2acc_") ||
         name.starts_with("v_dual_dot2acc_");
}

void place_operands(Instruction& i, const AssemblyText& text, const Operation& operation) {
  std::size_t inputs = operation.inputs < 0 ? text.operands.size() : std::size_t(operation.inputs);
  const bool adds_result = accumulates(text.mnemonic);
  if (adds_result && inputs > 0) --inputs;
  if (text.operands.size() < inputs || text.operands.size() - inputs > 2 || inputs > i.src.size()) {
    i.problem = "has " + std::to_string(text.operands.size()) + " operands where the simulator expects " +
                std::to_string(inputs) + " sources and up to 2 results";
    return;
  }
  const std::size_t outputs = text.operands.size() - inputs;
  for (std::size_t k = 0; k < text.operands.size(); ++k) {
    const auto operand = parse_operand(text.operands[k]);
    if (!operand) {
      i.problem = "has an operand that the simulator does not support: " + text.operands[k];
      return;
    }
    (k < outputs ? i.dst[k] : i.src[k - outputs]) = *operand;
  }
  if (adds_result) i.src[inputs] = i.dst[0];
  // The half in a result's name, such as v0.h, selects where a 16-bit result is written.
  if (i.dst[0].part != Part::all) i.dst_part = i.dst[0].part;
}

/// Before GFX10 most 16-bit results clear the upper half of their register. These keep it (for example
/// V_MAD_U16 of the "Vega" and "Instinct MI200" ISA documents); the "legacy" forms clear it.
bool keeps_upper_half(std::string_view name) {
  for (std::string_view kept :
       {"v_mad_f16", "v_mad_u16", "v_mad_i16", "v_fma_f16", "v_div_fixup_f16", "v_mac_f16", "v_madak_f16",
        "v_madmk_f16", "v_fmac_f16", "v_fmaak_f16", "v_fmamk_f16"})
    if (name == kept) return true;
  return false;
}

/// Numbers such as hwreg(...), sendmsg(...) and counters are no operands; they are stored in `offset`.
bool is_plain_immediate(std::string_view name) {
  return name.starts_with("s_waitcnt") || name.starts_with("s_wait_") || name.starts_with("s_sendmsg") ||
         name.starts_with("s_delay_alu") || name == "s_nop" || name == "s_clause" ||
         name == "s_inst_prefetch" || name == "s_set_inst_prefetch_distance" || name == "s_setprio" ||
         name == "s_sleep" || name == "s_icache_inv" || name == "s_code_end" || name == "s_trap" ||
         name == "s_barrier_signal" || name == "s_barrier_wait" || name == "s_incperflevel" ||
         name == "s_decperflevel" || name == "s_ttracedata_imm" || name == "s_version";
}

constexpr std::pair<std::string_view, unsigned> hardware_registers[] = {
    {"HW_REG_MODE", 1},         {"HW_REG_STATUS", 2},           {"HW_REG_TRAPSTS", 3},
    {"HW_REG_HW_ID", 4},        {"HW_REG_GPR_ALLOC", 5},        {"HW_REG_LDS_ALLOC", 6},
    {"HW_REG_IB_STS", 7},       {"HW_REG_SH_MEM_BASES", 15},    {"HW_REG_FLAT_SCR_LO", 20},
    {"HW_REG_FLAT_SCR_HI", 21}, {"HW_REG_XNACK_MASK", 22},      {"HW_REG_HW_ID1", 23},
    {"HW_REG_HW_ID2", 24},      {"HW_REG_SHADER_CYCLES", 29},   {"HW_REG_XCC_ID", 30},
    {"HW_REG_WAVE_MODE", 1},    {"HW_REG_SHADER_CYCLES_LO", 29}};

/// Packs "hwreg(HW_REG_MODE, 4, 4)" as the instruction does: id, offset << 6, size - 1 << 11.
std::optional<std::int32_t> parse_hardware_register(std::string_view text) {
  if (!text.starts_with("hwreg(") || !text.ends_with(")")) return std::nullopt;
  text = text.substr(6, text.size() - 7);
  const std::size_t comma = text.find(',');
  const std::string_view name = text.substr(0, comma);
  std::int32_t id = -1, offset = 0, size = 32;
  for (const auto& [known, number] : hardware_registers)
    if (known == name) id = std::int32_t(number);
  if (id < 0) id = std::int32_t(parse_integer(name).value_or(-1));
  if (id < 0) return std::nullopt;
  if (comma != text.npos) {
    const std::vector<unsigned> rest = parse_list(text.substr(comma + 1));
    if (rest.size() == 2) offset = std::int32_t(rest[0]), size = std::int32_t(rest[1]);
  }
  return id | offset << 6 | (size - 1) << 11;
}

/// Parses call syntax: "hwreg(...)", "gpr_idx(SRC0,DST)", "sendmsg(...)".
std::optional<std::int32_t> parse_call(std::string_view text) {
  if (text.starts_with("sendmsg(")) return 0;
  if (!text.starts_with("gpr_idx(")) return parse_hardware_register(text);
  std::int32_t bits = 0;
  constexpr std::string_view names[] = {"SRC0", "SRC1", "SRC2", "DST"};
  for (unsigned bit = 0; bit < 4; ++bit)
    if (text.find(names[bit]) != text.npos) bits |= 1 << bit;
  return bits;
}

Instruction decode_one(std::string_view whole, unsigned generation, unsigned lanes) {
  Instruction i;
  i.generation = std::uint8_t(generation);
  i.lanes = std::uint8_t(lanes);
  AssemblyText text = split_assembly(whole);
  const Operation* operation = find_operation(text.mnemonic);
  if (!operation) {
    i.problem = "is an instruction that the simulator does not support";
    return i;
  }
  i.run = operation->run;
  i.float_group = operation->group;
  i.zero_high = generation <= 9 && !keeps_upper_half(text.mnemonic);
  if (is_plain_immediate(text.mnemonic)) return i;
  for (std::size_t k = 0; k < text.operands.size(); ++k)
    if (const auto number = parse_call(text.operands[k])) {
      i.offset = *number;
      text.operands.erase(text.operands.begin() + std::ptrdiff_t(k));
      break;
    }
  place_operands(i, text, *operation);
  if (!i.problem.empty()) return i;
  for (const auto& [key, value] : text.modifiers)
    if (key == "op_sel_hi") i.op_sel_hi = bits_of_list(value);
  bool says_high = false;
  for (const auto& [key, value] : text.modifiers) {
    says_high |= key == "op_sel_hi";
    if (!apply_modifier(i, key, value)) {
      i.problem =
          "has a modifier that the simulator does not support: " + key + (value.empty() ? "" : ":" + value);
      return i;
    }
  }
  // The text omits op_sel_hi if it is all ones, except for the mixed-precision operations.
  if (!says_high) i.op_sel_hi = text.mnemonic.find("_mix") == std::string::npos ? 7 : 0;
  if (i.dpp != Dpp::none) i.src[0].plain = false;
  for (Operand& o : i.src)
    if (o.part != Part::all) o.plain = false;
  if (i.to_lds || i.gds)
    i.problem = "moves memory to LDS or GDS directly, which the simulator does not execute";
  const bool packed = text.mnemonic.starts_with("v_permlane") || text.mnemonic.starts_with("v_pk_") ||
                      text.mnemonic.find("_mix") != std::string::npos ||
                      text.mnemonic.find("_dot") != std::string::npos;
  if (!packed && i.op_sel != 0) {
    std::size_t inputs = 0;
    while (inputs < i.src.size() && i.src[inputs]) ++inputs;
    if (accumulates(text.mnemonic)) --inputs;
    for (std::size_t k = 0; k < inputs; ++k)
      if (i.op_sel >> k & 1) i.src[k].part = Part::word1, i.src[k].plain = false;
    if (i.op_sel >> inputs & 1) i.dst_part = Part::word1, i.dst_unused = DstUnused::preserve;
  }
  if (text.encoding != "sdwa" && i.dst_part != Part::all) i.dst_unused = DstUnused::preserve;
  return i;
}

}  // namespace

Instruction decode_text(std::string_view text, unsigned generation, unsigned lanes) {
  const std::size_t both = text.find(" :: ");
  if (both == text.npos) return decode_one(text, generation, lanes);
  Instruction first = decode_one(text.substr(0, both), generation, lanes);
  Instruction second = decode_one(text.substr(both + 4), generation, lanes);
  if (first.problem.empty()) first.problem = second.problem;
  if (!first.problem.empty()) return first;
  Instruction pair;
  pair.generation = first.generation, pair.lanes = first.lanes;
  const Operation* dual = find_operation("v_dual");
  pair.run = dual->run;
  pair.second = std::make_shared<Instruction>(std::move(first));
  pair.second->second = std::make_shared<Instruction>(std::move(second));
  return pair;
}

}  // namespace weir::hipsim
