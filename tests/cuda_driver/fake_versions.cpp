// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress of the fake libcuda. A version of CUDA has what that version brought; of two forms of a
// function the newest that the asker wants is given. Libraries of before CUDA 11.3 do not have it: the second
// fake library, which leaves this file out.
#include <dlfcn.h>

#include "fake_runtime.hpp"

namespace {

struct Form {
  const char* name;
  int since;
  const char* symbol;
};

// Those functions that came late, or in several forms; all others are as old as the fake is.
constexpr Form forms[] = {
    {"cuDeviceGetUuid", 9020, "cuDeviceGetUuid"},
    {"cuDeviceGetUuid", 11040, "cuDeviceGetUuid_v2"},
    {"cuGraphAddKernelNode", 10000, "cuGraphAddKernelNode"},
    {"cuGraphAddKernelNode", 12000, "cuGraphAddKernelNode_v2"},
    {"cuGraphExecKernelNodeSetParams", 10010, "cuGraphExecKernelNodeSetParams"},
    {"cuGraphExecKernelNodeSetParams", 12000, "cuGraphExecKernelNodeSetParams_v2"},
    {"cuGraphInstantiateWithFlags", 11040, "cuGraphInstantiateWithFlags"},
    {"cuFuncLoad", 12040, "cuFuncLoad"},
    {"cuFuncGetParamInfo", 12040, "cuFuncGetParamInfo"},
    {"cuMemPoolCreate", 11020, "cuMemPoolCreate"},
};

/// The library's own symbols, which nobody else can see.
void* own_symbol(const std::string& symbol) {
  static void* const self = [] {
    Dl_info info{};
    dladdr(const_cast<Form*>(forms), &info);
    return dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  }();
  return dlsym(self, symbol.c_str());
}

int find(const char* name, void** out, int wanted) {
  const auto& runtime = fake_cuda::Runtime::get();
  *out = nullptr;
  if (runtime.missing.find("," + std::string(name) + ",") != std::string::npos) return 500;
  bool listed = false;
  for (const Form& form : forms)
    if (std::strcmp(form.name, name) == 0) {
      listed = true;
      if (form.since <= wanted && form.since <= runtime.version) *out = own_symbol(form.symbol);
    }
  for (const char* suffix : {"_v2", ""})
    if (!listed && !*out) *out = own_symbol(name + std::string(suffix));
  return *out ? 0 : 500;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int cuGetProcAddress_v2(const char* name, void** out,
                                                                          int version, std::uint64_t,
                                                                          int* found) {
  const int code = find(name, out, version);
  *found = code == 0 ? 0 : 1;
  return code;
}
