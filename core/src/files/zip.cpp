// SPDX-License-Identifier: Apache-2.0
#include "files/zip.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <weir/error.hpp>

#include "files/contents.hpp"
#include "foreign_text.hpp"

namespace weir::files {
namespace {

// APPNOTE.TXT of the zip format, sections 4.3.7 to 4.3.16 and 4.5.3.
constexpr std::uint32_t local_signature = 0x04034b50, central_signature = 0x02014b50,
                        end_signature = 0x06054b50, end64_signature = 0x06064b50,
                        locator64_signature = 0x07064b50;
constexpr std::size_t local_bytes = 30, central_bytes = 46, end_bytes = 22, end64_bytes = 56,
                      locator64_bytes = 20;
constexpr std::size_t max_comment = 0xffff;
constexpr std::uint16_t stored = 0, deflated = 8, zip64_field = 1;
constexpr std::uint32_t in_zip64 = 0xffffffff;
constexpr std::uint64_t max_deflate_ratio = 1032;  // of zlib's format

/// Little-endian numbers at positions that are checked.
class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::string& archive) : bytes_(bytes), archive_(archive) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::parse, archive_ + ": " + what);
  }
  std::size_t size() const noexcept { return bytes_.size(); }
  std::span<const std::byte> part(std::uint64_t at, std::uint64_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at)
      fail("the archive is cut off: expected " + std::to_string(size) + " bytes at " + std::to_string(at) +
           ", the file has " + std::to_string(bytes_.size()) + "; save it again");
    return bytes_.subspan(at, size);
  }
  template <class Number>
  Number number(std::uint64_t at) const {
    Number value;
    std::memcpy(&value, part(at, sizeof value).data(), sizeof value);
    return value;
  }
  std::uint16_t u16(std::uint64_t at) const { return number<std::uint16_t>(at); }
  std::uint32_t u32(std::uint64_t at) const { return number<std::uint32_t>(at); }
  std::uint64_t u64(std::uint64_t at) const { return number<std::uint64_t>(at); }

 private:
  std::span<const std::byte> bytes_;
  const std::string& archive_;
};

struct Directory {
  std::uint64_t at = 0, count = 0;
};

Directory find_directory(const Reader& zip) {
  if (zip.size() < end_bytes) zip.fail("it is not an .npz file; save it with numpy.savez");
  const std::size_t first = zip.size() - std::min(zip.size(), end_bytes + max_comment);
  for (std::size_t at = zip.size() - end_bytes + 1; at-- > first;) {
    if (zip.u32(at) != end_signature || at + end_bytes + zip.u16(at + 20) != zip.size()) continue;
    Directory directory{zip.u32(at + 16), zip.u16(at + 10)};
    if (at >= locator64_bytes && zip.u32(at - locator64_bytes) == locator64_signature) {
      const std::uint64_t end64 = zip.u64(at - locator64_bytes + 8);
      if (zip.u32(end64) != end64_signature) zip.fail("the archive's directory is damaged; save it again");
      directory = {zip.u64(end64 + 48), zip.u64(end64 + 32)};
    }
    return directory;
  }
  zip.fail("it is not an .npz file; save it with numpy.savez");
}

struct Entry {
  std::string name;
  std::uint16_t flags = 0, method = 0;
  std::uint32_t checksum = 0;
  std::uint64_t packed = 0, size = 0, local = 0;
};

/// Numbers that do not fit in 32 bits are in an extra field, in this order.
void read_zip64(const Reader& zip, std::uint64_t at, std::uint64_t end, Entry& entry) {
  while (at + 4 <= end) {
    const std::uint16_t id = zip.u16(at), size = zip.u16(at + 2);
    std::uint64_t field = at + 4;
    at = field + size;
    if (id != zip64_field) continue;
    for (std::uint64_t* number : {&entry.size, &entry.packed, &entry.local}) {
      if (*number != in_zip64) continue;
      if (field + 8 > at)
        zip.fail("the sizes of '" + without_control_characters(entry.name) +
                 "' are damaged; save the archive again");
      *number = zip.u64(field);
      field += 8;
    }
  }
}

