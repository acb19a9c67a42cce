// SPDX-License-Identifier: Apache-2.0
// A compiler built on Weir. It turns lines such as "c = a + b" into code objects with the system's C compiler
// and passes a task list to Weir; lines between braces run at the same time. Weir provides devices, streams,
// regions and memory, and needs no knowledge of the language.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>
#include <weir/weir.hpp>

using namespace weir;

// The build defines the compiler and the folder of <weir/sdk/cpu_kernel.h>; otherwise the system's are used.
#ifndef C_COMPILER
#define C_COMPILER "cc"
#endif
#ifndef WEIR_INCLUDE
#define WEIR_INCLUDE "/usr/include"
#endif

constexpr std::uint32_t blocks = 64;  // number of blocks of each task

// A C function for one line, over all arrays of the program.
static std::string function_for(const std::string& name, const std::string& line, const std::string& arrays) {
  std::ostringstream c;
  c << "__attribute__((visibility(\"default\"))) void " << name
    << "(const void *args, const weir_cpu_run *run) {\n"
    << "  struct { float *array[" << arrays.size() << "]; int64_t n; } const *p = args;\n"
    << "  int64_t first = p->n * run->first_block / " << blocks << ", end = p->n * run->end_block / "
    << blocks << ";\n"
    << "  for (int64_t i = first; i < end; ++i) ";
  for (const char letter : line) {
    const std::size_t index = arrays.find(letter);
    index == std::string::npos ? c << letter : c << "p->array[" << index << "][i]";
  }
  c << ";\n}\n";
  return c.str();
}

static std::vector<char> compile_c(const std::string& source, const std::string& path) {
  std::ofstream(path + ".c") << source;
  const std::string command =
      C_COMPILER " -O2 -shared -fPIC -I" WEIR_INCLUDE " -o " + path + ".so " + path + ".c";
  if (std::system(command.c_str()) != 0) throw Error(ErrorCode::compile, "the C compiler failed: " + command);
  std::ifstream file(path + ".so", std::ios::binary);
  std::vector<char> code{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  for (const char* suffix : {".c", ".so"}) std::remove((path + suffix).c_str());
  return code;
}

int main() try {
  // a, then b; c and d at the same time; e when both are done.
  const std::string arrays = "abcde";
  const char* const program[] = {"a = 1", "b = 2", "{", "c = a + b", "d = a - b", "}", "e = c * d + 10"};

  // The front end: source text, and the stream block of each function.
  std::string source = "#include <weir/sdk/cpu_kernel.h>\n";
  std::vector<TaskPlace> places;
  std::int32_t region = -1, block = TaskPlace::none;
  for (const std::string line : program) {
    if (line == "{") {
      ++region, block = 0;
    } else if (line == "}") {
      block = TaskPlace::none;
    } else {
      source += function_for("task" + std::to_string(places.size()), line, arrays);
      places.push_back(block == TaskPlace::none ? TaskPlace{} : TaskPlace{region, block++});
    }
  }

  // The back end: one code object and one task list, which can be launched any number of times.
  Device device = open("cpu");
  const std::vector<char> code = compile_c(source, "foreign_task_list_code");
  Module module = device.load_module({.format = "elf-x86_64",
                                      .target = "x86-64",
                                      .data = std::as_bytes(std::span(code)),
                                      .name = "foreign"});

  constexpr std::int64_t n = 100'000;
  Stream stream = device.create_stream();
  std::vector<Array<float>> storage;
  std::vector<KernelArgument> arguments;
  std::vector<KernelParameter> parameters(arrays.size(), KernelParameter::array());
  for (std::size_t i = 0; i < arrays.size(); ++i) storage.push_back(device.array<float>(stream, n));
  for (const Array<float>& array : storage) arguments.emplace_back(array);
  arguments.emplace_back(n);
  parameters.push_back(KernelParameter::of<std::int64_t>());

  TaskList tasks(device);
  for (std::size_t t = 0; t < places.size(); ++t)
    tasks.add(module.kernel("task" + std::to_string(t), parameters), {.grid = blocks, .block = 1}, arguments,
              places[t]);
  for (int launch = 0; launch < 3; ++launch) tasks.launch(stream);

  for (float e : storage[arrays.find('e')].to_host(stream)) {
    if (e != 7.0f) {  // (1 + 2) * (1 - 2) + 10
      std::fprintf(stderr, "foreign_task_list: e is %g, expected 7\n", e);
      return 1;
    }
  }
  std::printf("foreign_task_list: %zu tasks are correct\n", tasks.size());
} catch (const Error& error) {
  std::fprintf(stderr, "foreign_task_list: %s\n", error.what());
  return 1;
}
