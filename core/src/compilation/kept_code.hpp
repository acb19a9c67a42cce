// SPDX-License-Identifier: Apache-2.0
// Generated code in entries of the compile cache and of packs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "codegen/codegen.hpp"

namespace weir::compilation {

/// `lines` is CanonicalRequest::lines of the request that `object` was made for.
std::string encode_kept(const codegen::CodeObject& object, std::uint64_t lines);

/// The object. Without source lines if they are not those of the calling program, whose hash is `lines`.
/// Nothing for bytes that are no code of `tasks` tasks.
std::optional<codegen::CodeObject> decode_kept(std::string_view bytes, std::uint64_t lines,
                                               std::size_t tasks);

/// Removes the source lines from generated code, so that debuggers do not show those of another program.
void remove_source_lines(codegen::CodeObject& object);

}  // namespace weir::compilation
