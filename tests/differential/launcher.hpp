// SPDX-License-Identifier: Apache-2.0
// One kernel through the public path, several times at once, against the interpreter.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>
#include <weir/program.hpp>
#include <weir/weir.hpp>

#include "interpreter.hpp"
#include "runnable_kernel.hpp"

namespace weir::test {

Device tested();

/// Random contents for the kernel's parameters.
LaunchData random_data(const RunnableKernel& runnable, Choices& choices);

/// Math functions as generated code computes them, one value at a time.
class CompiledMath {
 public:
  std::uint64_t operator()(const ir::Statement& s, std::span<const ScalarType> types,
                           std::span<const std::uint64_t> operands);

 private:
  std::map<std::string, Program> programs_;
  std::map<std::pair<std::string, std::vector<std::uint64_t>>, std::uint64_t> known_;
};

/// Arrays and scalars of one launch on a stream of its own.
class Launch {
 public:
  Launch(const ir::Kernel& kernel, const LaunchData& data);

  void submit(const Program& program, const LaunchOptions& options);
  /// Waits; what failed on the device, if anything.
  std::optional<std::string> finish();
  /// What differs from the interpreter's arrays, or "".
  std::string difference(const Machine& machine) const;

 private:
  const ir::Kernel& kernel_;
  Stream stream_;
  std::vector<AnyArray> arrays_;
  std::vector<std::vector<std::byte>> scalars_;
};

}  // namespace weir::test
