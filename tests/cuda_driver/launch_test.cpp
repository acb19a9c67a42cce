// SPDX-License-Identifier: Apache-2.0
// Code objects, launches, and the state of a device after a failed launch.
#include <elf.h>

#include <cstring>
#include <numeric>
#include <thread>

#include "fake.hpp"

namespace cuda_test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// The fake takes the number of a kernel's 8-byte parameters from its name.
const std::string kernels =
    ".visible .entry add_1(.param .u64 x) {}\n.entry add_0() {}\n.entry add_512() {}\n.entry trap() {}\n"
    ".entry wide_2(.param .u64 x, .param .u64 y) {}";

// The functions of cuLink compile PTX to slower code (tests/evidence/cuda-link.md).
TEST_F(Fake, PtxIsLoadedByOneCall) {
  call(table().module_unload, load(device, kernels));
  std::vector<std::string> called;
  for (const fake_cuda::Call& one : fake().calls()) called.push_back(one.function);
  EXPECT_THAT(called, ElementsAre("cuModuleLoadDataEx", "cuModuleUnload"));
  EXPECT_THAT(fake().lookups(), AllOf(Contains("cuModuleLoadDataEx"), Each(Not(StartsWith("cuLink")))));
}

TEST_F(Fake, CubinIsLoadedAsItIs) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64, header.e_ident[EI_DATA] = ELFDATA2LSB;
  const std::string bytes =
      std::string(reinterpret_cast<const char*>(&header), sizeof header) + kernels + '\0';
  const weir_code_object cubin{sizeof cubin, "cubin", "sm_90", bytes.data(), bytes.size(), "k"};
  weir_module module = nullptr;
  call(table().module_load, device, &cubin, &module);
  EXPECT_THAT(calls_of("cuModuleLoadDataEx").at(0).values, ElementsAre(1u)) << "the image is a cubin";
  EXPECT_NE(find(module, "add_1", 8), nullptr);
  call(table().module_unload, module);
}

TEST_F(Fake, LogOfTheCompilerIsInTheError) {
  const std::string ptx = "error";
  const weir_code_object object{sizeof object, "ptx", "sm_70", ptx.data(), ptx.size(), "broken"};
  weir_module out = nullptr;
  const weir_status status = refused(WEIR_ERROR_CODE_OBJECT, table().module_load, device, &object, &out);
  EXPECT_STREQ(status.vendor_name, "CUDA_ERROR_INVALID_PTX");
  EXPECT_EQ(status.vendor_code, 218);
  EXPECT_THAT(status.message,
              AllOf(HasSubstr("'broken'"), HasSubstr("line 7: no such word"), HasSubstr("compiling 'x'")));
}

TEST_F(Fake, CodeForAnotherDeviceIsRefusedWithWhatThisOneLoads) {
  const auto refuse = [&](const char* format, const char* target) {
    const weir_code_object object{sizeof object, format, target, kernels.data(), kernels.size(), "k"};
    weir_module out = nullptr;
    EXPECT_THAT(refusal(WEIR_ERROR_CODE_OBJECT, table().module_load, device, &object, &out),
                AllOf(HasSubstr(format), HasSubstr(target), HasSubstr("up to sm_90"), HasSubstr("'cubin'")));
  };
  refuse("hsaco", "gfx942");
  refuse("ptx", "sm_100");
  refuse("ptx", "sm_80a");
  refuse("cubin", "sm_80");
  refuse("ptx", "x86-64");
  for (const char* target : {"sm_70", "sm_90", "sm_90a"})
    call(table().module_unload, load(device, kernels, target));
}

// proves R35
TEST_F(Fake, MachineCodeThatIsCutShortDoesNotReachCuda) {
  const auto refuse = [&](const std::string& bytes, std::size_t size) {
    const weir_code_object object{sizeof object, "cubin", "sm_90", bytes.data(), size, "k"};
    weir_module out = nullptr;
    return refusal(WEIR_ERROR_CODE_OBJECT, table().module_load, device, &object, &out);
  };
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64, header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_shoff = 4000, header.e_shentsize = sizeof(Elf64_Shdr), header.e_shnum = 1;
  std::string elf(4064, '\0');
  std::memcpy(elf.data(), &header, sizeof header);
  for (const std::size_t size : {10u, 64u, 4063u})
    EXPECT_THAT(refuse(elf, size), HasSubstr("'k' is cut short"));
  const std::string fat =
      std::string("\x50\xed\x55\xba\1\0\x10\0\x64\0\0\0\0\0\0\0", 16) + std::string(100, 'x');
  for (const std::size_t size : {16u, 115u})
    EXPECT_THAT(refuse(fat, size),
                HasSubstr("a fat binary of 116 bytes, and it has " + std::to_string(size)));
  EXPECT_THAT(refuse(kernels, kernels.size()), HasSubstr("is not a 64-bit little-endian ELF file"));
  EXPECT_TRUE(calls_of("cuModuleLoadDataEx").empty());
}

