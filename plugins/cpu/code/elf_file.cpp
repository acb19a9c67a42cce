// SPDX-License-Identifier: Apache-2.0
#include "code/elf_file.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

namespace weir::cpu {
namespace {

constexpr std::uint64_t max_image_bytes = std::uint64_t{1} << 32;  // references within an image have 32 bits
constexpr std::uint64_t max_alignment = std::uint64_t{1} << 21;

[[noreturn]] void refuse(const std::string& why) {
  throw ElfError(why);
}

template <class T>
T read(const std::byte* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

bool within(std::uint64_t offset, std::uint64_t size, std::uint64_t total) noexcept {
  return offset <= total && size <= total - offset;
}

constexpr std::uint64_t down(std::uint64_t address) noexcept {
  return address & ~(ElfFile::page - 1);
}
constexpr std::uint64_t up(std::uint64_t address) noexcept {
  return down(address + ElfFile::page - 1);
}

}  // namespace

ElfFile::ElfFile(std::span<const std::byte> bytes) : bytes_(bytes) {
  read_header();
  read_segments();
  check_sections();
  read_dynamic();
}

void ElfFile::read_header() {
  if (bytes_.size() < sizeof header_) refuse("is too short for an ELF header");
  header_ = read<Elf64_Ehdr>(bytes_.data());
  if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) refuse("is not an ELF file");
  if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB)
    refuse("is not a 64-bit little-endian ELF file");
  if (header_.e_ident[EI_VERSION] != EV_CURRENT || header_.e_version != EV_CURRENT)
    refuse("has a version of ELF other than 1");
  if (header_.e_machine != EM_X86_64) refuse("is an ELF file for another machine");
  if (header_.e_type != ET_DYN) refuse("is not a shared object, perhaps an object file that was not linked");
  if (header_.e_phentsize != sizeof(Elf64_Phdr) ||
      !within(header_.e_phoff, std::uint64_t{header_.e_phnum} * sizeof(Elf64_Phdr), bytes_.size()))
    refuse("is cut short: its program headers are outside of the file");
}

void ElfFile::read_segments() {
  std::uint64_t end = 0;
  bool dynamic = false;
  for (unsigned i = 0; i < header_.e_phnum; ++i) {
    const auto segment = read<Elf64_Phdr>(bytes_.data() + header_.e_phoff + i * sizeof(Elf64_Phdr));
    if (segment.p_type != PT_NULL && segment.p_type != PT_GNU_STACK &&
        !within(segment.p_offset, segment.p_filesz, bytes_.size()))
      refuse("is cut short: a segment is outside of the file");
    switch (segment.p_type) {
      case PT_LOAD: {
        if (segment.p_memsz < segment.p_filesz)
          refuse("has a segment that is larger in the file than in memory");
        if (segment.p_memsz == 0) break;
        if (!within(segment.p_vaddr, segment.p_memsz, max_image_bytes)) refuse("has a segment beyond 4 GiB");
        if (segment.p_align > 1 && (!std::has_single_bit(segment.p_align) || segment.p_align > max_alignment))
          refuse("has a segment that is aligned to other than a power of two up to 2 MiB");
        if ((segment.p_flags & PF_W) && (segment.p_flags & PF_X))
          refuse("has a segment that is writable and executable");
        if (!segments_.empty() && down(segment.p_vaddr) < up(end))
          refuse("has segments that overlap, share a page or are not in ascending order");
        end = segment.p_vaddr + segment.p_memsz;
        segments_.push_back(
            {segment.p_offset, segment.p_filesz, segment.p_vaddr, segment.p_memsz, segment.p_flags});
        alignment_ = std::max(alignment_, segment.p_align);
        break;
      }
      case PT_DYNAMIC:
        dynamic_ = segment;
        dynamic = true;
        break;
      case PT_GNU_RELRO:
        relro_ = {segment.p_vaddr, segment.p_memsz};
        break;
      case PT_GNU_EH_FRAME:
        unwind_header_ = segment.p_vaddr;
        break;
      case PT_TLS:
        if (segment.p_memsz != 0)
          refuse("has thread-local variables, which kernels cannot have; keep such data in an argument");
        break;
      case PT_INTERP:
        refuse("is a program, not a shared object");
      default:
        break;
    }
  }
  if (segments_.empty()) refuse("has no segments to load");
  if (!dynamic) refuse("has no dynamic section");
  first_ = down(segments_.front().address) & ~(alignment_ - 1);
  size_ = up(end) - first_;
  if (relro_.bytes) {
    const Segment* segment = segment_at(relro_.address, 1);
    if (!segment || !within(relro_.address, relro_.bytes, up(segment->address + segment->bytes)))
      refuse("has a read-only area outside of its segments");
  }
  if (unwind_header_ && !file_at(unwind_header_, 8)) refuse("has unwind tables outside of its segments");
}

