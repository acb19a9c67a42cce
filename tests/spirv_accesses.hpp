// SPDX-License-Identifier: Apache-2.0
// The words of a SPIR-V module, and its loads and stores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <vector>

namespace weir::test {

inline std::vector<std::uint32_t> words_of(std::span<const std::byte> module) {
  std::vector<std::uint32_t> words(module.size() / sizeof(std::uint32_t));
  std::memcpy(words.data(), module.data(), words.size() * sizeof words[0]);
  return words;
}

struct SpirvAccess {
  /// Workgroup, Private and PhysicalStorageBuffer.
  enum class Storage : std::uint32_t { block = 4, table = 6, device = 5349 };
  bool stores;
  Storage storage;  // or another number of SPIR-V's
  std::uint32_t components;
};

inline std::vector<SpirvAccess> accesses_of(std::span<const std::byte> module) {
  enum : std::uint32_t {
    vector = 23,
    pointer = 32,
    load = 61,
    store = 62,
    access_chain = 65,
    to_pointer = 120
  };
  const std::vector<std::uint32_t> words = words_of(module);
  struct Pointer {
    std::uint32_t storage, pointee;
  };
  std::map<std::uint32_t, std::uint32_t> lengths, types;  // of vectors, of values
  std::map<std::uint32_t, Pointer> pointers;
  std::vector<SpirvAccess> found;
  for (std::size_t at = 5; at < words.size(); at += words[at] >> 16) {
    const std::uint32_t* const operand = &words[at + 1];
    const std::uint32_t operation = words[at] & 0xffff;
    if (operation == vector) lengths[operand[0]] = operand[2];
    if (operation == pointer) pointers[operand[0]] = {operand[1], operand[2]};
    if (operation == access_chain || operation == to_pointer) types[operand[1]] = operand[0];
    if (operation != load && operation != store) continue;
    const auto to = pointers.find(types[operation == load ? operand[2] : operand[0]]);
    if (to == pointers.end()) continue;  // of a variable itself
    const auto length = lengths.find(to->second.pointee);
    found.push_back({operation == store, SpirvAccess::Storage{to->second.storage},
                     length == lengths.end() ? 1 : length->second});
  }
  return found;
}

/// How often memory of this kind is accessed with this many components.
inline int count_accesses(std::span<const std::byte> module, bool stores, SpirvAccess::Storage storage,
                          std::uint32_t components) {
  int count = 0;
  for (const SpirvAccess& one : accesses_of(module))
    count += one.stores == stores && one.storage == storage && one.components == components;
  return count;
}

}  // namespace weir::test
