// SPDX-License-Identifier: Apache-2.0
#include "arithmetic.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "arithmetic_f32.h"
#include "arithmetic_f64.h"
#include "device.hpp"
#include "queue/commands.hpp"

namespace weir::vulkan {
namespace {

constexpr std::size_t sets = 4096;
constexpr std::uint32_t block = 64;
constexpr std::uint32_t loop_rounds = 200'000;

/// The kernel's argument block.
struct Arguments {
  VkDeviceAddress operands, results, looped;
  std::uint32_t rounds;
};

template <class Real>
struct Operands {
  Real a, b, c;
};
template <class Real>
struct Results {
  Real quotient, root, fused, product, sum, least;
};

std::uint64_t next_random(std::uint64_t& state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state ^ state >> 29;
}

/// Special values, then random bits, then random bits with exponents near 1, whose results are mostly
/// ordinary.
template <class Real>
std::vector<Operands<Real>> make_operands() {
  using Bits = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;
  using Limits = std::numeric_limits<Real>;
  constexpr int fraction = Limits::digits - 1;
  const Real special[] = {0,
                          -Real{0},
                          1,
                          -3,
                          Limits::infinity(),
                          Limits::quiet_NaN(),
                          Limits::denorm_min(),
                          Limits::min(),
                          Limits::min() / 2,
                          Limits::max(),
                          -Limits::max(),
                          Limits::epsilon()};
  std::vector<Operands<Real>> out;
  for (const Real a : special)
    for (const Real b : special) out.push_back({a, b, a});
  std::uint64_t state = 2026;
  const auto random = [&](bool ordinary) {
    Bits bits = static_cast<Bits>(next_random(state) >> (64 - 8 * sizeof(Bits)));
    if (ordinary) {
      constexpr Bits one = std::bit_cast<Bits>(Real{1});
      const Bits exponent = static_cast<Bits>(next_random(state) % 32) << fraction;
      bits = (bits & ((Bits{1} << fraction) - 1)) + one - (Bits{16} << fraction) + exponent;
    }
    return std::bit_cast<Real>(bits);
  };
  while (out.size() < sets) {
    const bool ordinary = out.size() % 2;
    out.push_back({random(ordinary), random(ordinary), random(ordinary)});
  }
  return out;
}

template <class Real>
bool same(Real a, Real b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::memcmp(&a, &b, sizeof a) == 0;
}

template <class Real>
bool is_denormal(Real value) {
  return std::fpclassify(value) == FP_SUBNORMAL;
}

/// Whether the results of one operation are exact.
struct Judged {
  bool normal = true;    ///< where neither operands nor the result are denormal
  bool denormal = true;  ///< where one is
  /// The operation as a whole on a device that keeps denormals in sums and products, or flushes them.
  bool exact(bool keeps_denormals) const { return normal && (denormal || !keeps_denormals); }
};

template <class Real>
Exactness judge(std::span<const Operands<Real>> operands, std::span<const Results<Real>> results) {
  Judged divide, sqrt, fma, multiply_add, least;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto [a, b, c] = operands[i];
    const Results<Real>& got = results[i];
    const auto check = [](Real wanted, Real found, Judged& judged, bool denormal) {
      if (!same(wanted, found)) (denormal || is_denormal(wanted) ? judged.denormal : judged.normal) = false;
    };
    const bool ab = is_denormal(a) || is_denormal(b);
    check(a / b, got.quotient, divide, ab);
    check(std::sqrt(std::fabs(a)), got.root, sqrt, is_denormal(a));
    // A device that flushes also flushes a denormal product before the addition.
    check(std::fma(a, b, c), got.fused, fma, ab || is_denormal(c) || is_denormal(a * b));
    check(a * b, got.product, multiply_add, ab);
    check(a + c, got.sum, multiply_add, is_denormal(a) || is_denormal(c));
    const Real wanted = std::isnan(a) ? b : std::isnan(b) ? a : b < a ? b : a;
    const bool zeros = a == 0 && b == 0;  // either zero is right
    if (!zeros) check(wanted, got.least, least, ab);
  }
  const bool keeps = multiply_add.denormal;
  return {.divide = divide.exact(keeps),
          .sqrt = sqrt.exact(keeps),
          .fma = fma.exact(keeps),
          .multiply_add = multiply_add.exact(keeps),
          .denormals = keeps,
          .least = least.exact(keeps)};
}

/// The modes of floating-point types of one width, as numbers of SPIR-V.
struct FloatMode {
  std::uint32_t capability, mode;
  VkBool32 VkPhysicalDeviceVulkan12Properties::*of_f32;
  VkBool32 VkPhysicalDeviceVulkan12Properties::*of_f64;
};
constexpr FloatMode float_modes[] = {
    {4464, 4459, &VkPhysicalDeviceVulkan12Properties::shaderDenormPreserveFloat32,
     &VkPhysicalDeviceVulkan12Properties::shaderDenormPreserveFloat64},
    {4466, 4461, &VkPhysicalDeviceVulkan12Properties::shaderSignedZeroInfNanPreserveFloat32,
     &VkPhysicalDeviceVulkan12Properties::shaderSignedZeroInfNanPreserveFloat64},
    {4467, 4462, &VkPhysicalDeviceVulkan12Properties::shaderRoundingModeRTEFloat32,
     &VkPhysicalDeviceVulkan12Properties::shaderRoundingModeRTEFloat64},
};

/// The module with the execution modes of generated code. Without them the H100's sums flush denormals.
std::vector<std::uint32_t> with_float_modes(std::span<const std::uint32_t> code, const PhysicalDevice& device,
                                            bool is_f64) {
  constexpr std::size_t header = 5;
  constexpr std::uint32_t entry_point = 15, execution_mode = 16, capability = 17;
  const auto instruction = [](std::uint32_t words, std::uint32_t opcode) { return words << 16 | opcode; };
  std::vector<std::uint32_t> capabilities, modes;
  std::size_t at = header;
  while ((code[at] & 0xffff) != entry_point) at += code[at] >> 16;
  const std::uint32_t kernel = code[at + 2];
  at += code[at] >> 16;
  for (const FloatMode& one : float_modes) {
    if (!(device.properties12.*(is_f64 ? one.of_f64 : one.of_f32))) continue;
    capabilities.insert(capabilities.end(), {instruction(2, capability), one.capability});
    modes.insert(modes.end(), {instruction(4, execution_mode), kernel, one.mode, is_f64 ? 64u : 32u});
  }
  std::vector<std::uint32_t> out(code.begin(), code.end());
  out.insert(out.begin() + std::ptrdiff_t(at), modes.begin(), modes.end());
  out.insert(out.begin() + std::ptrdiff_t(header), capabilities.begin(), capabilities.end());
  return out;
}

/// A logical device for the measurement alone.
class Bench {
 public:
  explicit Bench(const PhysicalDevice& physical) : physical_(physical) {
    device_ = create_device(physical, 1, 0);
    volkLoadDeviceTable(&vk_, device_);
    heap_.start(physical, device_, vk_);
  }
  Bench(const Bench&) = delete;
  ~Bench() {
    heap_.stop();
    vk_.vkDestroyFence(device_, fence_, nullptr);
    vk_.vkDestroyCommandPool(device_, pool_, nullptr);
    vk_.vkDestroyPipeline(device_, pipeline_, nullptr);
    vk_.vkDestroyPipelineLayout(device_, layout_, nullptr);
    vk_.vkDestroyShaderModule(device_, shader_, nullptr);
    vk_.vkDestroyDevice(device_, nullptr);
  }

