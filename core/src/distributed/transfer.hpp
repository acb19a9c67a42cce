// SPDX-License-Identifier: Apache-2.0
// Moves rows between ranks.
#pragma once

#include <weir/distributed.hpp>

namespace weir::distributed {

/// Rows [rows.begin, rows.end) of `view`.
AnyArrayView rows_of(const AnyArrayView& view, const Rows& rows);
/// The elements of `view` as one dimension.
AnyArrayView flat(const AnyArrayView& view);

/// Submits: `to`, which holds rows to_rows[r] of an array on rank r, receives those that the ranks hold in
/// `from`, rows from_rows[r] on rank r. No two ranks hold a row in `from`; rows that none holds do not
/// change. A rank's own rows are copied on its device. `from` and `to` are not read where their rows are
/// empty.
void transfer(const Communicator& world, const StreamRef& stream, const AnyArrayView& from,
              std::span<const Rows> from_rows, const AnyArrayView& to, std::span<const Rows> to_rows);

}  // namespace weir::distributed
