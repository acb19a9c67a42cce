// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <string_view>
#include <weir/sdk/floating_point.hpp>

#include "code/cache_file.hpp"
#include "code/spirv.hpp"
#include "driver.hpp"

namespace weir::vulkan {
namespace {

/// A capability of SPIR-V, and whether a device has it.
struct Capability {
  std::uint32_t number;
  const char* name;
  bool (*present)(const PhysicalDevice&);
};

bool always(const PhysicalDevice&) {
  return true;
}
template <VkSubgroupFeatureFlagBits Bit>
bool has_subgroup(const PhysicalDevice& device) {
  return (device.properties11.subgroupSupportedOperations & Bit) &&
         (device.properties11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT);
}

using P = const PhysicalDevice&;
constexpr Capability capabilities[] = {
    {0, "Matrix", always},
    {1, "Shader", always},
    {9, "Float16", [](P d) { return d.features12.shaderFloat16 != 0; }},
    {10, "Float64", [](P d) { return d.features.shaderFloat64 != 0; }},
    {11, "Int64", always},
    {12, "Int64Atomics", [](P d) { return d.features12.shaderBufferInt64Atomics != 0; }},
    {22, "Int16", [](P d) { return d.features.shaderInt16 != 0; }},
    {39, "Int8", [](P d) { return d.features12.shaderInt8 != 0; }},
    {61, "GroupNonUniform", has_subgroup<VK_SUBGROUP_FEATURE_BASIC_BIT>},
    {62, "GroupNonUniformVote", has_subgroup<VK_SUBGROUP_FEATURE_VOTE_BIT>},
    {63, "GroupNonUniformArithmetic", has_subgroup<VK_SUBGROUP_FEATURE_ARITHMETIC_BIT>},
    {64, "GroupNonUniformBallot", has_subgroup<VK_SUBGROUP_FEATURE_BALLOT_BIT>},
    {65, "GroupNonUniformShuffle", has_subgroup<VK_SUBGROUP_FEATURE_SHUFFLE_BIT>},
    {66, "GroupNonUniformShuffleRelative", has_subgroup<VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT>},
    {4427, "DeviceGroup", always},
    {4433, "StorageBuffer16BitAccess", [](P d) { return d.features11.storageBuffer16BitAccess != 0; }},
    {4441, "VariablePointersStorageBuffer",
     [](P d) { return d.features11.variablePointersStorageBuffer != 0; }},
    {4442, "VariablePointers", [](P d) { return d.features11.variablePointers != 0; }},
    {4448, "StorageBuffer8BitAccess", [](P d) { return d.features12.storageBuffer8BitAccess != 0; }},
    // Modules ask for these by type, and a device may have them for some types only.
    {4464, "DenormPreserve",
     [](P d) {
       return (d.properties12.shaderDenormPreserveFloat16 | d.properties12.shaderDenormPreserveFloat32 |
               d.properties12.shaderDenormPreserveFloat64) != 0;
     }},
    {4466, "SignedZeroInfNanPreserve",
     [](P d) {
       return (d.properties12.shaderSignedZeroInfNanPreserveFloat16 |
               d.properties12.shaderSignedZeroInfNanPreserveFloat32 |
               d.properties12.shaderSignedZeroInfNanPreserveFloat64) != 0;
     }},
    {4467, "RoundingModeRTE",
     [](P d) {
       return (d.properties12.shaderRoundingModeRTEFloat16 | d.properties12.shaderRoundingModeRTEFloat32 |
               d.properties12.shaderRoundingModeRTEFloat64) != 0;
     }},
    {5345, "VulkanMemoryModel", [](P d) { return d.features12.vulkanMemoryModel != 0; }},
    {5346, "VulkanMemoryModelDeviceScope",
     [](P d) { return d.features12.vulkanMemoryModelDeviceScope != 0; }},
    {5347, "PhysicalStorageBufferAddresses", always},
    {6033, "AtomicFloat32AddEXT", [](P d) { return d.atomic_float.shaderBufferFloat32AtomicAdd != 0; }},
    {6034, "AtomicFloat64AddEXT", [](P d) { return d.atomic_float.shaderBufferFloat64AtomicAdd != 0; }},
};

void check_capabilities(const PhysicalDevice& device, const SpirvModule& module, const char* name) {
  for (const std::uint32_t number : module.capabilities) {
    const auto* found = std::ranges::find(capabilities, number, &Capability::number);
    if (found == std::end(capabilities))
      sdk::fail(WEIR_ERROR_CODE_OBJECT,
                "code object '%.64s' needs SPIR-V's capability %u, which this driver does "
                "not enable; compile it without",
                name, number);
    if (!found->present(device))
      sdk::fail(WEIR_ERROR_CODE_OBJECT,
                "code object '%.64s' needs SPIR-V's capability %s, which device '%s' "
                "lacks; compile it without, or use another device",
                name, found->name, device.properties.deviceName);
  }
}

void check_target(const weir_code_object& object) {
  constexpr std::string_view known[] = {"", "vulkan1.0", "vulkan1.1", "vulkan1.2", "vulkan1.3"};
  if (std::string_view(object.format) == "spirv-vulkan" &&
      std::ranges::find(known, std::string_view(object.target)) != std::end(known))
    return;
  sdk::fail(WEIR_ERROR_CODE_OBJECT,
            "code object '%.64s' is of format '%.32s' for target '%.64s'; this device loads format "
            "'spirv-vulkan' for targets up to vulkan1.3; compile it for one of them",
            object.name, object.format, object.target);
}

}  // namespace

Module& Device::load_module(const weir_code_object& object) {
  check_present();
  check_target(object);
  if (object.size % sizeof(std::uint32_t))
    sdk::fail(WEIR_ERROR_CODE_OBJECT,
              "code object '%.64s' has %llu bytes; SPIR-V consists of 4-byte words; load the whole file",
              object.name, static_cast<unsigned long long>(object.size));
  std::vector<std::uint32_t> words(object.size / sizeof(std::uint32_t));
  std::memcpy(words.data(), object.data, object.size);
  SpirvModule read;
  if (const std::string why = read_spirv(words, read); !why.empty())
    sdk::fail(WEIR_ERROR_CODE_OBJECT, "code object '%.64s' is not a SPIR-V module for Vulkan: %s",
              object.name, why.c_str());
  check_capabilities(*physical, read, object.name);

  sdk::Fresh<Module> module;
  module->device = this;
  module->entry_points = std::move(read.entry_points);
  module->shared_bytes = read.shared_bytes;
  module->hash = hash_of(words.data(), object.size);
  auto create = make<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  create.codeSize = object.size;
  create.pCode = words.data();
  const VkResult result = vk.vkCreateShaderModule(handle, &create, nullptr, &module->shader);
  if (result < 0 && result != VK_ERROR_OUT_OF_HOST_MEMORY && result != VK_ERROR_OUT_OF_DEVICE_MEMORY)
    throw sdk::Failure{WEIR_ERROR_CODE_OBJECT,
                       sdk::format_text("code object '%.64s' was refused: Vulkan returned %s (%d)",
                                        object.name, name_of(result), static_cast<int>(result)),
                       result, name_of(result)};
  check(result, "load a module");
  return module.publish();
}

void Module::unload() noexcept {
  device->vk.vkDestroyShaderModule(device->handle, std::exchange(shader, VkShaderModule{}), nullptr);
  sdk::Pool<Module>::of().give(*this);
}

void Module::find_kernel(Kernel& kernel) {
  const auto found = std::ranges::find(entry_points, kernel.name, &SpirvModule::EntryPoint::name);
  if (found == entry_points.end())
    sdk::fail(WEIR_ERROR_NOT_FOUND,
              "module '%.64s' has no kernel '%.128s'; it has %zu, the first is '%.128s'", name.c_str(),
              kernel.name.c_str(), entry_points.size(), entry_points.front().name.c_str());
  kernel.shader = shader;
  kernel.push_bytes = found->push_bytes;
  kernel.hash = hash_of(kernel.name.data(), kernel.name.size(), hash);
  kernel.info.max_block_threads = device->limits.max_block_threads;
  kernel.info.shared_bytes = entry_points.size() == 1 ? shared_bytes : 0;
  kernel.info.lanes = device->limits.lanes;
}

VkPipeline Kernel::pipeline(const weir_launch& launch, Arguments arguments) {
  // A module declares its dynamic memory as an array, which must not be empty.
  const Key key{launch.block[0], launch.block[1], launch.block[2], std::max(launch.dynamic_shared_bytes, 16u),
                arguments == Arguments::pushed};
  // Acquire: another thread may have stored the pointer, after it wrote the entry.
  if (const auto* last = last_.load(std::memory_order_acquire); last && last->first == key)
    return last->second;
  std::lock_guard lock(mutex_);
  if (const auto found = pipelines_.find(key); found != pipelines_.end()) {
    last_.store(&*found, std::memory_order_release);
    return found->second;
  }
  const VkSpecializationMapEntry entries[] = {{convention::block_size, 0, 4},
                                              {convention::block_size + 1, 4, 4},
                                              {convention::block_size + 2, 8, 4},
                                              {convention::dynamic_shared_bytes, 12, 4},
                                              {convention::arguments_are_pushed, 16, 4}};
  const VkSpecializationInfo constants{5, entries, sizeof key, &key};
  auto create = make<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
  create.stage = make<VkPipelineShaderStageCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO);
  create.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  create.stage.module = shader;
  create.stage.pName = name.c_str();
  create.stage.pSpecializationInfo = &constants;
  create.layout = device->pipeline_layout;
  PipelineFile file(*device->physical, device->handle, device->vk, hash_of(&key, sizeof key, hash));
  VkPipeline made = VK_NULL_HANDLE;
  const sdk::DefaultFloatingPoint floating_point;  // the vendor's compiler folds constants
  const VkResult result =
      device->vk.vkCreateComputePipelines(device->handle, file.cache(), 1, &create, nullptr, &made);
  if (result < 0)
    raise(result, sdk::format_text("compile kernel '%.128s' for blocks of %u x %u x %u threads", name.c_str(),
                                   key.x, key.y, key.z));
  file.keep();
  last_.store(&*pipelines_.emplace(key, made).first, std::memory_order_release);
  return made;
}

