// SPDX-License-Identifier: Apache-2.0
#include <system_error>
#include <weir/distributed_files.hpp>

#include "files/contents.hpp"

namespace weir {
namespace {

/// Runs `action`; if it throws, ends the group, because the other ranks would wait for this one.
template <class Action>
void or_end_the_group(const Communicator& world, const Action& action) {
  try {
    action();
  } catch (const std::exception& error) {
    world.abort(error.what());
    throw;
  }
}

/// The shape of the whole array in a file.
std::vector<std::int64_t> file_shape(const AnyDistributed& array) {
  std::vector<std::int64_t> shape = files::shape_of(array.own());
  shape[0] = array.extent(0);
  return shape;
}

void rename_file(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::error_code error;
  std::filesystem::rename(from, to, error);
  if (error) throw Error(ErrorCode::system, to.string() + ": cannot write the file: " + error.message());
}

}  // namespace

void read_npy(const StreamRef& stream, const std::filesystem::path& path, const AnyDistributed& array) try {
  or_end_the_group(array.world(), [&] {
    const NpyFile file(path);
    const std::vector<std::int64_t> wanted = file_shape(array);
    if (file.type() != array.element().scalar || file.shape() != wanted)
      throw Error(ErrorCode::invalid, path.string() + ": the file holds " +
                                          std::string(to_string(file.type())) + " of the shape " +
                                          files::shape_text(file.shape()) + "; the array is of " +
                                          std::string(to_string(array.element().scalar)) +
                                          " with the shape " + files::shape_text(wanted));
    array.own().copy_from_bytes(stream, file.read_rows(array.rows().begin, array.rows().end).data);
  });
} catch (...) {
  detail::rethrow_as_error();
}

void write_npy(const StreamRef& stream, const std::filesystem::path& path, const AnyDistributed& array) try {
  const Communicator& world = array.world();
  std::filesystem::path part = path;
  part += ".part";
  const bool first = world.rank() == 0;
  try {
    or_end_the_group(world, [&] {
      const HostArray mine = to_host(stream, array.own());
      if (first) NpyFile::create(part, mine.type, file_shape(array));
      world.barrier();
      NpyFile(part, NpyFile::Access::read_write).write_rows(array.rows().begin, mine);
      world.barrier();
      if (first) rename_file(part, path);
    });
  } catch (...) {
    std::error_code ignored;
    if (first) std::filesystem::remove(part, ignored);
    throw;
  }
  world.barrier();
} catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir
