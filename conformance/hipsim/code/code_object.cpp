// SPDX-License-Identifier: Apache-2.0
#include "code/code_object.hpp"

#include <fmt/format.h>
#include <llvm/BinaryFormat/ELF.h>
#include <llvm/Object/ELF.h>

#include <algorithm>
#include <cstring>

namespace weir::hipsim {
namespace {

using Elf = llvm::object::ELFFile<llvm::object::ELF64LE>;

Elf open(std::span<const std::uint8_t> image) {
  const llvm::StringRef bytes(reinterpret_cast<const char*>(image.data()), image.size());
  auto file = Elf::create(bytes);
  if (!file) throw CodeObjectError(false, "is no ELF file: " + llvm::toString(file.takeError()));
  return *file;
}

template <class T>
T checked(llvm::Expected<T> value, const char* what) {
  if (!value)
    throw CodeObjectError(false,
                          std::string("has broken ") + what + ": " + llvm::toString(value.takeError()));
  return *value;
}

}  // namespace

std::size_t elf_size(const void* image) {
  llvm::ELF::Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  if (std::memcmp(header.e_ident, llvm::ELF::ElfMagic, 4) != 0) return 0;
  std::size_t end = header.e_shoff + std::size_t(header.e_shentsize) * header.e_shnum;
  const auto* bytes = static_cast<const std::uint8_t*>(image);
  for (unsigned k = 0; k < header.e_shnum; ++k) {
    llvm::ELF::Elf64_Shdr section;
    std::memcpy(&section, bytes + header.e_shoff + std::size_t(k) * header.e_shentsize, sizeof(section));
    if (section.sh_type != llvm::ELF::SHT_NOBITS)
      end = std::max<std::size_t>(end, section.sh_offset + section.sh_size);
  }
  return end;
}

CodeObject::CodeObject(std::span<const std::uint8_t> image, const Target& target, MemoryTable& table)
    : target_(target), table_(table) {
  const Elf elf = open(image);
  const auto& header = elf.getHeader();
  if (header.e_machine != llvm::ELF::EM_AMDGPU)
    throw CodeObjectError(
        false, fmt::format("is for machine {}; expected AMDGPU (224)", unsigned(header.e_machine)));
  const unsigned version = header.e_ident[llvm::ELF::EI_ABIVERSION];
  if (version < 2 || version > 4)
    throw CodeObjectError(
        false, fmt::format("has code object version {}; the simulator loads 4, 5 and 6", version + 2));
  read_metadata(image);
  load_segments(image);
  try {
    read_symbols(image);
  } catch (...) {
    table_.forget(memory_);
    throw;
  }
}

CodeObject::~CodeObject() {
  table_.forget(memory_);
}

void CodeObject::load_segments(std::span<const std::uint8_t> image) {
  const Elf elf = open(image);
  const auto segments = checked(elf.program_headers(), "program headers");
  std::uint64_t end = 0;
  for (const auto& s : segments)
    if (s.p_type == llvm::ELF::PT_LOAD) {
      if (s.p_offset > image.size() || s.p_filesz > image.size() - s.p_offset || s.p_memsz < s.p_filesz ||
          s.p_memsz > (1ull << 32) || s.p_vaddr > (1ull << 32))
        throw CodeObjectError(false, "has a segment that exceeds the file");
      end = std::max<std::uint64_t>(end, s.p_vaddr + s.p_memsz);
    }
  constexpr std::uint64_t page = 4096;
  memory_ = table_.allocate((end + 2 * page) & ~(page - 1), target_.device, MemoryKind::code);
  if (!memory_)
    throw CodeObjectError(false, fmt::format("needs {} bytes, which the host cannot allocate", end));
  bias_ = (memory_->begin + page - 1) & ~(page - 1);
  auto* base = reinterpret_cast<std::uint8_t*>(bias_);
  std::memset(reinterpret_cast<void*>(memory_->begin), 0, memory_->size);
  for (const auto& s : segments) {
    if (s.p_type != llvm::ELF::PT_LOAD) continue;
    std::memcpy(base + s.p_vaddr, image.data() + s.p_offset, s.p_filesz);
    if (s.p_flags & llvm::ELF::PF_X) code_ = {base + s.p_vaddr, std::size_t(s.p_memsz)};
  }
  if (code_.empty()) throw CodeObjectError(false, "has no code");
}

void CodeObject::read_symbols(std::span<const std::uint8_t> image) {
  const Elf elf = open(image);
  const auto sections = checked(elf.sections(), "sections");
  for (const auto& section : sections) {
    if (section.sh_type != llvm::ELF::SHT_DYNSYM && section.sh_type != llvm::ELF::SHT_SYMTAB) continue;
    const auto strings = checked(elf.getStringTableForSymtab(section, sections), "string table");
    for (const auto& symbol : checked(elf.symbols(&section), "symbols")) {
      if (symbol.st_shndx == llvm::ELF::SHN_UNDEF) continue;
      const auto name = checked(symbol.getName(strings), "symbol names");
      if (name.empty()) continue;
      if (symbol.st_value >= memory_->end() - bias_) continue;
      symbols_[name.str()] = {bias_ + symbol.st_value, symbol.st_size};
    }
  }
  for (const auto& section : sections) {
    if (section.sh_type != llvm::ELF::SHT_RELA || !(section.sh_flags & llvm::ELF::SHF_ALLOC)) continue;
    const auto* table = checked(elf.getSection(section.sh_link), "relocations");
    const auto strings = checked(elf.getStringTableForSymtab(*table, sections), "string table");
    const auto symbols = checked(elf.symbols(table), "symbols");
    for (const auto& r : checked(elf.relas(section), "relocations")) {
      std::uint64_t value = bias_ + std::uint64_t(r.r_addend);
      const unsigned type = r.getType(false);
      if (type == llvm::ELF::R_AMDGPU_ABS64) {
        const unsigned index = r.getSymbol(false);
        const auto name =
            index < symbols.size() ? checked(symbols[index].getName(strings), "symbol names") : "";
        const auto found = symbols_.find(name.str());
        if (found == symbols_.end())
          throw CodeObjectError(false, "needs the symbol " + name.str() + ", which it does not define");
        value = found->second.address + std::uint64_t(r.r_addend);
      } else if (type != llvm::ELF::R_AMDGPU_RELATIVE64) {
        throw CodeObjectError(
            false, fmt::format("has a relocation of type {}, which the simulator does not support", type));
      }
      if (r.r_offset > memory_->end() - bias_ - 8)
        throw CodeObjectError(false, "has a relocation outside its memory");
      std::memcpy(reinterpret_cast<void*>(bias_ + r.r_offset), &value, 8);
    }
  }
  for (auto& [name, kernel] : kernels_) {
    const auto found = symbols_.find(name + ".kd");
    if (found == symbols_.end()) throw CodeObjectError(false, "has no descriptor " + name + ".kd");
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(found->second.address);
    if (found->second.address + 64 > memory_->end())
      throw CodeObjectError(false, "has a descriptor outside its memory");
    const auto word = [&](unsigned at) {
      std::uint32_t value;
      std::memcpy(&value, bytes + at, 4);
      return value;
    };
    // Offsets in the kernel descriptor: LLVM's "User Guide for AMDGPU Backend", "Kernel Descriptor".
    kernel.descriptor = found->second.address;
    kernel.lds_bytes = word(0);
    kernel.private_bytes = word(4);
    if (word(8) > kernel.argument_bytes) kernel.argument_bytes = word(8);
    std::int64_t entry;
    std::memcpy(&entry, bytes + 16, 8);
    kernel.entry = kernel.descriptor + std::uint64_t(entry);
    kernel.resource3 = word(44), kernel.resource1 = word(48), kernel.resource2 = word(52);
    kernel.properties = std::uint16_t(word(56));
    kernel.preload = std::uint16_t(word(56) >> 16);
    kernel.lanes = kernel.properties >> 10 & 1 ? 32 : 64;
  }
}

const Kernel* CodeObject::kernel(const std::string& name) const {
  const auto found = kernels_.find(name);
  return found == kernels_.end() ? nullptr : &found->second;
}

const CodeObject::Variable* CodeObject::variable(const std::string& name) const {
  const auto found = symbols_.find(name);
  return found == symbols_.end() ? nullptr : &found->second;
}

const Program& CodeObject::program(unsigned lanes) const {
  const std::scoped_lock lock(mutex_);
  auto& program = programs_[lanes == 32];
  if (!program) program = std::make_unique<Program>(code_, target_.architecture, lanes);
  return *program;
}

}  // namespace weir::hipsim
