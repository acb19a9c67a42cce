// SPDX-License-Identifier: Apache-2.0
// A code object of the tutorial's driver: an ELF shared object in memory, opened as a library.
#pragma once

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <weir/sdk/elf.hpp>

class LoadedLibrary {
 public:
  /// Throws Failure{CODE_OBJECT}, or Failure{SYSTEM} if no file descriptor is left.
  void open(const weir_code_object& object) {
    using namespace weir::sdk;
    check_whole_elf(object);  // the dynamic linker crashes on a file that is cut short
    file_ = memfd_create("weir-module", MFD_CLOEXEC);
    if (file_ < 0) fail_system(errno, "memfd_create failed");
    // With the process's number, because a debugger opens the path too, in a process of its own.
    const std::string path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file_);
    if (write(file_, object.data, object.size) == static_cast<ssize_t>(object.size))
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
