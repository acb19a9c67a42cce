// SPDX-License-Identifier: Apache-2.0
#include "runtime/work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>

namespace weir::hipsim {
namespace {

hipError_t error_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::out_of_bounds:
    case FaultKind::use_after_free:
      return hipErrorIllegalAddress;
    case FaultKind::trap:
      return hipErrorAssert;
    default:
      return hipErrorLaunchFailure;
  }
}

/// Whether memory that was live when the work was enqueued is still live.
bool check_allocated(Device& device, const char* doing, std::uint64_t address, std::uint64_t bytes) {
  Runtime& runtime = Runtime::instance();
  const std::string problem = runtime.memory.judge(address, bytes);
  if (problem.empty()) return true;
  runtime.report(fmt::format("{}: {}", doing, problem));
  device.set_error(hipErrorIllegalAddress);
  return false;
}

void run(Device& device, const KernelWork& work) {
  Runtime& runtime = Runtime::instance();
  LaunchResult result = execute(work.launch);
  runtime.instructions += result.instructions;
  for (const std::string& text : result.reports) runtime.report(text);
  if (!result.failed) return;
  runtime.report(result.message);
  device.set_error(error_of(result.kind));
}

void run(Device& device, const CopyWork& work) {
  if (work.to_device && !check_allocated(device, "a copy writes", work.to, work.bytes)) return;
  if (work.from_device && !check_allocated(device, "a copy reads", work.from, work.bytes)) return;
  std::memmove(reinterpret_cast<void*>(work.to), reinterpret_cast<const void*>(work.from), work.bytes);
}

void run(Device& device, const FillWork& work) {
  for (std::uint64_t row = 0; row < work.rows; ++row) {
    const std::uint64_t start = work.to + row * work.pitch;
    if (!check_allocated(device, "a fill writes", start, work.count * work.element)) return;
    auto* const begin = reinterpret_cast<char*>(start);
    const std::uint64_t bytes = work.count * work.element;
    if (work.element == 1) {
      std::memset(begin, static_cast<int>(work.value), bytes);
      continue;
    }
    if (bytes) std::memcpy(begin, &work.value, work.element);
    for (std::uint64_t done = work.element; done < bytes; done *= 2)
      std::memcpy(begin + done, begin, std::min(done, bytes - done));
  }
}

void run(Device&, const NoWork&) {}
void run(Device&, const HostWork& work) {
  static std::mutex& one_at_a_time = *new std::mutex;
  std::unique_lock lock(one_at_a_time, std::defer_lock);
  if (Runtime::instance().config.one_lock) lock.lock();
  work.function(work.data);
}

}  // namespace

void perform(Device& device, const Work& work) {
  if (device.error() != hipSuccess && !std::holds_alternative<HostWork>(work)) return;
  std::visit([&](const auto& w) { run(device, w); }, work);
}

