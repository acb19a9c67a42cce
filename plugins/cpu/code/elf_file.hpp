// SPDX-License-Identifier: Apache-2.0
// An ELF shared object for x86-64, read with every offset, count and index checked. Malformed input never
// causes an access outside its bytes.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace weir::cpu {

/// The reason why bytes cannot be loaded, as the end of a sentence: "is cut short: ...".
struct ElfError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class ElfFile {
 public:
  /// Bytes of the file at an address, followed by zeros up to `bytes`. Ascending, and no two share a page.
  struct Segment {
    std::uint64_t offset = 0, file_bytes = 0, address = 0, bytes = 0;
    std::uint32_t flags = 0;  ///< PF_R, PF_W, PF_X
    bool holds(std::uint64_t at, std::uint64_t size) const noexcept {
      return at >= address && size <= bytes && at - address <= bytes - size;
    }
  };
  struct Symbol {
    std::string_view name;
    std::uint64_t value = 0, bytes = 0;
    unsigned char type = STT_NOTYPE, bind = STB_LOCAL;
    bool defined = false, absolute = false;
  };
  /// A word to set in a writable segment: R_X86_64_RELATIVE, _64, _GLOB_DAT or _JUMP_SLOT.
  struct Relocation {
    std::uint64_t address = 0;
    std::uint32_t type = 0, symbol = 0;
    std::int64_t addend = 0;
  };
  struct Range {
    std::uint64_t address = 0, bytes = 0;
  };

  /// Reads headers, tables and symbols; throws ElfError. `bytes` and the result's names must outlive the
  /// object.
  explicit ElfFile(std::span<const std::byte> bytes);

  static constexpr std::uint64_t page = 4096;

  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  const std::vector<Segment>& segments() const noexcept { return segments_; }
  std::uint64_t first() const noexcept { return first_; }  ///< address of the first page
  std::uint64_t size() const noexcept { return size_; }    ///< from there to the end of the last page
  std::uint64_t alignment() const noexcept { return alignment_; }
  const std::vector<Symbol>& symbols() const noexcept { return symbols_; }
  const std::vector<Relocation>& relocations() const noexcept { return relocations_; }
  const std::vector<std::string_view>& needed() const noexcept { return needed_; }
  Range read_only_after_relocation() const noexcept { return relro_; }
  std::uint64_t unwind_header() const noexcept { return unwind_header_; }  ///< address of .eh_frame_hdr, or 0
  std::uint64_t init() const noexcept { return init_; }                    ///< 0 without one
  std::uint64_t fini() const noexcept { return fini_; }
  Range init_array() const noexcept { return init_array_; }
  Range fini_array() const noexcept { return fini_array_; }

  /// The segment that holds `size` bytes at `address`; null when none does.
  const Segment* segment_at(std::uint64_t address, std::uint64_t size) const noexcept;
  /// Those bytes in the file; null when a segment does not take all of them from the file.
  const std::byte* file_at(std::uint64_t address, std::uint64_t size) const noexcept;
  bool is_code(std::uint64_t address) const noexcept;

 private:
  void read_header();
  void read_segments();
  void check_sections();
  void read_dynamic();
  /// An entry of the dynamic section, and the variable that receives its value.
  struct DynamicField {
    Elf64_Sxword tag;
    std::uint64_t& value;
  };
  void read_dynamic_entries(std::span<const DynamicField> fields, std::vector<std::uint64_t>& needed);
  void read_symbols(std::uint64_t table, std::uint64_t count);
  void read_relocations(Range table);
  void read_compact_relocations(Range table);
  std::uint64_t count_by_gnu_hash(std::uint64_t address) const;
  std::uint64_t count_by_hash(std::uint64_t address) const;
  std::string_view string(std::uint64_t offset) const;

  std::span<const std::byte> bytes_;
  Elf64_Ehdr header_{};
  Elf64_Phdr dynamic_{};
  std::vector<Segment> segments_;
  std::uint64_t first_ = 0, size_ = 0, alignment_ = page;
  Range strings_;
  std::vector<Symbol> symbols_;
  std::vector<Relocation> relocations_;
  std::vector<std::string_view> needed_;
  Range relro_, init_array_, fini_array_;
  std::uint64_t unwind_header_ = 0, init_ = 0, fini_ = 0;
};

}  // namespace weir::cpu
