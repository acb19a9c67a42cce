// SPDX-License-Identifier: Apache-2.0
// Small code objects, each part of which a test can alter.
#pragma once

#include <elf.h>

#include <cstddef>

#include "support.hpp"

namespace cpu_test {

constexpr std::uint64_t tables_at = 0x400, code_at = 0x1000, data_at = 0x2000;

inline Elf64_Sym symbol_of(std::uint32_t name, unsigned char type, std::uint16_t section, std::uint64_t value,
                           std::uint64_t size = 0, unsigned char bind = STB_GLOBAL) {
  return {name, static_cast<unsigned char>(ELF64_ST_INFO(bind, type)), STV_DEFAULT, section, value, size};
}

struct Section {
  Elf64_Shdr header{};
  std::vector<char> bytes{};  ///< that are only in the file
};

/// A shared object with three segments, whose offsets are their addresses: tables (read only), code and data.
/// It exports `kernel`, which stores the first number of the data.
struct MadeObject {
  /// Stores data[0] at the address in the first argument.
  std::vector<unsigned char> code = {0x48, 0x8b, 0x07, 0x48, 0x8b, 0x0d, 0xf6,
                                     0x0f, 0,    0,    0x48, 0x89, 0x08, 0xc3};
  std::vector<std::uint64_t> data = {77, 0};
  std::string strings = std::string("\0kernel\0who_is_called\0nowhere\0", 30);
  static constexpr std::uint32_t kernel_name = 1, program_name = 8, unknown_name = 22;
  std::vector<Elf64_Sym> symbols = {{}, symbol_of(kernel_name, STT_FUNC, 1, code_at, 14)};
  std::vector<Elf64_Rela> relocations{};
  std::vector<std::uint64_t> compact{};
  std::vector<char> unwind{};  ///< after the symbols, at unwind_at()
  std::vector<std::uint32_t> hash = {1, 2, 1, 0,
                                     0};  ///< the last table; the second word is the number of symbols
  bool gnu = false;                       ///< kind of the hash table
  std::vector<Elf64_Dyn> dynamic{};       ///< first entries of the dynamic section
  bool terminated = true;
  std::vector<Elf64_Phdr> segments{};  ///< after those of the tables, code, data and dynamic section
  std::vector<Section> sections{};     ///< after the first one, which is empty
  std::uint64_t base = 0;              ///< added to all addresses of the file but those of sections

  std::uint64_t unwind_at() const { return tables_at + symbols.size() * sizeof(Elf64_Sym); }

  std::vector<char> bytes() const {
    std::vector<char> file(tables_at);
    const auto place = [&](const auto& values) {
      file.resize((file.size() + 7) / 8 * 8);
      const std::uint64_t at = file.size();
      const auto* from = reinterpret_cast<const char*>(values.data());
      file.insert(file.end(), from, from + values.size() * sizeof values[0]);
      return at;
    };
    std::vector<Elf64_Dyn> entries = dynamic;
    const auto add = [&](Elf64_Sxword tag, std::uint64_t value) { entries.push_back({tag, {value}}); };
    std::vector<Elf64_Sym> placed_symbols = symbols;
    for (Elf64_Sym& symbol : placed_symbols)
      if (symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS) symbol.st_value += base;
    std::vector<Elf64_Rela> placed_relocations = relocations;
    for (Elf64_Rela& relocation : placed_relocations) relocation.r_offset += base;
    add(DT_SYMTAB, base + place(placed_symbols));
    place(unwind);
    if (!relocations.empty()) {
      add(DT_RELA, base + place(placed_relocations));
      add(DT_RELASZ, relocations.size() * sizeof(Elf64_Rela));
    }
    if (!compact.empty()) {
      add(DT_RELR, base + place(compact));
      add(DT_RELRSZ, compact.size() * 8);
    }
    if (!hash.empty()) add(gnu ? DT_GNU_HASH : DT_HASH, base + place(hash));
    std::vector<Elf64_Phdr> headers{
        {PT_LOAD, PF_R, 0, 0, 0, file.size(), file.size(), 4096},
        {PT_LOAD, PF_R | PF_X, code_at, code_at, 0, code.size(), code.size(), 4096}};
    file.resize(code_at);
    place(code);
    file.resize(data_at);
    place(data);
    add(DT_STRTAB, base + place(strings));
    add(DT_STRSZ, strings.size());
    if (terminated) add(DT_NULL, 0);
    const std::uint64_t dynamic_at = place(entries);
    headers.push_back(
        {PT_LOAD, PF_R | PF_W, data_at, data_at, 0, file.size() - data_at, file.size() - data_at, 4096});
    headers.push_back({PT_DYNAMIC, PF_R | PF_W, dynamic_at, dynamic_at, 0, file.size() - dynamic_at,
                       file.size() - dynamic_at, 8});
    headers.insert(headers.end(), segments.begin(), segments.end());
    for (Elf64_Phdr& one : headers) one.p_vaddr += base;
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_DYN;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_ehsize = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phoff = sizeof header;
    header.e_phnum = static_cast<std::uint16_t>(headers.size());
    if (!sections.empty()) {
      std::vector<Elf64_Shdr> all{{}};
      for (const Section& section : sections) {
        all.push_back(section.header);
        if (section.bytes.empty()) continue;
        all.back().sh_offset = place(section.bytes);
        all.back().sh_size = section.bytes.size();
      }
      header.e_shentsize = sizeof(Elf64_Shdr);
      header.e_shnum = static_cast<std::uint16_t>(all.size());
      header.e_shoff = place(all);
    }
    std::memcpy(file.data(), &header, sizeof header);
    std::memcpy(file.data() + sizeof header, headers.data(), headers.size() * sizeof(Elf64_Phdr));
    return file;
  }
};

/// The program header `index` of a made object: 0 of the tables, 1 of the code, 2 of the data, 3 dynamic.
inline Elf64_Phdr& segment_of(std::vector<char>& bytes, int index) {
  return reinterpret_cast<Elf64_Phdr*>(bytes.data() + sizeof(Elf64_Ehdr))[index];
}

class LoadedObject {
 public:
  explicit LoadedObject(const std::vector<char>& bytes) {
    const weir_code_object object = code_object(bytes);
    call(table().module_load, first_device(), &object, &module_);
  }
  explicit LoadedObject(const MadeObject& object) : LoadedObject(object.bytes()) {}
  ~LoadedObject() { call(table().module_unload, module_); }
  LoadedObject(const LoadedObject&) = delete;
  LoadedObject& operator=(const LoadedObject&) = delete;

  /// The first number of its data.
  std::uint64_t number() const {
    struct {
      std::uint64_t* out;
    } arguments;
    std::uint64_t result = 0;
    arguments.out = &result;
    Stream stream;
    stream.launch(kernel_of<decltype(arguments)>(module_, "kernel"), arguments);
    stream.synchronize();
    return result;
  }
  weir_module module() const { return module_; }

 private:
  weir_module module_ = nullptr;
};

/// The message with which an object is refused.
inline std::string load_refusal_of(const std::vector<char>& bytes) {
  const weir_code_object object = code_object(bytes);
  weir_module module = nullptr;
  const std::string message =
      refusal(WEIR_ERROR_CODE_OBJECT, table().module_load, first_device(), &object, &module);
  if (module) call(table().module_unload, module);
  return message;
}

/// A made object whose kernel stores the address of that kernel.
inline MadeObject object_with_its_address() {
  MadeObject object;
  object.relocations = {{data_at, ELF64_R_INFO(1, R_X86_64_GLOB_DAT), 0}};
  return object;
}

}  // namespace cpu_test
