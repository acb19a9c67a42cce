/* SPDX-License-Identifier: Apache-2.0
 *
 * The smallest driver that runs kernels. Its one device is the machine's processor, and streams execute work
 * immediately. It fills every required slot of the table and offers one capability. sdk/docs/driver-abi.md
 * explains it step by step. The library Weir::checks checks the arguments. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fenv.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <weir/driver.h>
#include <weir/sdk/checks.h>
#include <weir/sdk/cpu_kernel.h>

enum { alignment = 64, max_argument_bytes = 4096, max_shared_bytes = 64 * 1024 };

/* -- objects, to which the handles point -- */

struct weir_device_t {
  int unused; /* there is nothing to open */
};
struct weir_stream_t {
  pthread_mutex_t busy; /* held while work runs, so that work from several threads runs one after the other */
  pid_t process;        /* that created the stream: in its children, a thread that is gone may hold `busy` */
};
struct weir_event_t {
  int unused; /* all work is done by the time an event is recorded */
};
struct weir_allocation_t {
  uint64_t size;
  unsigned char* bytes;
};
struct weir_kernel_t {
  weir_cpu_kernel function;
  uint32_t argument_bytes; /* of the layout: the driver uses nothing else of it */
  char name[128];          /* for messages */
  struct weir_kernel_t* next;
};
struct weir_module_t {
  void* library;
  int file;                /* stays open: the dynamic linker identifies libraries by inode number */
  pthread_mutex_t looking; /* guards the list */
  struct weir_kernel_t* kernels;
};

static struct weir_device_t the_device;

/* -- results -- */

static weir_result out_of_memory(weir_status* status) {
  return weir_fail(status, WEIR_ERROR_OUT_OF_MEMORY, "the host has no memory left");
}

static weir_result check_index(uint32_t index, weir_status* status) {
  if (index != 0)
    return weir_fail(status, WEIR_ERROR_INVALID, "the device index is not 0; there is one device");
  return WEIR_OK;
}

/* -- devices -- */

static weir_result device_count(uint32_t* out_count, weir_status* status) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    return weir_fail(status, WEIR_ERROR_NO_DEVICE,
                     "this processor is older than x86-64-v3, for which kernels are compiled");
  *out_count = 1;
  return WEIR_OK;
}

static weir_result device_open(uint32_t index, weir_device* out_device, weir_status* status) {
  const weir_result result = check_index(index, status);
  if (result != WEIR_OK) return result;
  *out_device = &the_device;
  return WEIR_OK;
}

static weir_result device_close(weir_device device, weir_status* status) {
  (void)device, (void)status;
  return WEIR_OK;
}

