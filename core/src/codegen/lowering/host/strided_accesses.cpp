// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "codegen/lowering/loop_kinds.hpp"

namespace weir::codegen {
namespace {

using ir::Op;

/// Least operations for each strided store that make vector code faster. A scatter takes as long as the
/// stores of its lanes.
constexpr std::size_t operations_per_store = 8;

class StridedAccesses {
 public:
  StridedAccesses(const ir::Kernel& kernel, const ir::Statement& loop) : kernel_(kernel) {
    differs_.insert(loop.bodies.at(0).arguments.back());
    visit(loop.bodies[0]);
  }

  bool are_slower_in_vectors() const { return narrow_ || operations_ < operations_per_store * stores_; }

 private:
  void visit(const ir::Block& block) {
    for (const ir::Statement& s : block.statements) {
      visit(s);
      for (const ir::Block& body : s.bodies) visit(body);
    }
  }

  void visit(const ir::Statement& s) {
    const bool differs =
        std::ranges::any_of(s.operands, [&](ir::ValueId id) { return differs_.contains(id); });
    if (differs && s.result != ir::no_value) differs_.insert(s.result);
    if (s.op == Op::load || s.op == Op::store) {
      if (!is_strided(s)) return;
      narrow_ = narrow_ || size_of(s.type) < 4;
      stores_ += s.op == Op::store;
    } else if (s.op != Op::constant) {
      ++operations_;
    }
  }

  /// Whether an index other than the array's last differs between consecutive iterations.
  bool is_strided(const ir::Statement& s) const {
    const std::size_t rank = kernel_.parameters.at(s.index).rank;
    return std::any_of(s.operands.begin(), s.operands.begin() + std::ptrdiff_t(rank == 0 ? 0 : rank - 1),
                       [&](ir::ValueId id) { return differs_.contains(id); });
  }

  const ir::Kernel& kernel_;
  std::set<ir::ValueId> differs_;  // between consecutive iterations
  std::size_t operations_ = 0, stores_ = 0;
  bool narrow_ = false;
};

}  // namespace

bool is_slower_in_vectors(const ir::Kernel& kernel, const ir::Statement& loop) {
  return StridedAccesses(kernel, loop).are_slower_in_vectors();
}

}  // namespace weir::codegen
