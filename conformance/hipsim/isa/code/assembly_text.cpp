// SPDX-License-Identifier: Apache-2.0
#include "isa/code/assembly_text.hpp"

#include <bit>
#include <charconv>
#include <cstdlib>

#include "isa/numbers/half.hpp"

namespace weir::hipsim {
namespace {

std::string_view trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\n')) s.remove_suffix(1);
  return s;
}

/// Splits at `separator` outside of brackets.
std::vector<std::string_view> cut(std::string_view s, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '[' || s[i] == '(') ++depth;
    if (s[i] == ']' || s[i] == ')') --depth;
    if (s[i] == separator && depth == 0) {
      parts.push_back(s.substr(start, i - start));
      start = i + 1;
    }
  }
  parts.push_back(s.substr(start));
  return parts;
}

Operand registers(OperandKind kind, unsigned index, unsigned width) {
  Operand o;
  o.kind = kind;
  o.index = std::uint16_t(index);
  o.width = std::uint8_t(width);
  return o;
}

struct Named {
  std::string_view name;
  unsigned index, width;
};
constexpr Named named_registers[] = {{"vcc", slot::vcc, 2},
                                     {"vcc_lo", slot::vcc, 1},
                                     {"vcc_hi", slot::vcc + 1, 1},
                                     {"exec", slot::exec, 2},
                                     {"exec_lo", slot::exec, 1},
                                     {"exec_hi", slot::exec + 1, 1},
                                     {"m0", slot::m0, 1},
                                     {"flat_scratch", slot::flat_scratch, 2},
                                     {"flat_scratch_lo", slot::flat_scratch, 1},
                                     {"flat_scratch_hi", slot::flat_scratch + 1, 1},
                                     {"src_flat_scratch_base_lo", slot::flat_scratch, 2},
                                     {"src_flat_scratch_base_hi", slot::flat_scratch + 1, 1},
                                     {"xnack_mask", slot::xnack_mask, 2},
                                     {"xnack_mask_lo", slot::xnack_mask, 1},
                                     {"xnack_mask_hi", slot::xnack_mask + 1, 1},
                                     {"src_shared_base", slot::shared_base, 2},
                                     {"src_shared_limit", slot::shared_limit, 2},
                                     {"src_private_base", slot::private_base, 2},
                                     {"src_private_limit", slot::private_limit, 2},
                                     {"src_shared_base_lo", slot::shared_base, 1},
                                     {"src_shared_limit_lo", slot::shared_limit, 1},
                                     {"src_private_base_lo", slot::private_base, 1},
                                     {"src_private_limit_lo", slot::private_limit, 1},
                                     {"src_pops_exiting_wave_id", slot::pops_id, 1}};

/// "v3", "s[4:7]", "ttmp5", "a[0:1]", "v3.h".
std::optional<Operand> parse_register(std::string_view text) {
  for (const Named& n : named_registers)
    if (text == n.name) return registers(OperandKind::sgpr, n.index, n.width);
  if (text == "src_scc" || text == "scc") return registers(OperandKind::scc, 0, 1);
  if (text == "src_vccz" || text == "vccz") return registers(OperandKind::vccz, 0, 1);
  if (text == "src_execz" || text == "execz") return registers(OperandKind::execz, 0, 1);
  OperandKind kind = OperandKind::sgpr;
  unsigned base = 0;
  Part part = Part::all;
  if (text.ends_with(".l")) part = Part::word0;
  if (text.ends_with(".h")) part = Part::word1;
  if (part != Part::all) text.remove_suffix(2);
  if (text.starts_with("ttmp")) {
    base = slot::ttmp;
    text.remove_prefix(4);
  } else if (text.starts_with('v') || text.starts_with('a')) {
    kind = OperandKind::vgpr;
    base = text[0] == 'a' ? 256 : 0;
    text.remove_prefix(1);
  } else if (text.starts_with('s')) {
    text.remove_prefix(1);
  } else {
    return std::nullopt;
  }
  std::int64_t first = 0, last = 0;
  if (text.starts_with('[') && text.ends_with(']')) {
    const std::size_t colon = text.find(':');
    const auto low = parse_integer(text.substr(1, colon == text.npos ? text.size() - 2 : colon - 1));
    const auto high =
        colon == text.npos ? low : parse_integer(text.substr(colon + 1, text.size() - colon - 2));
    if (!low || !high || *high < *low) return std::nullopt;
    first = *low, last = *high;
  } else {
    const auto one = parse_integer(text);
    if (!one) return std::nullopt;
    first = last = *one;
  }
  const std::int64_t limit = kind == OperandKind::vgpr ? 256 : base ? 16 : 106;
  if (first < 0 || last >= limit) return std::nullopt;
  Operand o = registers(kind, base + unsigned(first), unsigned(last - first + 1));
  o.part = part;
  o.plain = kind == OperandKind::vgpr && part == Part::all;
  return o;
}