static uint64_t bytes_of(int pages) {
  return (uint64_t)sysconf(pages) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Without the sizes of memory, which change. The checks of layouts and launches read the limits. */
static const weir_device_info device_info = {.kind = WEIR_DEVICE_CPU,
                                             .name = "The processor, one block at a time",
                                             .vendor = "Weir's examples",
                                             .capabilities = WEIR_CAP_DEVICE_ADDRESS,
                                             .argument_style = WEIR_ARGUMENT_ADDRESS,
                                             .code_target_count = 1,
                                             .code_targets = {{"elf-x86_64", "x86-64-v3"}},
                                             .multiprocessors = 1,
                                             .lanes = 1,
                                             .max_block_threads = 1,
                                             .max_block = {1, 1, 1},
                                             .max_grid = {INT32_MAX, UINT16_MAX, UINT16_MAX},
                                             .max_shared_bytes = max_shared_bytes,
                                             .max_argument_bytes = max_argument_bytes,
                                             .memory_alignment = alignment,
                                             .recommended_streams = 1};

static weir_result device_get_info(uint32_t index, weir_device_info* info, weir_status* status) {
  const weir_result result = check_index(index, status);
  if (result != WEIR_OK) return result;
  weir_device_info mine = device_info;
  mine.total_memory = bytes_of(_SC_PHYS_PAGES);
  return weir_write_struct(info, &mine, sizeof mine, "info", status);
}

static weir_result device_get_memory(weir_device device, uint64_t* out_free, uint64_t* out_total,
                                     weir_status* status) {
  (void)device, (void)status;
  *out_free = bytes_of(_SC_AVPHYS_PAGES);
  *out_total = bytes_of(_SC_PHYS_PAGES);
  return WEIR_OK;
}

/* -- streams and events -- */

static weir_result check_process(weir_stream stream, weir_status* status) {
  if (getpid() == stream->process) return WEIR_OK;
  return weir_fail(status, WEIR_ERROR_SYSTEM, "the stream belongs to the parent of this process");
}

/* Work of a stream runs between these. */
static weir_result begin_work(weir_stream stream, weir_status* status) {
  const weir_result result = check_process(stream, status);
  if (result == WEIR_OK) pthread_mutex_lock(&stream->busy);
  return result;
}

static weir_result end_work(weir_stream stream) {
  pthread_mutex_unlock(&stream->busy);
  return WEIR_OK;
}

static weir_result stream_create(weir_device device, const weir_stream_options* options,
                                 weir_stream* out_stream, weir_status* status) {
  (void)device, (void)options;
  weir_stream stream = malloc(sizeof *stream);
  if (!stream) return out_of_memory(status);
  pthread_mutex_init(&stream->busy, NULL);
  stream->process = getpid();
  *out_stream = stream;
  return WEIR_OK;
}

static weir_result stream_destroy(weir_stream stream, weir_status* status) {
  (void)status;
  pthread_mutex_destroy(&stream->busy);
  free(stream);
  return WEIR_OK;
}

static weir_result stream_flush(weir_stream stream, weir_status* status) {
  (void)stream, (void)status;
  return WEIR_OK; /* nothing is ever kept back */
}

static weir_result stream_query(weir_stream stream, weir_status* status) {
  const weir_result result = check_process(stream, status);
  if (result != WEIR_OK) return result;
  if (pthread_mutex_trylock(&stream->busy) != 0) return WEIR_NOT_READY; /* another thread's work is running */
  return end_work(stream);
}

static weir_result stream_synchronize(weir_stream stream, weir_status* status) {
  const weir_result result = begin_work(stream, status);
  return result == WEIR_OK ? end_work(stream) : result;
}

static weir_result stream_wait_event(weir_stream stream, weir_event event, weir_status* status) {
  (void)stream, (void)event, (void)status;
  return WEIR_OK; /* the mark was reached when it was recorded */
}

static weir_result event_create(weir_device device, uint32_t flags, weir_event* out_event,
                                weir_status* status) {
  (void)device;
  if (flags != WEIR_EVENT_PLAIN)
    return weir_fail(status, WEIR_ERROR_UNSUPPORTED, "this driver has no timed events");
  weir_event event = malloc(sizeof *event);
  if (!event) return out_of_memory(status);
  *out_event = event;
  return WEIR_OK;
}

static weir_result event_destroy(weir_event event, weir_status* status) {
  (void)status;
  free(event);
  return WEIR_OK;
}

static weir_result event_record(weir_event event, weir_stream stream, weir_status* status) {
  (void)event;
  return stream_synchronize(stream,
                            status); /* lets work that another thread has just submitted come to its end */
}

static weir_result event_reached(weir_event event, weir_status* status) {
  (void)event, (void)status;
  return WEIR_OK;
}

/* -- memory, copies, fills -- */

static weir_result memory_allocate(weir_device device, const weir_memory_options* asked,
                                   weir_allocation* out_allocation, weir_status* status) {
  (void)device;
  weir_memory_options options;
  const weir_result result = weir_check_memory_options(asked, 0 /* no pinned memory */, &options, status);
  if (result != WEIR_OK) return result;
  if (options.alignment > alignment)
    return weir_fail(status, WEIR_ERROR_UNSUPPORTED,
                     "options.alignment is above 64, the most that this driver has");
  weir_allocation allocation = malloc(sizeof *allocation);
  unsigned char* bytes = aligned_alloc(alignment, (options.size + alignment - 1) / alignment * alignment);
  if (!allocation || !bytes) {
    free(allocation);
    free(bytes);
    return out_of_memory(status);
  }
  *allocation = (struct weir_allocation_t){options.size, bytes};
  *out_allocation = allocation;
  return WEIR_OK;
}

static weir_result memory_free(weir_allocation allocation, weir_status* status) {
  (void)status;
  free(allocation->bytes);
  free(allocation);
  return WEIR_OK;
}

static weir_result memory_get_info(weir_allocation allocation, weir_memory_info* info, weir_status* status) {
  const weir_memory_info mine = {.kind = WEIR_MEMORY_DEVICE,
                                 .size = allocation->size,
                                 .device_address = (uint64_t)(uintptr_t)allocation->bytes,
                                 .host_pointer = allocation->bytes};
  return weir_write_struct(info, &mine, sizeof mine, "info", status);
}

static weir_result copy(weir_stream stream, void* to, const void* from, uint64_t size, weir_status* status) {
  if (size == 0) return WEIR_OK;
  const weir_result result = begin_work(stream, status);
  if (result != WEIR_OK) return result;
  memcpy(to, from, size);
  return end_work(stream);
}

static weir_result copy_to_device(weir_stream stream, weir_allocation destination, uint64_t offset,
                                  const void* source, uint64_t size, weir_status* status) {
  const weir_result result = weir_check_range(destination->size, offset, size, "destination", status);
  if (result != WEIR_OK) return result;
  return copy(stream, destination->bytes + offset, source, size, status);
}

static weir_result copy_to_host(weir_stream stream, void* destination, weir_allocation source,
                                uint64_t offset, uint64_t size, weir_status* status) {
  const weir_result result = weir_check_range(source->size, offset, size, "source", status);
  if (result != WEIR_OK) return result;
  return copy(stream, destination, source->bytes + offset, size, status);
}

static weir_result copy_on_device(weir_stream stream, weir_allocation destination,
                                  uint64_t destination_offset, weir_allocation source, uint64_t source_offset,
                                  uint64_t size, weir_status* status) {
  weir_result result = weir_check_range(destination->size, destination_offset, size, "destination", status);
  if (result == WEIR_OK) result = weir_check_range(source->size, source_offset, size, "source", status);
  if (result == WEIR_OK && destination == source)
    result = weir_check_apart(destination_offset, source_offset, size, status);
  if (result != WEIR_OK) return result;
  return copy(stream, destination->bytes + destination_offset, source->bytes + source_offset, size, status);
}

static weir_result fill(weir_stream stream, weir_allocation destination, uint64_t offset, uint64_t size,
                        const void* pattern, uint32_t pattern_size, weir_status* status) {
  weir_result result = weir_check_pattern(offset, size, pattern, pattern_size, status);
  if (result == WEIR_OK) result = weir_check_range(destination->size, offset, size, "destination", status);
  if (result == WEIR_OK) result = begin_work(stream, status);
  if (result != WEIR_OK) return result;
  for (uint64_t at = 0; at < size; at += pattern_size)
    memcpy(destination->bytes + offset + at, pattern, pattern_size);
  return end_work(stream);
}

/* -- code -- */

static weir_result module_load(weir_device device, const weir_code_object* object, weir_module* out_module,
                               weir_status* status) {
  (void)device;
  weir_code_object code;
  const weir_result result = weir_check_code_object(object, &code, status);
  if (result != WEIR_OK) return result;
  const char* target = code.target;
  if (strcmp(code.format, "elf-x86_64") != 0 ||
      (strcmp(target, "x86-64") != 0 && strcmp(target, "x86-64-v2") != 0 && strcmp(target, "x86-64-v3") != 0)) {
    char message[2 * WEIR_STATUS_MESSAGE_BYTES]; /* weir_fail cuts it */
    snprintf(message, sizeof message,
             "the code object is %s for '%s'; expected elf-x86_64 for x86-64, x86-64-v2 or x86-64-v3",
             code.format, target);
    return weir_fail(status, WEIR_ERROR_CODE_OBJECT, message);
  }
  const int file = memfd_create("weir-minimal", MFD_CLOEXEC);
  if (file < 0) return weir_fail(status, WEIR_ERROR_SYSTEM, "memfd_create failed");
  void* library = NULL;
  if (write(file, code.data, code.size) == (ssize_t)code.size) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }
  weir_module module = library ? malloc(sizeof *module) : NULL;
  if (!module) {
    const char* why = library ? "the host has no memory left" : dlerror();
    weir_fail(status, WEIR_ERROR_CODE_OBJECT, why ? why : "the code object is truncated");
    if (library) dlclose(library);
    close(file);
    return WEIR_ERROR_CODE_OBJECT;
  }
  *module = (struct weir_module_t){.library = library, .file = file};
  pthread_mutex_init(&module->looking, NULL);
  *out_module = module;
  return WEIR_OK;
}

