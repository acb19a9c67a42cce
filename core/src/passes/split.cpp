// SPDX-License-Identifier: Apache-2.0
#include "passes/draft.hpp"

namespace weir::passes {

namespace {

using ir::Block;
using ir::Op;
using ir::Statement;

class Splitter {
 public:
  explicit Splitter(Draft& draft) : draft_(draft) {}

  void run() {
    draft_.values.resize(draft_.kernel->value_count);
    block(draft_.kernel->body);
  }

 private:
  void block(const Block& block) {
    for (const Statement& s : block.statements) {
      switch (s.op) {
        case Op::parallel:
          loop(s, Segment::Kind::parallel);
          break;
        case Op::reduce:
          loop(s, Segment::Kind::reduce);
          break;
        case Op::region:
          region(s);
          break;
        case Op::repeat:
          repeat(s);
          break;
        case Op::yield:  // of the condition of a repeat
          control(Segment::Kind::repeat_test, s);
          break;
        default:
          plain(s);
          break;
      }
    }
  }

  void open(Segment::Kind kind) {
    Segment segment;
    segment.kind = kind;
    segment.region = region_;
    segment.block = block_;
    segment.repeat = repeat_;
    draft_.segments.push_back(std::move(segment));
  }

  void plain(const Statement& s) {
    if (!stretch_) open(Segment::Kind::serial);
    stretch_ = true;
    add(s);
    if (s.op == Op::local) draft_.locals[s.index].declaration = &s;
  }

  void loop(const Statement& s, Segment::Kind kind) {
    open(kind);
    stretch_ = false;
    add(s);
  }

  void control(Segment::Kind kind, const Statement& s) {
    open(kind);
    stretch_ = false;
    draft_.segments.back().statements.push_back(&s);
  }

  void repeat(const Statement& s) {
    if (!draft_.effects.contains(&s)) return;
    const std::int32_t around = repeat_;
    repeat_ = static_cast<std::int32_t>(draft_.repeats.size());
    Repeat& repeat = draft_.repeats.emplace_back();
    repeat.statement = &s;
    repeat.parent = around;
    repeat.depth = around < 0 ? 0 : draft_.repeats[static_cast<std::size_t>(around)].depth + 1;
    repeat.begin = static_cast<std::uint32_t>(draft_.segments.size());
    repeat.number.op = Op::repetition;
    repeat.number.type = ScalarType::i64;
    repeat.number.index = repeat.depth;
    repeat.number.result = s.bodies[0].arguments[0];
    repeat.number.location = s.location;
    control(Segment::Kind::repeat_begin, s);
    TopValue& number = draft_.values[repeat.number.result];
    number.definition = &repeat.number;
    number.order = order_++;
    number.recomputable = true;
    for (const Block& body : s.bodies) block(body);
    control(Segment::Kind::repeat_end, s);
    repeat.end = static_cast<std::uint32_t>(draft_.segments.size() - 1);
    repeat_ = around;
  }

  void add(const Statement& s) {
    draft_.segments.back().statements.push_back(&s);
    if (s.result == ir::no_value) return;
    TopValue& value = draft_.values[s.result];
    value.definition = &s;
    value.segment = static_cast<std::uint32_t>(draft_.segments.size() - 1);
    value.order = order_++;
  }

  bool has_effect(const Block& block) const {
    for (const Statement& s : block.statements) {
      if (draft_.effects.contains(&s)) return true;
    }
    return false;
  }

  void region(const Statement& s) {
    std::vector<const Block*> blocks;
    for (const Block& block : s.bodies) {
      if (has_effect(block)) blocks.push_back(&block);
    }
    if (blocks.empty()) return;
    if (blocks.size() == 1) {
      block(*blocks.front());
      return;
    }
    stretch_ = false;
    region_ = static_cast<std::int32_t>(draft_.regions.size());
    draft_.regions.push_back(&s);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      block_ = static_cast<std::int32_t>(i);
      block(*blocks[i]);
      stretch_ = false;
    }
    region_ = block_ = -1;
  }

  Draft& draft_;
  bool stretch_ = false;  // the last segment is serial and still growing
  std::int32_t region_ = -1, block_ = -1, repeat_ = -1;
  std::uint32_t order_ = 0;
};

}  // namespace

void split(Draft& draft) {
  Splitter(draft).run();
}

}  // namespace weir::passes
