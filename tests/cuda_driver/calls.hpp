// SPDX-License-Identifier: Apache-2.0
// Code shared by the tests of the CUDA driver on the fake library and on the real one.
#pragma once

#include "driver_calls.hpp"

namespace cuda_test {

using namespace weir::test::driver;

inline weir_module load(weir_device device, const std::string& ptx, const char* target = "sm_70") {
  return weir::test::driver::load(device, "ptx", target, ptx.data(), ptx.size());
}

}  // namespace cuda_test
