// SPDX-License-Identifier: Apache-2.0
// Level 3: what kernel_get_info tells of a kernel.
#include <cstring>

#include "kernels/gate.hpp"
#include "kernels/kernels.hpp"

namespace weir::conformance {
namespace {

void expect_same_after_launches() {
  const Kernel iota("iota");
  const weir_kernel_info first = info_of(iota);
  for (std::int64_t i = 0; i < 3; ++i) {
    expect_runs(iota, i);
    const weir_kernel_info later = info_of(iota);
    EXPECT_EQ(std::memcmp(&first, &later, sizeof first), 0)
        << "kernel_get_info of a kernel before its first launch and after " << i + 1
        << " launches differ. driver.h: the same at every call. Look first at fields that a launch fills in";
  }
}

WEIR_REQUIREMENT(
    3, 12, Modules, InfoStaysInsideTheCallersSize,
    "kernel_get_info writes no further than the struct_size that the caller sets, and returns no "
    "larger one.") {
  const Kernel iota("iota");
  for (std::uint32_t size = 4; size <= sizeof(weir_kernel_info); size += 4) {
    auto filled = guarded<weir_kernel_info>(size);
    call(table().kernel_get_info, iota.handle(), &filled);
    ASSERT_NO_FATAL_FAILURE(expect_guarded(filled, size));
    EXPECT_LE(filled.struct_size, size)
        << "kernel_get_info set struct_size; the caller set " << size
        << ", and nothing past it is filled. driver.h: a reader never reads past struct_size";
  }
}

WEIR_REQUIREMENT(3, 13, Modules, InfoAgreesWithTheDevice,
                 "The values of kernel_get_info are within the device's limits and allow the launches that "
                 "the kernel is made for.") {
  const Kernel iota("iota");
  const weir_kernel_info filled = info_of(iota);
  EXPECT_LE(filled.max_block_threads, info().max_block_threads);
  EXPECT_LE(filled.shared_bytes, info().max_shared_bytes);
  EXPECT_TRUE(filled.lanes == 0 || filled.lanes == info().lanes) << filled.lanes;
  const ReadyKernel& ready = iota.ready();
  EXPECT_TRUE(filled.max_block_threads == 0 ||
              filled.max_block_threads >= ready.block[0] * ready.block[1] * ready.block[2]);
}

WEIR_REQUIREMENT(3, 14, Modules, InfoStaysTheSame,
                 "kernel_get_info returns the same at every call, whatever has run.") {
  expect_same_after_launches();
}

WEIR_REQUIREMENT(3, 90, FirstCall, InfoStaysTheSameFromTheFirstLaunchOn,
                 "kernel_get_info returns the same before and after the first launch of the process.") {
  needs_device();
  expect_same_after_launches();
}

WEIR_REQUIREMENT(3, 91, Modules, BlocksAboveTheKernelsLimitAreInvalid,
                 "A block of more threads than the kernel's max_block_threads is refused, and one of as many "
                 "runs.") {
  const Kernel iota("iota");
  const std::uint32_t limit = info_of(iota).max_block_threads;
  if (limit == 0) throw Skipped("the kernel states no limit of its own");
  const Memory out(8 * 100);
  const Stream stream;
  const Arguments values = arguments(out, std::int64_t{100}, std::int64_t{5});
  const auto launch = [&](std::uint32_t threads) {
    const weir_launch one = iota.launch_of(values, {1, 1, 1}, {threads, 1, 1});
    return result_of(table().kernel_launch, weir_stream(stream), &one);
  };
  if (limit <= info().max_block[0]) {
    EXPECT_EQ(result_name(launch(limit)), "WEIR_OK") << limit << " threads, as many as max_block_threads";
    stream.synchronize();
  }
  if (limit < info().max_block[0] && limit < info().max_block_threads) {
    EXPECT_EQ(result_name(launch(limit + 1)), "WEIR_ERROR_INVALID")
        << limit + 1 << " threads, of a kernel whose max_block_threads is " << limit
        << ". driver.h: larger blocks are refused at launch. Look first at the checks of kernel_launch";
  }
  stream.synchronize();
}

WEIR_REQUIREMENT(3, 93, Modules, InfoWaitsForNoCallback,
                 "kernel_get_info and module_get_kernel return while a host callback runs.") {
  const Kernel iota("iota");
  const Stream stream;
  Gate gate;
  gate.hold(stream);
  EXPECT_TRUE(gate.reached()) << "the stream did not begin its first work";
  const weir_kernel_info found =
      info_of(iota);  // a call that waits lets the gate open late, which is a failure
  EXPECT_EQ(found.struct_size, sizeof found);
  weir_kernel again = nullptr;
  const auto bytes = iota.layout();
  call(table().module_get_kernel, iota.module(), iota.ready().symbol.c_str(), &bytes, &again);
  EXPECT_NE(again, nullptr);
}

}  // namespace
}  // namespace weir::conformance
