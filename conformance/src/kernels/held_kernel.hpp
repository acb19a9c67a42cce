// SPDX-License-Identifier: Apache-2.0
// A kernel that runs until the test releases it. Work that must wait for it certainly has not run before, in
// graphs too, which have no host callbacks.
#pragma once

#include "kernels/kernels.hpp"

namespace weir::conformance {

/// The number of rounds of the kernel "meet" that take about patience(), measured once in the process.
std::int64_t meeting_rounds(const Kernel& meet);

/// Arguments for the kernel "meet", and a stream of its own that watches and releases it. Throws Unsupported
/// without CONCURRENT_STREAMS. Without a release the kernel ends after about patience(). The destructor waits
/// for its launches, since the module is unloaded and memory freed then; a graph with its arguments must be
/// done before.
class HeldKernel {
 public:
  HeldKernel();
  HeldKernel(const HeldKernel&) = delete;
  HeldKernel& operator=(const HeldKernel&) = delete;
  ~HeldKernel();

  const Kernel& kernel() const { return kernel_; }
  Arguments arguments() const { return arguments(result_); }
  /// With memory of the caller, of at least 8 bytes, for its result, which it writes when it ends.
  Arguments arguments(weir_allocation result) const;
  void launch(const Stream& stream) const { launched(stream, arguments()); }
  /// As arguments() with such memory.
  void launch(const Stream& stream, weir_allocation result) const { launched(stream, arguments(result)); }

  /// Waits until the kernel runs. Returns false after twice patience().
  bool starts() const;
  void release();
  /// True if the kernel ended because it was released, not because its time was up. Call it after the kernel.
  bool was_released() const;

 private:
  void launched(const Stream& stream, const Arguments& arguments) const;

  const Kernel kernel_{"meet"};
  const Memory flags_, result_;
  const Stream control_;
  mutable std::vector<Event> ends_;  ///< of the launches
};

/// Reads bytes through `control`, a stream that does not wait for the work under test.
Bytes read_through(const Stream& control, weir_allocation memory, std::uint64_t offset, std::uint64_t size);

}  // namespace weir::conformance
