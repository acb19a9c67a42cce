// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files: one array of numbers, format versions 1.0 to 3.0 as numpy.lib.format documents them.
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "control_characters.hpp"
#include "files/contents.hpp"

namespace weir {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view magic{"\x93NUMPY", 6};
constexpr std::size_t most_dimensions = 64;  // NumPy's own limit

// NumPy's letters and sizes; the first character of a type is its byte order.
constexpr std::array<std::pair<std::string_view, ScalarType>, 12> type_words{{
    {"b1", ScalarType::boolean},
    {"i1", ScalarType::i8},
    {"i2", ScalarType::i16},
    {"i4", ScalarType::i32},
    {"i8", ScalarType::i64},
    {"u1", ScalarType::u8},
    {"u2", ScalarType::u16},
    {"u4", ScalarType::u32},
    {"u8", ScalarType::u64},
    {"f2", ScalarType::f16},
    {"f4", ScalarType::f32},
    {"f8", ScalarType::f64},
}};

class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  files::NpyHeader read() const {
    files::NpyHeader header;
    header.shape = shape();
    header.fortran_order = fortran_order();
    read_type(header);
    return header;
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::parse, name_ + ": " + what);
  }

 private:
  /// The text that follows 'key': in the header's dictionary.
  std::string_view value_of(std::string_view key) const {
    const std::string quoted = "'" + std::string(key) + "'";
    std::size_t at = text_.find(quoted);
    if (at == std::string_view::npos) fail("the .npy header has no key " + quoted);
    at = text_.find_first_not_of(' ', at + quoted.size());
    if (at == std::string_view::npos || text_[at] != ':')
      fail("expected ':' after " + quoted + " in the .npy header");
    at = text_.find_first_not_of(' ', at + 1);
    if (at == std::string_view::npos) fail("expected a value for " + quoted + " in the .npy header");
    return text_.substr(at);
  }

  void read_type(files::NpyHeader& header) const {
    const std::string_view value = value_of("descr");
    const std::size_t end = value.find('\'', 1);
    if (value.front() != '\'' || end == std::string_view::npos)
      fail("the .npy file holds records; expected plain numbers; save each field as an array of its own");
    const std::string_view word = value.substr(1, end - 1);
    const std::string_view number = word.substr(std::min<std::size_t>(1, word.size()));
    const auto known = std::ranges::find(type_words, number, &std::pair<std::string_view, ScalarType>::first);
    if (known == type_words.end() || std::string_view("<>|=").find(word.front()) == std::string_view::npos)
      fail("unknown type '" + without_control_characters(word) +
           "'; expected booleans, integers of 8 to 64 bits or floats of 16 to 64 bits; convert it with "
           ".astype()");
    header.type = known->second;
    header.big_endian = word.front() == '>';
  }

  bool fortran_order() const {
    const std::string_view value = value_of("fortran_order");
    if (value.starts_with("False")) return false;
    if (value.starts_with("True")) return true;
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
      if (result.size() == most_dimensions)
        fail("the array has more than 64 dimensions, which NumPy refuses");
      result.push_back(extent);
      rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    }
  }

  std::string_view text_;
  const std::string& name_;
};

/// From the first index running fastest to the last one.
std::vector<std::byte> to_row_major(std::span<const std::byte> from, std::span<const std::int64_t> shape,
                                    std::size_t size) {
  std::vector<std::byte> to(from.size());
  std::array<std::size_t, most_dimensions> strides{};  // of the source
  std::size_t stride = size;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    strides[d] = stride;
    stride *= static_cast<std::size_t>(shape[d]);
  }
  std::array<std::int64_t, most_dimensions> index{};
  std::size_t source = 0;
  for (std::size_t at = 0; at < to.size(); at += size) {
    std::memcpy(to.data() + at, from.data() + source, size);
    for (std::size_t d = shape.size(); d-- > 0;) {
      source += strides[d];
      if (++index[d] < shape[d]) break;
      source -= strides[d] * static_cast<std::size_t>(shape[d]);
      index[d] = 0;
    }
  }
  return to;
}

}  // namespace

