// SPDX-License-Identifier: Apache-2.0
#include "code/unwind_tables.hpp"

#include <cstdlib>
#include <cstring>
#include <new>
#include <set>
#include <string_view>

// Defined in libgcc. __register_frame() would allocate the entry without a test for failure. Since GCC 13 both
// allocate nodes of a tree without one.
extern "C" void __register_frame_info(const void* eh_frame, void* entry);
extern "C" void* __deregister_frame_info(const void* eh_frame);

namespace weir::cpu {
namespace {

// DW_EH_PE_pcrel | DW_EH_PE_sdata4, which compilers use for position-independent code of the small model.
constexpr std::uint8_t relative_four_bytes = 0x1b;

/// The bytes of one entry of .eh_frame, read in order.
class UnwindEntry {
 public:
  UnwindEntry(const std::byte* at, std::size_t size) : at_(at), left_(size) {}

  bool good() const noexcept { return good_; }
  template <class T>
  T read() noexcept {
    T value{};
    if (take(sizeof value)) std::memcpy(&value, at_ - sizeof value, sizeof value);
    return value;
  }
  void skip(std::size_t size) noexcept { take(size); }
  void skip_leb128() noexcept {
    for (int i = 0; i < 10 && good_; ++i)
      if (!(read<std::uint8_t>() & 0x80)) return;
    good_ = false;
  }
  std::string_view text() noexcept {
    const void* end = std::memchr(at_, 0, left_);
    if (!end) {
      good_ = false;
      return {};
    }
    const auto size = static_cast<std::size_t>(static_cast<const std::byte*>(end) - at_);
    const std::string_view found(reinterpret_cast<const char*>(at_), size);
    take(size + 1);
    return found;
  }

 private:
  bool take(std::size_t size) noexcept {
    good_ = good_ && size <= left_;
    if (good_) at_ += size, left_ -= size;
    return good_;
  }
  const std::byte* at_;
  std::size_t left_;
  bool good_ = true;
};

bool is_usual_cie(UnwindEntry entry) {
  const auto version = entry.read<std::uint8_t>();
  const std::string_view augmentation = entry.text();
  entry.skip_leb128();  // alignment of code
  entry.skip_leb128();  // alignment of data
  entry.skip(1);        // register of the return address: one byte in version 1
  if (!entry.good() || version != 1 || !augmentation.starts_with('z')) return false;
  entry.skip_leb128();  // bytes of the augmentation
  bool relative = false;
  for (const char letter : augmentation.substr(1)) {
    if (letter == 'R') {
      relative = entry.read<std::uint8_t>() == relative_four_bytes;
    } else if (letter == 'P') {
      if ((entry.read<std::uint8_t>() & 0x0f) != (relative_four_bytes & 0x0f)) return false;
      entry.skip(4);
    } else if (letter == 'L') {
      if ((entry.read<std::uint8_t>() & 0x0f) != (relative_four_bytes & 0x0f)) return false;
    } else if (letter != 'S') {
      return false;
    }
  }
  return entry.good() && relative;
}

/// Whether each entry has the usual form and describes code of the image, up to the end mark.
bool is_well_formed(const ElfFile& file, std::uint64_t table) {
  std::set<std::uint64_t> commons;
  bool described = false;
  for (std::uint64_t at = table;;) {
    const std::byte* length_at = file.file_at(at, 4);
    if (!length_at) return false;
    std::uint32_t length;
    std::memcpy(&length, length_at, sizeof length);
    if (length == 0) return described;
    const std::byte* body = file.file_at(at + 4, length);
    if (!body || length < 4) return false;
    UnwindEntry entry(body, length);
    const auto id = entry.read<std::uint32_t>();
    if (id == 0) {
      if (!is_usual_cie(entry)) return false;
      commons.insert(at);
    } else {
      if (!commons.contains(at + 4 - id)) return false;
      const std::uint64_t begin = at + 8 + static_cast<std::uint64_t>(entry.read<std::int32_t>());
      const auto size = entry.read<std::uint32_t>();
      entry.skip_leb128();  // bytes of the augmentation
      const ElfFile::Segment* segment = file.segment_at(begin, size);
      if (!entry.good() || !segment || !(segment->flags & PF_X)) return false;
      described = true;
    }
    at += 4 + std::uint64_t{length};
  }
}

/// The address of .eh_frame from the header that points to it; 0 when the header has another form.
std::uint64_t table_of(const ElfFile& file) {
  const std::byte* header = file.unwind_header() ? file.file_at(file.unwind_header(), 8) : nullptr;
  if (!header || std::to_integer<int>(header[0]) != 1 ||
      std::to_integer<int>(header[1]) != relative_four_bytes)
    return 0;
  std::int32_t distance;
  std::memcpy(&distance, header + 4, sizeof distance);
  return file.unwind_header() + 4 + static_cast<std::uint64_t>(std::int64_t{distance});
}

/// Throws std::bad_alloc unless there is memory for a few nodes of libgcc's tree, which have some 400 bytes.
void make_room() {
  void* volatile const room = std::malloc(8192);
  if (!room) throw std::bad_alloc();
  std::free(room);
}

}  // namespace

UnwindTables::UnwindTables(const ElfFile& file, std::byte* memory) {
  const std::uint64_t table = table_of(file);
  if (!table || !is_well_formed(file, table)) return;
  entry_ = std::make_unique<Entry>();
  make_room();
  eh_frame_ = memory + (table - file.first());
  __register_frame_info(eh_frame_, entry_.get());
}

UnwindTables::~UnwindTables() {
  if (eh_frame_) __deregister_frame_info(eh_frame_);
}

}  // namespace weir::cpu