TEST_F(Fake, KernelIsLoadedWhenItIsFoundAndFoundAgain) {
  const weir_module module = load(device, kernels);
  const weir_kernel add = find(module, "add_1", 8);
  EXPECT_EQ(find(module, "add_1", 8), add);
  EXPECT_EQ(calls_of("cuFuncLoad").size(), 1u);
  weir_kernel_info info{};
  info.struct_size = sizeof info;
  call(table().kernel_get_info, add, &info);
  EXPECT_EQ(info.max_block_threads, 512u);
  EXPECT_EQ(info.registers, 40u);
  EXPECT_EQ(info.shared_bytes, 1024u);
  EXPECT_EQ(info.lanes, 32u);
  weir_kernel out = nullptr;
  const weir_kernel_layout none{sizeof none, 0, 0, nullptr};
  EXPECT_THAT(refusal(WEIR_ERROR_NOT_FOUND, table().module_get_kernel, module, "sub", &none, &out),
              AllOf(HasSubstr("'sub'"), HasSubstr("test kernels")));
  call(table().module_unload, module);
}

// proves R35
TEST_F(Fake, LayoutThatIsShorterThanTheKernelsArgumentsIsRefused) {
  const weir_module module = load(device, kernels);
  find(module, "wide_2", 16);
  weir_kernel out = nullptr;
  const weir_kernel_layout shorter{sizeof shorter, 12, 0, nullptr};
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().module_get_kernel, module, "wide_2", &shorter, &out),
              AllOf(HasSubstr("'wide_2' takes 16 bytes"), HasSubstr("argument_bytes is 12")));
  call(table().module_unload, module);
}

TEST_F(Fake, PaddingOfTheBlockIsNotHandedOver) {
  const weir_module module = load(device, kernels);
  const std::uint64_t block[] = {1, 2};
  const weir_launch launch = launch_of(find(module, "add_1", 16), block, 16);
  call(table().kernel_launch, stream, &launch);
  EXPECT_EQ(calls_of("cuLaunchKernel").at(0).bytes.size(), 8u);
  call(table().module_unload, module);
}

TEST_F(Fake, ArgumentsGoToTheLaunchAsOneBlock) {
  const weir_module module = load(device, kernels);
  for (const std::uint32_t bytes : {0u, 8u, 4096u}) {
    std::vector<std::uint8_t> block(bytes);
    std::iota(block.begin(), block.end(), 1);
    const weir_kernel kernel = find(module, ("add_" + std::to_string(bytes / 8)).c_str(), bytes);
    fake().forget_calls();
    weir_launch launch = launch_of(kernel, block.data(), bytes, 7, 128);
    launch.dynamic_shared_bytes = 256;
    call(table().kernel_launch, stream, &launch);
    const fake_cuda::Call made = calls_of("cuLaunchKernel").at(0);
    EXPECT_EQ(made.bytes, block);
    EXPECT_EQ(made.stream, native);
    EXPECT_THAT(made.values, ElementsAre(7, 1, 1, 128, 1, 1, 256));
    EXPECT_EQ(fake().calls().size(), 1u) << "a launch is one call, the context aside";
  }
  weir_kernel out = nullptr;
  const weir_kernel_layout large{sizeof large, 4100, 0, nullptr};
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().module_get_kernel, module, "add_1", &large, &out),
              HasSubstr("at most 4096"));
  call(table().module_unload, module);
}

