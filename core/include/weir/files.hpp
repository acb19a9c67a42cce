// SPDX-License-Identifier: Apache-2.0
// Arrays in files: NumPy's .npy and .npz, and PNG pictures. A separate library, so that libweir needs neither
// libpng nor zlib:
//
//   find_package(Weir REQUIRED COMPONENTS files)
//   target_link_libraries(program Weir::files)
//
// Functions may be called from several threads. Errors name the file. Functions throw Error{system} when it
// cannot be read or written, and Error{parse} when its contents are damaged or of an unsupported kind. They
// throw Error{invalid} when an array does not fit a file or a type, and Error{out_of_memory}.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>
#include <weir/array.hpp>

namespace weir {

class Descriptor;

/// An array in host memory whose element type and rank are known at run time: row-major, in the byte order of
/// this machine.
struct HostArray {
  ScalarType type = ScalarType::f32;
  std::vector<std::int64_t> shape;  ///< empty for a single number
  std::vector<std::byte> data;      ///< size() scalars

  /// Number of scalars.
  std::size_t size() const noexcept;
  /// The scalars. Throws Error{invalid} if T is another type. For bool, read `data`: one byte each, 0 or 1.
  template <KernelScalar T>
  std::span<const T> values() const {
    check_type(detail::ScalarOf<T>::value);
    return {reinterpret_cast<const T*>(data.data()), data.size() / sizeof(T)};
  }

  /// An array of that shape with these values. Throws Error{invalid} unless the shape has as many.
  template <KernelScalar T>
  static HostArray of(std::vector<std::int64_t> shape, std::span<const T> values) {
    return from_bytes(detail::ScalarOf<T>::value, std::move(shape), std::as_bytes(values));
  }
  static HostArray from_bytes(ScalarType type, std::vector<std::int64_t> shape,
                              std::span<const std::byte> bytes);

 private:
  void check_type(ScalarType wanted) const;
};

/// Waits for `stream` and returns the array's values. The components of a Vec or Mat are the last dimensions
/// of the result.
HostArray to_host(const StreamRef& stream, const AnyArrayView& array);

/// A device array of that element type with the values of `array`. The first `rank` dimensions of `array` are
/// those of the result, the others are the components of a Vec or Mat. Throws Error{invalid} if type or shape
/// do not fit.
AnyArray to_device(const StreamRef& stream, const HostArray& array, ElementType element, std::size_t rank);

namespace detail {
/// Throws Error{invalid} unless the array's type and shape are those of `rank` dimensions of `element`.
void check_fits(const HostArray& array, const ElementType& element, std::size_t rank);
}  // namespace detail

/// A device array of T with `Rank` dimensions.
template <KernelElement T, std::size_t Rank = 1>
Array<T, Rank> to_device(const StreamRef& stream, const HostArray& array);

/// Reads a .npy file of version 1.0 to 3.0, in either byte order, in C or Fortran order. Its elements are
/// booleans, integers, or floats of 16 to 64 bits.
HostArray read_npy(const std::filesystem::path& path);
/// Writes version 1.0, in C order. The file is replaced as a whole; a failure keeps the one before.
void write_npy(const std::filesystem::path& path, const HostArray& array);

/// A .npy file in C order. Rows of the leading dimension, or boxes, are read and written in place, so that
/// several processes share the work. Movable. Functions may be called from several threads; concurrent
/// accesses to the same elements are undefined. Further errors: Error{invalid} if rows are outside the file,
/// Error{unsupported} for a file in Fortran order.
class NpyFile {
 public:
  enum class Access : std::uint8_t { read, read_write };

  explicit NpyFile(const std::filesystem::path& path, Access access = Access::read);
  /// Replaces the file by one whose elements are 0. Throws Error{invalid} for a shape without dimensions.
  static NpyFile create(const std::filesystem::path& path, ScalarType type, std::vector<std::int64_t> shape);

  ScalarType type() const noexcept { return type_; }
  const std::vector<std::int64_t>& shape() const noexcept { return shape_; }

  /// Rows [begin, end): an array of the file's shape but for the leading extent.
  HostArray read_rows(std::int64_t begin, std::int64_t end) const;
  /// Replaces the rows from `begin` on. Throws Error{invalid} unless type and shape are those of rows of the
  /// file and it was opened with Access::read_write, and Error{unsupported} if the file has another byte
  /// order than this machine.
  void write_rows(std::int64_t begin, const HostArray& rows) const;
  /// The elements whose index along dimension d is at least begin[d] and below end[d]. `begin` and `end` have
  /// a number for each of as many leading dimensions of the file; along the others all elements are read.
  /// Each run of consecutive elements of the file is one access.
  HostArray read_box(std::span<const std::int64_t> begin, std::span<const std::int64_t> end) const;
  /// Replaces the elements from the indices `begin` on. Throws as write_rows(); extents along the dimensions
  /// after those of `begin` must be the file's.
  void write_box(std::span<const std::int64_t> begin, const HostArray& box) const;

 private:
  struct Runs;
  Runs runs_of(std::span<const std::int64_t> begin, std::span<const std::int64_t> end) const;

  std::filesystem::path path_;
  Access access_ = Access::read;
  std::shared_ptr<Descriptor> file_;
  ScalarType type_ = ScalarType::f32;
  bool big_endian_ = false;
  std::vector<std::int64_t> shape_;
  std::uint64_t data_begin_ = 0;
};

/// Arrays by name.
using HostArrays = std::map<std::string, HostArray, std::less<>>;

/// Reads all arrays of an .npz file, as numpy.savez and numpy.savez_compressed write it. Checksums are
/// verified.
HostArrays read_npz(const std::filesystem::path& path);
enum class Compression { none, deflate };
/// Names must not be empty. The file is replaced as a whole; a failure keeps the one before.
void write_npz(const std::filesystem::path& path, const HostArrays& arrays,
               Compression compression = Compression::none);

/// Reads a PNG file. The result has 8 or 16 bits per channel (u8 or u16). Its shape is (height, width) if
/// grey, else (height, width, channels) with 2 (grey, opacity), 3 (red, green, blue) or 4 channels. Palettes
/// become colours, and fewer than 8 bits become 8.
HostArray read_png(const std::filesystem::path& path);
/// Writes an array of such a type and shape.
void write_png(const std::filesystem::path& path, const HostArray& array);

template <KernelElement T, std::size_t Rank>
Array<T, Rank> to_device(const StreamRef& stream, const HostArray& array) {
  static_assert(Rank <= max_rank, "arrays have at most 4 dimensions");
  const auto make = [&]<std::size_t... D>(std::index_sequence<D...>) {
    return stream.device().array<T>(stream, (D < array.shape.size() ? array.shape[D] : 0)...);
  };
  detail::check_fits(array, element_type<T>, Rank);
  Array<T, Rank> result = make(std::make_index_sequence<Rank>());
  result.copy_from_bytes(stream, array.data);
  return result;
}

}  // namespace weir
