// SPDX-License-Identifier: Apache-2.0
// The words on which the blocks of cooperative tasks wait for each other (ir/task.hpp). Each stream has its
// own. Its launches run one after the other and leave the words ready for the next.
#pragma once

#include <weir/driver.h>

#include <cstdint>
#include <memory>

#include "runtime/streams/stream_state.hpp"

namespace weir::detail {

/// Lives as long as the stream's state, whose slot gets a new stream only after the work of the old one.
struct GridBarriers {
  weir_allocation allocation = nullptr;
  std::uint64_t address = 0;
  std::uint32_t words = 0;
  std::unique_ptr<GridBarriers> fewer;  ///< which earlier launches may still use
};

/// At least `words` words for the next launch on the stream, created on first use. Must not be called with
/// the submission lock held, because creation may block.
const GridBarriers& grid_barriers(StreamState& stream, std::uint32_t words);

}  // namespace weir::detail
