// SPDX-License-Identifier: Apache-2.0
#include <elf.h>

#include "support.hpp"

namespace cpu_test {

std::string load_refusal(const weir_code_object& object, weir_result expected = WEIR_ERROR_CODE_OBJECT) {
  weir_module module = nullptr;
  const std::string message = refusal(expected, table().module_load, first_device(), &object, &module);
  EXPECT_EQ(module, nullptr);
  return message;
}

TEST(Module, TwoLoadedFromTheSameBytesAreApart) {
  const weir_module a = load(first_device()), b = load(first_device());
  EXPECT_NE(a, b);
  const weir_kernel from_b = plain_kernel(b, "nothing");
  EXPECT_NE(plain_kernel(a, "nothing"), from_b);
  call(table().module_unload, a);
  Stream stream;
  stream.launch(from_b);
  stream.synchronize();
  call(table().module_unload, b);
}

TEST(Module, LoadsOnceMoreAfterUnloading) {
  for (int i = 0; i < 20; ++i) {
    const weir_module module = load(first_device());
    Stream stream;
    std::uint32_t value = 1;
    stream.launch(kernel_of<AddArguments>(module, "add"), AddArguments{&value, 2});
    stream.synchronize();
    EXPECT_EQ(value, 3u);
    call(table().module_unload, module);
  }
}

// proves R35
TEST(Module, RefusesAnotherFormatOrTargetNamingBothSides) {
  const std::vector<char> bytes = kernel_bytes();
  weir_code_object object = code_object(bytes);
  object.format = "ptx";
  object.target = "sm_90";
  const std::string message = load_refusal(object);
  for (const char* word : {"ptx", "sm_90", "elf-x86_64", "x86-64"})
    EXPECT_NE(message.find(word), std::string::npos) << message;
  object = code_object(bytes);
  object.target = "znver99";
  EXPECT_NE(load_refusal(object).find("znver99"), std::string::npos);
  object.target = nullptr;
  load_refusal(object);
  object.format = nullptr;
  load_refusal(object);
}

TEST(Module, AcceptsTheTargetThatTheDeviceLists) {
  const std::vector<char> bytes = kernel_bytes();
  const weir_device_info info = device_info();
  weir_code_object object = code_object(bytes);
  object.target = info.code_targets[0].target;
  weir_module module = nullptr;
  call(table().module_load, first_device(), &object, &module);
  call(table().module_unload, module);
}

// proves R35
TEST(Module, RefusesDamagedFiles) {
  const std::vector<char> whole = kernel_bytes();
  std::vector<char> damaged(whole.begin(), whole.begin() + 40);
  EXPECT_NE(load_refusal(code_object(damaged)).find("too short"), std::string::npos);
  damaged.assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(whole.size() / 8));
  EXPECT_NE(load_refusal(code_object(damaged)).find("cut short"), std::string::npos);
  damaged.assign(4096, 'x');
  EXPECT_NE(load_refusal(code_object(damaged)).find("not an ELF file"), std::string::npos);
  auto header = [&] {
    damaged = whole;
    return reinterpret_cast<Elf64_Ehdr*>(damaged.data());
  };
  header()->e_machine = EM_AARCH64;
  EXPECT_NE(load_refusal(code_object(damaged)).find("another machine"), std::string::npos);
  header()->e_type = ET_REL;
  EXPECT_NE(load_refusal(code_object(damaged)).find("not linked"), std::string::npos);
  header()->e_ident[EI_CLASS] = ELFCLASS32;
  EXPECT_NE(load_refusal(code_object(damaged)).find("64-bit"), std::string::npos);
}

TEST(Module, RefusesNullData) {
  std::vector<char> none;
  weir_code_object object = code_object(none);
  object.data = nullptr;
  object.size = 1000;
  load_refusal(object, WEIR_ERROR_INVALID);
}

TEST(Kernel, IsTheSameForOneLayoutAndAnotherForAnother) {
  const weir_module module = kernels().module;
  EXPECT_EQ(plain_kernel(module, "nothing"), kernels().nothing);
  EXPECT_NE(kernel_of<AddArguments>(module, "nothing"), kernels().nothing);
}

// proves R35
TEST(Kernel, IsNotFoundUnderNamesThatTheModuleDoesNotExport) {
  const weir_kernel_layout layout{sizeof layout, 0, 0, nullptr};
  weir_kernel kernel = nullptr;
  for (const char* name : {"no_such_kernel", "clock_gettime", "not_a_function"}) {
    const std::string message =
        refusal(WEIR_ERROR_NOT_FOUND, table().module_get_kernel, kernels().module, name, &layout, &kernel);
    EXPECT_NE(message.find(name), std::string::npos) << message;
    EXPECT_NE(message.find("module 'test kernels'"), std::string::npos) << message;
  }
  EXPECT_EQ(kernel, nullptr);
  const std::vector<char> bytes = kernel_bytes();
  weir_code_object nameless = code_object(bytes);
  nameless.name = nullptr;
  weir_module module = nullptr;
  call(table().module_load, first_device(), &nameless, &module);
  const std::string message =
      refusal(WEIR_ERROR_NOT_FOUND, table().module_get_kernel, module, "no_such_kernel", &layout, &kernel);
  EXPECT_NE(message.find("module ''"), std::string::npos) << message;
  call(table().module_unload, module);
}

TEST(Kernel, HasTheLimitsOfItsDevice) {
  const weir_module module = load(first_device());
  weir_kernel_info info{};
  info.struct_size = sizeof info;
  call(table().kernel_get_info, plain_kernel(module, "nothing"), &info);
  EXPECT_EQ(info.max_block_threads, device_info().max_block_threads);
  EXPECT_EQ(info.lanes, 1u);
  call(table().module_unload, module);
}

// proves R35
TEST(Kernel, RefusesLayoutsThatMakeNoSense) {
  weir_kernel kernel = nullptr;
  auto refuse = [&](std::uint32_t bytes, weir_parameter parameter) {
    const weir_kernel_layout layout{sizeof layout, bytes, 1, &parameter};
    refusal(WEIR_ERROR_INVALID, table().module_get_kernel, kernels().module, "nothing", &layout, &kernel);
  };
  refuse(16, {12, 8, WEIR_PARAMETER_VALUE});
  refuse(16, {0xffffffff, 8, WEIR_PARAMETER_VALUE});
  refuse(16, {0, 4, WEIR_PARAMETER_BUFFER});
  refuse(16, {4, 8, WEIR_PARAMETER_BUFFER});
  refuse(16, {0, 8, 9});
  refuse(device_info().max_argument_bytes + 1, {0, 8, WEIR_PARAMETER_VALUE});
}

TEST(Kernel, DiesWithItsModule) {
  const weir_module module = load(first_device());
  const weir_kernel kernel = plain_kernel(module, "nothing");
  weir_kernel_info info{};
  info.struct_size = sizeof info;
  call(table().kernel_get_info, kernel, &info);
  EXPECT_EQ(info.lanes, 1u);
  call(table().module_unload, module);
  refusal(WEIR_ERROR_INVALID, table().kernel_get_info, kernel, &info);
  refusal(WEIR_ERROR_INVALID, table().module_unload, module);
}

}  // namespace cpu_test
