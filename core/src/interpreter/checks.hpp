// SPDX-License-Identifier: Apache-2.0
// The checks of debugged launches.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "interpreter/observer.hpp"
#include "ir/struct_parameter.hpp"

namespace weir::interpreter {

/// Memory of new arrays is filled with these bytes while some kernel is debugged. No number in common use has
/// them.
inline constexpr std::uint64_t unwritten_word = 0xb7d2e6948bf5c3a1u;

/// Thrown at the first fault.
struct Fault {
  ir::Location location;  ///< of the statement
  std::string problem;    ///< with the iteration's indices
  std::string details;    ///< lines with the statement and the values that it uses, in the text form
};

/// Stops a strict machine at the first of these faults:
/// - an index outside its array or local array, or a false assert;
/// - a read of memory that holds unwritten_word; scalars below 4 bytes only where all of the 8 bytes
///   around them do, because few bytes may have any value by chance;
/// - a race: two iterations of a loop access one scalar, at least one of them writes, and not both by
///   atomics, unless they are threads of one group with a barrier in between;
/// - a read of an element of a shared array that no thread of the group has written;
/// - a NaN computed from operands that are not NaN.
class Checks : public Observer {
 public:
  /// The kernel and its struct arrays must outlive the object.
  Checks(const ir::Kernel& kernel, std::span<const ir::StructParameter> structs)
      : kernel_(kernel), structs_(structs) {}
  void outside(const Machine& machine, const ir::Statement& s) override;
  void false_assert(const Machine& machine, const ir::Statement& s) override;
  void access(const Machine& machine, const ir::Statement& s, Access access, std::size_t memory,
              std::size_t at) override;
  void shared_access(const Machine& machine, const ir::Statement& s, Access access,
                     std::size_t index) override;
  void computed(const Machine& machine, const ir::Statement& s, std::span<const ScalarType> types,
                std::span<const std::uint64_t> operands, std::uint64_t bits) override;

 protected:
  /// The indices of an access to an array, as the program wrote them.
  virtual std::vector<std::int64_t> indices(const Machine& machine, const ir::Statement& s) const;

 private:
  /// "x(3, 4)", "(3) of member 2 of the struct array 'p'".
  std::string element(const Machine& machine, const ir::Statement& s) const;
  /// An access by an iteration, counted from 1; 0 for none.
  struct Use {
    std::uint32_t iteration = 0;
    std::uint32_t time = 0;  ///< Iteration::time
  };
  /// Accesses of which none comes before another one. Of more than two, those of threads farthest apart: a
  /// later access follows all of them if it follows these two.
  struct Pair {
    Use first, second;
    void add(const Use& use, const Iteration& now);
    /// The iteration of an access that may happen at the same time as one by `own` now, or 0.
    std::uint32_t beside(std::uint32_t own, const Iteration& now) const;
  };
  static int distance(std::uint32_t a, std::uint32_t b);
  static bool follows(std::uint32_t own, const Use& earlier, const Iteration& now);
  using Accesses = std::array<Pair, 3>;  ///< by Access
  /// The iterations of loop number `loop` that accessed a scalar. Of a group loop, those of one group that a
  /// barrier separates follow one another.
  struct Uses {
    std::uint32_t loop = 0, interval = 0;
    std::uint64_t group = 0;
    Accesses now, before;  ///< in this interval of the group, and in earlier ones
    Accesses by_other_groups;
  };

  void check_initialised(const Machine& machine, const ir::Statement& s, std::size_t memory, std::size_t at);
  Uses& uses_of(const Iteration& iteration, std::uint64_t key);
  void check_race(const Machine& machine, const ir::Statement& s, Access access, Uses& uses,
                  const std::function<std::string()>& name);
  [[noreturn]] void stop(const Machine& machine, const ir::Statement& s, std::string problem) const;

  const ir::Kernel& kernel_;
  std::span<const ir::StructParameter> structs_;
  std::unordered_map<std::uint64_t, Uses> uses_;  ///< by memory and byte
};

}  // namespace weir::interpreter
