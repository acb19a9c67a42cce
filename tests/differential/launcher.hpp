// SPDX-License-Identifier: Apache-2.0
// One kernel through the public API, several times at once, compared with the interpreter.
#pragma once

#include <optional>
#include <string>
#include <vector>
#include <weir/program.hpp>
#include <weir/weir.hpp>

#include "interpreter.hpp"
#include "interpreter/compiled_math.hpp"
#include "runnable_kernel.hpp"

namespace weir::test {

using interpreter::CompiledMath;

/// The bits of each scalar, by parameter.
using Components = std::vector<std::vector<std::uint64_t>>;

/// The key of random numbers for launch `number` with that seed.
std::uint64_t launch_key(std::uint64_t seed, std::uint64_t number);

/// Random contents for the kernel's parameters.
LaunchData random_data(const RunnableKernel& runnable, Choices& choices);

/// Arrays and scalars of one launch on a separate stream.
class Launch {
 public:
  /// With `strides`, some of the arrays are strided.
  Launch(const RunnableKernel& runnable, const LaunchData& data, const Device& device,
         Choices* strides = nullptr);

  void submit(const Program& program, const LaunchOptions& options);
  /// Waits; returns the failure on the device, if any.
  std::optional<std::string> finish();
  /// The arrays after the launch; empty for scalars and for arrays in the memory of others.
  Components components() const;
  /// Whether the memory between the elements of strided arrays is as it was. Overwrites the elements.
  bool gaps_are_unchanged() const;
  const Stream& stream() const { return stream_; }

 private:
  void place(std::uint32_t parameter, const std::vector<std::int64_t>& extents, Choices& choices);

  const RunnableKernel& runnable_;
  Stream stream_;
  std::vector<AnyArray> memory_;
  std::vector<AnyArrayView> views_;
  std::vector<std::vector<std::byte>> scalars_;
};

/// The interpreter's arrays, in the form of Launch::components().
Components components_of(const RunnableKernel& runnable, const Machine& machine);
/// The first scalar that differs, or "". Every NaN equals every other.
std::string difference(const RunnableKernel& runnable, const Components& found, const Components& expected);

}  // namespace weir::test