// Only debuggers read sections, but a file that lacks some of them is truncated and therefore rejected.
void ElfFile::check_sections() {
  if (header_.e_shoff == 0 && header_.e_shnum == 0) return;
  if (header_.e_shentsize != sizeof(Elf64_Shdr) || header_.e_shnum == 0 ||
      !within(header_.e_shoff, std::uint64_t{header_.e_shnum} * sizeof(Elf64_Shdr), bytes_.size()))
    refuse("is cut short: its section headers are outside of the file");
  if (header_.e_shstrndx >= header_.e_shnum) refuse("has no section with the names of its sections");
  for (unsigned i = 0; i < header_.e_shnum; ++i) {
    const auto section = read<Elf64_Shdr>(bytes_.data() + header_.e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type == SHT_NULL || section.sh_type == SHT_NOBITS) continue;
    if (!within(section.sh_offset, section.sh_size, bytes_.size()))
      refuse("is cut short: a section is outside of the file");
    if (section.sh_link >= header_.e_shnum) refuse("has a section that refers to one that does not exist");
  }
}

const ElfFile::Segment* ElfFile::segment_at(std::uint64_t address, std::uint64_t size) const noexcept {
  for (const Segment& segment : segments_)
    if (segment.holds(address, size)) return &segment;
  return nullptr;
}

const std::byte* ElfFile::file_at(std::uint64_t address, std::uint64_t size) const noexcept {
  const Segment* segment = segment_at(address, size);
  if (!segment || !within(address - segment->address, size, segment->file_bytes)) return nullptr;
  return bytes_.data() + segment->offset + (address - segment->address);
}

bool ElfFile::is_code(std::uint64_t address) const noexcept {
  const Segment* segment = segment_at(address, 1);
  return segment && (segment->flags & PF_X);
}

std::string_view ElfFile::string(std::uint64_t offset) const {
  if (offset >= strings_.bytes) refuse("has a name outside of its string table");
  const auto* begin = reinterpret_cast<const char*>(file_at(strings_.address, strings_.bytes)) + offset;
  const void* end = std::memchr(begin, 0, strings_.bytes - offset);
  if (!end) refuse("has a name without an end");
  return {begin, static_cast<std::size_t>(static_cast<const char*>(end) - begin)};
}

