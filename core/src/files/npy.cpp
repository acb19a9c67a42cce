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

#include "files/contents.hpp"
#include "foreign_text.hpp"

namespace weir {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view magic{"\x93NUMPY", 6};

// NumPy's letters and sizes; the first character of a type is its byte order.
constexpr std::array<std::pair<std::string_view, ScalarType>, 12> type_codes{{
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

/// Reads the header as NumPy does: a Python dictionary with exactly the keys 'descr', 'fortran_order' and
/// 'shape'.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

  files::NpyHeader read() {
    files::NpyHeader header;
    expect('{', "at the beginning");
    while (!accept('}')) {
      read_entry(header);
      if (accept(',')) continue;
      expect('}', "or ',' after a value");
      break;
    }
    skip_spaces();
    if (!rest_.empty()) fail("expected the end of the .npy header after '}', found " + found());
    for (std::size_t k = 0; k < keys.size(); ++k)
      if (!read_[k]) fail("the .npy header has no key '" + std::string(keys[k]) + "'; save it again");
    return header;
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::parse, name_ + ": " + what);
  }

 private:
  static constexpr std::array<std::string_view, 3> keys{"descr", "fortran_order", "shape"};

  void read_entry(files::NpyHeader& header) {
    const std::string key(string("a key of the .npy header"));
    expect(':', "after '" + without_control_characters(key) + "'");
    const auto known = static_cast<std::size_t>(std::ranges::find(keys, key) - keys.begin());
    if (known == keys.size())
      fail("the .npy header has the unknown key '" + without_control_characters(key) +
           "'; expected 'descr', 'fortran_order' and 'shape'");
    if (std::exchange(read_[known], true))
      fail("the .npy header has the key '" + key + "' twice; save it again");
    if (known == 0) read_type(header);
    if (known == 1) header.fortran_order = boolean();
    if (known == 2) header.shape = shape();
  }

  void read_type(files::NpyHeader& header) {
    skip_spaces();
    if (rest_.starts_with('[') || rest_.starts_with('('))
      fail("the .npy file holds records; expected plain numbers; save each field as an array of its own");
    const std::string_view word = string("a type");
    // Without a byte order, the type is one of this machine.
    const bool ordered =
        !word.empty() && std::string_view("<>|=").find(word.front()) != std::string_view::npos;
    const auto known = std::ranges::find(type_codes, word.substr(ordered ? 1 : 0),
                                         &std::pair<std::string_view, ScalarType>::first);
    if (known == type_codes.end())
      fail("unknown type '" + without_control_characters(word) +
           "'; expected booleans, integers of 8 to 64 bits or floats of 16 to 64 bits; convert it with "
           ".astype()");
    header.type = known->second;
    header.big_endian = word.front() == '>';
  }

  bool boolean() {
    skip_spaces();
    for (const auto& [word, value] : {std::pair("False", false), std::pair("True", true)})
      if (rest_.starts_with(word)) {
        rest_.remove_prefix(std::string_view(word).size());
        return value;
      }
    fail("expected True or False for 'fortran_order' in the .npy header, found " + found());
  }

  std::vector<std::int64_t> shape() {
    std::vector<std::int64_t> result;
    expect('(', "before the shape");
    while (!accept(')')) {
      if (result.size() == files::max_dimensions)
        fail("the array has more than 64 dimensions, which NumPy refuses");
      result.push_back(extent());
      if (accept(',')) continue;
      expect(')', "or ',' after an extent of the shape");
      break;
    }
    return result;
  }

  std::int64_t extent() {
    skip_spaces();
    std::int64_t extent = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
    if (error != std::errc{} || extent < 0)
      fail("expected extents of at least 0 and below 2^63 in the .npy header's shape, found " + found());
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    if (rest_.starts_with('L')) rest_.remove_prefix(1);  // a long integer of Python 2
    return extent;
  }

  std::string_view string(const char* what) {
    skip_spaces();
    if (rest_.starts_with('u')) rest_.remove_prefix(1);  // of Python 2
    const char quote = rest_.empty() ? '\0' : rest_.front();
    const std::size_t end = quote == '\'' || quote == '"' ? rest_.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos)
      fail("expected " + std::string(what) + " in quotes in the .npy header, found " + found());
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }

  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n\f"), rest_.size())); }
  bool accept(char sign) {
    skip_spaces();
    if (!rest_.starts_with(sign)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char sign, const std::string& where) {
    if (!accept(sign))
      fail(std::string("expected '") + sign + "' " + where + " in the .npy header, found " + found());
  }
  /// The next characters, for messages.
  std::string found() const {
    if (rest_.empty()) return "its end";
    constexpr std::size_t max_characters = 24;
    return "'" + without_control_characters(rest_.substr(0, max_characters)) +
           (rest_.size() > max_characters ? "...'" : "'");
  }

  std::string_view rest_;
  const std::string& name_;
  std::array<bool, keys.size()> read_{};
};

/// From the first index running fastest to the last one.
std::vector<std::byte> to_row_major(std::span<const std::byte> from, std::span<const std::int64_t> shape,
                                    std::size_t size) {
  std::vector<std::byte> to(from.size());
  std::array<std::size_t, files::max_dimensions> strides{};  // of the source
  std::size_t stride = size;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    strides[d] = stride;
    stride *= static_cast<std::size_t>(shape[d]);
  }
  std::array<std::int64_t, files::max_dimensions> index{};
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

void files::to_native(std::span<std::byte> data, ScalarType type, bool big_endian) {
  if (type == ScalarType::boolean)
    for (std::byte& one : data) one = std::byte(one != std::byte(0));
  if (!big_endian) return;
  const std::size_t size = size_of(type);
  for (std::size_t at = 0; at + size <= data.size(); at += size)
    std::reverse(data.begin() + static_cast<std::ptrdiff_t>(at),
                 data.begin() + static_cast<std::ptrdiff_t>(at + size));
}

std::uint64_t files::npy_data_begin(std::string_view text, const std::string& name) {
  const auto fail = [&](const char* what) { throw Error(ErrorCode::parse, name + ": " + what); };
  if (!text.starts_with(magic) || text.size() < 10 || text[6] < 1 || text[6] > 3 || text[7] != 0)
    fail("it is not an .npy file of version 1.0 to 3.0; save it with numpy.save");
  const std::size_t length_bytes = text[6] >= 2 ? 4 : 2;
  if (text.size() < 8 + length_bytes) fail("the .npy header is cut off; save it again");
  std::uint64_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;) length = length << 8 | static_cast<unsigned char>(text[8 + i]);
  return 8 + length_bytes + length;
}

files::NpyHeader files::parse_npy_header(std::string_view text, std::uint64_t file_bytes,
                                         const std::string& name) {
  const std::uint64_t begin = npy_data_begin(text, name);
  if (begin > text.size())
    throw Error(ErrorCode::parse, name + ": the .npy header is cut off; save it again");
  const std::size_t header_begin = text[6] >= 2 ? 12 : 10;
  HeaderReader reader(text.substr(header_begin, begin - header_begin), name);
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
  to_native(array.data, header.type, header.big_endian);
  if (header.fortran_order && array.shape.size() > 1)
    array.data = to_row_major(array.data, array.shape, size_of(array.type));
  return array;
}

std::string files::print_npy_header(ScalarType scalar, std::span<const std::int64_t> shape) {
  std::string header = "{'descr': '";
  header += size_of(scalar) == 1 ? '|' : '<';
  for (const auto& [word, type] : type_codes)
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