void files::swap_bytes(std::span<std::byte> data, std::size_t size) {
  for (std::size_t at = 0; at + size <= data.size(); at += size)
    std::reverse(data.begin() + static_cast<std::ptrdiff_t>(at),
                 data.begin() + static_cast<std::ptrdiff_t>(at + size));
}

std::uint64_t files::npy_data_begin(std::string_view text, const std::string& name) {
  const auto fail = [&](const char* what) { throw Error(ErrorCode::parse, name + ": " + what); };
  if (!text.starts_with(magic) || text.size() < 10 || text[6] < 1 || text[6] > 3)
    fail("it is not an .npy file of version 1.0 to 3.0");
  const std::size_t length_bytes = text[6] >= 2 ? 4 : 2;
  if (text.size() < 8 + length_bytes) fail("the .npy header is cut off");
  std::uint64_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;) length = length << 8 | static_cast<unsigned char>(text[8 + i]);
  return 8 + length_bytes + length;
}

files::NpyHeader files::parse_npy_header(std::string_view text, std::uint64_t file_bytes,
                                         const std::string& name) {
  const std::uint64_t begin = npy_data_begin(text, name);
  if (begin > text.size()) throw Error(ErrorCode::parse, name + ": the .npy header is cut off");
  const std::size_t header_begin = text[6] >= 2 ? 12 : 10;
  const HeaderReader reader(text.substr(header_begin, begin - header_begin), name);
  NpyHeader header = reader.read();
  header.data_begin = begin;
  const std::optional<std::uint64_t> expected = bytes_of(header.shape, header.type);
  const std::uint64_t found = file_bytes - begin;
  if (!expected || *expected != found)
    reader.fail("the shape " + shape_text(header.shape) + " needs " +
                (expected ? std::to_string(*expected) : std::string("more than 2^63")) +
                " bytes of data, found " + std::to_string(found) + "; the file is damaged, save it again");
  return header;
}

HostArray files::parse_npy(std::span<const std::byte> bytes, const std::string& name) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  NpyHeader header = parse_npy_header(text, bytes.size(), name);
  HostArray array{header.type,
                  std::move(header.shape),
                  {bytes.begin() + static_cast<std::ptrdiff_t>(header.data_begin), bytes.end()}};
  const std::size_t size = size_of(array.type);
  if (header.big_endian) swap_bytes(array.data, size);
  if (header.fortran_order && array.shape.size() > 1)
    array.data = to_row_major(array.data, array.shape, size);
  return array;
}

std::string files::print_npy_header(ScalarType scalar, std::span<const std::int64_t> shape) {
  std::string header = "{'descr': '";
  header += size_of(scalar) == 1 ? '|' : '<';
  for (const auto& [word, type] : type_words)
    if (type == scalar) header += word;
  header += "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t extent : shape) header += std::to_string(extent) + ",";
  header += "), }";
  // The data begins at a multiple of 64; a newline ends the header.
  header.append((64 - (10 + header.size() + 1) % 64) % 64, ' ');
  header += '\n';
  std::string text(magic);
  text += {'\x01', '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  text += header;
  return text;
}

std::vector<std::byte> files::print_npy(const HostArray& array, const std::string& name) {
  if (bytes_of(array.shape, array.type) != array.data.size())
    throw Error(ErrorCode::invalid, name + ": the array of " + std::string(to_string(array.type)) +
                                        " with the shape " + shape_text(array.shape) + " has " +
                                        std::to_string(array.data.size()) + " bytes, which do not fit");
  const std::string text = print_npy_header(array.type, array.shape);
  std::vector<std::byte> bytes(text.size() + array.data.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  std::ranges::copy(array.data, bytes.begin() + static_cast<std::ptrdiff_t>(text.size()));
  return bytes;
}

HostArray read_npy(const std::filesystem::path& path) try {
  return files::parse_npy(files::read_file(path, "an existing .npy file"), path.string());
} catch (...) {
  detail::rethrow_as_error();
}

void write_npy(const std::filesystem::path& path, const HostArray& array) try {
  files::write_file(path, files::print_npy(array, path.string()));
} catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir
