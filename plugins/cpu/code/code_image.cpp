// SPDX-License-Identifier: Apache-2.0
#include "code/code_image.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string_view>

#include "code/debugger.hpp"
#include "code/perf_map.hpp"
#include "object.hpp"

namespace weir::cpu {
namespace {

/// Whether a message of the system's loader reports a lack of memory; there is no code for it. The message is
/// the loader's own, or ends with that of the system in its language.
bool lacks_memory(std::string_view words) {
  char buffer[128];
  return words == "out of memory" || words.ends_with(strerror_r(ENOMEM, buffer, sizeof buffer));
}

}  // namespace

CodeImage::CodeImage(const ElfFile& file, const std::string& name) {
  try {
    map(file);
    open_needed(file);
    relocate(file);
    read_initialisation(file);
    protect(file);
    for (const ElfFile::Symbol& symbol : file.symbols())
      if (symbol.defined && symbol.type == STT_FUNC && symbol.bind != STB_LOCAL)
        functions_.emplace(symbol.name, at(symbol.value));
    unwind_tables_.emplace(file, memory_);
    debugger_ = register_with_debugger(file, memory_ - first_);
  } catch (...) {
    release();
    throw;
  }
  write_perf_map(file, memory_ - first_, name);
  static char* no_arguments[] = {nullptr};
  for (const Initialisation run : begin_) run(0, no_arguments, environ);
}

CodeImage::~CodeImage() {
  for (const auto run : end_) run();
  release();
}

void CodeImage::release() noexcept {
  if (debugger_) unregister_from_debugger(debugger_);
  unwind_tables_.reset();
  if (reserved_) munmap(reserved_, reserved_bytes_);
  for (auto library = needed_.rbegin(); library != needed_.rend(); ++library) dlclose(*library);
}

void* CodeImage::function(std::string_view name) const noexcept {
  const auto found = functions_.find(name);
  return found == functions_.end() ? nullptr : found->second;
}

void CodeImage::map(const ElfFile& file) {
  size_ = file.size();
  reserved_bytes_ = size_ + file.alignment() - ElfFile::page;
  void* reserved = mmap(nullptr, reserved_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (reserved == MAP_FAILED && errno == ENOMEM)
    fail(WEIR_ERROR_OUT_OF_MEMORY,
         "no host memory for the %zu bytes of a code object; free some, or raise the limit of the process",
         reserved_bytes_);
  if (reserved == MAP_FAILED)
    fail_system(errno, "cannot map the %zu bytes of a code object", reserved_bytes_);
  reserved_ = static_cast<std::byte*>(reserved);
  const auto address = reinterpret_cast<std::uintptr_t>(reserved_);
  memory_ = reserved_ + (-address & (file.alignment() - 1));
  first_ = file.first();
  for (const ElfFile::Segment& segment : file.segments())
    std::memcpy(at(segment.address), file.bytes().data() + segment.offset, segment.file_bytes);
}

void CodeImage::open_needed(const ElfFile& file) {
  needed_.reserve(file.needed().size());
  for (const std::string_view name : file.needed()) {
    // Terminated by a zero, because it is in a string table.
    if (void* library = dlopen(name.data(), RTLD_NOW | RTLD_LOCAL)) {
      needed_.push_back(library);
      continue;
    }
    const char* why = dlerror();
    if (why && lacks_memory(why)) throw std::bad_alloc();
    throw ElfError("needs a library that does not load: " + std::string(why ? why : name));
  }
}

std::byte* CodeImage::address_of(const ElfFile& file, const ElfFile::Symbol& symbol) const {
  if (symbol.defined) {
    if (symbol.absolute) return reinterpret_cast<std::byte*>(symbol.value);
    if (!file.segment_at(symbol.value, 0)) throw ElfError("has a symbol outside of its segments");
    return at(symbol.value);
  }
  for (const ElfFile::Symbol& own : file.symbols())  // another entry of the same name; there are few
    if (own.defined && !own.absolute && own.name == symbol.name && file.segment_at(own.value, 0))
      return at(own.value);
  void* found = dlsym(RTLD_DEFAULT, symbol.name.data());
  for (std::size_t i = 0; !found && i < needed_.size(); ++i) found = dlsym(needed_[i], symbol.name.data());
  if (!found && symbol.bind != STB_WEAK)
    throw ElfError("needs '" + std::string(symbol.name) +
                   "', which neither it nor the process nor a library that it names defines; link the "
                   "library or object that defines it");
  return static_cast<std::byte*>(found);
}

void CodeImage::relocate(const ElfFile& file) {
  std::unordered_map<std::uint32_t, std::byte*> known;
  for (const ElfFile::Relocation& relocation : file.relocations()) {
    std::uint64_t value;
    if (relocation.type == R_X86_64_RELATIVE) {
      value =
          reinterpret_cast<std::uint64_t>(memory_ - first_) + static_cast<std::uint64_t>(relocation.addend);
    } else {
      const auto [entry, added] = known.try_emplace(relocation.symbol);
      if (added) entry->second = address_of(file, file.symbols()[relocation.symbol]);
      value = reinterpret_cast<std::uint64_t>(entry->second);
      if (relocation.type == R_X86_64_64) value += static_cast<std::uint64_t>(relocation.addend);
    }
    std::memcpy(at(relocation.address), &value, sizeof value);
  }
}

void CodeImage::read_initialisation(const ElfFile& file) {
  const auto collect = [&](std::uint64_t single, ElfFile::Range array, auto& out) {
    using Function = typename std::remove_reference_t<decltype(out)>::value_type;
    if (single) out.push_back(reinterpret_cast<Function>(at(single)));
    for (std::uint64_t i = 0; i < array.bytes; i += 8) {
      std::uint64_t value;
      std::memcpy(&value, at(array.address + i), sizeof value);
      if (value == 0 || value == ~std::uint64_t{0}) continue;  // empty, as in the dynamic linker
      if (!file.is_code(value - reinterpret_cast<std::uint64_t>(memory_) + first_))
        throw ElfError("has initialisation outside of its code");
      out.push_back(reinterpret_cast<Function>(value));
    }
  };
  collect(file.init(), file.init_array(), begin_);
  collect(file.fini(), file.fini_array(), end_);
  std::reverse(end_.begin(), end_.end());  // the array backwards, then the single one
}

void CodeImage::protect(const ElfFile& file) {
  const auto set = [&](std::uint64_t from, std::uint64_t to, int protection) {
    from &= ~(ElfFile::page - 1);
    if (from >= to || mprotect(at(from), to - from, protection) == 0) return;
    fail_system(
        errno, "the system does not let the process %s memory for a code object%s",
        protection & PROT_EXEC ? "execute" : "protect",
        protection & PROT_EXEC ? "; allow it (SELinux: execmem, systemd: MemoryDenyWriteExecute=no)" : "");
  };
  for (const ElfFile::Segment& segment : file.segments()) {
    const int protection = ((segment.flags & PF_R) ? PROT_READ : 0) |
                           ((segment.flags & PF_W) ? PROT_WRITE : 0) |
                           ((segment.flags & PF_X) ? PROT_EXEC : 0);
    set(segment.address, segment.address + segment.bytes, protection);
  }
  const ElfFile::Range relro = file.read_only_after_relocation();
  set(relro.address, (relro.address + relro.bytes) & ~(ElfFile::page - 1), PROT_READ);
}

}  // namespace weir::cpu
