/* SPDX-License-Identifier: Apache-2.0
 *
 * A driver with one side effect. The name of its library selects the effect and the moment:
 * "count-close-3.so" closes descriptor 3 in device_count. The moments are load, entry, count, info, open,
 * close, end (a destructor) and thread (20 ms after device_count, in another thread). The driver writes the
 * id of each process that it leaves running to the file that WEIR_TEST_TRACE names. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "../broken/complete.h"
#include "../broken/crash.h"

static char name[64];
static const char* when = "";
static const char* what = "";

static void read_own_name(void) {
  if (name[0]) return;
  Dl_info info;
  if (!dladdr((void*)read_own_name, &info)) abort();
  const char* slash = strrchr(info.dli_fname, '/');
  snprintf(name, sizeof name, "%s", slash ? slash + 1 : info.dli_fname);
  *strrchr(name, '.') = '\0';
  static char words[64];
  strcpy(words, name);
  char* dash = strchr(words, '-');
  *dash = '\0';
  when = words;
  what = dash + 1;
}

static void ignore_result(long result UNUSED) {
}

static void lower(__rlimit_resource_t resource, rlim_t limit) {
  struct rlimit now;
  getrlimit(resource, &now);
  now.rlim_cur = limit;
  setrlimit(resource, &now);
}

static void remember_process(void) {
  const char* trace = getenv("WEIR_TEST_TRACE");
  const int out = trace ? open(trace, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
  char line[32];
  if (out >= 0) ignore_result(write(out, line, (size_t)snprintf(line, sizeof line, "%d\n", (int)getpid())));
  close(out);
}

/* Exits after a minute, so that a trial that fails to end this process leaves it only for that long. */
static __attribute__((noreturn)) void stay(void) {
  remember_process();
  alarm(60);
  for (;;) pause();
}

static void fork_and_stay(void) {
  if (fork() == 0) stay();
}

static void daemonise(void) {
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    if (fork() == 0) stay();
    _exit(0);
  }
  waitpid(child, NULL, 0);
}

/* Each process of the family exits after it started the next one, so that none lives long. */
static void keep_forking(void) {
  if (fork() != 0) return;
  setsid();
  remember_process();
  for (int generation = 0; generation < 10000; ++generation) {
    const struct timespec moment = {0, 1000 * 1000};
    nanosleep(&moment, NULL);
    if (fork() != 0) _exit(0);
  }
  _exit(0);
}

static void fork_and_wait(void) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, NULL, 0);
}

static void* sleep_long(void* argument UNUSED) {
  for (;;) pause();
  return NULL;
}

static void start_thread(void* (*run)(void*)) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, NULL) == 0) pthread_detach(thread);
}

static void handler(int signal UNUSED) {
}

static void arm_posix_timer(void) {
  timer_t timer;
  struct sigevent event;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGUSR1;
  const struct itimerspec far = {{0, 0}, {1000, 0}};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0) timer_settime(timer, 0, &far, NULL);
}

static void arm_interval_timer(__itimer_which_t which) {
  const struct itimerval far = {{0, 0}, {1000, 0}};
  setitimer(which, &far, NULL);
}

static void write_much(int out) {
  static char block[1 << 16];
  memset(block, 'x', sizeof block);
  for (int i = 0; i < 1024; ++i)
    if (write(out, block, sizeof block) < 0) return;
}

static int overflow(volatile int depth) {
  volatile char frame[4096];
  frame[0] = (char)depth;
  return depth < 0 ? 0 : overflow(depth + 1) + frame[0];
}

static void put_another_file(int number) {
  const int file = memfd_create("another", 0);
  dup2(file, number);
  close(file);
}

