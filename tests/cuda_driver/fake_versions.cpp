// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress of the fake libcuda. A function exists from the version of CUDA that introduced it. Of two
// forms of a function, it returns the newest one up to the requested version. Libraries before CUDA 11.3 do
// not have cuGetProcAddress: the second fake library leaves this file out.
#include <dlfcn.h>

#include "fake_runtime.hpp"

namespace {

struct Form {
  const char* name;
  int since;
  const char* symbol;
};

// Functions that were added later, or that have several forms. All others exist in every version of the fake.
constexpr Form forms[] = {
    {"cuDeviceGetUuid", 9020, "cuDeviceGetUuid"},
    {"cuDeviceGetUuid", 11040, "cuDeviceGetUuid_v2"},
    {"cuGraphAddKernelNode", 10000, "cuGraphAddKernelNode"},
    {"cuGraphAddKernelNode", 12000, "cuGraphAddKernelNode_v2"},
    {"cuGraphExecKernelNodeSetParams", 10010, "cuGraphExecKernelNodeSetParams"},
    {"cuGraphExecKernelNodeSetParams", 12000, "cuGraphExecKernelNodeSetParams_v2"},
    {"cuGraphInstantiateWithFlags", 11040, "cuGraphInstantiateWithFlags"},
    {"cuFuncLoad", 12040, "cuFuncLoad"},
    {"cuLaunchKernelEx", 11060, "cuLaunchKernelEx"},
    {"cuFuncGetParamInfo", 12040, "cuFuncGetParamInfo"},
    {"cuMemPoolCreate", 11020, "cuMemPoolCreate"},
};

/// A symbol of this library, found without the system loader's scope.
void* own_symbol(const std::string& symbol) {
  static void* const self = [] {
    Dl_info info{};
    dladdr(const_cast<Form*>(forms), &info);
    return dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  }();
  return dlsym(self, symbol.c_str());
}

int find(const char* name, void** out, int wanted) {
  auto& runtime = fake_cuda::Runtime::get();
  runtime.record_lookup(name);
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
