// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weir/sdk/cpu_kernel.h>

#include <memory>

#include "code/code_image.hpp"
#include "device.hpp"
#include "stream/operation.hpp"

namespace weir::cpu {

struct Kernel : sdk::KernelObject<Device> {
  weir_cpu_kernel function = nullptr;
  Cost cost;
};

struct Module : sdk::ModuleObject<Device, Kernel> {
  std::unique_ptr<CodeImage> image;
};

}  // namespace weir::cpu
