// SPDX-License-Identifier: Apache-2.0
// Executes kernels and tasks statement by statement: the meaning of the IR, without a compiler. The reference
// of the differential tests, and the machine of debugged launches (runtime/launch/debug_launch.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "interpreter/observer.hpp"
#include "ir/ir.hpp"
#include "ir/task.hpp"
#include "ir/verifier.hpp"

namespace weir::interpreter {

/// Thrown if a run exceeds its limit of steps or performs an operation without a defined meaning.
struct CannotRun {};

/// One array argument: a part of one of the launch's memories, from `offset` on. Arrays may overlap.
struct ArrayArgument {
  std::vector<std::int64_t> extents;
  std::size_t memory = 0;
  std::size_t offset = 0;  ///< in bytes
};

/// The arguments of a launch. `arrays` and `scalars` are indexed by parameter.
struct Arguments {
  std::vector<std::vector<std::byte>> memories;
  std::vector<ArrayArgument> arrays;                ///< empty for scalars
  std::vector<std::vector<std::uint64_t>> scalars;  ///< bits of the components; empty for arrays
  std::uint64_t launch_key = 0;
};

/// Computes the bits of a math function, which IEEE 754 leaves unspecified.
using MathLibrary = std::function<std::uint64_t(const ir::Statement& s, std::span<const ScalarType> types,
                                                std::span<const std::uint64_t> operands)>;

/// How a machine treats undefined behaviour of the IR.
enum class Meaning : std::uint8_t {
  strict,  ///< follows the IR to the bit; throws CannotRun for an index outside an array without bounds
           ///< checks
  lenient  ///< gives every kernel a meaning: indices wrap around, and a function of the operands' bits
           ///< replaces `philox` and the math library; a false assert ends an iteration and is ignored
           ///< elsewhere
};

/// One launch: its arguments, and the arrays' contents after it. Copies share nothing. Not thread-safe.
class Machine {
 public:
  /// Refers to `kernel`, which must be verified and outlive the machine.
  Machine(const ir::Kernel& kernel, Arguments arguments, MathLibrary library,
          Meaning meaning = Meaning::strict);

  /// `observer` is called for each step of later runs, and may throw to stop one. Null for none.
  void observe(Observer* observer) { observer_ = observer; }

  /// Runs the whole kernel; the stream blocks of a region run one after the other.
  void run_kernel(std::uint64_t steps);

  /// Runs the iterations of `parallel` loops from the last one to the first.
  void run_backward() { backward_ = true; }

  const Arguments& arguments() const { return arguments_; }

  /// A strict run reached a false assert or an index that bounds checks refuse.
  bool failed() const { return failed_; }
  /// The failure occurred outside of parallel loops, which leaves the arrays undefined.
  bool failed_between_loops() const { return failed_between_loops_; }

  // The state at the current statement, for observers.
  const Iteration& iteration() const { return iteration_; }
  /// Whether the local belongs to a group.
  bool is_shared(std::uint32_t local) const { return is_shared_[local]; }
  std::uint64_t bits(ir::ValueId id) const { return values_[id].bits; }
  ScalarType type(ir::ValueId id) const { return values_[id].type; }

 protected:
  enum class Flow : std::uint8_t { next, leave, again, yielded, failed };

  // For derived classes that run single tasks.
  void start(std::uint32_t values, std::uint32_t locals, std::uint64_t steps);
  Flow block(const ir::Block& block);
  /// The bits of the result of a `reduce`.
  std::uint64_t result_of(const ir::Statement& reduction);
  std::vector<std::byte>* scratch_ = nullptr;                ///< shared by the tasks of a launch
  std::array<std::int64_t, ir::max_repeats> repetitions_{};  ///< of Op::repetition, by depth

 private:
  struct Value {
    std::uint64_t bits = 0;
    ScalarType type = ScalarType::boolean;
  };

  std::int64_t number(ir::ValueId id) const { return static_cast<std::int64_t>(bits(id)); }
  Flow statement(const ir::Statement& s);
  Flow for_loop(const ir::Statement& s);
  Flow while_loop(const ir::Statement& s);
  Flow repeat(const ir::Statement& s);
  void phase(const ir::Statement& s);
  Flow threads(const ir::Statement& s);
  void run_groups(const ir::Statement& s);
  std::uint64_t shared_atomic(const ir::Statement& s);
  void iterate(const ir::Statement& s, const std::function<void(Flow)>& after);
  std::uint64_t reduce(const ir::Statement& s);
  std::uint64_t reduce_in_order(const ir::Statement& s);
  std::uint64_t operation(const ir::Statement& s);
  std::uint64_t philox(const ir::Statement& s) const;
  bool has_element(const ir::Statement& s) const;
  bool inside(const ir::Statement& s) const;
  Flow fail();
  std::uint64_t load(const ir::Statement& s);
  void store(const ir::Statement& s, std::uint64_t bits);
  std::uint64_t atomic(const ir::Statement& s);
  std::size_t local_count(const ir::Statement& s) const;
  void observe_shared(const ir::Statement& s, Access access, std::size_t index);
  std::uint64_t updated(const ir::Statement& s, std::uint64_t old) const;
  std::uint64_t combine(const ir::Statement& s, ir::Op op, std::uint64_t a, std::uint64_t b) const;
  std::size_t element(const ir::Statement& s) const;
  static std::uint64_t read(ScalarType type, const std::byte* from);
  std::byte* array_memory(const ir::Statement& s) {
    return arguments_.memories[arguments_.arrays[s.index].memory].data();
  }
  void note(const ir::Statement& s, Access access, std::size_t at) const {
    if (observer_) observer_->access(*this, s, access, arguments_.arrays[s.index].memory, at);
  }
  std::byte* scratch(const ir::Statement& s, bool indexed);
  std::size_t local_index(const ir::Statement& s, bool indexed) const;
  void set(const ir::Statement& s, std::uint64_t bits) { values_[s.result] = {bits, s.type}; }

  const ir::Kernel& kernel_;
  Arguments arguments_;
  std::vector<Value> values_;
  std::vector<std::vector<std::uint64_t>> locals_;
  std::vector<bool> is_shared_;          ///< locals of a group, by number
  std::vector<std::size_t> per_thread_;  ///< elements that each thread has of a local; 0 for other locals
  std::unordered_map<const ir::Statement*, ir::Statement> split_;  ///< forms of group loops
  const ir::Statement* group_ = nullptr;                           ///< the group loop that runs
  std::uint64_t group_number_ = 0, thread_ = 0;
  std::uint64_t steps_ = 0;
  Value yielded_;
  Iteration iteration_;
  Observer* observer_ = nullptr;
  MathLibrary library_;
  bool strict_ = false;
  bool backward_ = false;
  bool failed_ = false, failed_between_loops_ = false;
};

}  // namespace weir::interpreter
