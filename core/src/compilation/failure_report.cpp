// SPDX-License-Identifier: Apache-2.0
#include "compilation/failure_report.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "ir/printer.hpp"
#include "temporary_file.hpp"

namespace weir::compilation {

std::string keep_for_report(const ir::Kernel& kernel) {
  const char* const folder = secure_getenv("TMPDIR");
  std::string path = std::string(folder && *folder ? folder : "/tmp") + "/weir-failed-XXXXXX.weir";
  const int file = mkostemps(path.data(), 5, O_CLOEXEC);
  if (file < 0) return "";
  const bool whole = write_all(file, ir::print(kernel, true));
  close(file);
  if (whole) return path;
  unlink(path.c_str());
  return "";
}

}  // namespace weir::compilation