// proves R35
TEST_F(Fake, LaunchesThatDoNotFitReachNothing) {
  const weir_module module = load(device, kernels);
  const weir_kernel add = find(module, "add_1", 8);
  const std::uint64_t argument = 0;
  fake().forget_calls();
  const auto refuse = [&](auto change, const char* why) {
    weir_launch launch = launch_of(add, &argument, 8);
    change(launch);
    EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().kernel_launch, stream, &launch), HasSubstr(why));
  };
  refuse([](weir_launch& l) { l.grid[1] = 0; }, "launch.grid is 1 x 0 x 1");
  refuse([](weir_launch& l) { l.grid[2] = 65536; }, "expected each from 1 to 2147483647 x 65535 x 65535");
  refuse([](weir_launch& l) { l.block[0] = 1025; }, "launch.block");
  refuse([](weir_launch& l) { l.block[0] = 768; }, "takes at most 512, as it uses 40 registers");
  refuse([](weir_launch& l) { l.dynamic_shared_bytes = 232448; }, "at most 232448");
  refuse([](weir_launch& l) { l.argument_bytes = 4; }, "was looked up with 8");
  refuse([](weir_launch& l) { l.arguments = nullptr; }, "launch.arguments is null");
  refuse([](weir_launch& l) { l.kernel = nullptr; }, "launch.kernel is null");
  EXPECT_TRUE(fake().calls().empty());
  call(table().module_unload, module);
}

TEST_F(Fake, CooperativeLaunchesPassTheArgumentBlockAndTheAttribute) {
  const weir_module module = load(device, kernels);
  const weir_kernel add = find(module, "add_1", 8);
  const std::uint64_t argument = 5;
  weir_launch launch = launch_of(add, &argument, 8, 132, 256);
  launch.flags = WEIR_LAUNCH_COOPERATIVE;
  launch.dynamic_shared_bytes = 512;
  fake().forget_calls();
  for (int i = 0; i < 3; ++i) call(table().kernel_launch, stream, &launch);
  EXPECT_EQ(calls_of("cuOccupancyMaxActiveBlocksPerMultiprocessor").size(), 1u) << "the result is kept";
  ASSERT_EQ(calls_of("cuLaunchKernelEx").size(), 3u);
  const fake_cuda::Call made = calls_of("cuLaunchKernelEx")[0];
  EXPECT_THAT(made.values, ElementsAre(132, 1, 1, 256, 1, 1, 512, 1));
  EXPECT_EQ(made.bytes.size(), 8u);
  EXPECT_EQ(made.stream, native);
  EXPECT_TRUE(calls_of("cuLaunchKernel").empty());
  call(table().module_unload, module);
}

// proves R35
TEST_F(Fake, CooperativeGridsThatDoNotFitReachNothing) {
  const weir_module module = load(device, kernels);
  const weir_kernel add = find(module, "add_0", 0);
  std::uint32_t most = 0;
  call(table().kernel_max_cooperative_blocks, add, 256u, 0u, &most);
  EXPECT_EQ(most, 132u * 6) << "40 registers a thread leave room for 6 blocks";
  std::uint32_t fewer = 0;
  call(table().kernel_max_cooperative_blocks, add, 512u, 0u, &fewer);
  EXPECT_EQ(fewer, 132u * 3);
  weir_launch launch = launch_of(add, nullptr, 0, most + 1, 256);
  launch.flags = WEIR_LAUNCH_COOPERATIVE;
  fake().forget_calls();
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().kernel_launch, stream, &launch),
              AllOf(HasSubstr("793 blocks"), HasSubstr("at most 792")));
  launch.grid[1] = launch.grid[2] = 65535;
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().kernel_launch, stream, &launch), HasSubstr("at most 792"));
  launch = launch_of(add, nullptr, 0);
  launch.flags = 2;
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().kernel_launch, stream, &launch),
              HasSubstr("launch.flags is 0x2"));
  EXPECT_TRUE(calls_of("cuLaunchKernelEx").empty());
  call(table().module_unload, module);
}

TEST_F(Fake, MoreThanTheUsualSharedMemoryIsAskedForOnce) {
  const weir_module module = load(device, kernels);
  const weir_kernel add = find(module, "add_0", 0);
  weir_launch launch = launch_of(add, nullptr, 0);
  launch.dynamic_shared_bytes = 47 * 1024;
  call(table().kernel_launch, stream, &launch);
  EXPECT_TRUE(calls_of("cuFuncSetAttribute").empty());
  launch.dynamic_shared_bytes = 100 * 1024;
  for (int i = 0; i < 2; ++i) call(table().kernel_launch, stream, &launch);
  ASSERT_EQ(calls_of("cuFuncSetAttribute").size(), 1u);
  EXPECT_THAT(calls_of("cuFuncSetAttribute")[0].values, ElementsAre(8u, 232448u - 1024));
  call(table().module_unload, module);
}