  bool long_loops = false;  ///< set by measure

  template <class Real>
  Exactness measure(std::span<const std::uint32_t> code) {
    const std::vector<Operands<Real>> operands = make_operands<Real>();
    const Range in = heap_.allocate(Heap::host_memory, sets * sizeof(Operands<Real>));
    const Range out = heap_.allocate(Heap::host_memory, sets * sizeof(Results<Real>));
    const Range looped = heap_.allocate(Heap::host_memory, sizeof(std::uint32_t));
    const Range arguments = heap_.allocate(Heap::host_memory, sizeof(Arguments));
    std::memcpy(in.host(), operands.data(), sets * sizeof(Operands<Real>));
    const Arguments given{in.address(), out.address(), looped.address(), loop_rounds};
    std::memcpy(arguments.host(), &given, sizeof given);
    run(with_float_modes(code, physical_, sizeof(Real) == 8), arguments.address());
    std::uint32_t wanted = 1, found = 0;
    for (std::uint32_t i = 0; i < loop_rounds; ++i) wanted = wanted * 1664525u + 1013904223u;
    std::memcpy(&found, looped.host(), sizeof found);
    long_loops = found == wanted;
    std::vector<Results<Real>> results(sets);
    std::memcpy(results.data(), out.host(), sets * sizeof(Results<Real>));
    return judge<Real>(operands, results);
  }

