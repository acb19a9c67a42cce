// SPDX-License-Identifier: Apache-2.0
// Access of one lane to each kind of memory. Aligned accesses of up to 8 bytes are single accesses on the
// host too.
#pragma once
#include <cstdint>

#include "isa/numbers.hpp"
#include "isa/workgroup.hpp"

namespace weir::hipsim {

enum class Space : std::uint8_t { global, flat, scratch };

/// Copies `bytes` (1, 2, 4 or a multiple of 4) between a lane and memory. Throws Fault on a bad address.
void load_global(Wave& w, unsigned lane, u64 address, unsigned bytes, void* out);
void store_global(Wave& w, unsigned lane, u64 address, unsigned bytes, const void* in);
/// The same without checks, for accesses known to be valid.
void load_unchecked(u64 address, unsigned bytes, void* out);
void store_unchecked(u64 address, unsigned bytes, const void* in);
void load_scratch(Wave& w, unsigned lane, u32 offset, unsigned bytes, void* out);
void store_scratch(Wave& w, unsigned lane, u32 offset, unsigned bytes, const void* in);
void load_lds(Wave& w, unsigned lane, u32 address, unsigned bytes, void* out);
void store_lds(Wave& w, unsigned lane, u32 address, unsigned bytes, const void* in);
/// Selects the memory by the address's aperture.
void load_flat(Wave& w, unsigned lane, u64 address, unsigned bytes, void* out);
void store_flat(Wave& w, unsigned lane, u64 address, unsigned bytes, const void* in);

/// Checks `bytes` at a global address. Throws Fault.
void require_global(Wave& w, unsigned lane, u64 address, unsigned bytes, const char* doing);
/// Checks an LDS address and records the access for the race check. Throws Fault.
void require_lds(Wave& w, unsigned lane, u32 address, unsigned bytes, LdsAccess access);
/// The host address of a lane's private byte. Checked; throws Fault.
std::uint8_t* scratch_word(Wave& w, unsigned lane, u32 offset, unsigned bytes);

}  // namespace weir::hipsim