void ElfFile::read_dynamic() {
  std::uint64_t symbols = 0, hash = 0, gnu_hash = 0;
  Range relocations, jumps, compact;
  std::vector<std::uint64_t> needed;
  const DynamicField fields[] = {
      {DT_STRTAB, strings_.address},
      {DT_STRSZ, strings_.bytes},
      {DT_SYMTAB, symbols},
      {DT_HASH, hash},
      {DT_GNU_HASH, gnu_hash},
      {DT_RELA, relocations.address},
      {DT_RELASZ, relocations.bytes},
      {DT_JMPREL, jumps.address},
      {DT_PLTRELSZ, jumps.bytes},
      {DT_RELR, compact.address},
      {DT_RELRSZ, compact.bytes},
      {DT_INIT, init_},
      {DT_FINI, fini_},
      {DT_INIT_ARRAY, init_array_.address},
      {DT_INIT_ARRAYSZ, init_array_.bytes},
      {DT_FINI_ARRAY, fini_array_.address},
      {DT_FINI_ARRAYSZ, fini_array_.bytes},
  };
  read_dynamic_entries(fields, needed);
  if (!file_at(strings_.address, strings_.bytes) || strings_.bytes == 0)
    refuse("has names outside of its segments");
  for (const std::uint64_t offset : needed) needed_.push_back(string(offset));
  if (!symbols || (!hash && !gnu_hash)) refuse("has no table of symbols");
  read_symbols(symbols, gnu_hash ? count_by_gnu_hash(gnu_hash) : count_by_hash(hash));
  read_relocations(relocations);
  read_relocations(jumps);
  read_compact_relocations(compact);
  for (const std::uint64_t address : {init_, fini_})
    if (address && !is_code(address)) refuse("has initialisation outside of its code");
  for (const Range& array : {init_array_, fini_array_})
    if (array.bytes % 8 || array.address % 8 || (array.bytes && !segment_at(array.address, array.bytes)))
      refuse("has a list of initialisation functions outside of its segments");
}

// Other tags are versions, flags and bounds for prelinking, which loading does not need.
void ElfFile::read_dynamic_entries(std::span<const DynamicField> fields, std::vector<std::uint64_t>& needed) {
  const std::byte* table = file_at(dynamic_.p_vaddr, dynamic_.p_filesz);
  if (!table) refuse("has a dynamic section outside of its segments");
  for (std::uint64_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic_.p_filesz; at += sizeof(Elf64_Dyn)) {
    const auto entry = read<Elf64_Dyn>(table + at);
    const std::uint64_t value = entry.d_un.d_val;
    switch (entry.d_tag) {
      case DT_NULL:
        return;
      case DT_NEEDED:
        needed.push_back(value);
        break;
      case DT_SYMENT:
        if (value != sizeof(Elf64_Sym)) refuse("has symbols of an unknown size");
        break;
      case DT_RELAENT:
        if (value != sizeof(Elf64_Rela)) refuse("has relocations of an unknown size");
        break;
      case DT_PLTREL:
        if (value != DT_RELA) refuse("has relocations without addends");
        break;
      case DT_REL:
        refuse("has relocations without addends");
      case DT_TEXTREL:
        refuse("has relocations in its code; compile it with -fPIC");
      default:
        for (const DynamicField& field : fields)
          if (field.tag == entry.d_tag) field.value = value;
    }
  }
  refuse("has a dynamic section without an end");
}

std::uint64_t ElfFile::count_by_hash(std::uint64_t address) const {
  const std::byte* table = file_at(address, 8);
  if (!table) refuse("has a hash table outside of its segments");
  return read<std::uint32_t>(table + 4);
}

// The table does not store the number of symbols: it follows from the end of the last bucket's chain.
std::uint64_t ElfFile::count_by_gnu_hash(std::uint64_t address) const {
  const auto word = [&](std::uint64_t at) {
    const std::byte* found = file_at(at, 4);
    if (!found) refuse("has a hash table outside of its segments");
    return read<std::uint32_t>(found);
  };
  const std::uint64_t buckets = word(address), first = word(address + 4), filters = word(address + 8);
  const std::uint64_t bucket_table = address + 16 + 8 * filters, chains = bucket_table + 4 * buckets;
  if (buckets && !file_at(bucket_table, 4 * buckets)) refuse("has a hash table outside of its segments");
  std::uint64_t last = 0;
  for (std::uint64_t i = 0; i < buckets; ++i)
    last = std::max<std::uint64_t>(last, word(bucket_table + 4 * i));
  if (last < first) return first;
  while (!(word(chains + 4 * (last - first)) & 1)) ++last;
  return last + 1;
}

