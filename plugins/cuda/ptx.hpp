// SPDX-License-Identifier: Apache-2.0
// PTX versions that each CUDA release supports, from the release history in NVIDIA's PTX ISA document.
#pragma once

namespace weir::cuda {

/// The newest PTX ISA version, as 10 * major + minor, that the driver of a CUDA version (1000 * major + 10 *
/// minor) supports. Later versions use the table's last row.
constexpr int newest_ptx(int cuda_version) noexcept {
  struct Row {
    int cuda, ptx;
  };
  constexpr Row rows[] = {
      {10000, 63}, {10010, 64}, {10020, 65}, {11000, 70}, {11010, 71}, {11020, 72}, {11030, 73}, {11040, 74},
      {11050, 75}, {11060, 76}, {11070, 77}, {11080, 78}, {12000, 80}, {12010, 81}, {12020, 82}, {12030, 83},
      {12040, 84}, {12050, 85}, {12070, 86}, {12080, 87}, {12090, 88}, {13000, 90},
  };
  int newest = rows[0].ptx;
  for (const Row& row : rows)
    if (row.cuda <= cuda_version) newest = row.ptx;
  return newest;
}

}  // namespace weir::cuda
