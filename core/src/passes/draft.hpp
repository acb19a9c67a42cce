// SPDX-License-Identifier: Apache-2.0
// A plan in the making: the kernel cut into segments, what each of them needs of others, and where it
// travels.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_set>
#include <vector>

#include "ir/ir.hpp"

namespace weir::passes {

inline constexpr std::uint32_t nowhere = 0xffffffffu;

/// What a segment does to a local variable of the body or of a block.
struct LocalUse {
  bool declared = false;
  bool set = false;
};

/// A stretch of statements between loops, or one loop.
struct Segment {
  enum class Kind : std::uint8_t { serial, parallel, reduce };
  Kind kind = Kind::serial;
  std::vector<const ir::Statement*> statements;
  std::int32_t region = -1;  ///< counts the regions that were kept, in program order
  std::int32_t block = -1;
  std::vector<ir::ValueId> recomputed;       ///< pure values of other segments, in program order
  std::vector<ir::ValueId> imported;         ///< values that arrive through temporaries, in program order
  std::map<std::uint32_t, LocalUse> locals;  ///< the locals of the body or block that it touches, by id
  bool live = false;
};

/// A value that is defined directly in the body or in a block of a region.
struct TopValue {
  const ir::Statement* definition = nullptr;  ///< null for values inside loops and conditionals
  std::uint32_t segment = nowhere;
  std::uint32_t order = 0;    ///< of its definition in the text
  bool recomputable = false;  ///< pure, and cheap enough to be computed again where it is used
  bool exported = false;      ///< another segment reads it from the temporaries
  std::uint32_t offset = 0;   ///< there
};

/// A local variable that is declared directly in the body or in a block of a region.
struct TopLocal {
  const ir::Statement* declaration = nullptr;  ///< null for locals inside loops and conditionals
  std::uint32_t segment = nowhere;             ///< one that touches it
  bool read = false;                           ///< somewhere; else sets of it are dropped
  bool shared = false;                         ///< several segments touch it: it lives in the temporaries
  std::uint32_t offset = 0;                    ///< there
};

struct Draft {
  const ir::Kernel* kernel = nullptr;
  std::vector<Segment> segments;
  std::vector<TopValue> values;                      ///< by value id
  std::vector<TopLocal> locals;                      ///< by local id
  std::unordered_set<const ir::Statement*> effects;  ///< statements that do something others can see
  std::unordered_set<const ir::Statement*> kept;     ///< statements that their segment computes
  std::vector<const ir::Statement*> regions;         ///< kept regions with two blocks or more
  std::vector<std::uint32_t> partials;               ///< by segment: offset of a reduction's partial results
  std::uint32_t temporary_bytes = 0;
};

/// True for operations that give the same result whenever they run.
bool is_pure(ir::Op op) noexcept;

/// Finds every statement that has an effect, or contains one.
void find_effects(Draft& draft);

/// Cuts the kernel at its loops and regions. Blocks without effects disappear, and a region of one block with
/// it.
void split(Draft& draft);

/// Drops what nobody needs and finds what each segment takes from others.
void find_needs(Draft& draft);

/// Gives everything that travels between segments a place in the launch's temporaries.
void place_temporaries(Draft& draft);

}  // namespace weir::passes
