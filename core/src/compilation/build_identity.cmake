# SPDX-License-Identifier: Apache-2.0
# cmake -DVERSION=... -DFILES=a,b -DOUT=header -P build_identity.cmake: a header with the greeting of weir-codegen, which
# identifies the form of kernels, requests and replies, so that libweir never sends a kernel to a helper that would read it as something else.
string(REPLACE "," ";" files "${FILES}")
list(SORT files)
set(hashes "")
foreach(file ${files})
  file(SHA256 ${file} hash)
  string(APPEND hashes "${hash}\n")
endforeach()
string(SHA256 hash "${hashes}")
string(SUBSTRING ${hash} 0 16 hash)
file(WRITE ${OUT} "// Written by build_identity.cmake.
#pragma once
#include <string_view>
namespace weir::compilation {
inline constexpr std::string_view build_greeting = \"weir-codegen of Weir ${VERSION} (${hash})\";
}
")
