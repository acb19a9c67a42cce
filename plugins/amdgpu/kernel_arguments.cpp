// SPDX-License-Identifier: Apache-2.0
#include "kernel_arguments.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace weir::amdgpu {
namespace {

struct Malformed {};

std::span<const char> part(std::span<const char> all, std::uint64_t offset, std::uint64_t size) {
  if (offset > all.size() || size > all.size() - offset) throw Malformed{};
  return all.subspan(offset, size);
}

template <class T>
T read(std::span<const char> all, std::uint64_t offset) {
  T out;
  std::memcpy(&out, part(all, offset, sizeof out).data(), sizeof out);
  return out;
}

/// A reader of MessagePack, for the types that occur in metadata: maps, arrays, text, integers, booleans.
class Reader {
 public:
  explicit Reader(std::span<const char> bytes) : bytes_(bytes) {}

  std::uint64_t map() { return count(0x80, 0xde); }
  std::uint64_t array() { return count(0x90, 0xdc); }

  std::string_view text() {
    const unsigned tag = byte();
    const std::uint64_t size = (tag & 0xe0u) == 0xa0u ? tag & 0x1fu : number_after(tag, 0xd9);
    const std::span<const char> found = part(bytes_, at_, size);
    at_ += size;
    return {found.data(), found.size()};
  }

  std::uint64_t number() {
    const unsigned tag = byte();
    return tag < 0x80 ? tag : number_after(tag, 0xcc);
  }

  void skip(int depth = 0) {
    if (depth > 32) throw Malformed{};
    const unsigned tag = byte();
    --at_;
    if ((tag & 0xf0u) == 0x80u || tag == 0xde || tag == 0xdf) {
      for (std::uint64_t n = 2 * map(); n > 0; --n) skip(depth + 1);
    } else if ((tag & 0xf0u) == 0x90u || tag == 0xdc || tag == 0xdd) {
      for (std::uint64_t n = array(); n > 0; --n) skip(depth + 1);
    } else if ((tag & 0xe0u) == 0xa0u || (tag >= 0xd9 && tag <= 0xdb)) {
      text();
    } else if (tag == 0xc0 || tag == 0xc2 || tag == 0xc3 || tag >= 0xe0) {
      ++at_;
    } else {
      number();
    }
  }

 private:
  unsigned byte() { return static_cast<unsigned char>(read<char>(bytes_, at_++)); }

  /// Reads the number after `tag`, most significant byte first. Tags from `first` on mean 1, 2, 4 and 8
  /// bytes.
  std::uint64_t number_after(unsigned tag, unsigned first) {
    if (tag < first || tag > first + 3) throw Malformed{};
    std::uint64_t out = 0;
    for (unsigned n = 1u << (tag - first); n > 0; --n) out = out << 8 | byte();
    return out;
  }

  std::uint64_t count(unsigned short_tag, unsigned long_tag) {
    const unsigned tag = byte();
    if ((tag & 0xf0u) == short_tag) return tag & 0x0fu;
    if (tag != long_tag && tag != long_tag + 1) throw Malformed{};
    std::uint64_t out = 0;
    for (unsigned n = tag == long_tag ? 2 : 4; n > 0; --n) out = out << 8 | byte();
    return out;
  }

  std::span<const char> bytes_;
  std::uint64_t at_ = 0;
};

void read_argument(Reader& reader, ArgumentPlaces& out) {
  std::uint64_t offset = 0, size = 0;
  bool hidden = false;
  for (std::uint64_t n = reader.map(); n > 0; --n) {
    const std::string_view key = reader.text();
    if (key == ".offset")
      offset = reader.number();
    else if (key == ".size")
      size = reader.number();
    else if (key == ".value_kind")
      hidden = reader.text().starts_with("hidden_");
    else
      reader.skip();
  }
  if (hidden) return;
  constexpr std::uint64_t most = ~std::uint32_t{0};
  out.offsets.push_back(static_cast<std::uint32_t>(std::min(offset, most)));
  out.bytes = std::max(out.bytes, static_cast<std::uint32_t>(std::min(offset + size, most)));
}

void read_kernel(Reader& reader, KernelArguments& out) {
  std::string name;
  ArgumentPlaces places;
  for (std::uint64_t n = reader.map(); n > 0; --n) {
    const std::string_view key = reader.text();
    if (key == ".name")
      name = reader.text();
    else if (key == ".args")
      for (std::uint64_t argument = reader.array(); argument > 0; --argument) read_argument(reader, places);
    else
      reader.skip();
  }
  out[name] = std::move(places);
}

void read_metadata(std::span<const char> bytes, KernelArguments& out) {
  Reader reader(bytes);
  for (std::uint64_t n = reader.map(); n > 0; --n)
    if (reader.text() == "amdhsa.kernels")
      for (std::uint64_t kernel = reader.array(); kernel > 0; --kernel) read_kernel(reader, out);
    else
      reader.skip();
}

void read_notes(std::span<const char> notes, KernelArguments& out) {
  constexpr std::uint32_t metadata_note = 32;  // NT_AMDGPU_METADATA, of owner "AMDGPU"
  const auto padded = [](std::uint64_t size) { return (size + 3) / 4 * 4; };
  for (std::uint64_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
    const auto header = read<Elf64_Nhdr>(notes, at);
    const std::uint64_t owner = at + sizeof header, content = owner + padded(header.n_namesz);
    if (header.n_type == metadata_note && header.n_namesz == sizeof "AMDGPU" &&
        std::memcmp(part(notes, owner, header.n_namesz).data(), "AMDGPU", sizeof "AMDGPU") == 0)
      return read_metadata(part(notes, content, header.n_descsz), out);
    at = content + padded(header.n_descsz);
  }
}

}  // namespace

KernelArguments read_kernel_arguments(std::span<const char> image) {
  KernelArguments out;
  try {
    const auto header = read<Elf64_Ehdr>(image, 0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
      return {};
    for (unsigned n = 0; n < header.e_phnum; ++n) {
      const auto segment = read<Elf64_Phdr>(image, header.e_phoff + std::uint64_t{n} * sizeof(Elf64_Phdr));
      if (segment.p_type == PT_NOTE) read_notes(part(image, segment.p_offset, segment.p_filesz), out);
    }
  } catch (const Malformed&) {
    return {};
  }
  return out;
}

}  // namespace weir::amdgpu
