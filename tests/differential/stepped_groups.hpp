// SPDX-License-Identifier: Apache-2.0
// A second meaning of group loops: each statement runs for all threads of a group before the next one. It
// shares no code with ir::split_group, on which the interpreter and all devices depend.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "interpreter.hpp"

namespace weir::test {

/// Whether the kernel has group loops, and only what SteppedMachine runs besides: no reductions.
bool has_only_stepped_loops(const ir::Kernel& kernel);

/// Runs one launch of a kernel for which has_only_stepped_loops() is true.
class SteppedMachine {
 public:
  /// Refers to `kernel`, which must be verified and outlive the machine.
  SteppedMachine(const ir::Kernel& kernel, const LaunchData& data, MathLibrary library);

  /// The kernel must end, as Machine has found before.
  void run();
  bool failed() const { return failed_; }
  /// The bits of all scalars of the parameter.
  const std::vector<std::uint64_t>& components(std::size_t parameter) const {
    return data_.components[parameter];
  }

 private:
  using Mask = std::vector<bool>;  ///< by thread: whether it runs
  struct Value {
    std::uint64_t bits = 0;
    ScalarType type = ScalarType::boolean;
  };
  struct Thread {
    std::vector<Value> values;
    std::vector<std::vector<std::uint64_t>> locals;
  };
  /// The innermost sequential loop: the threads that go on with its next round.
  struct Round {
    Mask again;
  };

  Mask block(const ir::Block& block, Mask active);
  Mask statement(const ir::Statement& s, const Mask& active);
  Mask branch(const ir::Statement& s, const Mask& active);
  Mask for_loop(const ir::Statement& s, const Mask& active);
  Mask while_loop(const ir::Statement& s, const Mask& active);
  void repeat(const ir::Statement& s, const Mask& active);
  void loop(const ir::Statement& s);
  bool run_one(const ir::Statement& s, std::size_t thread);  ///< false: the thread ends
  std::uint64_t compute(const ir::Statement& s, const Thread& thread) const;
  bool find(const ir::Statement& s, const Thread& thread, std::size_t& at) const;
  std::uint64_t updated(const ir::Statement& s, const Thread& thread, std::uint64_t old) const;
  std::vector<std::uint64_t>& local(const ir::Statement& s, Thread& thread) {
    return shared_[s.index].empty() ? thread.locals[s.index] : shared_[s.index];
  }

  const ir::Kernel& kernel_;
  LaunchData data_;
  MathLibrary library_;
  std::vector<Thread> threads_;
  std::vector<std::vector<std::uint64_t>> shared_;  ///< by local; empty for those of threads
  Mask ended_;                                      ///< threads of the loop that ended early
  std::vector<Round> rounds_;
  bool failed_ = false;
};

}  // namespace weir::test
