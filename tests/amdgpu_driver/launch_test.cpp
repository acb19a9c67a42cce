// SPDX-License-Identifier: Apache-2.0
// Code objects, launches, and the state of a device after a failed launch.
#include "simulator.hpp"

namespace amdgpu_test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

TEST_F(Simulator, EveryDeviceRunsItsCode) {
  constexpr std::uint32_t count = 1000;
  for (std::uint32_t index = 0; index < 3; ++index) {
    OnDevice on(index);
    const weir_allocation a = allocate(on.device, count * 4), out = allocate(on.device, count * 4);
    std::vector<float> in(count);
    for (std::uint32_t i = 0; i < count; ++i) in[i] = static_cast<float>(i);
    call(table().copy_to_device, on.stream, a, 0ull, static_cast<const void*>(in.data()),
         std::uint64_t{count * 4});
    const AddArguments arguments{address(out), address(a), address(a), count, 0};
    const weir_launch launch = launch_of(on.add(), &arguments, sizeof arguments, 4, 256);
    call(table().kernel_launch, on.stream, &launch);
    const std::vector<float> found = read<float>(on.stream, out, count);
    for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(found[i], 2.0f * static_cast<float>(i)) << index;
    call(table().memory_free, a);
    call(table().memory_free, out);
  }
}

TEST_F(Simulator, CodeForAnotherDeviceIsRefusedWithWhatThisOneLoads) {
  const auto refuse = [&](const char* format, const char* target, std::vector<std::uint8_t> code) {
    const weir_code_object object{sizeof object, format, target, code.data(), code.size(), "k"};
    weir_module out = nullptr;
    return refusal(WEIR_ERROR_CODE_OBJECT, table().module_load, device, &object, &out);
  };
  const auto names = AllOf(HasSubstr("code object 'k'"), HasSubstr("this device loads format 'hsaco'"),
                           HasSubstr("'gfx90a:sramecc+:xnack-'"));
  const std::vector<std::uint8_t> code = kernels_for("gfx90a");
  EXPECT_THAT(refuse("ptx", "sm_70", code), names);
  EXPECT_THAT(refuse("hsaco", "gfx942", code), names);
  EXPECT_THAT(refuse("hsaco", "gfx90a:xnack+", code), names);
  EXPECT_THAT(refuse("hsaco", "gfx90a:sramecc-:xnack-", code), names);
  EXPECT_THAT(refuse("hsaco", "gfx90a", kernels_for("gfx942")),
              AllOf(HasSubstr("hipErrorNoBinaryForGpu (209)"), HasSubstr("target 'gfx90a'")));
  EXPECT_THAT(refuse("hsaco", "gfx90a", std::vector<std::uint8_t>(100, 1)), HasSubstr("not a 64-bit"));
  for (const char* target : {"gfx90a", "gfx90a:xnack-", "gfx90a:sramecc+:xnack-", ""})
    call(table().module_unload, load(device, "hsaco", target, code.data(), code.size()));
}

/// A bundle as hipcc makes them, of one empty object for the host and one for the device.
std::vector<std::uint8_t> bundle_of(const std::vector<std::uint8_t>& code) {
  std::string out = "__CLANG_OFFLOAD_BUNDLE__";
  const auto number = [&](std::uint64_t value) { out.append(reinterpret_cast<const char*>(&value), 8); };
  const std::string host = "host-x86_64-unknown-linux--", own = "hipv4-amdgcn-amd-amdhsa--gfx90a";
  const std::uint64_t at = out.size() + 8 + 2 * 24 + host.size() + own.size();
  number(2);
  number(at), number(0), number(host.size()), out += host;
  number(at), number(code.size()), number(own.size()), out += own;
  std::vector<std::uint8_t> bytes(out.begin(), out.end());
  bytes.insert(bytes.end(), code.begin(), code.end());
  return bytes;
}