static void act(void) {
#define IF(word) if (strcmp(what, word) == 0)
  IF("close-0") close(0);
  IF("close-1") close(1);
  IF("close-2") close(2);
  IF("close-3") close(3);
  IF("close-all") for (int file = 0; file < 4096; ++file) close(file);
  IF("close-above-2") close_range(3, ~0u, 0);
  IF("close-high") close_range(64, ~0u, 0);
  IF("dup2-0") put_another_file(0);
  IF("dup2-1") put_another_file(1);
  IF("dup2-3") put_another_file(3);
  IF("nonblock") fcntl(0, F_SETFL, O_NONBLOCK);
  IF("inherit") fcntl(3, F_SETFD, 0);
  IF("chdir") ignore_result(chdir("/proc"));
  IF("chroot") ignore_result(chroot("/proc"));
  IF("limit-nofile") lower(RLIMIT_NOFILE, 8);
  IF("limit-nofile-0") lower(RLIMIT_NOFILE, 0);
  IF("limit-as") lower(RLIMIT_AS, 1 << 20);
  IF("limit-data") lower(RLIMIT_DATA, 0);
  IF("limit-stack") lower(RLIMIT_STACK, 1 << 16);
  IF("limit-fsize") lower(RLIMIT_FSIZE, 0);
  IF("limit-cpu") lower(RLIMIT_CPU, 1000);
  IF("limit-nproc") lower(RLIMIT_NPROC, 1);
  IF("limit-memlock") lower(RLIMIT_MEMLOCK, 0);
  IF("limit-sigpending") lower(RLIMIT_SIGPENDING, 0);
  IF("limit-rss") lower(RLIMIT_RSS, 4096);
  IF("limit-locks") lower(RLIMIT_LOCKS, 3);
  IF("limit-msgqueue") lower(RLIMIT_MSGQUEUE, 0);
  IF("limit-rttime") lower(RLIMIT_RTTIME, 1000);
  IF("limit-core") lower(RLIMIT_CORE, 0);
  IF("set-layers") setenv("WEIR_LAYERS", "no-such-layer", 1);
  IF("set-preload") setenv("LD_PRELOAD", "/nonexistent/library.so", 1);
  IF("set-own") setenv("STUB_VENDOR_OPTION", "1", 1);
  IF("replace-home") setenv("HOME", "/nonexistent/other", 1);
  IF("unset-home") unsetenv("HOME");
  IF("clearenv") clearenv();
  IF("umask") umask(0);
  IF("locale") ignore_result(setlocale(LC_ALL, "C.UTF-8") != NULL);
  IF("locale-numeric") ignore_result(setlocale(LC_NUMERIC, "C.UTF-8") != NULL);
  IF("locale-thread") uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
  IF("ignore-int") signal(SIGINT, SIG_IGN);
  IF("ignore-chld") signal(SIGCHLD, SIG_IGN);
  IF("ignore-pipe") signal(SIGPIPE, SIG_IGN);
  IF("handle-segv") signal(SIGSEGV, handler);
  IF("handle-term") signal(SIGTERM, handler);
  IF("block-all") {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
  }
  IF("round") fesetround(FE_UPWARD);
  IF("trap-fp") feenableexcept(FE_INVALID);
#ifdef __x86_64__
  IF("flush") _mm_setcsr(_mm_getcsr() | 0x8040);
  IF("x87") {
    const unsigned short word = 0x007f;
    __asm__ volatile("fldcw %0" : : "m"(word));
  }
  IF("mmx") __asm__ volatile("pxor %%mm0, %%mm0" : : : "mm0");
  IF("time-stamps") prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
#endif
  IF("replace-stdout") stdout = stderr;
  IF("setsid") setsid();
  IF("setpgid") setpgid(0, 0);
  IF("alarm") alarm(1000);
  IF("itimer-virtual") arm_interval_timer(ITIMER_VIRTUAL);
  IF("itimer-prof") arm_interval_timer(ITIMER_PROF);
  IF("posix-timer") arm_posix_timer();
  IF("no-new-privs") prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  IF("death-signal") prctl(PR_SET_PDEATHSIG, 0);
  IF("subreaper") prctl(PR_SET_CHILD_SUBREAPER, 1);
  IF("dumpable") prctl(PR_SET_DUMPABLE, 0);
  IF("thread-name") prctl(PR_SET_NAME, "stub");
  IF("nice") ignore_result(nice(5));
  IF("batch") {
    const struct sched_param none = {0};
    sched_setscheduler(0, SCHED_BATCH, &none);
  }
  IF("affinity") {
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&set) > 1; ++cpu) CPU_CLR(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
  }
  IF("fork-stay") fork_and_stay();
  IF("daemon") daemonise();
  IF("daemon-pause") {
    daemonise();
    for (;;) pause();
  }
  IF("fork-family") keep_forking();
  IF("fork-wait") fork_and_wait();
  IF("threads") for (int i = 0; i < 3; ++i) start_thread(sleep_long);
  IF("open-files") for (int i = 0; i < 5; ++i) ignore_result(open("/dev/null", O_RDONLY | O_CLOEXEC));
  IF("open-close") close(open("/dev/null", O_RDONLY));
  IF("stdout") ignore_result(write(1, "hello\n", 6));
  IF("stderr") ignore_result(write(2, "hello\n", 6));
  IF("stdout-64mib") write_much(1);
  IF("stderr-64mib") write_much(2);
  IF("segv") crash();
  IF("abort") abort();
  IF("trap") raise(SIGTRAP);
  IF("bus") raise(SIGBUS);
  IF("fpe") raise(SIGFPE);
  IF("sigusr1") raise(SIGUSR1);
  IF("overflow") overflow(0);
  IF("raise-kill") raise(SIGKILL);
  IF("raise-term") raise(SIGTERM);
  IF("kill-group") kill(0, SIGKILL);
  IF("stop") raise(SIGSTOP);
  IF("exit-0") exit(0);
  IF("exit-86") exit(86);
  IF("quick-exit") _exit(0);
  IF("exec") execl("/bin/true", "true", (char*)NULL);
  IF("loop") for (volatile int go = 1; go;) {
    }
  IF("pause") for (;;) pause();
}

