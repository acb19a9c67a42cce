// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dlpack/layout.hpp"

namespace weir::dlpack {

/// Submits a copy of the tensor's scalars, in row-major order, to `result`. `memory` is layout.range() as one
/// dimension of words as wide as the scalars.
void copy_strided(const StreamRef& stream, const Layout& layout, const AnyArrayView& memory,
                  const AnyArrayView& result);

/// The same on the host.
std::vector<std::byte> gather_on_host(const Layout& layout);

}  // namespace weir::dlpack
