// SPDX-License-Identifier: Apache-2.0
// The file to which test drivers write the process that they run in.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace weir::test {

class TraceFile {
 public:
  TraceFile() {
    std::string name = (std::filesystem::temp_directory_path() / "weir-trace-XXXXXX").string();
    close(mkstemp(name.data()));
    path_ = name;
    setenv("WEIR_TEST_TRACE", name.c_str(), 1);
  }
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  ~TraceFile() {
    unsetenv("WEIR_TEST_TRACE");
    std::filesystem::remove(path_);
  }

  const std::filesystem::path& path() const { return path_; }

  std::vector<pid_t> processes() const {
    std::ifstream in(path_);
    std::vector<pid_t> found;
    for (pid_t process; in >> process;) found.push_back(process);
    return found;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace weir::test
