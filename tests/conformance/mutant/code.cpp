// SPDX-License-Identifier: Apache-2.0
// Kernels that compute wrong results, although every call returns the right status.
#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "mutant.hpp"

namespace mutant {
namespace {

/// True if `code` begins with an instruction that changes memory and may be locked, as x86 compilers encode
/// atomics: an optional REX prefix, the operation, a memory operand.
bool may_be_locked(std::string_view code) {
  const auto byte = [&](std::size_t i) {
    return i < code.size() ? static_cast<std::uint8_t>(code[i]) : 0xff;
  };
  std::size_t at = (byte(0) & 0xf0) == 0x40 ? 1 : 0;
  const bool exchanges = byte(at) == 0x0f && (byte(at + 1) == 0xb1 || byte(at + 1) == 0xc1);
  if (exchanges) return byte(at + 2) < 0xc0;
  const int which = byte(at + 1) >> 3 & 7;  // the opcode extension of group instructions
  constexpr std::string_view of_registers = "\x01\x09\x21\x29\x31";
  const bool changes = of_registers.find(static_cast<char>(byte(at))) != of_registers.npos ||
                       (byte(at) == 0xff && which <= 1) ||
                       ((byte(at) == 0x81 || byte(at) == 0x83) && which != 2 && which != 3 && which != 7);
  return changes && byte(at + 1) < 0xc0;
}

/// A shared object with unlocked atomics: in executable segments each lock prefix becomes a prefix without
/// effect. Bytes that only resemble such a prefix change too; this breaks sinh.
std::string without_locks(std::string_view object) {
  constexpr char lock = '\xf0', nothing = '\x3e';
  std::string changed(object);
  Elf64_Ehdr head{};
  if (object.size() < sizeof head) return changed;
  std::memcpy(&head, object.data(), sizeof head);
  for (std::size_t n = 0; n < head.e_phnum; ++n) {
    Elf64_Phdr part{};
    const std::size_t at = head.e_phoff + n * sizeof part;
    if (at + sizeof part > object.size()) break;
    std::memcpy(&part, object.data() + at, sizeof part);
    if (part.p_type != PT_LOAD || !(part.p_flags & PF_X)) continue;
    const std::size_t end = std::min<std::size_t>(part.p_offset + part.p_filesz, object.size());
    for (std::size_t i = part.p_offset; i < end; ++i)
      if (object[i] == lock && may_be_locked(object.substr(i + 1))) changed[i] = nothing;
  }
  return changed;
}

}  // namespace

std::span<const Mutant> code_mutants() {
  static const Mutant mutants[] = {
      {"code-drops-locks", "no atomic update is lost",
       [](weir_driver_table& table) {
         table.module_load = [](weir_device d, const weir_code_object* object, weir_module* out,
                                weir_status* e) {
           const std::string code = without_locks(
               {static_cast<const char*>(object->data), static_cast<std::size_t>(object->size)});
           weir_code_object changed = *object;
           changed.data = code.data();
           return real().module_load(d, &changed, out, e);
         };
       }},
      {"launch-does-nothing", "a launch runs",
       [](weir_driver_table& table) {
         table.kernel_launch = [](weir_stream, const weir_launch*, weir_status*) -> weir_result {
           return WEIR_OK;
         };
       }},
      {"launch-first-block-again", "every block of a launch runs once",
       [](weir_driver_table& table) {
         table.kernel_launch = [](weir_stream s, const weir_launch* l, weir_status* e) {
           const weir_result result = real().kernel_launch(s, l, e);
           weir_launch first = *l;
           first.grid[0] = first.grid[1] = first.grid[2] = 1;
           return result == WEIR_OK ? real().kernel_launch(s, &first, e) : result;
         };
       }},
  };
  return mutants;
}

}  // namespace mutant