// HIP takes no size, and may find the missing bytes in memory. proves R35
TEST_F(Simulator, CodeAndBundlesAreLoadedWholeOnly) {
  const std::vector<std::uint8_t>& code = kernels_for("gfx90a");
  const std::vector<std::uint8_t> bundle = bundle_of(code);
  const weir_module loaded = load(device, "hsaco", "gfx90a", bundle.data(), bundle.size());
  EXPECT_NE(find(loaded, "add", 32), nullptr);
  call(table().module_unload, loaded);
  const auto refuse = [&](const std::vector<std::uint8_t>& whole, std::size_t size) {
    const weir_code_object object{sizeof object, "hsaco", "gfx90a", whole.data(), size, "part"};
    weir_module out = nullptr;
    return refusal(WEIR_ERROR_CODE_OBJECT, table().module_load, device, &object, &out);
  };
  for (const std::size_t size : {std::size_t{10}, std::size_t{64}, code.size() / 3, code.size() - 1})
    EXPECT_THAT(refuse(code, size), HasSubstr("'part' is cut short: it has " + std::to_string(size)));
  for (const std::size_t size : {24u, 31u, 32u, 60u, 100u, 136u, 140u, 200u, unsigned(bundle.size() - 1)})
    EXPECT_THAT(refuse(bundle, size), HasSubstr("'part' is a bundle that is cut short")) << size;
}

TEST_F(Simulator, ImageOfAModuleMayGoOnceItIsLoaded) {
  std::vector<std::uint8_t> code = kernels_for("gfx90a");
  const weir_module loaded = load(device, "hsaco", "gfx90a", code.data(), code.size());
  std::fill(code.begin(), code.end(), std::uint8_t{0});
  const weir_allocation memory = allocate(device, 256);
  const float one = 1.0f;
  call(table().fill, stream, memory, 0ull, std::uint64_t{256}, static_cast<const void*>(&one), 4u);
  const AddArguments arguments{address(memory), address(memory), address(memory), 64, 0};
  const weir_launch launch = launch_of(find(loaded, "add", 32), &arguments, sizeof arguments, 1, 64);
  call(table().kernel_launch, stream, &launch);
  EXPECT_THAT(read<float>(stream, memory, 64), Each(2.0f));
  call(table().module_unload, loaded);
  call(table().memory_free, memory);
}

// proves R35
TEST_F(Simulator, LayoutThatIsShorterThanTheKernelsArgumentsIsRefused) {
  weir_kernel out = nullptr;
  const weir_kernel_layout shorter{sizeof shorter, 24, 0, nullptr};
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().module_get_kernel, module, "add", &shorter, &out),
              AllOf(HasSubstr("'add' takes 28 bytes"), HasSubstr("argument_bytes is 24")));
  EXPECT_THAT(refusal(WEIR_ERROR_NOT_FOUND, table().module_get_kernel, module, "absent", &shorter, &out),
              AllOf(HasSubstr("'absent'"), HasSubstr("test kernels")));
}

TEST_F(Simulator, KernelInfoIsReported) {
  weir_kernel_info info{};
  info.struct_size = sizeof info;
  call(table().kernel_get_info, add(), &info);
  EXPECT_GT(info.registers, 0u);
  EXPECT_GE(info.max_block_threads, 256u);
  EXPECT_EQ(info.lanes, 64u);
  EXPECT_EQ(info.shared_bytes, 0u);
}

TEST_F(Simulator, BlockMayHaveAllSharedMemoryOfTheDevice) {
  const weir_allocation memory = allocate(device, 4096);
  const AddArguments arguments{address(memory), address(memory), address(memory), 16, 0};
  weir_launch launch = launch_of(add(), &arguments, sizeof arguments, 1, 64);
  launch.dynamic_shared_bytes = device_info().max_shared_bytes;
  call(table().kernel_launch, stream, &launch);
  call(table().stream_synchronize, stream);
  launch.dynamic_shared_bytes += 1;
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().kernel_launch, stream, &launch),
              HasSubstr("at most 65536"));
  call(table().memory_free, memory);
}