hipError_t prepare_launch(const Function& function, const LaunchShape& shape, void** parameters, void** extra,
                          KernelWork& work) {
  Runtime& runtime = Runtime::instance();
  const Kernel& kernel = *function.kernel;
  std::uint64_t threads = 1, items[3];
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (shape.grid[axis] == 0 || shape.block[axis] == 0) return hipErrorInvalidConfiguration;
    threads *= shape.block[axis];
    items[axis] = std::uint64_t(shape.grid[axis]) * shape.block[axis];
    if (shape.block[axis] > 1024 || items[axis] > UINT32_MAX) return hipErrorInvalidConfiguration;
  }
  if (threads > 1024 || threads > kernel.max_threads) {
    runtime.report(fmt::format("kernel {}: the block has {} threads; the kernel was compiled for at most {}",
                               kernel.name, threads, kernel.max_threads));
    return hipErrorInvalidConfiguration;
  }
  constexpr std::uint64_t lds_limit = 65536, lds_limit_gfx950 = 163840;
  const std::uint64_t limit = function.code->architecture() == "gfx950" ? lds_limit_gfx950 : lds_limit;
  if (std::uint64_t(kernel.lds_bytes) + shape.dynamic_lds > limit) return hipErrorLaunchOutOfResources;
  work.launch = Launch{function.code,
                       function.kernel,
                       shape,
                       {},
                       &runtime.memory,
                       runtime.config.races,
                       runtime.config.instruction_limit,
                       runtime.config.stack_bytes};
  work.device = function.device;
  std::vector<std::uint8_t>& arguments = work.launch.arguments;
  if (extra) {
    // Pairs of a number and a value: 1 the buffer, 2 the address of its size, 3 the end.
    const void* buffer = nullptr;
    std::size_t size = 0;
    for (void** p = extra; reinterpret_cast<std::uintptr_t>(*p) != 3; p += 2) {
      const auto what = reinterpret_cast<std::uintptr_t>(p[0]);
      if (what == 1)
        buffer = p[1];
      else if (what == 2)
        size = *static_cast<const std::size_t*>(p[1]);
      else
        return hipErrorInvalidValue;
    }
    if (size < kernel.explicit_bytes || (size && !buffer)) {
      runtime.report(fmt::format("kernel {}: {} bytes of arguments; the kernel takes {}", kernel.name, size,
                                 kernel.explicit_bytes));
      return hipErrorInvalidValue;
    }
    const auto* bytes = static_cast<const std::uint8_t*>(buffer);
    if (kernel.explicit_bytes) arguments.assign(bytes, bytes + kernel.explicit_bytes);
    return hipSuccess;
  }
  arguments.resize(kernel.explicit_bytes);
  std::size_t n = 0;
  for (const KernelArgument& a : kernel.arguments) {
    if (a.hidden()) continue;
    if (!parameters || !parameters[n]) return hipErrorInvalidValue;
    std::memcpy(arguments.data() + a.offset, parameters[n++], a.size);
  }
  return hipSuccess;
}

hipError_t prepare_copy(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind, CopyWork& work) {
  Runtime& runtime = Runtime::instance();
  work.to = reinterpret_cast<std::uint64_t>(to), work.from = reinterpret_cast<std::uint64_t>(from);
  work.bytes = bytes;
  if (bytes == 0) return hipSuccess;
  if (!to || !from) return hipErrorInvalidValue;
  if (kind < 0 || (kind > hipMemcpyDefault && kind != 1024)) return hipErrorInvalidMemcpyDirection;
  const auto is_known = [&](std::uint64_t address) { return runtime.memory.find(address) != nullptr; };
  const bool automatic = kind == hipMemcpyDefault;
  work.to_device =
      automatic ? is_known(work.to) : kind == hipMemcpyHostToDevice || kind >= hipMemcpyDeviceToDevice;
  work.from_device = automatic ? is_known(work.from) : kind >= hipMemcpyDeviceToHost;
  for (const auto& [needed, address, what] :
       {std::tuple(work.to_device, work.to, "to"), std::tuple(work.from_device, work.from, "from")}) {
    // Pinned host memory is known too: HIP accepts it as device memory.
    const std::string problem = needed || is_known(address) ? runtime.memory.judge(address, bytes) : "";
    if (problem.empty()) continue;
    runtime.report(fmt::format("a copy {} device memory: {}", what, problem));
    return hipErrorInvalidValue;
  }
  return hipSuccess;
}

hipError_t prepare_fill(void* to, std::uint32_t value, unsigned element, std::size_t count, std::size_t rows,
                        std::size_t pitch, FillWork& work) {
  Runtime& runtime = Runtime::instance();
  work = FillWork{reinterpret_cast<std::uint64_t>(to), count, value, element, rows, pitch};
  if (count == 0 || rows == 0) return hipSuccess;
  if (!to || work.to % element != 0 || (element != 1 && element != 2 && element != 4))
    return hipErrorInvalidValue;
  const std::uint64_t bytes = (rows - 1) * pitch + count * element;
  if (count > UINT64_MAX / element || bytes < count * element) return hipErrorInvalidValue;
  const std::string problem = runtime.memory.judge(work.to, bytes);
  if (problem.empty()) return hipSuccess;
  runtime.report("a fill: " + problem);
  return hipErrorInvalidValue;
}

}  // namespace weir::hipsim
