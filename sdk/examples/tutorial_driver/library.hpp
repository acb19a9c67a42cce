// SPDX-License-Identifier: Apache-2.0
// A code object of the tutorial's driver: an ELF shared object in memory, opened as a library.
#pragma once

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <weir/sdk/status.hpp>

/// Whether the file contains all bytes that its headers name: its segments, without which the dynamic linker
/// would crash, and its section headers, which are at the end of a complete file.
inline bool is_whole_library(std::span<const unsigned char> bytes) {
  Elf64_Ehdr header;
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_type != ET_DYN ||
      header.e_machine != EM_X86_64 || header.e_phentsize != sizeof(Elf64_Phdr))
    return false;
  const std::uint64_t section_bytes = std::uint64_t{header.e_shnum} * header.e_shentsize;
  if (header.e_shoff > bytes.size() || section_bytes > bytes.size() - header.e_shoff) return false;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (header.e_phoff > bytes.size() || sizeof segment * (i + 1) > bytes.size() - header.e_phoff)
      return false;
    std::memcpy(&segment, bytes.data() + header.e_phoff + sizeof segment * i, sizeof segment);
    if (segment.p_offset > bytes.size() || segment.p_filesz > bytes.size() - segment.p_offset) return false;
  }
  return true;
}

class LoadedLibrary {
 public:
  /// Throws Failure{CODE_OBJECT}, or Failure{SYSTEM} if no file descriptor is left.
  void open(std::span<const unsigned char> bytes) {
    using namespace weir::sdk;
    if (!is_whole_library(bytes))
      fail(WEIR_ERROR_CODE_OBJECT, "the %zu bytes are not a complete ELF shared object for x86-64",
           bytes.size());
    file_ = memfd_create("weir-module", MFD_CLOEXEC);
    if (file_ < 0) fail_system(errno, "memfd_create failed");
    // With the process's number, because a debugger opens the path too, in a process of its own.
    const std::string path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file_);
    if (write(file_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()))
      handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_) return;
    const char* why = dlerror();
    const std::string words = why ? why : "it could not be written to memory";
    close();
    fail(WEIR_ERROR_CODE_OBJECT, "the code object cannot be loaded: %s", words.c_str());
  }

  void close() {
    if (handle_) dlclose(handle_);
    if (file_ >= 0) ::close(file_);
    handle_ = nullptr;
    file_ = -1;
  }

  void* symbol(const char* name) const { return dlsym(handle_, name); }

 private:
  void* handle_ = nullptr;
  int file_ = -1;  ///< open as long as the library: the dynamic linker identifies libraries by their file's
                   ///< inode number
};