TEST_F(Simulator, CooperativeLaunchesPassEachArgument) {
  constexpr std::uint32_t count = 5000;
  const weir_allocation a = allocate(device, count * 4), out = allocate(device, count * 4);
  const float three = 3.0f;
  call(table().fill, stream, a, 0ull, std::uint64_t{count * 4}, static_cast<const void*>(&three), 4u);
  const AddArguments arguments{address(out), address(a), address(a), count, 0};
  weir_launch launch = launch_of(add(), &arguments, sizeof arguments, 20, 256);
  launch.flags = WEIR_LAUNCH_COOPERATIVE;
  call(table().kernel_launch, stream, &launch);
  EXPECT_THAT(read<float>(stream, out, count), Each(6.0f));
  std::uint32_t most = 0;
  call(table().kernel_max_cooperative_blocks, add(), 256u, 0u, &most);
  EXPECT_EQ(most % device_info().multiprocessors, 0u);
  EXPECT_GE(most, device_info().multiprocessors);
  launch.grid[0] = most + 1;
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().kernel_launch, stream, &launch),
              AllOf(HasSubstr(std::to_string(most + 1)), HasSubstr("at most " + std::to_string(most))));
  call(table().memory_free, a);
  call(table().memory_free, out);
}

TEST_F(Simulator, GraphsHoldNoCooperativeLaunches) {
  const AddArguments arguments{};
  weir_launch launch = launch_of(add(), &arguments, sizeof arguments, 1, 64);
  launch.flags = WEIR_LAUNCH_COOPERATIVE;
  weir_graph_node node{};
  node.struct_size = sizeof node;
  node.kind = WEIR_GRAPH_KERNEL;
  node.launch = &launch;
  const weir_graph_node* nodes[] = {&node};
  weir_graph out = nullptr;
  EXPECT_THAT(refusal(WEIR_ERROR_UNSUPPORTED, table().graph_create, device, 1u,
                      static_cast<const weir_graph_node* const*>(nodes), &out),
              HasSubstr("cooperative launches"));
}

TEST_F(Simulator, RefusedLaunchNamesTheKernelAndLeavesTheDevice) {
  const AddArguments arguments{};
  const weir_launch launch = launch_of(add(), &arguments, sizeof arguments, 1, 64);
  fail_next("hipModuleLaunchKernel", 701);
  EXPECT_THAT(refusal(WEIR_ERROR_LAUNCH, table().kernel_launch, stream, &launch),
              AllOf(HasSubstr("launch kernel 'add'"), HasSubstr("hipErrorLaunchOutOfResources (701)")));
  call(table().kernel_launch, stream, &launch);
}

TEST_F(Simulator, DISABLED_BreaksItsDevice) {
  const AddArguments arguments{16, 16, 16, 64, 0};
  const weir_launch launch = launch_of(add(), &arguments, sizeof arguments, 1, 64);
  weir_allocation memory = nullptr;
  const weir_memory_options options{sizeof options, WEIR_MEMORY_DEVICE, 64, 0};
  call(table().kernel_launch, stream, &launch);
  const weir_status first = refused(WEIR_ERROR_ILLEGAL_ADDRESS, table().stream_synchronize, stream);
  EXPECT_THAT(first.message, AllOf(HasSubstr("an illegal memory access was encountered"),
                                   HasSubstr("device 0 is lost to this process")));
  EXPECT_STREQ(first.vendor_name, "hipErrorIllegalAddress");
  EXPECT_EQ(first.vendor_code, 700);
  EXPECT_EQ(refusal(WEIR_ERROR_DEVICE_LOST, table().memory_allocate, device, &options, &memory),
            first.message);
  EXPECT_EQ(refusal(WEIR_ERROR_DEVICE_LOST, table().kernel_launch, stream, &launch), first.message);
  OnDevice second(1);
  const weir_allocation fine = allocate(second.device, 64);
  call(table().memory_free, fine);
}

