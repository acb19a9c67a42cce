// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weir {

/// Runs `record`, which registers an object that a driver has created. If it throws, runs `undo`, which lets
/// the driver destroy the object, and rethrows.
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