static weir_result module_unload(weir_module module, weir_status* status) {
  (void)status;
  for (struct weir_kernel_t *kernel = module->kernels, *next; kernel; kernel = next) {
    next = kernel->next;
    free(kernel);
  }
  pthread_mutex_destroy(&module->looking);
  dlclose(module->library);
  close(module->file);
  free(module);
  return WEIR_OK;
}

static weir_result module_get_kernel(weir_module module, const char* name, const weir_kernel_layout* asked,
                                     weir_kernel* out_kernel, weir_status* status) {
  void* symbol = dlsym(module->library, name);
  if (!symbol) return weir_fail(status, WEIR_ERROR_NOT_FOUND, dlerror());
  weir_kernel_layout layout;
  weir_result result = weir_check_layout(asked, &device_info, name, &layout, status);
  if (result != WEIR_OK) return result;
  weir_cpu_kernel function;
  memcpy(&function, &symbol, sizeof function);
  pthread_mutex_lock(&module->looking);
  struct weir_kernel_t* kernel = module->kernels;
  while (kernel && (kernel->function != function || kernel->argument_bytes != layout.argument_bytes))
    kernel = kernel->next;
  if (!kernel && (kernel = malloc(sizeof *kernel))) {
    *kernel = (struct weir_kernel_t){
        .function = function, .argument_bytes = layout.argument_bytes, .next = module->kernels};
    snprintf(kernel->name, sizeof kernel->name, "%s", name);
    module->kernels = kernel;
  }
  if (kernel)
    *out_kernel = kernel;
  else
    result = out_of_memory(status);
  pthread_mutex_unlock(&module->looking);
  return result;
}

