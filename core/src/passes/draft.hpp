// SPDX-License-Identifier: Apache-2.0
// Intermediate form of a plan: the kernel cut into segments, the values each segment needs from others, and
// their locations in scratch memory.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <unordered_set>
#include <vector>

#include "ir/ir.hpp"

namespace weir::passes {

inline constexpr std::uint32_t nowhere = 0xffffffffu;

/// Accesses of a segment to a local variable of the body or of a stream block.
struct LocalUse {
  bool declared = false;
  bool set = false;
};

/// Consecutive statements between loops, one loop, or a decision of a `repeat`.
struct Segment {
  enum class Kind : std::uint8_t {
    serial,
    parallel,
    reduce,
    repeat_begin,  ///< takes the number of repetitions
    repeat_test,   ///< takes the condition; after the segments that compute it
    repeat_end
  };
  Kind kind = Kind::serial;
  std::int32_t repeat = -1;  ///< the innermost `repeat` around it, or the one that decides here
  std::vector<const ir::Statement*> statements;
  std::int32_t region = -1;  ///< index among the kept regions, in program order
  std::int32_t block = -1;
  std::int32_t group = 0;                    ///< in its stream block; groups do not depend on each other
  std::vector<ir::ValueId> recomputed;       ///< pure values of other segments, in program order
  std::vector<ir::ValueId> imported;         ///< values that arrive through scratch memory, in program order
  std::map<std::uint32_t, LocalUse> locals;  ///< the locals of the body or stream block that it uses, by id
  bool live = false;
};

/// A `repeat` with effects. Segments begin to end contain it.
struct Repeat {
  const ir::Statement* statement = nullptr;
  ir::Statement number;              ///< defines the number of the repetition in each segment that uses it
  std::int32_t parent = -1;          ///< the one around it
  std::uint32_t depth = 0;           ///< number of those around it
  std::uint32_t begin = 0, end = 0;  ///< segments of the kinds repeat_begin and repeat_end
  std::uint32_t flag_offset = 0;     ///< in scratch memory: the condition, a bool
};

/// A value that is defined directly in the body, in a stream block of a region or in one of a `repeat`.
struct TopValue {
  const ir::Statement* definition = nullptr;  ///< null for values inside loops and conditionals
  std::uint32_t segment = nowhere;
  std::uint32_t order = 0;    ///< of its definition in program order
  bool recomputable = false;  ///< pure, and cheap enough to recompute where it is used
  bool exported = false;      ///< another segment reads it from scratch memory
  std::uint32_t offset = 0;   ///< in scratch memory
};

/// A local variable that is declared directly in the body or in a stream block of a region.
struct TopLocal {
  const ir::Statement* declaration = nullptr;  ///< null for locals inside loops and conditionals
  std::uint32_t segment = nowhere;             ///< one that uses it
  bool read = false;                           ///< read in any segment; otherwise its assignments are dropped
  bool shared = false;                         ///< used by several segments; in scratch memory
  bool indexed = false;                        ///< by any access
  std::uint32_t offset = 0;                    ///< in scratch memory
};

struct Draft {
  const ir::Kernel* kernel = nullptr;
  std::vector<Segment> segments;
  std::deque<Repeat> repeats;                        ///< in program order
  std::vector<TopValue> values;                      ///< by value id
  std::vector<TopLocal> locals;                      ///< by local id
  std::unordered_set<const ir::Statement*> effects;  ///< statements with effects visible outside their body
  std::unordered_set<const ir::Statement*> kept;     ///< statements that their segment computes
  /// Regions with two stream blocks or more: kept ones, then those of find_concurrency(), which are null.
  std::vector<const ir::Statement*> regions;
  std::vector<std::vector<std::uint16_t>>
      divided;                          ///< by region: parameters of which stream blocks use different parts
  std::vector<std::uint32_t> partials;  ///< by segment: offset of a reduction's partial results
  std::uint32_t scratch_bytes = 0;

  /// The repeats around a segment, outermost first.
  std::vector<const Repeat*> repeats_around(std::size_t segment) const {
    std::vector<const Repeat*> around;
    for (std::int32_t i = segments[segment].repeat; i >= 0; i = around.front()->parent)
      around.insert(around.begin(), &repeats[static_cast<std::size_t>(i)]);
    return around;
  }
  /// Whether the conflicts between a region's stream blocks are allowed.
  bool are_meant(std::int32_t region) const noexcept {
    if (region < 0) return false;
    const ir::Statement* const written = regions[static_cast<std::size_t>(region)];
    return written != nullptr && written->immediate != 0;
  }
  /// Whether the region is one that find_concurrency() found.
  bool is_found(std::int32_t region) const noexcept {
    return region >= 0 && regions[static_cast<std::size_t>(region)] == nullptr;
  }

  bool is_control(const Segment& segment) const noexcept {
    return segment.kind >= Segment::Kind::repeat_begin;
  }
};

/// True for operations whose result does not depend on the time of execution.
bool is_pure(ir::Op op) noexcept;

/// Whether a statement, or one in its bodies, can fail a launch.
bool can_fail(const ir::Statement& s, const ir::Options& options) noexcept;

/// Collects every statement that has an effect or contains one.
void find_effects(Draft& draft);

/// Cuts the kernel at its loops and regions. Drops stream blocks without effects, and regions left with one
/// stream block.
void split(Draft& draft);

/// Drops unused statements and collects the values that each segment takes from others.
void find_needs(Draft& draft);

/// Assigns each value that passes between segments a location in the launch's scratch memory.
void place_scratch(Draft& draft);

}  // namespace weir::passes
