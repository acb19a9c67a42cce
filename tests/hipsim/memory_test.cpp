// SPDX-License-Identifier: Apache-2.0
// Memory instructions, and the checker's reports on invalid accesses.
#include <gtest/gtest.h>

#include <cstring>

#include "machine.hpp"

namespace weir::hipsim::test {
namespace {

class Memory : public testing::TestWithParam<const char*> {
 protected:
  Machine m{GetParam()};
  bool new_names = m.wave.generation >= 11;
  std::string load = new_names ? "global_load_b32" : "global_load_dword";
  std::string store = new_names ? "global_store_b32" : "global_store_dword";
  std::string atomic_add = new_names ? "global_atomic_add_u32" : "global_atomic_add";
  std::string returning = std::string(GetParam()) == "gfx942" ? " sc0" : " glc";
  std::string ds_read = new_names ? "ds_load_" : "ds_read_", ds_write = new_names ? "ds_store_" : "ds_write_";
};

TEST_P(Memory, GlobalLoadsAndStoresWithOffsets) {
  const u64 block = m.memory(1024);
  auto* words = reinterpret_cast<u32*>(block);
  for (u32 n = 0; n < 256; ++n) words[n] = n;
  for (unsigned l = 0; l < m.wave.lanes; ++l) m.v(0, l) = 4 * l;
  m.wave.set64(2, block);
  m.run(load + " v1, v0, s[2:3] offset:16\ns_waitcnt vmcnt(0)\n" + store + " v0, v1, s[2:3] offset:512");
  for (unsigned l = 0; l < m.wave.lanes; ++l) EXPECT_EQ(l + 4, words[128 + l]);
}

TEST_P(Memory, SmallLoadsExtend) {
  const u64 block = m.memory(64);
  *reinterpret_cast<u32*>(block) = 0x8081fffe;
  m.set_v64(0, block), m.set_v(6, 0x12345678), m.set_v(7, 0x12345678);
  m.run(new_names ? "global_load_u8 v2, v[0:1], off\nglobal_load_i8 v3, v[0:1], off\nglobal_load_u16 v4, "
                    "v[0:1], off\n"
                    "global_load_i16 v5, v[0:1], off offset:2\nglobal_load_d16_b16 v6, v[0:1], off\n"
                    "global_load_d16_hi_b16 v7, v[0:1], off"
                  : "global_load_ubyte v2, v[0:1], off\nglobal_load_sbyte v3, v[0:1], off\n"
                    "global_load_ushort v4, v[0:1], off\nglobal_load_sshort v5, v[0:1], off offset:2\n"
                    "global_load_short_d16 v6, v[0:1], off\nglobal_load_short_d16_hi v7, v[0:1], off");
  EXPECT_EQ(0xfeu, m.v(2));
  EXPECT_EQ(0xfffffffeu, m.v(3));
  EXPECT_EQ(0xfffeu, m.v(4));
  EXPECT_EQ(0xffff8081u, m.v(5));
  EXPECT_EQ(0x1234fffeu, m.v(6));
  EXPECT_EQ(0xfffe5678u, m.v(7));
}

TEST_P(Memory, AtomicsAddForEachLaneAndReturnTheValueBefore) {
  const u64 block = m.memory(64);
  *reinterpret_cast<u32*>(block) = 5;
  m.set_v64(0, block), m.set_v(2, 3);
  m.set_exec(0x7);
  m.run(atomic_add + " v3, v[0:1], v2, off" + returning);
  EXPECT_EQ(14u, *reinterpret_cast<u32*>(block));
  EXPECT_EQ(5u, m.v(3, 0));
  EXPECT_EQ(11u, m.v(3, 2));
}

TEST_P(Memory, CompareAndSwapComparesWithTheSecondRegister) {
  const u64 block = m.memory(64);
  *reinterpret_cast<u32*>(block) = 5;
  m.set_v64(0, block), m.set_v(2, 9), m.set_v(3, 5);
  m.set_exec(1);
  m.run((new_names ? "global_atomic_cmpswap_b32" : "global_atomic_cmpswap") +
        std::string(" v4, v[0:1], v[2:3], off") + returning);
  EXPECT_EQ(9u, *reinterpret_cast<u32*>(block));
  EXPECT_EQ(5u, m.v(4));
}

TEST_P(Memory, LdsReadsPairsAndBytes) {
  for (u32 n = 0; n < 64; ++n) std::memcpy(&m.lds[n * 4], &n, 4);
  m.set_v(0, 8), m.set_v(1, 0xabcd);
  m.run(ds_write + "b8 v0, v1 offset:1\ns_waitcnt lgkmcnt(0)\n" + ds_read + "b32 v2, v0\n" + ds_read +
        "b64 v[4:5], v0 offset:8\n" + (new_names ? "ds_load_2addr_b32" : "ds_read2_b32") +
        " v[6:7], v0 offset0:1 offset1:3");
  EXPECT_EQ(0xcd02u, m.v(2));
  EXPECT_EQ(0x500000004ull, m.v64(4));
  EXPECT_EQ(3u, m.v(6));
  EXPECT_EQ(5u, m.v(7));
}

TEST_P(Memory, LdsAtomics) {
  m.set_v(0, 16), m.set_v(1, 2);
  m.run("ds_add_u32 v0, v1\nds_add_rtn_u32 v2, v0, v1 offset:4\nds_max_i32 v0, v1 offset:8");
  u32 sum;
  std::memcpy(&sum, &m.lds[16], 4);
  EXPECT_EQ(2 * m.wave.lanes, sum);
  EXPECT_EQ(2 * (m.wave.lanes - 1), m.v(2, m.wave.lanes - 1));
}

TEST_P(Memory, FlatAddressesReachLdsByTheirAperture) {
  m.set_v(0, 32), m.set_v(1, aperture::shared_high), m.set_v(2, 77);
  m.set_exec(1);
  m.run((new_names ? "flat_store_b32" : "flat_store_dword") + std::string(" v[0:1], v2"));
  EXPECT_EQ(77, m.lds[32]);
}

TEST_P(Memory, ScalarLoads) {
  const u64 block = m.memory(64);
  for (u32 n = 0; n < 16; ++n) reinterpret_cast<u32*>(block)[n] = n * n;
  m.wave.set64(2, block);
  m.run(new_names ? "s_load_b128 s[4:7], s[2:3], 0x8" : "s_load_dwordx4 s[4:7], s[2:3], 0x8");
  EXPECT_EQ(4u, m.s(4));
  EXPECT_EQ(25u, m.s(7));
}

// The fault names the lane and the address.
TEST_P(Memory, ReadingBehindABlockIsAFault) {
  const u64 block = m.memory(64);
  for (unsigned l = 0; l < m.wave.lanes; ++l) m.v(0, l) = 4 * l;
  m.wave.set64(2, block);
  try {
    m.run(load + " v1, v0, s[2:3]");
    FAIL();
  } catch (const Fault& fault) {
    EXPECT_EQ(FaultKind::out_of_bounds, fault.kind);
    EXPECT_EQ(16, fault.lane);
    EXPECT_EQ(block + 64, fault.address);
    EXPECT_NE(nullptr, std::strstr(fault.what(), "0 bytes behind the end of device block")) << fault.what();
  }
}

TEST_P(Memory, LdsBeyondTheWorkgroupsIsAFault) {
  m.set_v(0, 1022);
  EXPECT_THROW(m.run(ds_read + "b32 v1, v0"), Fault);
}

TEST_P(Memory, UnknownInstructionsAreFaultsThatSayWhy) {
  try {
    m.run(new_names ? "global_load_addtid_b32 v0, off" : "buffer_atomic_add v0, off, s[0:3], 0");
    FAIL();
  } catch (const Fault& fault) {
    EXPECT_EQ(FaultKind::unknown_instruction, fault.kind);
    EXPECT_STREQ("is an instruction that the simulator does not know", fault.what());
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, Memory, testing::ValuesIn(architectures),
                         [](const auto& info) { return std::string(info.param); });

TEST(LdsShadow, FindsRacesBetweenWavesAndForgetsThemAtBarriers) {
  LdsShadow shadow;
  shadow.begin(64);
  EXPECT_FALSE(shadow.touch(0, 4, 0, 0, LdsAccess::write));
  EXPECT_FALSE(shadow.touch(0, 4, 0, 1, LdsAccess::read)) << "lanes of one wave run in step";
  const auto race = shadow.touch(0, 4, 1, 5, LdsAccess::read);
  ASSERT_TRUE(race);
  EXPECT_EQ(0u, race->other_wave);
  EXPECT_EQ(5u, race->lane);
  shadow.next_epoch();
  EXPECT_FALSE(shadow.touch(0, 4, 1, 0, LdsAccess::read));
  EXPECT_TRUE(shadow.touch(3, 1, 0, 0, LdsAccess::write)) << "another wave has read it";
}

TEST(LdsShadow, AtomicsDoNotRaceWithEachOther) {
  LdsShadow shadow;
  shadow.begin(64);
  EXPECT_FALSE(shadow.touch(8, 4, 0, 0, LdsAccess::atomic));
  EXPECT_FALSE(shadow.touch(8, 4, 1, 0, LdsAccess::atomic));
  EXPECT_TRUE(shadow.touch(8, 4, 2, 0, LdsAccess::read));
}

// "Wave 0 clears the counter, all waves add, no barrier": wave 0's atomic must not hide its earlier write.
TEST(LdsShadow, AnAtomicDoesNotHideThePlainWriteOfItsWave) {
  LdsShadow shadow;
  shadow.begin(64);
  EXPECT_FALSE(shadow.touch(8, 4, 0, 0, LdsAccess::write));
  EXPECT_FALSE(shadow.touch(8, 4, 0, 0, LdsAccess::atomic));
  const auto race = shadow.touch(8, 4, 1, 3, LdsAccess::atomic);
  ASSERT_TRUE(race);
  EXPECT_EQ(0u, race->other_wave);
  EXPECT_EQ(LdsAccess::write, race->other_access);
  shadow.next_epoch();
  EXPECT_FALSE(shadow.touch(8, 4, 1, 3, LdsAccess::atomic));
}

TEST(LdsShadow, ALaterAtomicDoesNotHideAnEarlierOneFromAPlainAccess) {
  LdsShadow shadow;
  shadow.begin(64);
  EXPECT_FALSE(shadow.touch(8, 4, 1, 0, LdsAccess::atomic));
  EXPECT_FALSE(shadow.touch(8, 4, 0, 0, LdsAccess::atomic));
  const auto race = shadow.touch(8, 4, 0, 0, LdsAccess::read);
  ASSERT_TRUE(race);
  EXPECT_EQ(1u, race->other_wave);
}

}  // namespace
}  // namespace weir::hipsim::test
