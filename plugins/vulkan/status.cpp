// SPDX-License-Identifier: Apache-2.0
#include "api.hpp"

namespace weir::vulkan {
namespace {

struct Row {
  VkResult vendor;
  weir_result code;
  const char* name;
};

constexpr Row rows[] = {
    {VK_ERROR_OUT_OF_HOST_MEMORY, WEIR_ERROR_OUT_OF_MEMORY, "VK_ERROR_OUT_OF_HOST_MEMORY"},
    {VK_ERROR_OUT_OF_DEVICE_MEMORY, WEIR_ERROR_OUT_OF_MEMORY, "VK_ERROR_OUT_OF_DEVICE_MEMORY"},
    {VK_ERROR_OUT_OF_POOL_MEMORY, WEIR_ERROR_OUT_OF_MEMORY, "VK_ERROR_OUT_OF_POOL_MEMORY"},
    {VK_ERROR_TOO_MANY_OBJECTS, WEIR_ERROR_OUT_OF_MEMORY, "VK_ERROR_TOO_MANY_OBJECTS"},
    {VK_ERROR_FRAGMENTATION, WEIR_ERROR_OUT_OF_MEMORY, "VK_ERROR_FRAGMENTATION"},
    {VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS, WEIR_ERROR_OUT_OF_MEMORY,
     "VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS"},
    {VK_ERROR_DEVICE_LOST, WEIR_ERROR_DEVICE_LOST, "VK_ERROR_DEVICE_LOST"},
    {VK_ERROR_INITIALIZATION_FAILED, WEIR_ERROR_UNKNOWN, "VK_ERROR_INITIALIZATION_FAILED"},
    {VK_ERROR_MEMORY_MAP_FAILED, WEIR_ERROR_SYSTEM, "VK_ERROR_MEMORY_MAP_FAILED"},
    {VK_ERROR_LAYER_NOT_PRESENT, WEIR_ERROR_NO_LIBRARY, "VK_ERROR_LAYER_NOT_PRESENT"},
    {VK_ERROR_EXTENSION_NOT_PRESENT, WEIR_ERROR_UNSUPPORTED, "VK_ERROR_EXTENSION_NOT_PRESENT"},
    {VK_ERROR_FEATURE_NOT_PRESENT, WEIR_ERROR_UNSUPPORTED, "VK_ERROR_FEATURE_NOT_PRESENT"},
    {VK_ERROR_INCOMPATIBLE_DRIVER, WEIR_ERROR_NO_LIBRARY, "VK_ERROR_INCOMPATIBLE_DRIVER"},
    {VK_ERROR_INVALID_SHADER_NV, WEIR_ERROR_CODE_OBJECT, "VK_ERROR_INVALID_SHADER_NV"},
    {VK_ERROR_UNKNOWN, WEIR_ERROR_UNKNOWN, "VK_ERROR_UNKNOWN"},
};

const Row* find(VkResult result) noexcept {
  for (const Row& row : rows)
    if (row.vendor == result) return &row;
  return nullptr;
}

}  // namespace

const char* name_of(VkResult result) noexcept {
  const Row* row = find(result);
  return row ? row->name : "";
}

void raise(VkResult result, std::string_view doing) {
  const Row* row = find(result);
  const char* name = row ? row->name : "an unknown result";
  throw sdk::Failure{row ? row->code : WEIR_ERROR_UNKNOWN,
                     sdk::format_text("cannot %.*s: Vulkan returned %s (%d)", static_cast<int>(doing.size()),
                                      doing.data(), name, static_cast<int>(result)),
                     result, row ? row->name : ""};
}

}  // namespace weir::vulkan