void ElfFile::read_symbols(std::uint64_t table, std::uint64_t count) {
  if (count > bytes_.size() / sizeof(Elf64_Sym)) refuse("has more symbols than it has room for");
  const std::byte* found = file_at(table, count * sizeof(Elf64_Sym));
  if (!found) refuse("has symbols outside of its segments");
  symbols_.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto read_symbol = read<Elf64_Sym>(found + i * sizeof(Elf64_Sym));
    Symbol symbol;
    symbol.name = string(read_symbol.st_name);
    symbol.value = read_symbol.st_value;
    symbol.bytes = read_symbol.st_size;
    symbol.type = ELF64_ST_TYPE(read_symbol.st_info);
    symbol.bind = ELF64_ST_BIND(read_symbol.st_info);
    symbol.defined = i > 0 && read_symbol.st_shndx != SHN_UNDEF;
    symbol.absolute = read_symbol.st_shndx == SHN_ABS;
    if (symbol.type == STT_GNU_IFUNC)
      refuse("has a function that is chosen when it is loaded (ifunc); a code object is for one target");
    if (symbol.type == STT_TLS)
      refuse("has thread-local variables, which kernels cannot have; keep such data in an argument");
    if (symbol.defined && symbol.type == STT_FUNC && !is_code(symbol.value))
      refuse("has a function outside of its code");
    if (symbol.defined && symbol.type == STT_FUNC && read_symbol.st_size &&
        !segment_at(symbol.value, read_symbol.st_size))
      refuse("has a function that does not end in its code");
    symbols_.push_back(symbol);
  }
}

void ElfFile::read_relocations(Range table) {
  if (table.bytes == 0) return;
  const std::byte* found = file_at(table.address, table.bytes);
  if (!found || table.bytes % sizeof(Elf64_Rela)) refuse("has relocations outside of its segments");
  for (std::uint64_t at = 0; at < table.bytes; at += sizeof(Elf64_Rela)) {
    const auto entry = read<Elf64_Rela>(found + at);
    const std::uint32_t type = ELF64_R_TYPE(entry.r_info), symbol = ELF64_R_SYM(entry.r_info);
    if (type == R_X86_64_NONE) continue;
    if (type != R_X86_64_RELATIVE && type != R_X86_64_64 && type != R_X86_64_GLOB_DAT &&
        type != R_X86_64_JUMP_SLOT)
      refuse("has a relocation of type " + std::to_string(type) +
             "; expected R_X86_64_RELATIVE, _64, _GLOB_DAT or _JUMP_SLOT");
    if (symbol >= symbols_.size()) refuse("has a relocation for a symbol that does not exist");
    const Segment* segment = segment_at(entry.r_offset, 8);
    if (!segment || !(segment->flags & PF_W)) refuse("has a relocation outside of its writable segments");
    relocations_.push_back({entry.r_offset, type, symbol, entry.r_addend});
  }
}

// DT_RELR: an even word is an address to relocate; each bit but the lowest of an odd one is one of the next
// 63 words.
void ElfFile::read_compact_relocations(Range table) {
  if (table.bytes == 0) return;
  const std::byte* found = file_at(table.address, table.bytes);
  if (!found || table.bytes % 8) refuse("has relocations outside of its segments");
  std::uint64_t next = 0;
  const auto add = [&](std::uint64_t address) {
    const std::byte* word = file_at(address, 8);
    if (!word || !(segment_at(address, 8)->flags & PF_W))
      refuse("has a relocation outside of its writable segments");
    relocations_.push_back({address, R_X86_64_RELATIVE, 0, read<std::int64_t>(word)});
  };
  for (std::uint64_t at = 0; at < table.bytes; at += 8) {
    const auto entry = read<std::uint64_t>(found + at);
    if ((entry & 1) == 0) {
      add(entry);
      next = entry + 8;
      continue;
    }
    for (unsigned bit = 1; bit < 64; ++bit)
      if (entry >> bit & 1) add(next + 8 * (bit - 1));
    next += 8 * 63;
  }
}

}  // namespace weir::cpu
