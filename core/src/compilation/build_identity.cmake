# SPDX-License-Identifier: Apache-2.0
# cmake -DVERSION=... -DNAME=... -DFILES=a,b -DOUT=header -P build_identity.cmake: writes a header with the constant
# NAME, a text with a hash of FILES. The greeting of weir-codegen is one: it identifies the format of kernels, requests
# and replies, so that libweir never sends a kernel to a helper with another format.
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
inline constexpr std::string_view ${NAME} = \"weir-codegen of Weir ${VERSION} (${hash})\";
}
")