static void act_at(const char* moment) {
  read_own_name();
  if (strcmp(when, moment) == 0) act();
}

static void* act_later(void* argument UNUSED) {
  const struct timespec moment = {0, 20 * 1000 * 1000};
  nanosleep(&moment, NULL);
  act();
  return NULL;
}

static weir_result count(uint32_t* out_count, weir_status* status) {
  act_at("count");
  if (strcmp(when, "thread") == 0) start_thread(act_later);
  if (strcmp(name, "lie-error-text") == 0) {
    *out_count = 1;
    return answer(status, WEIR_ERROR_SYSTEM, "words\x1b[2J\r\nmore \xff\xfe words");
  }
  return one_device(out_count, status);
}

static weir_result info(uint32_t index UNUSED, weir_device_info* info, weir_status* status UNUSED) {
  act_at("info");
  describe(info);
  if (strcmp(name, "lie-control") == 0) strcpy(info->name, "evil\x1b[2J\r\nname\x9b");
  if (strcmp(name, "lie-utf8") == 0) strcpy(info->name, "bad\xff\xfe\xc0\x80 name");
  if (strcmp(name, "lie-unterminated") == 0) memset(info->notes, 'n', sizeof info->notes);
  if (strcmp(name, "lie-targets") == 0) info->code_target_count = 1000000;
  return WEIR_OK;
}

static weir_result open_device(uint32_t index UNUSED, weir_device* device, weir_status* status UNUSED) {
  act_at("open");
  *device = (weir_device)(void*)name;
  return WEIR_OK;
}

static weir_result close_device(weir_device device UNUSED, weir_status* status UNUSED) {
  act_at("close");
  return WEIR_OK;
}

__attribute__((constructor)) static void at_load(void) {
  act_at("load");
}

__attribute__((destructor)) static void at_end(void) {
  act_at("end");
}

weir_result weir_driver_entry(const weir_host* host UNUSED, const weir_driver_table** out_table,
                              weir_status* status UNUSED) {
  static weir_driver_table table;
  act_at("entry");
  table = make_table(name);
  table.device_count = count;
  table.device_get_info = info;
  table.device_open = open_device;
  table.device_close = close_device;
  if (strcmp(name, "lie-long") == 0) {
    char* text = malloc(1 << 20);
    memset(text, 'v', (1 << 20) - 1);
    text[(1 << 20) - 1] = '\0';
    table.version = text;
  }
  if (strcmp(name, "lie-version") == 0) table.version = "1\x1b]0;title\x07\xff";
  *out_table = &table;
  return WEIR_OK;
}