// proves R10
TEST_F(Fake, ThreadsLaunchOnTheirOwnStreamsAtOnce) {
  const weir_module module = load(device, kernels);
  const weir_kernel add = find(module, "add_1", 8);
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const weir_stream own = new_stream(device);
      for (int i = 0; i < 50; ++i) {
        const weir_launch launch = launch_of(add, &t, 8);
        call(table().kernel_launch, own, &launch);
        call(table().memory_free_async, own, allocate_async(own, 64));
      }
      call(table().stream_synchronize, own);
      call(table().stream_destroy, own);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(calls_of("cuLaunchKernel").size(), 200u);
  call(table().module_unload, module);
}

// proves R34
TEST_F(Fake, DISABLED_BreaksItsDevices) {
  weir_device lost = nullptr;
  call(table().device_open, 2u, &lost);
  const weir_stream own = new_stream(lost);
  const weir_event event = new_event(lost);
  const weir_module module = load(lost, kernels);
  const weir_launch launch = launch_of(find(module, "trap", 0), nullptr, 0);
  call(table().kernel_launch, own, &launch);

  const weir_status first = refused(WEIR_ERROR_ILLEGAL_ADDRESS, table().stream_synchronize, own);
  EXPECT_STREQ(first.vendor_name, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EQ(first.vendor_code, 700);
  EXPECT_THAT(first.message, AllOf(HasSubstr("an illegal memory access was encountered"),
                                   HasSubstr("device 2 is lost to this process")));

  fake().forget_calls();
  weir_allocation memory = nullptr;
  const weir_memory_options options{sizeof options, WEIR_MEMORY_DEVICE, 64, 0};
  const std::string later = refusal(WEIR_ERROR_DEVICE_LOST, table().memory_allocate, lost, &options, &memory);
  EXPECT_EQ(later, first.message);
  EXPECT_EQ(refusal(WEIR_ERROR_DEVICE_LOST, table().kernel_launch, own, &launch), first.message);
  EXPECT_EQ(refusal(WEIR_ERROR_DEVICE_LOST, table().event_query, event), first.message);
  EXPECT_EQ(refusal(WEIR_ERROR_DEVICE_LOST, table().stream_flush, own), first.message);
  EXPECT_TRUE(fake().calls().empty());

  call(table().event_destroy, event);
  call(table().module_unload, module);
  call(table().stream_destroy, own);
  call(table().device_close, lost);
  EXPECT_EQ(refusal(WEIR_ERROR_DEVICE_LOST, table().device_open, 2u, &lost), first.message);

  // CUDA returns the same error for the process's other devices, whatever state the driver keeps for them.
  EXPECT_THAT(refusal(WEIR_ERROR_ILLEGAL_ADDRESS, table().memory_allocate, device, &options, &memory),
              AllOf(HasSubstr("an illegal memory access was encountered"), HasSubstr("device 0 is lost")));
  (void)refused(WEIR_ERROR_DEVICE_LOST, table().memory_allocate, device, &options, &memory);
}

// proves R34
TEST_F(Fake, IllegalAddressBreaksAllDevicesOfTheProcessPermanently) {
  EXPECT_THAT(run_apart("", "Fake.DISABLED_BreaksItsDevices"), HasSubstr("[  PASSED  ] 1 test"));
}

TEST_F(Fake, RefusedLaunchNamesTheKernelAndLeavesTheDevice) {
  const weir_module module = load(device, kernels);
  const weir_launch launch = launch_of(find(module, "add_0", 0), nullptr, 0);
  fake().fail_next("cuLaunchKernel", 701);
  EXPECT_THAT(refusal(WEIR_ERROR_LAUNCH, table().kernel_launch, stream, &launch),
              HasSubstr("launch kernel 'add_0'"));
  call(table().kernel_launch, stream, &launch);
  call(table().module_unload, module);
}

}  // namespace
}  // namespace cuda_test