Operand constant(std::uint16_t k16, std::uint32_t k32, std::uint64_t k64, std::uint64_t kf64) {
  Operand o;
  o.kind = OperandKind::constant;
  o.k16 = k16, o.k32 = k32, o.k64 = k64, o.kf64 = kf64;
  return o;
}

std::optional<Operand> parse_constant(std::string_view text) {
  const bool literal = text.starts_with("0x") || text.starts_with("-0x");
  if (text.find('.') == text.npos || literal) {
    const auto value = parse_integer(text);
    if (!value) return std::nullopt;
    const auto bits = std::uint64_t(*value);
    // A 32-bit literal is the upper half of a double; inline integers are sign-extended to any width.
    return constant(std::uint16_t(bits), std::uint32_t(bits), bits, literal ? bits << 32 : bits);
  }
  const double value = std::strtod(std::string(text).c_str(), nullptr);
  if (text.starts_with("0.1591549"))  // 1/(2 pi): AMD's constants are rounded to each width
    return constant(0x3118, 0x3e22f983u, 0x3fc45f306dc9c882ull, 0x3fc45f306dc9c882ull);
  const auto wide = std::bit_cast<std::uint64_t>(value);
  return constant(round_to_half(value, 0).bits, std::bit_cast<std::uint32_t>(float(value)), wide, wide);
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return std::int64_t(negative ? 0 - value : value);
}

std::vector<unsigned> parse_list(std::string_view text) {
  std::vector<unsigned> numbers;
  if (text.starts_with('[')) text.remove_prefix(1);
  if (text.ends_with(']')) text.remove_suffix(1);
  for (std::string_view part : cut(text, ','))
    if (const auto number = parse_integer(trim(part))) numbers.push_back(unsigned(*number));
  return numbers;
}

AssemblyText split_assembly(std::string_view text) {
  AssemblyText result;
  text = trim(text);
  const std::size_t blank = text.find_first_of(" \t");
  std::string_view name = text.substr(0, blank);
  for (std::string_view suffix : {"_e64_dpp", "_e32", "_e64", "_dpp", "_sdwa"})
    if (name.ends_with(suffix)) {
      result.encoding = suffix.substr(1);
      name.remove_suffix(suffix.size());
      break;
    }
  result.mnemonic = name;
  if (blank == text.npos) return result;
  std::vector<std::string_view> parts = cut(text.substr(blank), ',');
  // Modifiers follow the last operand, separated by blanks.
  std::vector<std::string_view> tail = cut(trim(parts.back()), ' ');
  parts.pop_back();
  for (std::string_view part : parts) result.operands.emplace_back(trim(part));
  const auto is_modifier = [&](std::string_view word) {
    for (std::string_view flag :
         {"clamp", "glc", "slc", "dlc", "scc", "sc0", "sc1", "nt", "offen", "idxen", "lds", "gds", "addr64",
          "tfe", "row_mirror", "row_half_mirror", "mul:2", "mul:4", "div:2"})
      if (word == flag) return true;
    const std::size_t colon = word.find(':');
    return colon != word.npos && colon > 0 && word.find_first_of("[(") > colon && word[0] >= 'a' &&
           word[0] <= 'z';
  };
  for (std::string_view word : tail) {
    word = trim(word);
    if (word.empty() || word == "|") continue;
    if (!is_modifier(word)) {
      result.operands.emplace_back(word);
      continue;
    }
    const std::size_t colon = word.find(':');
    result.modifiers.emplace_back(word.substr(0, colon), colon == word.npos ? "" : word.substr(colon + 1));
  }
  return result;
}

std::optional<Operand> parse_operand(std::string_view text) {
  text = trim(text);
  bool negate = false, absolute = false, sign_extend = false;
  const auto unwrap = [&](std::string_view open, std::string_view close) {
    if (!text.starts_with(open) || !text.ends_with(close) || text.size() <= open.size() + close.size())
      return false;
    text = text.substr(open.size(), text.size() - open.size() - close.size());
    return true;
  };
  if (text.size() > 1 && text[0] == '-' && (text[1] < '0' || text[1] > '9')) {
    negate = true;
    text.remove_prefix(1);
  } else if (unwrap("neg(", ")")) {
    negate = true;
  }
  if (unwrap("|", "|") || unwrap("abs(", ")")) absolute = true;
  if (unwrap("sext(", ")")) sign_extend = true;
  if (text == "off") return Operand{};
  std::optional<Operand> result;
  if (text == "null") {
    result = constant(0, 0, 0, 0);
    result->index = slot::dump;  // a register that is never read
  } else if (text.starts_with("lit(") &&
             text.ends_with(")")) {  // a literal that is also representable as an inline constant
    result = parse_constant(text.substr(4, text.size() - 5));
  } else {
    result = parse_register(text);
    if (!result) result = parse_constant(text);
  }
  if (!result) return std::nullopt;
  result->negate = negate, result->absolute = absolute, result->sign_extend = sign_extend;
  if (negate || absolute || sign_extend) result->plain = false;
  return result;
}

}  // namespace weir::hipsim