Entry read_entry(const Reader& zip, std::uint64_t& at) {
  if (zip.u32(at) != central_signature) zip.fail("the archive's directory is damaged; save it again");
  Entry entry;
  entry.flags = zip.u16(at + 8);
  entry.method = zip.u16(at + 10);
  entry.checksum = zip.u32(at + 16);
  entry.packed = zip.u32(at + 20);
  entry.size = zip.u32(at + 24);
  entry.local = zip.u32(at + 42);
  const std::uint64_t name = zip.u16(at + 28), extra = zip.u16(at + 30), comment = zip.u16(at + 32);
  const auto letters = zip.part(at + central_bytes, name);
  entry.name.assign(reinterpret_cast<const char*>(letters.data()), letters.size());
  read_zip64(zip, at + central_bytes + name, at + central_bytes + name + extra, entry);
  at += central_bytes + name + extra + comment;
  return entry;
}

z_stream stream_of(std::span<const std::byte> input) {
  z_stream stream{};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(input.data()));
  return stream;
}

uInt chunk_of(std::uint64_t left) {
  return static_cast<uInt>(std::min<std::uint64_t>(left, std::numeric_limits<uInt>::max()));
}

/// Runs inflate or deflate over all of `input`, and shrinks `output` to the result. False if the stream does
/// not end with the input.
template <class Step>
bool run(z_stream& stream, std::span<const std::byte> input, std::vector<std::byte>& output, Step step) {
  std::uint64_t in = input.size(), out = output.size();
  stream.next_out = reinterpret_cast<Bytef*>(output.data());
  int result = Z_OK;
  while (result == Z_OK) {
    const uInt given = chunk_of(in), room = chunk_of(out);
    stream.avail_in = given;
    stream.avail_out = room;
    result = step(&stream, in == given ? Z_FINISH : Z_NO_FLUSH);
    in -= given - stream.avail_in;
    out -= room - stream.avail_out;
    const bool progressed = given != stream.avail_in || room != stream.avail_out;
    if (result == Z_BUF_ERROR && out > 0) result = Z_OK;  // the next part of a large member
    if (!progressed) break;
  }
  output.resize(output.size() - out);
  return result == Z_STREAM_END && in == 0;
}

std::vector<std::byte> inflated(std::span<const std::byte> packed, std::uint64_t size) {
  std::vector<std::byte> contents(size);
  z_stream stream = stream_of(packed);
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  const bool complete = run(stream, packed, contents, inflate);
  inflateEnd(&stream);
  if (!complete || contents.size() != size) contents.clear();
  return contents;
}

std::vector<std::byte> deflated_bytes(std::span<const std::byte> contents) {
  z_stream stream = stream_of(contents);
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::vector<std::byte> packed(deflateBound(&stream, contents.size()));
  run(stream, contents, packed, deflate);
  deflateEnd(&stream);
  return packed;
}

