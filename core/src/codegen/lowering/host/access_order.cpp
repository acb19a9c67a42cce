// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/host/access_order.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace weir::codegen {
namespace {

using ir::Op;

class Accesses {
 public:
  explicit Accesses(const LaunchAssumptions& assumptions) : no_alias_(assumptions.no_alias) {}

  void add(const ir::Block& block, bool repeats) {
    for (const ir::Statement& s : block.statements) {
      const bool is_write = s.op == Op::store || s.op == Op::set;
      // Atomics stay where they are.
      if (is_write || s.op == Op::load || s.op == Op::get) add(s, is_write, repeats);
      const bool is_loop = s.op == Op::for_ || s.op == Op::while_;
      for (const ir::Block& body : s.bodies) add(body, repeats || is_loop);
    }
  }

  bool depend_on_order() const {
    const std::set<Array> combined = combined_arrays();
    if (combined.empty()) return false;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (!all_[i].is_write) continue;
      for (std::size_t k = 0; k < all_.size(); ++k) {
        const bool is_later = k > i || (all_[i].repeats && all_[k].repeats);
        if (!is_later || k == i || !may_touch(all_[i], all_[k])) continue;
        if (combined.contains(all_[i].array) || combined.contains(all_[k].array)) return true;
      }
    }
    return false;
  }

 private:
  using Array = std::pair<bool, std::uint32_t>;  // whether it is a local of a group, and its number
  struct Access {
    Array array;
    std::uint32_t component;
    std::vector<ir::ValueId> index;
    bool is_write, repeats;
  };

  void add(const ir::Statement& s, bool is_write, bool repeats) {
    const bool is_local = s.op == Op::get || s.op == Op::set;
    std::vector<ir::ValueId> index(s.operands.begin(), s.operands.end() - is_write);
    if (is_local && index.empty()) return;  // a register
    all_.push_back({{is_local, s.index}, is_local ? 0u : s.component, std::move(index), is_write, repeats});
  }

  /// Arrays with several elements accessed, which LLVM may combine.
  std::set<Array> combined_arrays() const {
    std::set<Array> combined;
    std::vector<const Access*> first;
    for (const Access& a : all_) {
      const auto same =
          std::ranges::find_if(first, [&](const Access* other) { return other->array == a.array; });
      if (same == first.end())
        first.push_back(&a);
      else if ((*same)->component != a.component || (*same)->index != a.index)
        combined.insert(a.array);
    }
    return combined;
  }

  bool may_touch(const Access& a, const Access& b) const {
    if (a.array == b.array) return a.component == b.component;
    return !no_alias_ && !a.array.first && !b.array.first;
  }

  bool no_alias_;
  std::vector<Access> all_;  // in program order
};

}  // namespace

bool depends_on_order(const ir::Block& body, const LaunchAssumptions& assumptions) {
  Accesses accesses(assumptions);
  accesses.add(body, false);
  return accesses.depend_on_order();
}

}  // namespace weir::codegen
