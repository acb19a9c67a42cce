// SPDX-License-Identifier: Apache-2.0
// Executes kernels and tasks statement by statement: the meaning of the IR, without a compiler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "choices.hpp"
#include "ir/ir.hpp"
#include "ir/task.hpp"

namespace weir::test {

/// Thrown if a run exceeds its limit of steps or performs an operation without a defined meaning.
struct CannotRun {};

/// Input of a launch, by parameter, as the bits of each scalar.
struct LaunchData {
  std::vector<std::vector<std::int64_t>> extents;  ///< of arrays; empty for scalars
  std::vector<std::vector<std::uint64_t>>
      components;  ///< of all elements in row-major order, or of the scalar
  std::uint64_t launch_key = 0;
};

/// Computes the bits of a math function, which IEEE 754 leaves unspecified.
using MathLibrary = std::function<std::uint64_t(const ir::Statement& s, std::span<const ScalarType> types,
                                                std::span<const std::uint64_t> operands)>;

/// The arguments of a launch, and their contents after it. A lenient machine gives every kernel a meaning:
/// indices outside an array wrap around, and functions that depend on generated code are replaced. A false
/// assert ends an iteration of a parallel loop and is ignored elsewhere. A strict machine follows the IR to
/// the bit.
class Machine {
 public:
  /// Lenient. Small arrays and scalars with contents from `choices`.
  Machine(const ir::Kernel& kernel, Choices& choices);
  /// Strict.
  Machine(const ir::Kernel& kernel, LaunchData data, MathLibrary library);

  /// Runs the whole kernel; the blocks of a region run one after the other.
  void run_kernel(std::uint64_t steps);
  /// Runs one task. The tasks of a launch share `scratch`.
  void run_task(const ir::Task& task, std::vector<std::byte>& scratch, std::uint64_t steps);

  /// Runs the iterations of `parallel` loops from the last one to the first.
  void run_backward() { backward_ = true; }

  /// The contents of all arrays after a launch, for comparison.
  std::vector<std::uint64_t> contents() const;
  const std::vector<std::uint64_t>& components(std::size_t parameter) const {
    return arrays_[parameter].components;
  }

  /// A strict run reached a false assert or an index that bounds checks refuse.
  bool failed() const { return failed_; }
  /// The failure occurred outside of parallel loops, which leaves the arrays undefined.
  bool failed_between_loops() const { return failed_between_loops_; }

 private:
  enum class Flow : std::uint8_t { next, leave, again, yielded, failed };
  struct Array {
    std::vector<std::int64_t> extents;
    std::vector<std::uint64_t> components;
  };
  struct Value {
    std::uint64_t bits = 0;
    ScalarType type = ScalarType::boolean;
  };

  void start(std::uint32_t values, std::uint32_t locals, std::uint64_t steps);
  std::uint64_t bits(ir::ValueId id) const { return values_[id].bits; }
  std::int64_t number(ir::ValueId id) const { return static_cast<std::int64_t>(bits(id)); }
  Flow block(const ir::Block& block);
  Flow statement(const ir::Statement& s);
  Flow for_loop(const ir::Statement& s);
  Flow while_loop(const ir::Statement& s);
  void iterate(const ir::Statement& s, const std::function<void(Flow)>& after);
  std::uint64_t reduce(const ir::Statement& s);
  std::uint64_t reduce_in_order(const ir::Statement& s);
  bool has_element(const ir::Statement& s) const;
  bool inside(const ir::Statement& s) const;
  Flow fail();
  std::uint64_t& element(const ir::Statement& s);
  std::uint64_t atomic(const ir::Statement& s);
  std::uint64_t combine(ir::Op op, ScalarType type, std::uint64_t a, std::uint64_t b) const;
  std::byte* scratch(const ir::Statement& s, bool indexed);
  std::size_t local_index(const ir::Statement& s, bool indexed) const;
  void set(const ir::Statement& s, std::uint64_t bits) { values_[s.result] = {bits, s.type}; }

  const ir::Kernel& kernel_;
  std::vector<Array> arrays_;
  std::vector<std::vector<std::uint64_t>> scalars_;
  std::uint64_t launch_key_;
  std::vector<Value> values_;
  std::vector<std::vector<std::uint64_t>> locals_;
  std::vector<std::byte>* scratch_ = nullptr;
  std::uint64_t steps_ = 0;
  Value yielded_;
  bool in_loop_ = false;
  MathLibrary library_;
  bool strict_ = false;
  bool backward_ = false;
  bool failed_ = false, failed_between_loops_ = false;
};

}  // namespace weir::test
