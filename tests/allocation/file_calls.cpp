// SPDX-License-Identifier: Apache-2.0
#include "file_calls.hpp"

namespace weir::test {

const char* call_files(const StreamRef& stream, const FileInputs& inputs) {
  write_npy(inputs.npy, inputs.table);
  if (read_npy(inputs.npy).data != inputs.table.data) return "an .npy file";
  const NpyFile rows(inputs.npy, NpyFile::Access::read_write);
  rows.write_rows(0, rows.read_rows(1, 3));
  write_npz(inputs.npz, inputs.both, Compression::deflate);
  if (read_npz(inputs.npz).size() != inputs.both.size()) return "an .npz file";
  write_png(inputs.png, inputs.picture);
  if (read_png(inputs.png).data != inputs.picture.data) return "a PNG file";
  const AnyArray table = to_device(stream, inputs.table, element_type<float>, 2);
  if (to_host(stream, table).data != inputs.table.data) return "an array of a file";
  return nullptr;
}

}  // namespace weir::test
