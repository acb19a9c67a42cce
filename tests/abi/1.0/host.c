/* SPDX-License-Identifier: Apache-2.0
 *
 * A host of driver ABI 1.0, as built when 1.0 was the newest: host LIBRARY CODE_OBJECT. It loads the driver,
 * copies memory to its first device and back, launches the kernel `add` of CODE_OBJECT, and prints the
 * results. Its structures have the sizes of 1.0, with guard bytes after them. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/driver.h>

enum { count = 1000, guard = 0x5a };

static weir_status status = {.struct_size = sizeof status};
#define CHECK(call)                                                        \
  do {                                                                     \
    const weir_result result = (call);                                     \
    if (result != WEIR_OK) {                                               \
      printf("%s: result %d, %s\n", #call, (int)result, status.message);   \
      exit(1);                                                             \
    }                                                                      \
  } while (0)
#define EXPECT(condition)                             \
  do {                                                \
    if (!(condition)) {                               \
      printf("expected: %s\n", #condition);           \
      exit(1);                                        \
    }                                                 \
  } while (0)

static struct {
  weir_device_info info;
  unsigned char behind[64];
} described;

static void *read_file(const char *name, uint64_t *size) {
  FILE *file = fopen(name, "rb");
  EXPECT(file);
  void *bytes = malloc(1 << 20);
  *size = fread(bytes, 1, 1 << 20, file);
  fclose(file);
  return bytes;
}

int main(int argument_count, char **arguments) {
  EXPECT(argument_count == 3);
  void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) printf("%s\n", dlerror());
  EXPECT(library);
  weir_driver_entry_function entry;
  *(void **)&entry = dlsym(library, WEIR_DRIVER_ENTRY_NAME);
  EXPECT(entry);
  const weir_host host = {sizeof host, WEIR_ABI_VERSION(1, 0), WEIR_ABI_CURRENT};
  const weir_driver_table *table = NULL;
  CHECK(entry(&host, &table, &status));
  EXPECT(table->abi_version == WEIR_ABI_VERSION(1, 0));
  EXPECT(table->struct_size >= sizeof *table);

  uint32_t devices = 0;
  CHECK(table->device_count(&devices, &status));
  memset(&described, guard, sizeof described);
  described.info.struct_size = sizeof described.info;
  CHECK(table->device_get_info(0, &described.info, &status));
  EXPECT(described.info.struct_size == sizeof described.info);
  for (size_t i = 0; i < sizeof described.behind; ++i) EXPECT(described.behind[i] == guard);
  EXPECT(!(described.info.capabilities >> 9)); /* nothing that 1.0 did not know */

  weir_device device;
  weir_stream stream;
  weir_allocation memory;
  const weir_memory_options options = {sizeof options, WEIR_MEMORY_DEVICE, count * sizeof(int64_t), 0};
  CHECK(table->device_open(0, &device, &status));
  CHECK(table->stream_create(device, NULL, &stream, &status));
  CHECK(table->memory_allocate(device, &options, &memory, &status));
  static int64_t numbers[count], back[count];
  for (int i = 0; i < count; ++i) numbers[i] = 3 * i;
  CHECK(table->copy_to_device(stream, memory, 0, numbers, sizeof numbers, &status));

  weir_code_object object = {sizeof object, "elf-x86_64", "x86-64", NULL, 0, "add"};
  object.data = read_file(arguments[2], &object.size);
  weir_module module;
  CHECK(table->module_load(device, &object, &module, &status));
  weir_memory_info place = {.struct_size = sizeof place};
  CHECK(table->memory_get_info(memory, &place, &status));
  struct {
    uint64_t address;
    int64_t count, summand;
  } block = {place.device_address, count, 7};
  const weir_parameter parameters[] = {
      {0, 8, WEIR_PARAMETER_BUFFER}, {8, 8, WEIR_PARAMETER_VALUE}, {16, 8, WEIR_PARAMETER_VALUE}};
  const weir_kernel_layout layout = {sizeof layout, sizeof block, 3, parameters};
  weir_kernel kernel;
  CHECK(table->module_get_kernel(module, "add", &layout, &kernel, &status));
  const weir_launch launch = {sizeof launch, {8, 1, 1}, {1, 1, 1}, 0, sizeof block, kernel, &block};
  CHECK(table->kernel_launch(stream, &launch, &status));
  CHECK(table->copy_to_host(stream, back, memory, 0, sizeof back, &status));
  CHECK(table->stream_flush(stream, &status));
  CHECK(table->stream_synchronize(stream, &status));
  for (int i = 0; i < count; ++i) EXPECT(back[i] == 3 * i + 7);

  CHECK(table->module_unload(module, &status));
  CHECK(table->memory_free(memory, &status));
  CHECK(table->stream_destroy(stream, &status));
  CHECK(table->device_close(device, &status));
  printf("the driver %s speaks ABI %u.%u: a copy and a launch were right\n", table->name,
         WEIR_ABI_MAJOR(table->abi_version), WEIR_ABI_MINOR(table->abi_version));
  return 0;
}