void Kernel::unload() noexcept {
  std::lock_guard lock(mutex_);
  last_.store(nullptr, std::memory_order_relaxed);  // no other call uses a kernel that is being unloaded
  for (const auto& [key, pipeline] : pipelines_)
    device->vk.vkDestroyPipeline(device->handle, pipeline, nullptr);
  pipelines_.clear();
}

void Stream::launch(Kernel& kernel, const weir_launch& launch) {
  Dispatch dispatch;
  const bool pushed = kernel.pushes(launch.argument_bytes);
  dispatch.pipeline = kernel.pipeline(launch, pushed ? Arguments::pushed : Arguments::stored);
  dispatch.layout = device->pipeline_layout;
  std::copy_n(launch.grid, 3, dispatch.grid);
  std::lock_guard lock(line->recording);
  device->check_present();
  if (pushed) {
    std::memcpy(dispatch.push.arguments.data(), launch.arguments, launch.argument_bytes);
    dispatch.push_bytes = (convention::pushed_arguments_at + launch.argument_bytes + 3) & ~3u;
  } else if (launch.argument_bytes) {
    const Range block = line->argument_block(launch.argument_bytes);
    std::memcpy(block.host(), launch.arguments, launch.argument_bytes);
    dispatch.push.block = block.address();
  }
  record_dispatch(device->vk, line->commands(Ordered::kernels), dispatch);
  line->end_operation();
}

}  // namespace weir::vulkan
