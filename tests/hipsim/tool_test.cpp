// SPDX-License-Identifier: Apache-2.0
// Effects of weir-hipsim on files.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "compile.hpp"
#include "kernels.hpp"
#include "tool/commands.hpp"

namespace weir::hipsim::tool {
namespace {

std::string temporary(const char* name) {
  return testing::TempDir() + name;
}

TEST(Hide, HiddenFunctionsAreNotFoundAndOthersAre) {
  const std::string copy = temporary("hipsim-hidden.so");
  ASSERT_EQ(0, hide_functions(WEIR_HIPSIM_LIBRARY, {"hipMallocAsync"}, copy));
  void* library = ::dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(nullptr, library) << ::dlerror();
  EXPECT_EQ(nullptr, ::dlsym(library, "hipMallocAsync"));
  EXPECT_NE(nullptr, ::dlsym(library, "hipMalloc"));
  ::dlclose(library);
  std::remove(copy.c_str());
}

TEST(Hide, UnknownNamesAreRefused) {
  EXPECT_THROW(hide_functions(WEIR_HIPSIM_LIBRARY, {"hipNoSuchFunction"}, temporary("never.so")),
               std::runtime_error);
}

class Files : public testing::Test {
 protected:
  void SetUp() override {
    const auto image = test::compile_ir(test::kernels_ir, "gfx90a");
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(image.data()), std::streamsize(image.size()));
  }
  void TearDown() override { std::remove(path.c_str()); }
  std::string path = temporary("hipsim-tool-test.hsaco");
};

TEST_F(Files, AreListedAndChecked) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(0, list_kernels(path));
  EXPECT_EQ(0, check_instructions(path));
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_NE(std::string::npos, text.find("reduce: waves of 64, LDS 1024 B")) << text;
  EXPECT_NE(std::string::npos, text.find("0 kinds that are not executed")) << text;
}

TEST_F(Files, KernelsRunWithTheirArguments) {
  RunRequest request;
  request.file = path;
  request.kernel = "add";
  request.block = {128};
  request.arguments = {"f32*:100", "f32*:100=iota", "f32*:100=0.5", "i32:100"};
  testing::internal::CaptureStdout();
  EXPECT_EQ(0, run_kernel(request));
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_NE(std::string::npos, text.find("f32[100]: 0.5 1.5 2.5")) << text;
}

TEST_F(Files, FaultsAreAStatus) {
  RunRequest request;
  request.file = path;
  request.kernel = "add";
  request.block = {128};
  request.arguments = {"f32*:100", "f32*:100", "f32*:50", "i32:100"};
  testing::internal::CaptureStdout();
  EXPECT_EQ(1, run_kernel(request));
  EXPECT_NE(std::string::npos, testing::internal::GetCapturedStdout().find("behind the end of device block"));
}

TEST_F(Files, WrongArgumentsAreNamed) {
  RunRequest request;
  request.file = path;
  request.kernel = "add";
  request.arguments = {"f32*:100"};
  EXPECT_THROW(run_kernel(request), std::runtime_error);
  request.arguments = {"f17:1"};
  EXPECT_THROW(run_kernel(request), std::runtime_error);
}

}  // namespace
}  // namespace weir::hipsim::tool