 private:
  void run(std::span<const std::uint32_t> code, VkDeviceAddress arguments);

  const PhysicalDevice& physical_;
  VkDevice device_ = VK_NULL_HANDLE;
  VolkDeviceTable vk_{};
  Heap heap_;
  VkShaderModule shader_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkPipeline pipeline_ = VK_NULL_HANDLE;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
};

void Bench::run(std::span<const std::uint32_t> code, VkDeviceAddress arguments) {
  auto shader = make<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  shader.codeSize = code.size_bytes();
  shader.pCode = code.data();
  check(vk_.vkCreateShaderModule(device_, &shader, nullptr, &shader_), "load a kernel");
  layout_ = create_pipeline_layout(device_, vk_);
  auto create = make<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
  create.stage = make<VkPipelineShaderStageCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO);
  create.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  create.stage.module = shader_;
  create.stage.pName = "main";
  create.layout = layout_;
  check(vk_.vkCreateComputePipelines(device_, VK_NULL_HANDLE, 1, &create, nullptr, &pipeline_),
        "compile a kernel");
  auto pool = make<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  pool.queueFamilyIndex = physical_.family;
  check(vk_.vkCreateCommandPool(device_, &pool, nullptr, &pool_), "create a command pool");
  auto allocate = make<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
  allocate.commandPool = pool_;
  allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  allocate.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  check(vk_.vkAllocateCommandBuffers(device_, &allocate, &commands), "allocate a command buffer");
  auto begin = make<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  check(vk_.vkBeginCommandBuffer(commands, &begin), "begin a command buffer");
  Dispatch dispatch;
  dispatch.pipeline = pipeline_;
  dispatch.layout = layout_;
  dispatch.grid[0] = sets / block;
  dispatch.push.block = arguments;
  record_dispatch(vk_, commands, dispatch);
  record_end_barrier(vk_, commands);
  check(vk_.vkEndCommandBuffer(commands), "end a command buffer");
  const auto fence = make<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
  check(vk_.vkCreateFence(device_, &fence, nullptr, &fence_), "create a fence");
  VkQueue queue = VK_NULL_HANDLE;
  vk_.vkGetDeviceQueue(device_, physical_.family, 0, &queue);
  auto submit = make<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &commands;
  check(vk_.vkQueueSubmit(queue, 1, &submit, fence_), "submit work to a queue");
  constexpr std::uint64_t patience = 10'000'000'000;
  const VkResult result = vk_.vkWaitForFences(device_, 1, &fence_, VK_TRUE, patience);
  if (result == VK_TIMEOUT) vk_.vkDeviceWaitIdle(device_);
  check(result, "wait for a kernel");
}

}  // namespace

Arithmetic measure_arithmetic(const PhysicalDevice& device) noexcept {
  Arithmetic out;
  try {
    Bench bench(device);
    out.f32 = bench.measure<float>(arithmetic_f32);
    out.long_loops = bench.long_loops;
    if (device.features.shaderFloat64) out.f64 = Bench(device).measure<double>(arithmetic_f64);
  } catch (const sdk::Failure& failure) {
    out.failure = failure.message;
  } catch (const std::exception& failure) {
    out.failure = failure.what();
  }
  return out;
}

}  // namespace weir::vulkan
