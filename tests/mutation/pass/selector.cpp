// SPDX-License-Identifier: Apache-2.0
// Linked into every program and library with mutants: the number of the selected mutant, and the marks of
// reached places.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

namespace {
constexpr int marks_size = 1 << 20;
unsigned char unread_marks[marks_size];  // when no file was named
}  // namespace

extern "C" {
[[gnu::visibility("hidden")]] unsigned weir_mutation_selected;
[[gnu::visibility("hidden")]] unsigned char* weir_mutation_marks = unread_marks;
}

// Before the constructors of the program, which may have mutants. The file is shared, so that marks of a
// process that crashes, or of its children, are kept.
[[gnu::constructor(101)]] static void select() {
  if (const char* number = std::getenv("WEIR_MUTANT"))
    weir_mutation_selected = std::strtoul(number, nullptr, 10);
  const char* path = std::getenv("WEIR_MUTATION_MARKS");
  const int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) return;
  void* mapped = mmap(nullptr, marks_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped != MAP_FAILED) weir_mutation_marks = static_cast<unsigned char*>(mapped);
  close(file);
}
