// SPDX-License-Identifier: Apache-2.0
// Scalar loads from memory and from buffers, with the buffer's range check.
#include <gtest/gtest.h>

#include <cstring>

#include "rows.hpp"
#include "values.hpp"

namespace weir::hipsim::test {
namespace scalar_memory_table {

// s[8:9] the base, s[12:15] a buffer, s[32:47] the result.
constexpr unsigned base = 8, buffer = 12, result = 32, offset = 16, bytes_in_all = 128;

void check_load(Machine& m, unsigned index, unsigned bytes, bool sign, bool from_buffer) {
  const u64 block = m.memory(bytes_in_all);
  auto* memory = reinterpret_cast<std::uint8_t*>(block);
  for (unsigned n = 0; n < bytes_in_all; ++n) memory[n] = std::uint8_t(random_bits(n) | 0x80);
  for (const bool inside : {true, false}) {
    m.wave.set64(base, block), m.wave.set64(buffer, block);
    m.s(buffer + 2) = inside ? bytes_in_all : offset + bytes - 1, m.s(buffer + 3) = 0;
    for (unsigned k = 0; k < 17; ++k) m.s(result + k) = 0x77777777;
    m.step(index);
    u32 expected[17] = {};
    std::memcpy(expected, memory + offset, bytes);
    // Every byte here is negative.
    if (sign) expected[0] |= bytes == 1 ? 0xffffff00u : 0xffff0000u;
    const unsigned words = (bytes + 3) / 4;
    for (unsigned k = 0; k < words; ++k)
      EXPECT_EQ(from_buffer && !inside ? 0 : expected[k], m.s(result + k)) << "word " << k;
    EXPECT_EQ(0x77777777u, m.s(result + words)) << "the register after the result";
  }
}

void add(std::vector<Case>& cases, const std::string& stems, unsigned bytes, bool sign = false) {
  const std::string to = registers('s', result, (bytes + 3) / 4);
  for (const std::string& stem : words_of(stems)) {
    cases.push_back({"s_load_" + stem, "s_load_" + stem + " " + to + ", s[8:9], 0x10",
                     [=](Machine& m, unsigned index) { check_load(m, index, bytes, sign, false); }});
    if (bytes >= 4)
      cases.push_back({"s_buffer_load_" + stem, "s_buffer_load_" + stem + " " + to + ", s[12:15], 0x10",
                       [=](Machine& m, unsigned index) { check_load(m, index, bytes, sign, true); }});
  }
}

}  // namespace scalar_memory_table

std::vector<Case> scalar_memory_rows(const Target&) {
  using namespace scalar_memory_table;
  std::vector<Case> cases;
  add(cases, "dword b32", 4);
  add(cases, "dwordx2 b64", 8);
  add(cases, "b96", 12);
  add(cases, "dwordx4 b128", 16);
  add(cases, "dwordx8 b256", 32);
  add(cases, "dwordx16 b512", 64);
  add(cases, "u8", 1);
  add(cases, "i8", 1, true);
  add(cases, "u16", 2);
  add(cases, "i16", 2, true);
  return cases;
}

TEST(Rows, ScalarMemory) {
  check_table(scalar_memory_rows);
}

}  // namespace weir::hipsim::test
