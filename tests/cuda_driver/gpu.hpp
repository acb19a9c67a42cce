// SPDX-License-Identifier: Apache-2.0
// Tests in this process run on the real libcuda and its device 0.
#pragma once

#include "calls.hpp"

namespace cuda_test {

/// Kernels for any device from compute capability 7.0 on.
inline const char* gpu_kernels() {
  return R"(.version 6.0
.target sm_70
.address_size 64

// data[i] += value for i < count
.visible .entry add(.param .u64 data, .param .u32 count, .param .f32 value)
{
  .reg .pred %p<2>;
  .reg .f32 %f<4>;
  .reg .b32 %r<6>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [data];
  ld.param.u32 %r1, [count];
  ld.param.f32 %f1, [value];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra done;
  cvta.to.global.u64 %rd2, %rd1;
  mul.wide.u32 %rd3, %r5, 4;
  add.u64 %rd4, %rd2, %rd3;
  ld.global.f32 %f2, [%rd4];
  add.f32 %f3, %f2, %f1;
  st.global.f32 [%rd4], %f3;
done:
  ret;
}

.visible .entry nothing()
{
  ret;
}

// *out = the last 4 of 4096 bytes of arguments
.visible .entry last(.param .u64 out, .param .align 8 .b8 rest[4088])
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [rest+4084];
  cvta.to.global.u64 %rd2, %rd1;
  st.global.u32 [%rd2], %r1;
  ret;
}

// *out = the value stored at the end of the dynamic shared memory
.extern .shared .align 16 .b8 memory[];
.visible .entry share(.param .u64 out, .param .u32 bytes)
{
  .reg .b32 %r<5>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [bytes];
  mov.u32 %r2, memory;
  add.u32 %r3, %r2, %r1;
  st.shared.u32 [%r3+-4], 77;
  ld.shared.u32 %r4, [%r3+-4];
  cvta.to.global.u64 %rd2, %rd1;
  st.global.u32 [%rd2], %r4;
  ret;
}

// takes so many nanoseconds
.visible .entry spin(.param .u64 nanoseconds)
{
  .reg .pred %p<2>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [nanoseconds];
  mov.u64 %rd2, %globaltimer;
again:
  mov.u64 %rd3, %globaltimer;
  sub.u64 %rd4, %rd3, %rd2;
  setp.lt.u64 %p1, %rd4, %rd1;
  @%p1 bra again;
  ret;
}

// calls a function, which stores 1 to *to
.func report(.param .u64 to)
{
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [to];
  st.u32 [%rd1], 1;
  ret;
}
.visible .entry check(.param .u64 to)
{
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [to];
  {
    .param .b64 argument;
    st.param.b64 [argument], %rd1;
    call.uni report, (argument);
  }
  ret;
}

.visible .entry trap()
{
  .reg .b64 %rd<2>;
  mov.u64 %rd1, 16;
  st.global.u32 [%rd1], 1;
  ret;
}
)";
}

/// Device 0 with a stream and the kernels above; skips with the driver's message where there is none.
class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    weir_status status = new_status();
    if (table().device_count(&devices, &status) != WEIR_OK) GTEST_SKIP() << "NO GPU: " << status.message;
    call(table().device_open, 0u, &device);
    stream = new_stream(device);
    module = load(device, gpu_kernels());
  }
  void TearDown() override {
    if (!device) return;
    weir_status status = new_status();
    table().stream_synchronize(stream, &status);
    table().module_unload(module, &status);
    table().stream_destroy(stream, &status);
    table().device_close(device, &status);
  }

  struct AddArguments {
    std::uint64_t data;
    std::uint32_t count;
    float value;
  };
  weir_kernel add() {
    return find(module, "add",
                {{0, 8, WEIR_PARAMETER_BUFFER}, {8, 4, WEIR_PARAMETER_VALUE}, {12, 4, WEIR_PARAMETER_VALUE}},
                16);
  }
  void spin(weir_stream on, std::uint64_t nanoseconds) {
    const weir_launch launch = launch_of(find(module, "spin", 8), &nanoseconds, 8, 1, 1);
    call(table().kernel_launch, on, &launch);
  }

  std::uint32_t devices = 0;
  weir_device device = nullptr;
  weir_stream stream = nullptr;
  weir_module module = nullptr;
};

inline weir_graph_node node_of(std::uint32_t kind) {
  weir_graph_node out{};
  out.struct_size = sizeof out;
  out.kind = kind;
  return out;
}

inline weir_graph create_graph(weir_device device, const std::vector<const weir_graph_node*>& nodes) {
  weir_graph out = nullptr;
  call(table().graph_create, device, static_cast<std::uint32_t>(nodes.size()), nodes.data(), &out);
  return out;
}

}  // namespace cuda_test
