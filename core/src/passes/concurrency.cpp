// SPDX-License-Identifier: Apache-2.0
#include "passes/concurrency.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>

#include "ir/groups.hpp"
#include "ir/prints.hpp"
#include "ir/verifier.hpp"
#include "passes/dependence.hpp"

namespace weir::passes {

namespace {

using ir::Op;
using ir::Statement;

/// Longer stretches are divided: the comparison of pairs takes time, and sets of segments are bits of a word.
constexpr std::size_t max_compared = 64;
/// A launch keeps the regions that run in order as bits of one word; see runtime/launch/launch_model.hpp.
constexpr std::size_t max_regions = 64;

bool is_loop(const Segment& segment) {
  return segment.kind == Segment::Kind::parallel || segment.kind == Segment::Kind::reduce;
}

/// Why the second of two segments waits for the first; empty for independent ones.
using Reason = std::string;

/// Consecutive live segments outside of repeats, by their places in the draft: outside of regions, or those
/// of one stream block.
class Stretch {
 public:
  Stretch(Draft& draft, const LinearForms& forms, const FusionAssumptions& known,
          std::vector<std::size_t> places)
      : draft_(draft), forms_(forms), known_(known), places_(std::move(places)) {
    for (const std::size_t place : places_) {
      Accesses& all = accesses_.emplace_back();
      for (const Statement* const s : segment(place).statements) {
        if (!draft_.kept.contains(s)) continue;
        const Accesses own = accesses_of(*s);
        all.insert(all.end(), own.begin(), own.end());
      }
    }
    compare_pairs();
  }

  void run(std::vector<FusionDecision>& decisions, bool whole) {
    divide(0, places_.size());
    if (whole && (regions_.empty() || regions_.front().second.size() != places_.size())) regions_.clear();
    explain(decisions);
    for (const auto& [begin, blocks] : regions_) form(begin, blocks);
  }

  /// Makes groups of the segments of a stream block.
  void group(std::vector<FusionDecision>& decisions) {
    Blocks groups;
    for (std::size_t j = 0; j < places_.size(); ++j) {
      groups.push_back(j);
      for (std::size_t a = 0; a < j; ++a) {
        if (!waits(a, j)) continue;
        const auto [first, last] = std::minmax({groups[a], groups[j]});
        std::ranges::replace(groups, last, first);
      }
    }
    join_statements(groups, 0);
    if (loops_outside_longest(groups, 0) == 0) return;
    explain(decisions);
    std::vector<std::uint16_t>& divided =
        draft_.divided[static_cast<std::size_t>(segment(places_[0]).region)];
    std::ranges::copy(shared_between(0, groups), std::back_inserter(divided));
    arrange(0, groups);
    std::int32_t number = 0;
    std::ranges::sort(groups);
    for (std::size_t k = 0; k < groups.size(); ++k) {
      if (k != 0 && groups[k] != groups[k - 1]) ++number;
      segment(places_[k]).group = number;
    }
  }

 private:
  using Blocks = std::vector<std::size_t>;  // of consecutive segments: the number of each one's stream block

  Segment& segment(std::size_t place) const { return draft_.segments[place]; }
  /// Whether b waits for a. False if that follows from a segment between them.
  bool waits(std::size_t a, std::size_t b) const { return !reasons_[a * places_.size() + b].empty(); }

  // ---- dependences

  // A segment between two that waits for the first, and for which the second waits, puts them into one stream
  // block. Such pairs are not compared, which would take most of the time that a plan of a chain takes.
  void compare_pairs() {
    const std::size_t n = places_.size();
    reasons_.resize(n * n);
    std::vector<std::uint64_t> before(
        n);  // the segments that each one waits for, also through others, as bits
    for (std::size_t b = 1; b < n; ++b)
      for (std::size_t a = b; a-- > 0;) {
        if (before[b] >> a & 1) continue;
        Reason why = reason(a, b);
        if (why.empty()) continue;
        before[b] |= std::uint64_t{1} << a | before[a];
        reasons_[a * n + b] = std::move(why);
      }
  }

  void explain(std::vector<FusionDecision>& decisions) const {
    for (std::size_t b = 1; b < places_.size(); ++b) {
      const Segment &first = segment(places_[b - 1]), &second = segment(places_[b]);
      const Reason& why = reasons_[(b - 1) * places_.size() + b];
      if (is_loop(first) && is_loop(second) && !why.empty())
        decisions.push_back(
            {first.statements.front()->location, second.statements.front()->location, false, why});
    }
  }

  Reason reason(std::size_t a, std::size_t b) const {
    const Segment &first = segment(places_[a]), &second = segment(places_[b]);
    for (const ir::ValueId id : second.imported)
      if (draft_.values[id].segment == places_[a]) return "the second uses a value that the first computes";
    for (const auto& [local, use] : first.locals) {
      const auto other = second.locals.find(local);
      if (other == second.locals.end()) continue;
      if (use.declared || use.set || other->second.declared || other->second.set)
        return "both use the variable declared at " +
               ir::describe(*draft_.kernel, draft_.locals[local].declaration->location);
    }
    if (any(first, [this](const Statement& s) { return can_fail(s, draft_.kernel->options); }) &&
        any(second, [this](const Statement& s) { return can_fail(s, draft_.kernel->options); }))
      return "both can fail, and the first failure is reported";
    const auto prints = [](const Statement& s) { return ir::prints(s); };
    if (any(first, prints) && any(second, prints)) return "both print";
    return memory(accesses_[a], accesses_[b]);
  }

  template <class Predicate>
  bool any(const Segment& segment, Predicate&& holds) const {
    return std::ranges::any_of(segment.statements,
                               [&](const Statement* s) { return draft_.kept.contains(s) && holds(*s); });
  }

  Reason memory(const Accesses& first, const Accesses& second) const {
    const Dependence found = find_dependence(forms_, *draft_.kernel, first, second, known_);
    if (found.exists) return describe(*draft_.kernel, found);
    // Two loops may count with one kind of atomics in any order, but not at the same time: a launch of one
    // block may count without atomics.
    for (const Statement* const a : first)
      for (const Statement* const b : second)
        if (a->index == b->index && (a->op == Op::atomic || b->op == Op::atomic))
          return "both use " + ir::describe_parameter(*draft_.kernel, a->index) + " atomically";
    return {};
  }

  // ---- regions

  // Finds the stretch [begin, end) of which most loops leave the longest stream block, and those before and
  // after it.
  void divide(std::size_t begin, std::size_t end) {
    std::size_t best = 0, from = begin, to = begin;
    for (std::size_t i = begin; i + 1 < end; ++i) {
      Blocks blocks;
      for (std::size_t j = i; j < end; ++j) {
        if (!extend(blocks, i, j)) break;
        const std::size_t gained = loops_outside_longest(blocks, i);
        // Later segments of the same stream blocks belong to the region, which then ends later.
        if (gained > best || (best != 0 && gained == best && i == from)) best = gained, from = i, to = j + 1;
      }
    }
    if (best == 0) return;
    divide(begin, from);
    Blocks blocks;
    for (std::size_t j = from; j < to; ++j) extend(blocks, from, j);
    join_statements(blocks, from);
    regions_.emplace_back(from, std::move(blocks));
    divide(to, end);
  }

  // Adds segment j to the stream blocks of [i, j). False if it waits for two of them.
  bool extend(Blocks& blocks, std::size_t i, std::size_t j) const {
    std::optional<std::size_t> block;
    std::size_t next = 0;
    for (std::size_t a = i; a < j; ++a) {
      next = std::max(next, blocks[a - i] + 1);
      if (!waits(a, j)) continue;
      if (block && *block != blocks[a - i]) return false;
      block = blocks[a - i];
    }
    blocks.push_back(block.value_or(next));
    return true;
  }

  std::vector<std::size_t> loops_of(const Blocks& blocks, std::size_t i) const {
    std::vector<std::size_t> loops(blocks.size(), 0);
    for (std::size_t k = 0; k < blocks.size(); ++k)
      loops[blocks[k]] += is_loop(segment(places_[i + k])) ? 1 : 0;
    return loops;
  }

  std::size_t loops_outside_longest(const Blocks& blocks, std::size_t i) const {
    const std::vector<std::size_t> loops = loops_of(blocks, i);
    return std::accumulate(loops.begin(), loops.end(), std::size_t{0}) - *std::ranges::max_element(loops);
  }

  // Blocks of statements alone join a neighbour: they are not worth a fork.
  void join_statements(Blocks& blocks, std::size_t i) const {
    const std::vector<std::size_t> loops = loops_of(blocks, i);
    std::size_t last = *std::ranges::find_if(blocks, [&](std::size_t block) { return loops[block] != 0; });
    for (std::size_t& block : blocks) {
      if (loops[block] != 0)
        last = block;
      else
        std::ranges::replace(blocks, std::size_t{block}, std::size_t{last});
    }
  }

  // Segments between those of the region have no tasks; they stay where they are and belong to the stream
  // block before them, so that the region is in one piece.
  void form(std::size_t begin, Blocks blocks) {
    if (draft_.regions.size() >= max_regions) return;
    const auto region = static_cast<std::int32_t>(draft_.regions.size());
    draft_.regions.push_back(nullptr);
    draft_.divided.push_back(shared_between(begin, blocks));
    arrange(begin, blocks);
    std::ranges::sort(blocks);
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      segment(places_[begin + k]).region = region;
      segment(places_[begin + k]).block = static_cast<std::int32_t>(blocks[k]);
    }
    const std::size_t last = places_[begin + blocks.size() - 1];
    for (std::size_t place = places_[begin] + 1; place < last; ++place) {
      segment(place).region = region;
      if (!segment(place).live) segment(place).block = segment(place - 1).block;
    }
  }

