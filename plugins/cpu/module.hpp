// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weir/sdk/cpu_kernel.h>

#include <memory>
#include <string>
#include <vector>

#include "code_image.hpp"
#include "device.hpp"
#include "operation.hpp"

namespace weir::cpu {

struct Kernel : Object {
  static constexpr Kind object_kind = Kind::kernel;

  Device* device = nullptr;
  weir_cpu_kernel function = nullptr;
  std::string name;
  std::uint32_t argument_bytes = 0;
  std::vector<weir_parameter> parameters;
  Cost cost;
};

struct Module : Object {
  static constexpr Kind object_kind = Kind::module;

  Device* device = nullptr;
  std::string name;
  std::unique_ptr<CodeImage> image;
  std::mutex mutex;
  std::vector<Kernel*> kernels;
};

}  // namespace weir::cpu
