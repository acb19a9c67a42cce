// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "descriptor.hpp"
#include "files/contents.hpp"

namespace weir {
namespace {

[[noreturn]] void fail(ErrorCode code, const std::filesystem::path& path, const std::string& words) {
  throw Error(code, path.string() + ": " + words);
}

/// Reads `bytes` from `offset`; false with errno set on failure, which is EIO at the end of the file.
bool read_at(int file, std::span<char> bytes, std::uint64_t offset) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t got =
        ::pread(file, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) errno = EIO;
    if (got <= 0) return false;
    done += static_cast<std::size_t>(got);
  }
  return true;
}

bool write_at(int file, std::span<const std::byte> bytes, std::uint64_t offset) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t put =
        ::pwrite(file, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    done += static_cast<std::size_t>(put);
  }
  return true;
}

}  // namespace

NpyFile::NpyFile(const std::filesystem::path& path, Access access) try
    : path_(path),
      file_(std::make_shared<Descriptor>(::open(
          path.c_str(), (access == Access::read ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NOCTTY | O_NONBLOCK))) {
  const auto cannot = [&](const std::string& why) {
    fail(ErrorCode::system, path, "cannot open the file: " + why + "; expected an existing .npy file");
  };
  struct stat info {};
  if (file_->get() < 0 || fstat(file_->get(), &info) != 0) cannot(strerrordesc_np(errno));
  if (!S_ISREG(info.st_mode)) cannot("it is not a regular file");
  const auto size = static_cast<std::uint64_t>(info.st_size);
  const auto beginning = [&](std::uint64_t bytes) {
    std::string text(std::min(bytes, size), '\0');
    if (!read_at(file_->get(), text, 0)) cannot(strerrordesc_np(errno));
    return text;
  };
  const std::uint64_t begin = files::npy_data_begin(beginning(files::npy_prefix), path.string());
  files::NpyHeader header = files::parse_npy_header(beginning(begin), size, path.string());
  if (header.shape.empty()) fail(ErrorCode::unsupported, path, "a single number has no rows; use read_npy()");
  if (header.fortran_order && header.shape.size() > 1)
    fail(ErrorCode::unsupported, path,
         "rows of an array in Fortran order are not contiguous; save numpy.ascontiguousarray() of it");
  type_ = header.type;
  big_endian_ = header.big_endian;
  shape_ = std::move(header.shape);
  data_begin_ = header.data_begin;
} catch (...) {
  detail::rethrow_as_error();
}

NpyFile NpyFile::create(const std::filesystem::path& path, ScalarType type,
                        std::vector<std::int64_t> shape) try {
  const std::optional<std::uint64_t> bytes = files::bytes_of(shape, type);
  if (shape.empty() || !bytes)
    fail(ErrorCode::invalid, path,
         "the shape " + files::shape_text(shape) + " has no rows or more than 2^63 bytes");
  const std::string header = files::print_npy_header(type, shape);
  {
    constexpr mode_t by_mask = 0666;
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, by_mask));
    if (file.get() < 0 || !write_at(file.get(), std::as_bytes(std::span(header)), 0) ||
        ::ftruncate(file.get(), static_cast<off_t>(header.size() + *bytes)) != 0)
      fail(ErrorCode::system, path,
           std::string("cannot create the file: ") + strerrordesc_np(errno) +
               "; choose a folder that this user may write, with enough space");
  }
  return NpyFile(path, Access::read_write);
} catch (...) {
  detail::rethrow_as_error();
}

std::uint64_t NpyFile::row_bytes() const {
  return *files::bytes_of(std::span(shape_).subspan(1), type_);
}

std::uint64_t NpyFile::offset_of(std::int64_t begin, std::int64_t end) const {
  if (begin < 0 || begin > end || end > shape_[0])
    fail(ErrorCode::invalid, path_,
         "rows " + std::to_string(begin) + " to " + std::to_string(end) + " are outside the file's " +
             std::to_string(shape_[0]));
  return data_begin_ + static_cast<std::uint64_t>(begin) * row_bytes();
}

HostArray NpyFile::read_rows(std::int64_t begin, std::int64_t end) const try {
  const std::uint64_t offset = offset_of(begin, end);
  HostArray rows{type_, shape_, {}};
  rows.shape[0] = end - begin;
  rows.data.resize(static_cast<std::uint64_t>(end - begin) * row_bytes());
  if (!read_at(file_->get(), {reinterpret_cast<char*>(rows.data.data()), rows.data.size()}, offset))
    fail(ErrorCode::system, path_, std::string("cannot read the file: ") + strerrordesc_np(errno));
  if (big_endian_) files::swap_bytes(rows.data, size_of(type_));
  return rows;
} catch (...) {
  detail::rethrow_as_error();
}

void NpyFile::write_rows(std::int64_t begin, const HostArray& rows) const try {
  std::vector<std::int64_t> expected = shape_;
  if (!rows.shape.empty()) expected[0] = rows.shape[0];
  if (rows.type != type_ || rows.shape != expected || files::bytes_of(rows.shape, type_) != rows.data.size())
    fail(ErrorCode::invalid, path_,
         "rows of " + std::string(to_string(rows.type)) + " with the shape " + files::shape_text(rows.shape) +
             " are written to a file of " + std::string(to_string(type_)) + " with the shape " +
             files::shape_text(shape_) + "; all but the leading extent must be equal");
  if (big_endian_)
    fail(ErrorCode::unsupported, path_,
         "the file is of another byte order; create() makes one of this machine's");
  if (!write_at(file_->get(), rows.data, offset_of(begin, begin + rows.shape[0])))
    fail(ErrorCode::system, path_,
         std::string("cannot write the file: ") + strerrordesc_np(errno) + "; its folder needs enough space");
} catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir
