// SPDX-License-Identifier: Apache-2.0
// PNG pictures through libpng. libpng reports errors by longjmp, so the functions that call it hold no
// objects with destructors.
#include <png.h>

#include <array>
#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "files/contents.hpp"

namespace weir {
namespace {

constexpr std::size_t signature_bytes = 8;

struct Failure {
  char message[128] = {};
  bool out_of_memory = false;
};

// libpng reports a lack of memory in several words, some of which also name damage of the file.
png_voidp allocate(png_structp png, png_alloc_size_t size) {
  void* const memory = std::malloc(size);
  if (!memory) static_cast<Failure*>(png_get_mem_ptr(png))->out_of_memory = true;
  return memory;
}
void release(png_structp, png_voidp memory) {
  std::free(memory);
}

void fail(png_structp png, png_const_charp message) {
  auto* failure = static_cast<Failure*>(png_get_error_ptr(png));
  std::strncpy(failure->message, message, sizeof failure->message - 1);
  std::longjmp(png_jmpbuf(png), 1);
}
void ignore(png_structp, png_const_charp) {}

struct Source {
  const std::byte* at;
  std::size_t left;
};

void take(png_structp png, png_bytep to, std::size_t size) {
  auto* source = static_cast<Source*>(png_get_io_ptr(png));
  if (size > source->left) png_error(png, "the file is cut off");
  std::memcpy(to, source->at, size);
  source->at += size;
  source->left -= size;
}

void append(png_structp png, png_bytep from, std::size_t size) {
  auto* bytes = static_cast<std::vector<std::byte>*>(png_get_io_ptr(png));
  auto* failure = static_cast<Failure*>(png_get_error_ptr(png));
  try {
    const auto* begin = reinterpret_cast<const std::byte*>(from);
    bytes->insert(bytes->end(), begin, begin + size);
  } catch (...) {
    failure->out_of_memory = true;  // no exception passes through libpng
  }
  if (failure->out_of_memory) png_error(png, "no memory");
}

struct Picture {
  png_uint_32 width = 0, height = 0;
  int channels = 0, bits = 0;
};

/// Reads as far as the pixels, into the extents of `picture`. False on failure.
bool read_header(png_structp png, png_infop info, Source& source, Picture& picture) {
  if (setjmp(png_jmpbuf(png))) return false;
  png_set_read_fn(png, &source, take);
  png_set_user_limits(png, 0x7fffffff, 0x7fffffff);
  png_read_info(png, info);
  picture.width = png_get_image_width(png, info);
  picture.height = png_get_image_height(png, info);
  return true;
}

/// Requests 8 or 16 bits for each channel and allocates memory for a row. False on failure.
bool begin_rows(png_structp png, png_infop info, Picture& picture) {
  if (setjmp(png_jmpbuf(png))) return false;
  png_set_expand(png);  // palettes, fewer than 8 bits, transparent colours
  if (png_get_bit_depth(png, info) == 16) png_set_swap(png);  // to little endian
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  picture.channels = png_get_channels(png, info);
  picture.bits = png_get_bit_depth(png, info);
  return true;
}

bool read_rows(png_structp png, png_bytepp rows) {
  if (setjmp(png_jmpbuf(png))) return false;
  png_read_image(png, rows);
  png_read_end(png, nullptr);
  return true;
}

bool write_rows(png_structp png, png_infop info, std::vector<std::byte>& out, const Picture& picture,
                png_bytepp rows) {
  constexpr int colours[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                             PNG_COLOR_TYPE_RGB_ALPHA};
  if (setjmp(png_jmpbuf(png))) return false;
  png_set_write_fn(png, &out, append, nullptr);
  png_set_user_limits(png, 0x7fffffff, 0x7fffffff);
  png_set_IHDR(png, info, picture.width, picture.height, picture.bits, colours[picture.channels],
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  if (picture.bits == 16) png_set_swap(png);
  png_write_image(png, rows);
  png_write_end(png, nullptr);
  return true;
}

/// libpng's state, for reading or writing.
class Png {
 public:
  explicit Png(bool reads)
      : reads_(reads),
        png_(reads ? png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &failure_, fail, ignore, &failure_,
                                              allocate, release)
                   : png_create_write_struct_2(PNG_LIBPNG_VER_STRING, &failure_, fail, ignore, &failure_,
                                               allocate, release)),
        info_(png_ ? png_create_info_struct(png_) : nullptr) {}
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;
  ~Png() {
    if (reads_)
      png_destroy_read_struct(&png_, &info_, nullptr);
    else
      png_destroy_write_struct(&png_, &info_);
  }
  png_structp png() const noexcept { return png_; }
  png_infop info() const noexcept { return info_; }
  bool is_ready() const noexcept { return info_ != nullptr; }
  /// The message of libpng. Throws std::bad_alloc if memory ran out.
  std::string message() const {
    if (failure_.out_of_memory) throw std::bad_alloc();
    return failure_.message;
  }

 private:
  Failure failure_;
  bool reads_;
  png_structp png_;
  png_infop info_;
};

std::vector<png_bytep> rows_of(const std::byte* data, const Picture& picture) {
  const std::size_t row_bytes =
      std::size_t{picture.width} * static_cast<std::size_t>(picture.channels * picture.bits / 8);
  std::vector<png_bytep> rows(picture.height);
  for (std::size_t y = 0; y < rows.size(); ++y)
    rows[y] = reinterpret_cast<png_bytep>(const_cast<std::byte*>(data)) + y * row_bytes;
  return rows;
}

Picture picture_of(const HostArray& array, const std::string& name) {
  const auto& shape = array.shape;
  const bool typed = array.type == ScalarType::u8 || array.type == ScalarType::u16;
  const bool shaped = (shape.size() == 2 || (shape.size() == 3 && shape[2] >= 2 && shape[2] <= 4)) &&
                      shape[0] >= 1 && shape[1] >= 1 && shape[0] <= 0x7fffffff && shape[1] <= 0x7fffffff;
  if (!typed || !shaped || files::bytes_of(shape, array.type) != array.data.size())
    throw Error(
        ErrorCode::invalid,
        name +
            ": a PNG file takes u8 or u16 with the shape (height, width) or (height, width, channels) with 2 "
            "to 4 channels, found " +
            std::string(to_string(array.type)) + " with the shape " + files::shape_text(shape));
  return {static_cast<png_uint_32>(shape[1]), static_cast<png_uint_32>(shape[0]),
          shape.size() == 2 ? 1 : static_cast<int>(shape[2]), static_cast<int>(size_of(array.type) * 8)};
}

}  // namespace

HostArray read_png(const std::filesystem::path& path) try {
  const std::vector<std::byte> bytes = files::read_file(path, "an existing PNG file");
  if (bytes.size() < signature_bytes ||
      png_sig_cmp(reinterpret_cast<png_const_bytep>(bytes.data()), 0, signature_bytes) != 0)
    throw Error(ErrorCode::parse,
                path.string() + ": it is not a PNG file: expected its signature in the first 8 bytes");
  const Png png(true);
  if (!png.is_ready()) throw std::bad_alloc();
  const auto damaged = [&] {
    throw Error(ErrorCode::parse,
                path.string() + ": the PNG file is damaged: " + png.message() + "; save it again");
  };
  Source source{bytes.data(), bytes.size()};
  Picture picture;
  if (!read_header(png.png(), png.info(), source, picture)) damaged();
  // Deflate shrinks by at most 1032, and a pixel has at least one bit.
  if (std::uint64_t{picture.width} * picture.height / (1032 * 8) > bytes.size())
    throw Error(ErrorCode::parse,
                path.string() + ": the PNG file is damaged: " +
                    files::shape_text(std::array<std::int64_t, 2>{picture.height, picture.width}) +
                    " pixels are more than its " + std::to_string(bytes.size()) +
                    " bytes can hold; save it again");
  if (!begin_rows(png.png(), png.info(), picture)) damaged();
  HostArray array;
  array.type = picture.bits == 16 ? ScalarType::u16 : ScalarType::u8;
  array.shape = {picture.height, picture.width};
  if (picture.channels > 1) array.shape.push_back(picture.channels);
  array.data.resize(files::bytes_of(array.shape, array.type).value());
  std::vector<png_bytep> rows = rows_of(array.data.data(), picture);
  if (!read_rows(png.png(), rows.data())) damaged();
  return array;
} catch (...) {
  detail::rethrow_as_error();
}

void write_png(const std::filesystem::path& path, const HostArray& array) try {
  const Picture picture = picture_of(array, path.string());
  const Png png(false);
  if (!png.is_ready()) throw std::bad_alloc();
  std::vector<std::byte> bytes;
  std::vector<png_bytep> rows = rows_of(array.data.data(), picture);
  if (!write_rows(png.png(), png.info(), bytes, picture, rows.data()))
    throw Error(ErrorCode::system, path.string() + ": cannot write the picture: " + png.message());
  files::write_file(path, bytes);
} catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir
