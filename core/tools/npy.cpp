// SPDX-License-Identifier: Apache-2.0
#include "npy.hpp"

#include <array>
#include <charconv>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <weir/error.hpp>

namespace weir::tool {
namespace {

constexpr std::string_view magic{"\x93NUMPY", 6};
constexpr std::size_t max_header = 64 * 1024;
constexpr std::int64_t max_dimensions = 32;

// NumPy's type strings for the supported scalar types; '|' because a single byte has no byte order.
constexpr std::array<std::pair<std::string_view, ScalarType>, 12> type_words{{
    {"|b1", ScalarType::boolean},
    {"|i1", ScalarType::i8},
    {"<i2", ScalarType::i16},
    {"<i4", ScalarType::i32},
    {"<i8", ScalarType::i64},
    {"|u1", ScalarType::u8},
    {"<u2", ScalarType::u16},
    {"<u4", ScalarType::u32},
    {"<u8", ScalarType::u64},
    {"<f2", ScalarType::f16},
    {"<f4", ScalarType::f32},
    {"<f8", ScalarType::f64},
}};

class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::filesystem::path& path) : text_(text), path_(path) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::parse, path_.string() + ": " + what);
  }

  /// The text that follows 'key': in the header's dictionary.
  std::string_view value_of(std::string_view key) const {
    const std::string quoted = "'" + std::string(key) + "'";
    std::size_t at = text_.find(quoted);
    if (at == std::string_view::npos) fail("the .npy header has no key " + quoted);
    at = text_.find_first_not_of(" ", at + quoted.size());
    if (at == std::string_view::npos || text_[at] != ':')
      fail("expected ':' after " + quoted + " in the .npy header");
    at = text_.find_first_not_of(" ", at + 1);
    if (at == std::string_view::npos) fail("expected a value for " + quoted + " in the .npy header");
    return text_.substr(at);
  }

  ScalarType type() const {
    const std::string_view value = value_of("descr");
    const std::size_t end = value.find('\'', 1);
    if (value.front() != '\'' || end == std::string_view::npos)
      fail("the .npy file holds records; expected plain numbers");
    const std::string_view word = value.substr(1, end - 1);
    for (const auto& [name, type] : type_words)
      if (word == name) return type;
    if (!word.empty() && word.front() == '>')
      fail("the numbers are big endian ('" + std::string(word) + "'); save them with .astype('<...')");
    fail("unknown type '" + std::string(word) + "'; expected booleans, integers or floats of 1 to 8 bytes");
  }

  void check_order() const {
    const std::string_view value = value_of("fortran_order");
    if (value.starts_with("False")) return;
    if (value.starts_with("True"))
      fail("the array is in Fortran order; save numpy.ascontiguousarray(...) of it");
    fail("expected True or False for 'fortran_order' in the .npy header");
  }

  std::vector<std::int64_t> shape() const {
    std::string_view rest = value_of("shape");
    if (rest.front() != '(') fail("expected '(' before the shape in the .npy header");
    rest.remove_prefix(1);
    std::vector<std::int64_t> result;
    while (true) {
      rest.remove_prefix(std::min(rest.find_first_not_of(" ,"), rest.size()));
      if (rest.empty()) fail("expected ')' after the shape in the .npy header");
      if (rest.front() == ')') return result;
      std::int64_t extent = 0;
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), extent);
      if (error != std::errc{} || extent < 0)
        fail("expected extents of at least 0 in the .npy header's shape");
      if (std::int64_t(result.size()) == max_dimensions) fail("the array has more than 32 dimensions");
      result.push_back(extent);
      rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    }
  }

 private:
  std::string_view text_;
  const std::filesystem::path& path_;
};

/// Size of the data in bytes, or nullopt if it does not fit in 63 bits.
std::optional<std::uint64_t> bytes_of(const std::vector<std::int64_t>& shape, ScalarType type) {
  std::uint64_t bytes = size_of(type);
  for (const std::int64_t extent : shape) {
    if (extent != 0 &&
        bytes > std::uint64_t(std::numeric_limits<std::int64_t>::max()) / std::uint64_t(extent))
      return std::nullopt;
    bytes *= std::uint64_t(extent);
  }
  return bytes;
}

}  // namespace

NpyArray read_npy(const std::filesystem::path& path) {
  std::error_code no_size;
  const std::uint64_t file_bytes = std::filesystem::file_size(path, no_size);
  std::ifstream file(path, std::ios::binary);
  if (no_size || !file)
    throw Error(ErrorCode::system, path.string() + ": cannot read the file; expected an existing .npy file");

  std::array<char, 12> start{};
  file.read(start.data(), 10);
  const bool long_header = start[6] >= 2;
  if (file && long_header) file.read(start.data() + 10, 2);
  if (!file || std::string_view(start.data(), magic.size()) != magic || start[6] < 1 || start[6] > 3)
    throw Error(ErrorCode::parse, path.string() + ": not an .npy file of version 1.0 to 3.0");

  std::uint32_t header_bytes = 0;
  for (int i = long_header ? 3 : 1; i >= 0; --i)
    header_bytes = header_bytes << 8 | static_cast<unsigned char>(start[static_cast<std::size_t>(8 + i)]);
  const std::uint64_t data_begin = (long_header ? 12 : 10) + std::uint64_t{header_bytes};
  if (header_bytes > max_header || data_begin > file_bytes)
    throw Error(ErrorCode::parse, path.string() + ": the .npy header is cut off or larger than 64 KiB");
  std::string header(header_bytes, '\0');
  file.read(header.data(), header_bytes);

  const HeaderReader reader(header, path);
  NpyArray array;
  array.type = reader.type();
  reader.check_order();
  array.shape = reader.shape();

  const std::optional<std::uint64_t> expected = bytes_of(array.shape, array.type);
  const std::uint64_t found = file_bytes - data_begin;
  if (!expected || *expected != found)
    reader.fail("the shape needs " + (expected ? std::to_string(*expected) : std::string("more than 2^63")) +
                " bytes of data, the file has " + std::to_string(found));
  array.data.resize(found);
  file.read(reinterpret_cast<char*>(array.data.data()), static_cast<std::streamsize>(found));
  if (!file) throw Error(ErrorCode::system, path.string() + ": reading stopped before the end of the file");
  return array;
}

void write_npy(const std::filesystem::path& path, const NpyArray& array) {
  std::string header = "{'descr': '";
  for (const auto& [name, type] : type_words)
    if (type == array.type) header += name;
  header += "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t extent : array.shape) header += std::to_string(extent) + ",";
  header += "), }";
  // The data begins at a multiple of 64; a newline ends the header.
  const std::size_t unpadded = 10 + header.size() + 1;
  header.append((64 - unpadded % 64) % 64, ' ');
  header += '\n';

  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  const char start[] = {magic[0],
                        magic[1],
                        magic[2],
                        magic[3],
                        magic[4],
                        magic[5],
                        1,
                        0,
                        static_cast<char>(header.size() & 0xff),
                        static_cast<char>(header.size() >> 8)};
  file.write(start, sizeof start);
  file << header;
  file.write(reinterpret_cast<const char*>(array.data.data()),
             static_cast<std::streamsize>(array.data.size()));
  file.flush();
  if (!file)
    throw Error(ErrorCode::system, path.string() + ": cannot write the file; check the folder and the space");
}

}  // namespace weir::tool
