// SPDX-License-Identifier: Apache-2.0
#include "ir/hash.hpp"

// Used header-only, so that libweir needs no library for it at run time.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "ir/printer.hpp"

namespace weir::ir {

namespace {

class Numbering {
 public:
  explicit Numbering(Kernel& kernel)
      : kernel_(kernel), values_(kernel.value_count, no_value), locals_(kernel.local_count, no_value) {}

  void run() {
    block(kernel_.body);
    kernel_.value_count = next_value_;
    kernel_.local_count = next_local_;
    kernel_.strings = std::move(strings_);
  }

 private:
  void define(ValueId& id) {
    values_[id] = next_value_;
    id = next_value_++;
  }

  void block(Block& block) {
    for (Statement& s : block.statements) {
      for (ValueId& id : s.operands) id = values_[id];
      if (s.result != no_value) define(s.result);
      if (s.op == Op::local) {
        locals_[s.index] = next_local_;
        s.index = next_local_++;
      } else if (s.op == Op::get || s.op == Op::set) {
        s.index = locals_[s.index];
      } else if (s.op == Op::assert_) {
        strings_.push_back(kernel_.strings[s.index]);
        s.index = static_cast<std::uint32_t>(strings_.size() - 1);
      }
      for (Block& body : s.bodies) {
        for (ValueId& id : body.arguments) define(id);
        this->block(body);
      }
    }
  }

  Kernel& kernel_;
  std::vector<ValueId> values_;
  std::vector<std::uint32_t> locals_;
  std::vector<std::string> strings_;
  ValueId next_value_ = 0;
  std::uint32_t next_local_ = 0;
};

}  // namespace

void number(Kernel& kernel) {
  Numbering(kernel).run();
}

std::uint64_t hash(const Kernel& kernel) {
  const std::string text = print(kernel);
  return XXH3_64bits(text.data(), text.size());
}

}  // namespace weir::ir
