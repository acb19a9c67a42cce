// SPDX-License-Identifier: Apache-2.0
#include "instruction_set.hpp"

#include <array>
#include <cstring>

#include "isa/code/assembly_text.hpp"
#include "isa/code/disassembler.hpp"

namespace weir::hipsim::test {
namespace {

/// The first word of a format's instructions, and the position of the opcode in it.
struct Format {
  std::uint32_t word;
  unsigned shift, bits;
};

/// The formats of all generations, from the ISA documents. Formats that a generation lacks do not
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

/// Encodings of the sources in the first and in the second word: scalar registers, vector registers, one
/// vector register. Some instructions accept only some of them.
constexpr std::pair<std::uint32_t, std::uint32_t> sources[] = {
    {0, 0},   {0x100, 0x04020100}, {0, 0x00020100}, {0, 0x100}, {0, 0x007c0000},
    {0x7c, 0}};  // no scalar base, as in flat addresses of GFX11 and GFX12

}  // namespace

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

}  // namespace weir::hipsim::test
