// SPDX-License-Identifier: Apache-2.0
// The interpreter of the IR with the arguments of tests: the bits of each scalar, by parameter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "choices.hpp"
#include "interpreter/machine.hpp"

namespace weir::test {

using interpreter::CannotRun;
using interpreter::MathLibrary;

/// Input of a launch, by parameter, as the bits of each scalar.
struct LaunchData {
  std::vector<std::vector<std::int64_t>> extents;  ///< of arrays; empty for scalars
  std::vector<std::vector<std::uint64_t>>
      components;  ///< of all elements in row-major order, or of the scalar
  std::uint64_t launch_key = 0;
};

/// A machine whose arrays share no memory.
class Machine : public interpreter::Machine {
 public:
  /// Lenient. Small arrays and scalars with contents from `choices`.
  Machine(const ir::Kernel& kernel, Choices& choices);
  /// Strict.
  Machine(const ir::Kernel& kernel, const LaunchData& data, MathLibrary library);

  /// Runs one task. The tasks of a launch share `scratch`.
  void run_task(const ir::Task& task, std::vector<std::byte>& scratch, std::uint64_t steps);
  /// The number of the repetition in which tasks run, by depth; see ir::Op::repetition.
  void set_repetition(std::size_t depth, std::int64_t number) { repetitions_.at(depth) = number; }

  /// The contents of all arrays after a launch, for comparison.
  std::vector<std::uint64_t> contents() const;
  /// The bits of all scalars of an array; empty for a scalar parameter.
  std::vector<std::uint64_t> components(std::size_t parameter) const;

 private:
  const ir::Kernel& kernel_;
};

}  // namespace weir::test
