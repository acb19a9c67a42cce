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
  std::vector<std::int64_t> shape = files::shape_of(array.local());
  for (std::size_t d = 0; d < array.dimensions(); ++d) shape[d] = array.extent(d);
  return shape;
}

/// The first indices of a box of the array (&Rows::begin), or those after its last (&Rows::end).
std::vector<std::int64_t> corner_of(const Box& box, const AnyDistributed& array, std::int64_t Rows::*end) {
  std::vector<std::int64_t> corner;
  for (std::size_t d = 0; d < array.dimensions(); ++d) corner.push_back(box[d].*end);
  return corner;
}

/// The elements that this rank owns: in the array itself, or in memory of their own if halos are between
/// them.
class Own {
 public:
  Own(const StreamRef& stream, const AnyDistributed& array) : stream_(stream), array_(array) {
    std::vector<std::int64_t> extents;
    for (std::size_t d = 0; d < array.dimensions(); ++d) {
      packed_ = packed_ || (d > 0 && array.halo(d) != 0);
      extents.push_back(array.owned(d).size());
    }
    if (packed_) memory_ = AnyArray(stream, array.element(), extents);
  }

  void read(std::span<const std::byte> bytes) const {
    elements().copy_from_bytes(stream_, bytes);
    if (packed_) array_.copy_own_from(stream_, memory_);
  }
  HostArray to_host() const {
    if (packed_) array_.copy_own_to(stream_, memory_);
    return weir::to_host(stream_, elements());
  }

 private:
  AnyArrayView elements() const { return packed_ ? AnyArrayView(memory_) : array_.own(); }

  StreamRef stream_;
  const AnyDistributed& array_;
  bool packed_ = false;
  AnyArray memory_;
};

void rename_file(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::error_code error;
  std::filesystem::rename(from, to, error);
  if (error)
    throw Error(ErrorCode::system, to.string() + ": cannot write the file: " + error.message() +
                                       "; choose a folder that this user may write, with enough space");
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
    const Box mine = array.box(array.world().rank());
    Own(stream, array)
        .read(file.read_box(corner_of(mine, array, &Rows::begin), corner_of(mine, array, &Rows::end)).data);
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
      const HostArray mine = Own(stream, array).to_host();
      if (first) NpyFile::create(part, mine.type, file_shape(array));
      world.barrier();
      NpyFile(part, NpyFile::Access::read_write)
          .write_box(corner_of(array.box(world.rank()), array, &Rows::begin), mine);
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
