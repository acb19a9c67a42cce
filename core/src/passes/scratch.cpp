// SPDX-License-Identifier: Apache-2.0
// Every value, local and reduction that crosses tasks has its own slot, so that stream blocks of a region
// never share one. Slots of different stream blocks do not share a cache line either.
#include <weir/error.hpp>

#include "ir/task.hpp"
#include "passes/draft.hpp"

namespace weir::passes {

namespace {

constexpr std::uint64_t cache_line = 64;
constexpr std::uint64_t max_scratch_bytes = std::uint64_t{1} << 30;

class Layout {
 public:
  std::uint32_t take(std::uint64_t size, std::uint64_t alignment) {
    end_ = (end_ + alignment - 1) / alignment * alignment;
    const std::uint64_t offset = end_;
    end_ += size;
    // Past the limit the offsets no longer matter: place_scratch throws.
    return static_cast<std::uint32_t>(offset);
  }
  void next_line() { end_ = (end_ + cache_line - 1) / cache_line * cache_line; }
  std::uint64_t bytes() const { return (end_ + cache_line - 1) / cache_line * cache_line; }

 private:
  std::uint64_t end_ = 0;
};

}  // namespace

void place_scratch(Draft& draft) {
  Layout layout;
  draft.partials.assign(draft.segments.size(), 0);
  std::int32_t region = -1, block = -1;
  for (std::size_t i = 0; i < draft.segments.size(); ++i) {
    const Segment& segment = draft.segments[i];
    if (segment.region != region || segment.block != block) layout.next_line();
    region = segment.region;
    block = segment.block;
    if (segment.kind == Segment::Kind::repeat_test)
      draft.repeats[static_cast<std::size_t>(segment.repeat)].flag_offset = layout.take(1, 1);
    if (draft.is_control(segment)) continue;
    for (const ir::Statement* const s : segment.statements) {
      if (s->op == ir::Op::local && draft.locals[s->index].shared) {
        draft.locals[s->index].offset = layout.take(s->immediate * size_of(s->type), size_of(s->type));
      }
      if (s->op == ir::Op::reduce && segment.live) {
        draft.partials[i] = layout.take(ir::reduce_bytes, cache_line);
        draft.values[s->result].offset = layout.take(8, 8);
      } else if (s->result != ir::no_value && draft.values[s->result].exported) {
        draft.values[s->result].offset = layout.take(size_of(s->type), size_of(s->type));
      }
    }
  }
  if (layout.bytes() > max_scratch_bytes) {
    throw Error(ErrorCode::kernel, "kernel \"" + draft.kernel->name + "\" passes " +
                                       std::to_string(layout.bytes()) + " bytes between its loops, at most " +
                                       std::to_string(max_scratch_bytes) +
                                       " are possible; split it into several kernels");
  }
  draft.scratch_bytes = static_cast<std::uint32_t>(layout.bytes());
}

}  // namespace weir::passes
