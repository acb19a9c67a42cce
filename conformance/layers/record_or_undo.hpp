// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weir {

/// Runs `record`, which registers what a driver has made. If it throws, runs `undo`, which lets the driver
/// destroy that, and throws the same.
template <class Record, class Undo>
void record_or_undo(const Record& record, const Undo& undo) {
  try {
    record();
  } catch (...) {
    undo();
    throw;
  }
}

}  // namespace weir