  // Orders segments by stream block or group.
  void arrange(std::size_t begin, const Blocks& blocks) {
    std::vector<std::size_t> order(blocks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t k) { return blocks[k]; });
    std::vector<Segment> moved;
    for (const std::size_t k : order) moved.push_back(std::move(segment(places_[begin + k])));
    for (std::size_t k = 0; k < moved.size(); ++k) segment(places_[begin + k]) = std::move(moved[k]);
  }

  // The array parameters that one stream block changes and another one uses, in different elements.
  std::vector<std::uint16_t> shared_between(std::size_t begin, const Blocks& blocks) const {
    std::vector<std::uint16_t> shared;
    for (std::size_t a = 0; a < blocks.size(); ++a)
      for (std::size_t b = 0; b < blocks.size(); ++b) {
        if (blocks[a] == blocks[b]) continue;
        for (const Statement* const one : accesses_[begin + a])
          for (const Statement* const other : accesses_[begin + b])
            if (one->op != Op::load && one->index == other->index)
              shared.push_back(static_cast<std::uint16_t>(one->index));
      }
    std::ranges::sort(shared);
    shared.erase(std::ranges::unique(shared).begin(), shared.end());
    return shared;
  }

  Draft& draft_;
  const LinearForms& forms_;
  const FusionAssumptions& known_;
  std::vector<std::size_t> places_;
  std::vector<Accesses> accesses_;
  std::vector<Reason> reasons_;                          // of a pair a, b at a * size + b
  std::vector<std::pair<std::size_t, Blocks>> regions_;  // with their first segment
};

bool stays(const Draft& draft, const Segment& segment) {
  return segment.region >= 0 || segment.repeat >= 0 || draft.is_control(segment);
}

// The end of the written stream block that begins at segment `i`; `i` outside of regions.
std::size_t end_of_stream_block(const Draft& draft, std::size_t i) {
  const Segment& first = draft.segments[i];
  std::size_t end = i;
  while (end < draft.segments.size() && first.region >= 0 && draft.segments[end].region == first.region &&
         draft.segments[end].block == first.block)
    ++end;
  return end;
}

// The live segments of a stream block, or none if it must stay as it is.
std::vector<std::size_t> divisible(const Draft& draft, std::size_t begin, std::size_t end) {
  if (draft.are_meant(draft.segments[begin].region)) return {};
  std::vector<std::size_t> places;
  for (std::size_t i = begin; i < end; ++i) {
    const Segment& segment = draft.segments[i];
    if (segment.repeat >= 0 || draft.is_control(segment)) return {};
    if (segment.live) places.push_back(i);
  }
  return places.size() <= max_compared ? places : std::vector<std::size_t>();
}

// Whether one task can run all segments as the stream blocks of a region.
bool can_be_one_region(const Draft& draft) {
  std::size_t live = 0;
  for (const Segment& segment : draft.segments) {
    if (!segment.live) continue;
    if (stays(draft, segment) || ir::is_group_loop(*segment.statements.front())) return false;
    ++live;
  }
  return live <= max_compared;
}

}  // namespace

std::vector<FusionDecision> find_concurrency(Draft& draft, const FusionAssumptions& known, bool whole) {
  if (whole && !can_be_one_region(draft)) return {};
  std::vector<FusionDecision> decisions;
  std::optional<LinearForms> forms;
  std::vector<std::size_t> places;
  const auto end_stretch = [&](auto&& action) {
    const auto loops =
        std::ranges::count_if(places, [&](std::size_t place) { return is_loop(draft.segments[place]); });
    if (loops > 1) {
      if (!forms) forms.emplace(*draft.kernel);
      Stretch stretch(draft, *forms, known, std::move(places));
      action(stretch);
    }
    places.clear();
  };
  const auto find_region = [&](Stretch& stretch) { stretch.run(decisions, whole); };
  const auto find_groups = [&](Stretch& stretch) { stretch.group(decisions); };
  for (std::size_t i = 0; i < draft.segments.size();) {
    if (const std::size_t end = end_of_stream_block(draft, i); end != i) {
      end_stretch(find_region);
      places = whole ? std::vector<std::size_t>() : divisible(draft, i, end);
      end_stretch(find_groups);
      i = end;
      continue;
    }
    const bool alone = stays(draft, draft.segments[i]);
    if (alone || places.size() == max_compared) end_stretch(find_region);
    if (!alone && draft.segments[i].live) places.push_back(i);
    ++i;
  }
  end_stretch(find_region);
  return decisions;
}

}  // namespace weir::passes
