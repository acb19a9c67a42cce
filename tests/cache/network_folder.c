// SPDX-License-Identifier: Apache-2.0
// Preloaded into cache_tests: in its forked children, a file system without locks, on which renaming is not
// atomic. A reader finds the new file absent, then truncated, and some reads fail.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int in_child;

static void enter_child(void) {
  in_child = 1;
}

__attribute__((constructor)) static void register_fork_handler(void) {
  pthread_atfork(NULL, NULL, enter_child);
}

int flock(int file, int operation) {
  (void)file, (void)operation;
  errno = ENOLCK;
  return -1;
}

ssize_t read(int file, void* data, size_t size) {
  static ssize_t (*real)(int, void*, size_t);
  static _Thread_local unsigned calls;
  if (!real) *(void**)&real = dlsym(RTLD_NEXT, "read");
  struct stat info;
  if (in_child && ++calls % 16 == 0 && fstat(file, &info) == 0 && S_ISREG(info.st_mode)) {
    errno = ESTALE;
    return -1;
  }
  return real(file, data, size);
}

static int copy(int from, int to, size_t size) {
  char bytes[4096];
  while (size > 0) {
    const ssize_t got = pread(from, bytes, size < sizeof bytes ? size : sizeof bytes, lseek(to, 0, SEEK_CUR));
    if (got <= 0 || write(to, bytes, (size_t)got) != got) return -1;
    size -= (size_t)got;
  }
  return 0;
}

int rename(const char* from, const char* to) {
  const int source = open(from, O_RDONLY | O_CLOEXEC);
  struct stat info;
  if (source < 0 || fstat(source, &info) != 0) return -1;
  unlink(to);
  sched_yield();
  const int target = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  int result = -1;
  if (target >= 0) {
    const size_t half = (size_t)info.st_size / 2;
    result = copy(source, target, half);
    sched_yield();
    if (result == 0) result = copy(source, target, (size_t)info.st_size - half);
    close(target);
  } else if (errno == EEXIST) {
    result = 0;  // another process has renamed its file meanwhile
  }
  close(source);
  if (result == 0) unlink(from);
  return result;
}
