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
constexpr int end_of_file = ENODATA;  // as an error of read_at

bool read_at(int file, std::span<char> bytes, std::uint64_t offset) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t got =
        ::pread(file, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) errno = end_of_file;
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
      access_(access),
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
  if (type > ScalarType::f64)
    fail(ErrorCode::invalid, path,
         "the scalar type " + std::to_string(static_cast<int>(type)) + " is not one of ScalarType");
  const std::optional<std::uint64_t> bytes = files::bytes_of(shape, type);
  if (shape.empty() || !bytes)
    fail(ErrorCode::invalid, path,
         "the shape " + files::shape_text(shape) +
             (bytes ? " has no rows; give at least one extent" : ": " + files::shape_fault(shape)));
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

/// The bytes of a box in the file: runs of equal length, in the order of the box.
struct NpyFile::Runs {
  std::uint64_t first = 0;             ///< offset of the first run
  std::uint64_t bytes = 0;             ///< of each run
  std::vector<std::uint64_t> counts;   ///< of runs along each dimension outside them
  std::vector<std::uint64_t> strides;  ///< in bytes between these

  /// Calls action(offset in the file, number of the run) for each; stops if it returns false.
  template <class Action>
  bool all_of(const Action& action) const {
    std::uint64_t runs = bytes == 0 ? 0 : 1;
    for (const std::uint64_t count : counts) runs *= count;
    for (std::uint64_t run = 0; run < runs; ++run) {
      std::uint64_t offset = first, rest = run;
      for (std::size_t d = counts.size(); d-- > 0; rest /= counts[d]) offset += rest % counts[d] * strides[d];
      if (!action(offset, run)) return false;
    }
    return true;
  }
};

NpyFile::Runs NpyFile::runs_of(std::span<const std::int64_t> begin, std::span<const std::int64_t> end) const {
  if (!file_)
    fail(ErrorCode::invalid, "NpyFile", "the file was moved from; use the object that it was moved to");
  if (begin.size() != end.size() || begin.size() > shape_.size())
    fail(ErrorCode::invalid, path_,
         "a box begins at " + std::to_string(begin.size()) + " indices and ends at " +
             std::to_string(end.size()) + "; expected as many, at most one for each of the file's " +
             std::to_string(shape_.size()) + " dimensions");
  for (std::size_t d = 0; d < begin.size(); ++d)
    if (begin[d] < 0 || begin[d] > end[d] || end[d] > shape_[d])
      fail(ErrorCode::invalid, path_,
           (d == 0 ? std::string("rows ") : "indices along dimension " + std::to_string(d) + " from ") +
               std::to_string(begin[d]) + " to " + std::to_string(end[d]) + " are outside the file's " +
               std::to_string(shape_[d]) + "; expected from 0 to at most that, not backwards");
  Runs runs{data_begin_, size_of(type_), {}, {}};
  std::uint64_t stride = size_of(type_);
  bool whole = true;  // the dimensions after d are read as a whole, so the run goes on
  for (std::size_t d = shape_.size(); d-- > 0; stride *= static_cast<std::uint64_t>(shape_[d])) {
    const bool given = d < begin.size();
    const std::int64_t from = given ? begin[d] : 0, count = (given ? end[d] : shape_[d]) - from;
    runs.first += static_cast<std::uint64_t>(from) * stride;
    if (whole) {
      runs.bytes *= static_cast<std::uint64_t>(count);
    } else {
      runs.counts.insert(runs.counts.begin(), static_cast<std::uint64_t>(count));
      runs.strides.insert(runs.strides.begin(), stride);
    }
    whole = whole && count == shape_[d];
  }
  return runs;
}

HostArray NpyFile::read_rows(std::int64_t begin, std::int64_t end) const {
  return read_box({&begin, 1}, {&end, 1});
}

HostArray NpyFile::read_box(std::span<const std::int64_t> begin, std::span<const std::int64_t> end) const
    try {
  const Runs runs = runs_of(begin, end);
  HostArray box{type_, shape_, {}};
  for (std::size_t d = 0; d < begin.size(); ++d) box.shape[d] = end[d] - begin[d];
  box.data.resize(*files::bytes_of(box.shape, type_));
  char* const data = reinterpret_cast<char*>(box.data.data());
  if (!runs.all_of([&](std::uint64_t offset, std::uint64_t run) {
        return read_at(file_->get(), {data + run * runs.bytes, runs.bytes}, offset);
      }))
    fail(ErrorCode::system, path_,
         std::string("cannot read the file: ") +
             (errno == end_of_file ? "it has become shorter since it was opened" : strerrordesc_np(errno)));
  files::to_native(box.data, type_, big_endian_);
  return box;
} catch (...) {
  detail::rethrow_as_error();
}

void NpyFile::write_rows(std::int64_t begin, const HostArray& rows) const {
  write_box({&begin, 1}, rows);
}

void NpyFile::write_box(std::span<const std::int64_t> begin, const HostArray& box) const try {
  std::vector<std::int64_t> expected = shape_, end;
  for (std::size_t d = 0; d < std::min({begin.size(), expected.size(), box.shape.size()}); ++d) {
    expected[d] = box.shape[d];
    std::int64_t past = 0;
    end.push_back(__builtin_add_overflow(begin[d], box.shape[d], &past) ? INT64_MAX : past);
  }
  if (box.type != type_ || box.shape != expected || files::bytes_of(box.shape, type_) != box.data.size())
    fail(ErrorCode::invalid, path_,
         (begin.size() == 1 ? "rows of " : "elements of ") + std::string(to_string(box.type)) +
             " with the shape " + files::shape_text(box.shape) + " are written to a file of " +
             std::string(to_string(type_)) + " with the shape " + files::shape_text(shape_) +
             (begin.size() == 1
                  ? "; all but the leading extent must be equal"
                  : "; all but the leading " + std::to_string(begin.size()) + " extents must be equal"));
  if (big_endian_)
    fail(ErrorCode::unsupported, path_,
         "the file is of another byte order; create() makes one of this machine's");
  const Runs runs = runs_of(begin, end);
  if (access_ == Access::read)
    fail(ErrorCode::invalid, path_,
         "the file was opened for reading; open it with NpyFile::Access::read_write to write to it");
  if (!runs.all_of([&](std::uint64_t offset, std::uint64_t run) {
        return write_at(file_->get(), std::span(box.data).subspan(run * runs.bytes, runs.bytes), offset);
      }))
    fail(ErrorCode::system, path_,
         std::string("cannot write the file: ") + strerrordesc_np(errno) + "; its folder needs enough space");
} catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir
