// SPDX-License-Identifier: Apache-2.0
// Loads and stores of global, flat, scratch and buffer memory and of LDS: every width, extension and half.
#include <gtest/gtest.h>

#include <cstring>

#include "rows.hpp"
#include "values.hpp"

namespace weir::hipsim::test {
namespace memory_table {

/// Placement of a load's bytes in the register, or source of a store's bytes.
enum class Place { whole, zeros, sign, low, low_sign, high, high_sign };

struct Move {
  const char* names;
  unsigned bytes;
  Place place;
};
constexpr Move loads[] = {{"load_dword load_b32", 4, Place::whole},
                          {"load_dwordx2 load_b64", 8, Place::whole},
                          {"load_dwordx3 load_b96", 12, Place::whole},
                          {"load_dwordx4 load_b128", 16, Place::whole},
                          {"load_ubyte load_u8", 1, Place::zeros},
                          {"load_sbyte load_i8", 1, Place::sign},
                          {"load_ushort load_u16", 2, Place::zeros},
                          {"load_sshort load_i16", 2, Place::sign},
                          {"load_ubyte_d16 load_d16_u8", 1, Place::low},
                          {"load_sbyte_d16 load_d16_i8", 1, Place::low_sign},
                          {"load_short_d16 load_d16_b16", 2, Place::low},
                          {"load_ubyte_d16_hi load_d16_hi_u8", 1, Place::high},
                          {"load_sbyte_d16_hi load_d16_hi_i8", 1, Place::high_sign},
                          {"load_short_d16_hi load_d16_hi_b16", 2, Place::high}};
constexpr Move stores[] = {{"store_dword store_b32", 4, Place::whole},
                           {"store_dwordx2 store_b64", 8, Place::whole},
                           {"store_dwordx3 store_b96", 12, Place::whole},
                           {"store_dwordx4 store_b128", 16, Place::whole},
                           {"store_byte store_b8", 1, Place::whole},
                           {"store_short store_b16", 2, Place::whole},
                           {"store_byte_d16_hi store_d16_hi_b8", 1, Place::high},
                           {"store_short_d16_hi store_d16_hi_b16", 2, Place::high}};
// LDS uses different names for the same operations.
constexpr Move lds_loads[] = {{"ds_read_b32 ds_load_b32", 4, Place::whole},
                              {"ds_read_b64 ds_load_b64", 8, Place::whole},
                              {"ds_read_b96 ds_load_b96", 12, Place::whole},
                              {"ds_read_b128 ds_load_b128", 16, Place::whole},
                              {"ds_read_u8 ds_load_u8", 1, Place::zeros},
                              {"ds_read_i8 ds_load_i8", 1, Place::sign},
                              {"ds_read_u16 ds_load_u16", 2, Place::zeros},
                              {"ds_read_i16 ds_load_i16", 2, Place::sign},
                              {"ds_read_u8_d16 ds_load_u8_d16", 1, Place::low},
                              {"ds_read_i8_d16 ds_load_i8_d16", 1, Place::low_sign},
                              {"ds_read_u16_d16 ds_load_u16_d16", 2, Place::low},
                              {"ds_read_u8_d16_hi ds_load_u8_d16_hi", 1, Place::high},
                              {"ds_read_i8_d16_hi ds_load_i8_d16_hi", 1, Place::high_sign},
                              {"ds_read_u16_d16_hi ds_load_u16_d16_hi", 2, Place::high}};
constexpr Move lds_stores[] = {{"ds_write_b32 ds_store_b32", 4, Place::whole},
                               {"ds_write_b64 ds_store_b64", 8, Place::whole},
                               {"ds_write_b96 ds_store_b96", 12, Place::whole},
                               {"ds_write_b128 ds_store_b128", 16, Place::whole},
                               {"ds_write_b8 ds_store_b8", 1, Place::whole},
                               {"ds_write_b16 ds_store_b16", 2, Place::whole},
                               {"ds_write_b8_d16_hi ds_store_b8_d16_hi", 1, Place::high},
                               {"ds_write_b16_d16_hi ds_store_b16_d16_hi", 2, Place::high}};

// v[0:1] addresses, v[4:7] data, s[4:7] a buffer, s[8:9] a base. Every second lane is active.
constexpr unsigned data = 4, buffer = 4, base = 8, offset = 16, stride = 16,
                   bytes_in_all = 64 * stride + offset;
constexpr u64 active = 0x5555555555555555ull;

/// The location of the bytes that a space's instructions access, and the set-up of their addresses.
enum class Space { global, global_base, flat, scratch, buffer, lds };

class Ground {
 public:
  Ground(Machine& m, Space space) : m_(m), space_(space) {
    m.set_exec(active & m.wave.full);
    block_ = m.memory(bytes_in_all);
    std::memset(reinterpret_cast<void*>(block_), 0, bytes_in_all);
    m.wave.set64(base, block_);
    m.s(buffer) = u32(block_), m.s(buffer + 1) = u32(block_ >> 32), m.s(buffer + 2) = bytes_in_all;
    m.s(buffer + 3) = 0;
    m.scratch.assign(64 * 64, 0), m.wave.scratch = m.scratch.data();
    m.lds.assign(bytes_in_all, 0), m.group.lds = m.lds.data(), m.group.lds_bytes = bytes_in_all;
    for (unsigned l = 0; l < m.wave.lanes; ++l) {
      const u64 address = space == Space::scratch                          ? 8
                          : space == Space::global || space == Space::flat ? block_ + l * stride
                                                                           : l * stride;
      m.v(0, l) = u32(address), m.v(1, l) = u32(address >> 32);
      for (unsigned k = 0; k < 4; ++k) m.v(data + k, l) = u32(random_bits(l * 4 + k)) | 0x80008080u;
    }
  }
  /// Byte n of a lane, relative to its address plus the offset.
  std::uint8_t& byte(unsigned lane, unsigned n) {
    if (space_ == Space::lds) return m_.lds[lane * stride + offset + n];
    if (space_ == Space::scratch) {
      const unsigned at = 8 + offset + n;  // private memory interleaves the lanes by words
      return m_.scratch[(at / 4 * m_.wave.lanes + lane) * 4 + at % 4];
    }
    return reinterpret_cast<std::uint8_t*>(block_)[lane * stride + offset + n];
  }

 private:
  Machine& m_;
  Space space_;
  u64 block_;
};

void check_load(Machine& m, unsigned index, const Move& move, Space space) {
  Ground ground(m, space);
  for (unsigned l = 0; l < m.wave.lanes; ++l)
    for (unsigned n = 0; n < move.bytes; ++n)
      ground.byte(l, n) = std::uint8_t(random_bits(l * 99 + n) | 0x80);
  std::vector<std::array<u32, 4>> before(m.wave.lanes);
  for (unsigned l = 0; l < m.wave.lanes; ++l)
    for (unsigned k = 0; k < 4; ++k) before[l][k] = m.v(data + k, l);
  m.step(index);
  for (unsigned l = 0; l < m.wave.lanes; ++l) {
    u32 expected[4] = {before[l][0], before[l][1], before[l][2], before[l][3]};
    if (active >> l & 1) {
      u32 words[4] = {};
      for (unsigned n = 0; n < move.bytes; ++n) words[n / 4] |= u32(ground.byte(l, n)) << n % 4 * 8;
      const bool sign =
          move.place == Place::sign || move.place == Place::low_sign || move.place == Place::high_sign;
      u32 x = words[0];
      if (sign) x = move.bytes == 1 ? x | 0xffffff00u : x | 0xffff0000u;  // all bytes here are negative
      for (unsigned k = 0; k < (move.bytes + 3) / 4; ++k) expected[k] = words[k];
      if (move.place == Place::zeros || move.place == Place::sign) expected[0] = x;
      if (move.place == Place::low || move.place == Place::low_sign)
        expected[0] = (before[l][0] & 0xffff0000u) | (x & 0xffff);
      if (move.place == Place::high || move.place == Place::high_sign)
        expected[0] = (before[l][0] & 0xffff) | x << 16;
    }
    for (unsigned k = 0; k < 4; ++k)
      ASSERT_EQ(expected[k], m.v(data + k, l)) << "word " << k << ", lane " << l;
  }
}

void check_store(Machine& m, unsigned index, const Move& move, Space space) {
  Ground ground(m, space);
  m.step(index);
  for (unsigned l = 0; l < m.wave.lanes; ++l)
    for (unsigned n = 0; n < stride; ++n) {
      const unsigned from = n + (move.place == Place::high ? 2 : 0);
      const bool written = (active >> l & 1) && n < move.bytes;
      const u32 expected = written ? m.v(data + from / 4, l) >> from % 4 * 8 & 255 : 0;
      ASSERT_EQ(expected, ground.byte(l, n)) << "byte " << n << ", lane " << l;
    }
}

/// The operands after the data of a load, or around the data of a store.
std::string operands(const Target& t, Space space, const std::string& moved, bool load) {
  const std::string at = "v[0:1]", tail = " offset:" + std::to_string(offset);
  const auto order = [&](const std::string& address) {
    return load ? moved + ", " + address : address + ", " + moved;
  };
  switch (space) {
    case Space::global:
      return order(at) + ", off" + tail;
    case Space::global_base:
      return order("v0") + ", " + registers('s', base, 2) + tail;
    case Space::flat:
      return order(at) + tail;
    case Space::scratch:
      return order("v0") + ", off" + tail;
    case Space::buffer:
      return moved + ", v0, " + registers('s', buffer, 4) + (t.generation >= 12 ? ", null" : ", 0") +
             " offen" + tail;
    case Space::lds:
      return order("v0") + tail;
  }
  return {};
}

void add_moves(std::vector<Case>& cases, const Target& t, Space space, const std::string& prefix,
               std::span<const Move> moves, bool load) {
  for (const Move& move : moves)
    for (const std::string& name : words_of(move.names)) {
      const std::string moved = registers('v', data, (move.bytes + 3) / 4);
      cases.push_back({prefix + name, prefix + name + " " + operands(t, space, moved, load),
                       [&move, space, load](Machine& m, unsigned index) {
                         load ? check_load(m, index, move, space) : check_store(m, index, move, space);
                       }});
    }
}

/// Two elements at once, with offsets in units of elements or of 64 elements.
void add_pairs(std::vector<Case>& cases, const std::string& names, unsigned bytes, bool load) {
  for (const std::string& name : words_of(names)) {
    const unsigned step = name.find("64_") != name.npos ? 64 * bytes : bytes, words = bytes / 4;
    const std::string text = load ? name + " " + registers('v', data, 2 * words) + ", v0 offset0:1 offset1:3"
                                  : name + " v0, " + registers('v', data, words) + ", " +
                                        registers('v', data + words, words) + " offset0:1 offset1:3";
    cases.push_back({name, text, [=](Machine& m, unsigned index) {
                       m.lds.assign(4096, 0), m.group.lds = m.lds.data(), m.group.lds_bytes = 4096;
                       m.set_exec(1);
                       m.v(0) = 8;
                       for (unsigned n = 0; n < 4096; ++n) m.lds[n] = load ? std::uint8_t(random_bits(n)) : 0;
                       for (unsigned k = 0; k < 4; ++k) m.v(data + k) = u32(random_bits(k));
                       m.step(index);
                       for (unsigned k = 0; k < 2 * words; ++k) {
                         u32 word;
                         std::memcpy(&word, &m.lds[8 + (k < words ? 1 : 3) * step + k % words * 4], 4);
                         EXPECT_EQ(word, m.v(data + k)) << "word " << k;
                       }
                     }});
  }
}

}  // namespace memory_table

std::vector<Case> memory_rows(const Target& t) {
  using namespace memory_table;
  std::vector<Case> cases;
  const auto both = [&](Space space, const std::string& prefix) {
    add_moves(cases, t, space, prefix, loads, true);
    add_moves(cases, t, space, prefix, stores, false);
  };
  both(Space::global, "global_");
  both(Space::global_base, "global_");
  both(Space::flat, "flat_");
  both(Space::scratch, "scratch_");
  both(Space::buffer, "buffer_");
  return cases;
}

std::vector<Case> lds_rows(const Target& t) {
  using namespace memory_table;
  std::vector<Case> cases;
  add_moves(cases, t, Space::lds, "", lds_loads, true);
  add_moves(cases, t, Space::lds, "", lds_stores, false);
  add_pairs(cases, "ds_read2_b32 ds_load_2addr_b32 ds_read2st64_b32 ds_load_2addr_stride64_b32", 4, true);
  add_pairs(cases, "ds_read2_b64 ds_load_2addr_b64 ds_read2st64_b64 ds_load_2addr_stride64_b64", 8, true);
  add_pairs(cases, "ds_write2_b32 ds_store_2addr_b32 ds_write2st64_b32 ds_store_2addr_stride64_b32", 4,
            false);
  add_pairs(cases, "ds_write2_b64 ds_store_2addr_b64 ds_write2st64_b64 ds_store_2addr_stride64_b64", 8,
            false);
  return cases;
}

TEST(Rows, Memory) {
  check_table(memory_rows);
}
TEST(Rows, Lds) {
  check_table(lds_rows);
}

}  // namespace weir::hipsim::test
