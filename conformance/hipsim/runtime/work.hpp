// SPDX-License-Identifier: Apache-2.0
// The work that streams and graphs execute, after its parameters were checked.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "runtime/runtime.hpp"

namespace weir::hipsim {

struct KernelWork {
  Launch launch;
  int device = 0;
};
struct CopyWork {
  std::uint64_t to = 0, from = 0, bytes = 0;
  bool to_device = false, from_device = false;  ///< sides that must be live allocations
};
struct FillWork {
  std::uint64_t to = 0, count = 0;
  std::uint32_t value = 0;
  unsigned element = 1;  ///< bytes: 1, 2 or 4
  std::uint64_t rows = 1, pitch = 0;
};
struct HostWork {
  hipHostFn_t function = nullptr;
  void* data = nullptr;
};
struct NoWork {};
using Work = std::variant<NoWork, KernelWork, CopyWork, FillWork, HostWork>;

/// Executes on the calling thread. A fault is reported and breaks `device`. A broken device executes host
/// functions only.
void perform(Device& device, const Work& work);

/// Checks a launch with arguments in either of HIP's two forms. Fills `work` on success.
hipError_t prepare_launch(const Function& function, const LaunchShape& shape, void** parameters, void** extra,
                          KernelWork& work);
/// Checks a copy; with hipMemcpyDefault the addresses determine its direction.
hipError_t prepare_copy(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind, CopyWork& work);
hipError_t prepare_fill(void* to, std::uint32_t value, unsigned element, std::size_t count, std::size_t rows,
                        std::size_t pitch, FillWork& work);

}  // namespace weir::hipsim
