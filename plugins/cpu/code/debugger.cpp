// SPDX-License-Identifier: Apache-2.0
#include "code/debugger.hpp"

#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

// GDB defines the names and layouts: see "JIT Compilation Interface" in its manual. The visibility is
// protected, because other libraries of the process may have a list under the same names.
extern "C" {
struct jit_code_entry {
  jit_code_entry* next_entry;
  jit_code_entry* prev_entry;
  const char* symfile_addr;
  std::uint64_t symfile_size;
};
struct jit_descriptor {
  std::uint32_t version;
  std::uint32_t action_flag;
  jit_code_entry* relevant_entry;
  jit_code_entry* first_entry;
};
__attribute__((visibility("protected"), used))
jit_descriptor __jit_debug_descriptor = {1, 0, nullptr, nullptr};
/// A debugger stops the process here.
__attribute__((visibility("protected"), used, noinline)) void __jit_debug_register_code() {
  asm volatile("" ::: "memory");
}
}

namespace weir::cpu {
namespace {

enum Action : std::uint32_t { nothing_changed, registered, unregistered };

std::mutex& list_mutex() {
  static std::mutex* const mutex = new std::mutex;  // modules may be unloaded while the process exits
  return *mutex;
}

/// A copy of a file, relocated to its load address.
class PlacedCopy {
 public:
  PlacedCopy(const ElfFile& file, std::uint64_t bias)
      : bytes_(file.bytes().begin(), file.bytes().end()), bias_(bias) {
    auto header = read<Elf64_Ehdr>(0);
    if (header.e_shnum == 0) {
      bytes_.clear();
      return;
    }
    sections_.resize(header.e_shnum);
    for (std::size_t i = 0; i < sections_.size(); ++i)
      sections_[i] = read<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr));
    place_words();
    place_symbols();
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      if (sections_[i].sh_flags & SHF_ALLOC) sections_[i].sh_addr += bias_;
      write(header.e_shoff + i * sizeof(Elf64_Shdr), sections_[i]);
    }
    header.e_phnum = 0;  // segments would contradict the sections
    header.e_phoff = 0;
    write(0, header);
  }

  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  template <class T>
  T read(std::uint64_t at) const noexcept {
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }
  template <class T>
  void write(std::uint64_t at, const T& value) noexcept {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  /// Whether the section has bytes of the file; ElfFile has checked the range of such sections only.
  static bool has_bytes(const Elf64_Shdr& section) noexcept {
    return section.sh_type != SHT_NULL && section.sh_type != SHT_NOBITS;
  }
  bool is_loaded(std::size_t section) const noexcept {
    return section > 0 && section < sections_.size() && (sections_[section].sh_flags & SHF_ALLOC);
  }

  // Symbols still have the addresses of the file.
  void place_words() {
    for (const Elf64_Shdr& table : sections_) {
      if (table.sh_type != SHT_RELA || (table.sh_flags & SHF_ALLOC) || table.sh_info >= sections_.size())
        continue;
      const Elf64_Shdr& target = sections_[table.sh_info];
      const Elf64_Shdr& symbols = sections_[table.sh_link];
      if (table.sh_info == 0 || (target.sh_flags & SHF_ALLOC) || !has_bytes(target)) continue;
      if (symbols.sh_type != SHT_SYMTAB) continue;
      for (std::uint64_t i = 0; i < table.sh_size / sizeof(Elf64_Rela); ++i) {
        const auto entry = read<Elf64_Rela>(table.sh_offset + i * sizeof(Elf64_Rela));
        const std::uint64_t symbol = ELF64_R_SYM(entry.r_info);
        if (ELF64_R_TYPE(entry.r_info) != R_X86_64_64 || symbol >= symbols.sh_size / sizeof(Elf64_Sym))
          continue;
        if (target.sh_size < 8 || entry.r_offset > target.sh_size - 8) continue;
        const auto named = read<Elf64_Sym>(symbols.sh_offset + symbol * sizeof(Elf64_Sym));
        if (!is_loaded(named.st_shndx)) continue;
        write(target.sh_offset + entry.r_offset,
              named.st_value + static_cast<std::uint64_t>(entry.r_addend) + bias_);
      }
    }
  }

  void place_symbols() {
    for (const Elf64_Shdr& table : sections_) {
      if (table.sh_type != SHT_SYMTAB && table.sh_type != SHT_DYNSYM) continue;
      for (std::uint64_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); ++i) {
        const std::uint64_t at = table.sh_offset + i * sizeof(Elf64_Sym);
        auto symbol = read<Elf64_Sym>(at);
        if (!is_loaded(symbol.st_shndx)) continue;
        symbol.st_value += bias_;
        write(at, symbol);
      }
    }
  }

  std::vector<std::byte> bytes_;
  std::uint64_t bias_;
  std::vector<Elf64_Shdr> sections_;
};

void announce_change(jit_code_entry& entry, Action action) noexcept {
  __jit_debug_descriptor.relevant_entry = &entry;
  __jit_debug_descriptor.action_flag = action;
  __jit_debug_register_code();
  __jit_debug_descriptor.relevant_entry = nullptr;
  __jit_debug_descriptor.action_flag = nothing_changed;
}

}  // namespace

struct DebuggerEntry {
  jit_code_entry entry{};
  std::vector<std::byte> symbols;
};

DebuggerEntry* register_with_debugger(const ElfFile& file, const std::byte* bias) {
  auto made = std::make_unique<DebuggerEntry>();
  made->symbols = PlacedCopy(file, reinterpret_cast<std::uint64_t>(bias)).take();
  if (made->symbols.empty()) return nullptr;
  jit_code_entry& entry = made->entry;
  entry.symfile_addr = reinterpret_cast<const char*>(made->symbols.data());
  entry.symfile_size = made->symbols.size();
  const std::lock_guard lock(list_mutex());
  entry.next_entry = __jit_debug_descriptor.first_entry;
  if (entry.next_entry) entry.next_entry->prev_entry = &entry;
  __jit_debug_descriptor.first_entry = &entry;
  announce_change(entry, registered);
  return made.release();
}

void unregister_from_debugger(DebuggerEntry* told) noexcept {
  const std::unique_ptr<DebuggerEntry> owned(told);
  jit_code_entry& entry = told->entry;
  const std::lock_guard lock(list_mutex());
  (entry.prev_entry ? entry.prev_entry->next_entry : __jit_debug_descriptor.first_entry) = entry.next_entry;
  if (entry.next_entry) entry.next_entry->prev_entry = entry.prev_entry;
  announce_change(entry, unregistered);
}

}  // namespace weir::cpu