static const weir_kernel_info kernel_info = {.max_block_threads = 1, .lanes = 1};

static weir_result kernel_get_info(weir_kernel kernel, weir_kernel_info* info, weir_status* status) {
  (void)kernel;
  return weir_write_struct(info, &kernel_info, sizeof kernel_info, "info", status);
}

static weir_result kernel_launch(weir_stream stream, const weir_launch* asked, weir_status* status) {
  weir_launch launch;
  const weir_result result = weir_check_launch(asked, &device_info, &kernel_info, asked->kernel->name,
                                               asked->kernel->argument_bytes, &launch, status);
  if (result != WEIR_OK) return result;

  _Alignas(16) unsigned char arguments[max_argument_bytes];
  memcpy(arguments, launch.arguments, launch.argument_bytes);
  _Alignas(64) unsigned char shared[max_shared_bytes];
  weir_cpu_run run = {.struct_size = sizeof run,
                      .block = {1, 1, 1},
                      .shared_bytes = launch.dynamic_shared_bytes,
                      .end_block = (uint64_t)launch.grid[0] * launch.grid[1] * launch.grid[2],
                      .shared = launch.dynamic_shared_bytes ? shared : NULL};
  memcpy(run.grid, launch.grid, sizeof run.grid);

  const weir_result ready = begin_work(stream, status);
  if (ready != WEIR_OK) return ready;
  fenv_t environment; /* of this thread, which may be another one than kernels need */
  fegetenv(&environment);
  fesetenv(FE_DFL_ENV);
  launch.kernel->function(arguments, &run); /* all blocks in one run */
  fesetenv(&environment);
  return end_work(stream);
}

/* -- the table and the entry point -- */

static const weir_driver_table table = {
    .struct_size = sizeof table,
    .abi_version = WEIR_ABI_VERSION(1, 0),
    .name = "minimal",
    .version = "1.0",
    .vendor = "Weir's examples",
    .device_count = device_count,
    .device_open = device_open,
    .device_close = device_close,
    .device_get_info = device_get_info,
    .device_get_memory = device_get_memory,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_flush = stream_flush,
    .stream_query = stream_query,
    .stream_synchronize = stream_synchronize,
    .stream_wait_event = stream_wait_event,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_query = event_reached,
    .event_synchronize = event_reached,
    .memory_allocate = memory_allocate,
    .memory_free = memory_free,
    .memory_get_info = memory_get_info,
    .copy_to_device = copy_to_device,
    .copy_to_host = copy_to_host,
    .copy_on_device = copy_on_device,
    .fill = fill,
    .module_load = module_load,
    .module_unload = module_unload,
    .module_get_kernel = module_get_kernel,
    .kernel_get_info = kernel_get_info,
    .kernel_launch = kernel_launch,
};

weir_result weir_driver_entry(const weir_host* host, const weir_driver_table** out_table,
                              weir_status* status) {
  if (host->abi_min > table.abi_version || host->abi_max < table.abi_version)
    return weir_fail(status, WEIR_ERROR_ABI, "this driver supports ABI 1.0 only");
  *out_table = &table;
  return WEIR_OK;
}