// proves R34
TEST_F(Simulator, IllegalAddressBreaksOnlyItsDevicePermanently) {
  const std::string out = run_apart("", "Simulator.DISABLED_BreaksItsDevice");
  EXPECT_THAT(out, HasSubstr("[  PASSED  ] 1 test")) << out;
}

struct Provoked {
  int code;
  const char* name;
  weir_result result;
};

TEST_F(Simulator, ResultsOfHipArriveWithTheirMeaning) {
  for (const auto& [code, name, result] : {Provoked{9, "hipErrorInvalidConfiguration", WEIR_ERROR_INVALID},
                                           {12, "hipErrorInvalidPitchValue", WEIR_ERROR_INVALID},
                                           {17, "hipErrorInvalidDevicePointer", WEIR_ERROR_INVALID},
                                           {400, "hipErrorInvalidHandle", WEIR_ERROR_INVALID},
                                           {2, "hipErrorOutOfMemory", WEIR_ERROR_OUT_OF_MEMORY},
                                           {1052, "hipErrorRuntimeMemory", WEIR_ERROR_OUT_OF_MEMORY},
                                           {98, "hipErrorInvalidDeviceFunction", WEIR_ERROR_CODE_OBJECT},
                                           {303, "hipErrorSharedObjectInitFailed", WEIR_ERROR_CODE_OBJECT},
                                           {3, "hipErrorNotInitialized", WEIR_ERROR_SYSTEM},
                                           {35, "hipErrorInsufficientDriver", WEIR_ERROR_SYSTEM},
                                           {401, "hipErrorIllegalState", WEIR_ERROR_SYSTEM},
                                           {701, "hipErrorLaunchOutOfResources", WEIR_ERROR_LAUNCH},
                                           {801, "hipErrorNotSupported", WEIR_ERROR_UNSUPPORTED},
                                           {5, "hipErrorProfilerDisabled", WEIR_ERROR_UNKNOWN}}) {
    fail_next("hipStreamSynchronize", code);
    const weir_status status = refused(result, table().stream_synchronize, stream);
    EXPECT_STREQ(status.vendor_name, name);
    EXPECT_EQ(status.vendor_code, code);
  }
  call(table().stream_synchronize, stream);
}

TEST_F(Simulator, DISABLED_BreaksThreeDevicesLate) {
  const Provoked codes[] = {{1053, "hipErrorRuntimeOther", WEIR_ERROR_DEVICE_LOST},
                            {702, "hipErrorLaunchTimeOut", WEIR_ERROR_LAUNCH},
                            {214, "hipErrorECCNotCorrectable", WEIR_ERROR_DEVICE_LOST}};
  for (std::uint32_t index = 0; index < 3; ++index) {
    OnDevice on(index);
    const weir_allocation memory = allocate(on.device, 256);
    const AddArguments arguments{address(memory), address(memory), address(memory), 64, 0};
    const weir_launch launch = launch_of(on.add(), &arguments, sizeof arguments, 1, 64);
    simulator<decltype(&hipsimFailLate)>("hipsimFailLate")("hipModuleLaunchKernel", 1, codes[index].code);
    call(table().kernel_launch, on.stream, &launch);
    const weir_status status = refused(codes[index].result, table().stream_synchronize, on.stream);
    EXPECT_STREQ(status.vendor_name, codes[index].name);
    EXPECT_EQ(refusal(WEIR_ERROR_DEVICE_LOST, table().kernel_launch, on.stream, &launch), status.message);
  }
}

// proves R34
TEST_F(Simulator, LateFailuresBreakTheDevicePermanently) {
  const std::string out = run_apart("", "Simulator.DISABLED_BreaksThreeDevicesLate");
  EXPECT_THAT(out, HasSubstr("[  PASSED  ] 1 test")) << out;
}

}  // namespace
}  // namespace amdgpu_test
