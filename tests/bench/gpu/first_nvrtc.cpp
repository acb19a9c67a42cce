// SPDX-License-Identifier: Apache-2.0
// The peer of weir-bench-first-result: the same kernel as source text, compiled with NVRTC and run with the
// driver API. With a file as argument, it reads the machine code from there, or writes it if there is no file.
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda_api.hpp"

namespace {

using namespace weir::bench::gpu;

constexpr const char* source = R"(
extern "C" __global__ void scale(float* x, float factor, long n) {
  const long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * factor + 1.0f;
}
)";

void* open_nvrtc() {
  for (const char* name :
       {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so"})
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  throw std::runtime_error(std::string("no NVRTC: ") + dlerror());
}

/// Compiles to machine code for the current device, which saves the driver's compilation.
std::string compile() {
  void* library = open_nvrtc();
  const auto find = [library](const char* name) {
    void* found = dlsym(library, name);
    if (!found) throw std::runtime_error(std::string("NVRTC has no ") + name);
    return found;
  };
  using Program = void*;
  const auto create = reinterpret_cast<int (*)(Program*, const char*, const char*, int, const char* const*,
                                               const char* const*)>(find("nvrtcCreateProgram"));
  const auto compile =
      reinterpret_cast<int (*)(Program, int, const char* const*)>(find("nvrtcCompileProgram"));
  const auto size_of = reinterpret_cast<int (*)(Program, std::size_t*)>(find("nvrtcGetCUBINSize"));
  const auto get = reinterpret_cast<int (*)(Program, char*)>(find("nvrtcGetCUBIN"));
  int major = 0, minor = 0;
  const auto attribute = reinterpret_cast<int (*)(int*, int, int)>(
      dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuDeviceGetAttribute"));
  check(attribute(&major, 75, cuda().device), "cuDeviceGetAttribute");
  check(attribute(&minor, 76, cuda().device), "cuDeviceGetAttribute");
  const std::string architecture = "-arch=sm_" + std::to_string(major * 10 + minor);
  const char* const options[] = {architecture.c_str()};
  Program program = nullptr;
  std::size_t size = 0;
  if (create(&program, source, "scale.cu", 0, nullptr, nullptr) || compile(program, 1, options) ||
      size_of(program, &size))
    throw std::runtime_error("NVRTC does not compile the kernel for " + architecture);
  std::string code(size, '\0');
  if (get(program, code.data())) throw std::runtime_error("NVRTC gives no machine code");
  return code;
}

/// The machine code in `file`, or compiled and written there.
std::string code_in(const char* file) {
  if (std::ifstream in(file, std::ios::binary); in)
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  std::string code = compile();
  std::ofstream(file, std::ios::binary) << code;
  return code;
}

}  // namespace

int main(int count_of_words, char** words) try {
  using Clock = std::chrono::steady_clock;
  constexpr long n = 1000;
  const Cuda& api = cuda();
  CUstream stream = make_stream();
  CUdeviceptr x = 0;
  std::vector<float> values(n, 2.0f);
  check(api.MemAlloc(&x, n * sizeof(float)), "cuMemAlloc");
  check(api.MemcpyHtoD(x, values.data(), n * sizeof(float)), "cuMemcpyHtoD");
  const auto ready = Clock::now();
  CUfunction scale = load(count_of_words > 1 ? code_in(words[1]) : compile(), "scale");
  float factor = 3.0f;
  long count = n;
  void* arguments[] = {&x, &factor, &count};
  check(api.LaunchKernel(scale, (n + 255) / 256, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr),
        "cuLaunchKernel");
  check(api.StreamSynchronize(stream), "cuStreamSynchronize");
  check(api.MemcpyDtoH(values.data(), x, n * sizeof(float)), "cuMemcpyDtoH");
  if (values[999] != 7.0f) {
    std::fprintf(stderr, "expected 7, found %g\n", static_cast<double>(values[999]));
    return 1;
  }
  std::printf("%.9f\n", std::chrono::duration<double>(Clock::now() - ready).count());
} catch (const std::exception& error) {
  std::fprintf(stderr, "weir-bench-first-nvrtc: %s\n", error.what());
  return 1;
}