std::uint32_t checksum_of(std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::vector<std::byte> read_contents(const Reader& zip, const Entry& entry) {
  const std::string member = "member '" + without_control_characters(entry.name) + "'";
  if (entry.flags & 1) zip.fail(member + " is encrypted; expected plain members, as numpy.savez writes them");
  if (entry.method != stored && entry.method != deflated)
    zip.fail(member + " is compressed by method " + std::to_string(entry.method) +
             "; expected none or deflate, as numpy.savez and numpy.savez_compressed write them");
  if (zip.u32(entry.local) != local_signature)
    zip.fail("the header of " + member + " is damaged; save the archive again");
  // The archive has no checksum of its directory, but a second copy of the name.
  const auto name = zip.part(entry.local + local_bytes, zip.u16(entry.local + 26));
  if (std::string_view(reinterpret_cast<const char*>(name.data()), name.size()) != entry.name)
    zip.fail(member + " has another name in its own header: the archive is damaged; save it again");
  const std::uint64_t begin =
      entry.local + local_bytes + zip.u16(entry.local + 26) + zip.u16(entry.local + 28);
  const std::span<const std::byte> packed = zip.part(begin, entry.packed);
  // Checked before memory is allocated for contents that cannot be there.
  const bool possible =
      entry.method == stored ? entry.size == entry.packed : entry.size / max_deflate_ratio <= entry.packed;
  if (!possible) zip.fail("the sizes of " + member + " are damaged; save the archive again");
  std::vector<std::byte> contents =
      entry.method == stored ? std::vector(packed.begin(), packed.end()) : inflated(packed, entry.size);
  if (contents.size() != entry.size || checksum_of(contents) != entry.checksum)
    zip.fail("the contents of " + member + " are damaged: the checksum differs; save the archive again");
  return contents;
}

class Writer {
 public:
  template <class Number>
  void put(Number value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof value);
  }
  void put_bytes(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  std::uint64_t size() const noexcept { return bytes_.size(); }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

constexpr std::uint16_t version_needed = 45;  // 4.5: zip64
constexpr std::uint16_t utf8_names = 1 << 11;
constexpr std::uint32_t date = 0x00210000;  // 1 January 1980, so that equal arrays give equal files

struct Written {
  const ZipMember* member;
  std::uint16_t method;
  std::uint32_t checksum;
  std::uint64_t packed, local;
};

void put_common(Writer& out, const Written& w, std::uint16_t extra) {
  out.put(version_needed);
  out.put(utf8_names);
  out.put(w.method);
  out.put(date);
  out.put(w.checksum);
  out.put(in_zip64);
  out.put(in_zip64);
  out.put(static_cast<std::uint16_t>(w.member->name.size()));
  out.put(extra);
}

void put_name_and_sizes(Writer& out, const Written& w, bool with_offset) {
  out.put_bytes(std::as_bytes(std::span(w.member->name)));
  out.put(zip64_field);
  out.put(static_cast<std::uint16_t>(with_offset ? 24 : 16));
  out.put<std::uint64_t>(w.member->contents.size());
  out.put(w.packed);
  if (with_offset) out.put(w.local);
}

// All sizes are in zip64 fields, so that there is one form for small and large members.
void put_local(Writer& out, const Written& w) {
  out.put(local_signature);
  put_common(out, w, 20);
  put_name_and_sizes(out, w, false);
}

void put_central(Writer& out, const Written& w) {
  out.put(central_signature);
  out.put(version_needed);
  put_common(out, w, 28);
  out.put(std::uint16_t{0});  // comment
  out.put(std::uint16_t{0});  // disk
  out.put(std::uint16_t{0});  // internal attributes
  out.put(std::uint32_t{0});  // external attributes
  out.put(in_zip64);
  put_name_and_sizes(out, w, true);
}

void put_end(Writer& out, std::uint64_t count, std::uint64_t directory) {
  const std::uint64_t end64 = out.size();
  out.put(end64_signature);
  out.put<std::uint64_t>(end64_bytes - 12);
  out.put(version_needed);
  out.put(version_needed);
  out.put(std::uint32_t{0});
  out.put(std::uint32_t{0});
  out.put(count);
  out.put(count);
  out.put(end64 - directory);
  out.put(directory);
  out.put(locator64_signature);
  out.put(std::uint32_t{0});
  out.put(end64);
  out.put(std::uint32_t{1});
  out.put(end_signature);
  out.put(std::uint32_t{0});  // disks
  out.put(std::uint16_t{0xffff});
  out.put(std::uint16_t{0xffff});
  out.put(in_zip64);
  out.put(in_zip64);
  out.put(std::uint16_t{0});  // comment
}

}  // namespace

std::vector<ZipMember> read_zip(std::span<const std::byte> bytes, const std::string& archive) {
  const Reader zip(bytes, archive);
  const Directory directory = find_directory(zip);
  if (directory.count > bytes.size() / central_bytes)
    zip.fail("the archive's directory is damaged; save it again");
  std::vector<ZipMember> members;
  std::uint64_t at = directory.at;
  for (std::uint64_t i = 0; i < directory.count; ++i) {
    Entry entry = read_entry(zip, at);
    if (entry.name.ends_with('/')) continue;  // a folder
    std::vector<std::byte> contents = read_contents(zip, entry);
    members.push_back({std::move(entry.name), std::move(contents)});
  }
  return members;
}

std::vector<std::byte> print_zip(std::span<const ZipMember> members, bool deflate) {
  Writer out;
  std::vector<Written> all;
  for (const ZipMember& member : members) {
    std::vector<std::byte> packed;
    if (deflate) packed = deflated_bytes(member.contents);
    const std::span<const std::byte> bytes = deflate ? packed : member.contents;
    all.push_back(
        {&member, deflate ? deflated : stored, checksum_of(member.contents), bytes.size(), out.size()});
    put_local(out, all.back());
    out.put_bytes(bytes);
  }
  const std::uint64_t directory = out.size();
  for (const Written& written : all) put_central(out, written);
  put_end(out, all.size(), directory);
  return out.take();
}

}  // namespace weir::files
