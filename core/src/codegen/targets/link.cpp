// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/link.hpp"

#include <fcntl.h>
#include <lld/Common/Driver.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <weir/error.hpp>

#include "codegen/llvm_options.hpp"

LLD_HAS_DRIVER(elf)

namespace weir::codegen {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw Error(ErrorCode::system, "linking a kernel: " + what + ": " + std::strerror(errno));
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

/// A folder that only this process uses. lld writes to a path, by renaming a file next to it.
class PrivateFolder {
 public:
  PrivateFolder() {
    std::error_code error;
    std::filesystem::path base = std::filesystem::temp_directory_path(error);
    path_ = (error ? std::filesystem::path("/tmp") : base) / "weir-XXXXXX";
    if (!::mkdtemp(path_.data()))
      fail("cannot make a temporary folder at " + path_ + " (set TMPDIR to a folder that can be written)");
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  ~PrivateFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// Gives the thread its alternate signal stack back: the linker's output files make LLVM install signal
/// handlers with a stack of its own on the calling thread, which belongs to the program.
class OwnSignalStack {
 public:
  OwnSignalStack() noexcept { ::sigaltstack(nullptr, &stack_); }
  OwnSignalStack(const OwnSignalStack&) = delete;
  OwnSignalStack& operator=(const OwnSignalStack&) = delete;
  ~OwnSignalStack() { ::sigaltstack(&stack_, nullptr); }

 private:
  stack_t stack_{};
};

std::vector<std::byte> read_file(const std::string& path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status;
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) fail("cannot read " + path);
  std::vector<std::byte> bytes(std::size_t(status.st_size));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail("cannot read " + path);
    done += std::size_t(got);
  }
  return bytes;
}

}  // namespace

std::vector<std::byte> link_shared_object(const llvm::SmallVectorImpl<char>& object) {
  FileDescriptor input(::memfd_create("weir-object", MFD_CLOEXEC));
  if (input.get() < 0) fail("cannot make a memory file");
  for (std::size_t done = 0; done < object.size();) {
    const ssize_t put = ::write(input.get(), object.data() + done, object.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) fail("cannot write a memory file");
    done += std::size_t(put);
  }
  const PrivateFolder folder;
  const std::string output = folder.file("kernel.so");
  const std::string source = "/proc/self/fd/" + std::to_string(input.get());
  // No `-z defs`: LLVM turns big fills and copies into memset and memcpy of libc, which every process has.
  // Whatever else is missing is reported when the object is loaded.
  const char* arguments[] = {"ld.lld",          "-shared", "--threads=1",  "-Bsymbolic",  "--hash-style=gnu",
                             "--build-id=none", "-o",      output.c_str(), source.c_str()};
  std::string messages;
  llvm::raw_string_ostream out(messages);
  {
    static bool usable = true;
    const OptionsLost alone;
    if (!usable)
      throw Error(ErrorCode::compile,
                  "linking a kernel: the linker failed before and cannot be used again in this process");
    const OwnSignalStack own;
    const lld::Result result = lld::lldMain(arguments, out, out, {{lld::Gnu, &lld::elf::link}});
    usable = result.canRunAgain;
    if (result.retCode != 0) throw Error(ErrorCode::compile, "linking a kernel: " + out.str());
  }
  return read_file(output);
}

}  // namespace weir::codegen
