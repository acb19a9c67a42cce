// SPDX-License-Identifier: Apache-2.0
// Compilation of PTX to a cubin, without loading it.
#include "fake.hpp"

namespace cuda_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string two_kernels = ".visible .entry add_1(.param .u64 x) {}\n.entry add_0() {}";

/// What a receiver got.
struct Compiled {
  int calls = 0;
  std::string format, target, name, bytes;

  static void take(void* user, const weir_code_object* code) {
    Compiled& out = *static_cast<Compiled*>(user);
    out = {out.calls + 1, code->format, code->target, code->name,
           std::string(static_cast<const char*>(code->data), code->size)};
  }
};

weir_code_object ptx_of(const std::string& text, const char* target = "sm_70") {
  return {sizeof(weir_code_object), "ptx", target, text.data(), text.size(), "k"};
}
weir_code_object ptx_of(std::string&& text, const char* target = "sm_70") = delete;  // which refers to `text`

Compiled compile(weir_device device, const weir_code_object& object) {
  Compiled out;
  call(table().code_compile, device, &object, weir_code_receiver{Compiled::take}, static_cast<void*>(&out));
  return out;
}

weir_status compile_refused(weir_result code, weir_device device, const weir_code_object& object) {
  Compiled out;
  const weir_status status = refused(code, table().code_compile, device, &object,
                                     weir_code_receiver{Compiled::take}, static_cast<void*>(&out));
  EXPECT_EQ(out.calls, 0);
  return status;
}

TEST_F(Fake, CompiledCodeIsLoadedInPlaceOfThePtx) {
  const int living = fake().living();
  const Compiled code = compile(device, ptx_of(two_kernels));
  EXPECT_EQ(fake().living(), living) << "the compilation is destroyed";
  EXPECT_TRUE(calls_of("cuModuleLoadDataEx").empty());
  EXPECT_EQ(code.calls, 1);
  EXPECT_EQ(code.format, "cubin");
  EXPECT_EQ(code.target, "sm_90");
  EXPECT_EQ(code.name, "k");
  const weir_code_object cubin{sizeof cubin,      code.format.c_str(), code.target.c_str(),
                               code.bytes.data(), code.bytes.size(),   "k"};
  weir_module module = nullptr;
  call(table().module_load, device, &cubin, &module);
  EXPECT_NE(find(module, "add_1", 8), nullptr);
  EXPECT_THAT(calls_of("cuModuleLoadDataEx").at(0).values, ElementsAre(1u));
  call(table().module_unload, module);
}

TEST_F(Fake, PtxIsCompiledWithItsZeroByte) {
  std::string text = two_kernels;
  compile(device, ptx_of(text));
  text.push_back('\0');
  compile(device, ptx_of(text));
  EXPECT_THAT(calls_of("cuLinkAddData_v2").at(0).values, ElementsAre(two_kernels.size() + 1));
  EXPECT_THAT(calls_of("cuLinkAddData_v2").at(1).values, ElementsAre(two_kernels.size() + 1));
}

TEST_F(Fake, CodeOfOneArchitectureKeepsItsLetter) {
  EXPECT_EQ(compile(device, ptx_of(two_kernels, "sm_90a")).target, "sm_90a");
}

TEST_F(Fake, FailedCompilationHasTheMessageOfAFailedLoad) {
  const int living = fake().living();
  const std::string text = "error";
  const weir_code_object broken = ptx_of(text);
  const weir_status status = compile_refused(WEIR_ERROR_CODE_OBJECT, device, broken);
  weir_module out = nullptr;
  const weir_status of_load = refused(WEIR_ERROR_CODE_OBJECT, table().module_load, device, &broken, &out);
  EXPECT_STREQ(status.message, of_load.message);
  EXPECT_EQ(status.vendor_code, of_load.vendor_code);
  EXPECT_EQ(fake().living(), living);
}

TEST_F(Fake, EachStepOfACompilationMayFail) {
  const int living = fake().living();
  for (const char* step : {"cuLinkCreate_v2", "cuLinkAddData_v2", "cuLinkComplete"}) {
    fake().fail_next(step, 2);
    compile_refused(WEIR_ERROR_OUT_OF_MEMORY, device, ptx_of(two_kernels));
    EXPECT_EQ(fake().living(), living) << step;
  }
}

TEST_F(Fake, CodeThatNeedsNoCompilerOrIsForAnotherDeviceIsNotCompiled) {
  weir_code_object object = ptx_of(two_kernels, "sm_90");
  object.format = "cubin";
  EXPECT_THAT(compile_refused(WEIR_ERROR_UNSUPPORTED, device, object).message,
              AllOf(HasSubstr("'cubin'"), HasSubstr("expected 'ptx'")));
  EXPECT_THAT(compile_refused(WEIR_ERROR_CODE_OBJECT, device, ptx_of(two_kernels, "sm_100")).message,
              HasSubstr("up to sm_90"));
  EXPECT_TRUE(calls_of("cuLinkCreate_v2").empty());
}

// proves R35
TEST_F(Fake, CompilationWithoutAReceiverIsRefused) {
  const weir_code_object object = ptx_of(two_kernels);
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().code_compile, device, &object, weir_code_receiver{},
                      static_cast<void*>(nullptr)),
              HasSubstr("receive is null"));
}

TEST(CudaLibrary, DISABLED_CannotCompile) {
  weir_device device = nullptr;
  call(table().device_open, 0u, &device);
  EXPECT_FALSE(device_info().capabilities & WEIR_CAP_CODE_COMPILE);
  EXPECT_THAT(device_info().notes, HasSubstr("compile code without loading"));
  compile_refused(WEIR_ERROR_UNSUPPORTED, device, ptx_of(two_kernels));
  call(table().module_unload, load(device, two_kernels));
}

TEST(CudaLibrary, WithoutALinkerOnlyCompilationIsMissing) {
  EXPECT_THAT(run_apart("WEIR_CUDA_LIBRARY=" + fake_library() + " FAKE_CUDA_MISSING=cuLinkComplete",
                        "CudaLibrary.DISABLED_CannotCompile"),
              HasSubstr("[  PASSED  ] 1 test"));
}

}  // namespace
}  // namespace cuda_test
