// SPDX-License-Identifier: Apache-2.0
#include "passes/dependence.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include "ir/verifier.hpp"

namespace weir::passes {

namespace {

using ir::AtomicKind;
using ir::Op;
using ir::Statement;
using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

void gather(const Statement& s, Accesses& out) {
  if (s.op == Op::load || s.op == Op::store || s.op == Op::atomic) out.push_back(&s);
  for (const ir::Block& body : s.bodies) {
    for (const Statement& inner : body.statements) gather(inner, out);
  }
}

bool commute(const LinearForms& forms, const Statement& a, const Statement& b) {
  if (a.op != Op::atomic || b.op != Op::atomic || a.immediate != b.immediate) return false;
  const auto kind = static_cast<AtomicKind>(a.immediate);
  if (kind == AtomicKind::exchange || kind == AtomicKind::compare_exchange || is_float(a.type)) return false;
  return !forms.is_used(a.result) && !forms.is_used(b.result);
}

// The equations of one pair of accesses: index d of the one equals index d of the other. The set of
// known equalities grows until no equation yields more.
class Equations {
 public:
  Equations(const LinearForms& forms, const FusionAssumptions& known) : forms_(forms), known_(known) {}

  /// False when the two never touch the same element.
  bool meet(const Statement& a, const Statement& b, std::size_t rank) {
    for (bool more = true; more;) {
      more = false;
      for (std::size_t d = 0; d < rank; ++d) {
        switch (solve(forms_.of(a.operands[d]), forms_.of(b.operands[d]))) {
          case Solution::never:
            return false;
          case Solution::pair:
            more = true;
            break;
          case Solution::nothing:
            break;
        }
      }
    }
    return true;
  }

  const Pairs& equal() const { return equal_; }

 private:
  enum class Solution : std::uint8_t { nothing, pair, never };
  using Term = LinearForm::Term;

  Solution solve(const LinearForm& a, const LinearForm& b) {
    std::vector<Term> left = a.terms, right = b.terms;
    cancel(left, right);
    const std::uint64_t distance = a.constant - b.constant;
    if (left.empty() && right.empty()) return distance != 0 ? Solution::never : Solution::nothing;
    if (distance % common_factor(left, right) != 0) return Solution::never;
    const LinearForm one{left, a.constant}, other{right, b.constant};
    if (is_below(one, other) || is_below(other, one)) return Solution::never;
    if (distance != 0 || left.size() != 1 || right.size() != 1) return Solution::nothing;
    if (forms_.is_invariant(left[0].symbol) || forms_.is_invariant(right[0].symbol)) return Solution::nothing;
    if (left[0].factor != right[0].factor || !is_injective(left[0], right[0])) return Solution::nothing;
    if (apart(left[0].symbol, right[0].symbol)) return Solution::never;
    equal_.emplace_back(left[0].symbol, right[0].symbol);
    return Solution::pair;
  }

  // Drops terms that are the same on both sides: invariant ones, and those of a pair known to be equal.
  void cancel(std::vector<Term>& left, std::vector<Term>& right) const {
    std::erase_if(left, [&](const Term& l) {
      const auto same = std::find_if(right.begin(), right.end(), [&](const Term& r) {
        if (l.factor != r.factor) return false;
        if (l.symbol == r.symbol) return forms_.is_invariant(l.symbol);
        return std::find(equal_.begin(), equal_.end(), std::pair(l.symbol, r.symbol)) != equal_.end();
      });
      if (same == right.end()) return false;
      right.erase(same);
      return true;
    });
  }

  // The largest power of two that divides all factors, and so the difference of both sums modulo 2^64.
  static std::uint64_t common_factor(const std::vector<Term>& left, const std::vector<Term>& right) {
    std::uint64_t factors = 0;
    for (const std::vector<Term>* const side : {&left, &right})
      for (const Term& term : *side) factors |= term.factor;
    return factors & (~factors + 1);
  }

  // Whether each value of `low` is below each value of `high`, which are sums of loop indices and of values
  // that do not change during the launch. Sums of few small multiples do not wrap where an array has the
  // element.
  bool is_below(const LinearForm& low, const LinearForm& high) const {
    const std::optional<LinearForm> greatest = extreme(low, true), least = extreme(high, false);
    if (!greatest || !least) return false;
    const LinearForm gap = sum(*least, *greatest, minus_one);
    // Each loop has an iteration that makes the access: its bounds are at least 1 apart.
    std::vector<LinearForm> not_negative;
    for (const LinearForm* const side : {&low, &high})
      for (const Term& term : side->terms)
        if (forms_.is_loop_index(term.symbol)) {
          const LinearForms::Range& range = forms_.range(term.symbol);
          not_negative.push_back(sum(sum(range.high, range.low, minus_one), {{}, 1}, minus_one));
        }
    return is_positive(gap, not_negative);
  }

  // Whether the sum is positive, with multiples of some that are not negative taken away.
  static bool is_positive(const LinearForm& gap, std::span<const LinearForm> not_negative) {
    if (gap.terms.empty()) {
      const auto constant = static_cast<std::int64_t>(gap.constant);
      return constant > 0 && constant < limit;
    }
    if (not_negative.empty()) return false;
    for (std::uint64_t times = 0; times <= 2; ++times)
      if (is_positive(sum(gap, not_negative[0], ~times + 1), not_negative.subspan(1))) return true;
    return false;
  }

  // The greatest or the least value of a sum over the iterations of its loops, from values that do not change
  // during the launch.
  std::optional<LinearForm> extreme(const LinearForm& of, bool greatest) const {
    LinearForm result{{}, of.constant};
    for (const Term& term : of.terms) {
      const bool negated = term.factor == minus_one;
      if (forms_.is_loop_index(term.symbol) && (term.factor == 1 || negated)) {
        const LinearForms::Range& range = forms_.range(term.symbol);
        const bool high = greatest != negated;
        result = sum(result, high ? sum(range.high, {{}, 1}, minus_one) : range.low, term.factor);
      } else {
        result = sum(result, {{{term.symbol, 1}}, 0}, term.factor);
      }
    }
    const auto is_small = [](std::uint64_t number) { return number + limit < 2 * limit; };
    if (!is_small(result.constant)) return std::nullopt;
    for (const Term& term : result.terms)
      if (!forms_.is_invariant(term.symbol) || !is_small(term.factor)) return std::nullopt;
    return result;
  }

  // Whether the loops of two indices run over ranges of which the one ends where the other begins, or
  // earlier.
  bool apart(std::uint32_t a, std::uint32_t b) const {
    if (!forms_.is_loop_index(a) || !forms_.is_loop_index(b)) return false;
    const auto before = [](const LinearForm& high, const LinearForm& low) {
      if (high == low) return true;
      return high.terms.empty() && low.terms.empty() &&
             static_cast<std::int64_t>(high.constant) <= static_cast<std::int64_t>(low.constant);
    };
    return before(forms_.range(a).high, forms_.range(b).low) ||
           before(forms_.range(b).high, forms_.range(a).low);
  }

  // Whether equal products mean equal symbols. Odd factors have an inverse modulo 2^64. Even ones do not wrap
  // where both symbols fit an i32.
  bool is_injective(const Term& a, const Term& b) const {
    if (a.factor % 2 == 1) return true;
    const auto value = static_cast<std::int64_t>(a.factor);
    return known_.index32 && forms_.is_loop_index(a.symbol) && forms_.is_loop_index(b.symbol) &&
           value > -(std::int64_t{1} << 30) && value < std::int64_t{1} << 30;
  }

  static constexpr std::uint64_t minus_one = ~std::uint64_t{0};
  static constexpr std::int64_t limit = std::int64_t{1} << 31;

  const LinearForms& forms_;
  const FusionAssumptions& known_;
  Pairs equal_;
};

class Finder {
 public:
  Finder(const LinearForms& forms, const ir::Kernel& kernel, const FusionAssumptions& known)
      : forms_(forms), kernel_(kernel), known_(known) {}

  void pair(const Statement& a, const Statement& b) {
    if (a.op == Op::load && b.op == Op::load) return;
    if (a.index != b.index) {
      if (!known_.no_alias) add(a, b, {});
      return;
    }
    if (commute(forms_, a, b)) return;
    if (a.op == Op::atomic || b.op == Op::atomic) return add(a, b, {});
    if (a.component != b.component) return;
    Equations equations(forms_, known_);
    if (equations.meet(a, b, kernel_.parameters[a.index].rank)) add(a, b, equations.equal());
  }

  Dependence take() { return std::move(found_); }

 private:
  void add(const Statement& a, const Statement& b, Pairs equal) {
    if (!found_.exists) {
      found_ = {true, std::move(equal), &a, &b};
      return;
    }
    const std::size_t before = found_.equal.size();
    std::erase_if(found_.equal, [&](const auto& known) {
      return std::find(equal.begin(), equal.end(), known) == equal.end();
    });
    if (found_.equal.size() == before) return;
    found_.first = &a;
    found_.second = &b;
  }

  const LinearForms& forms_;
  const ir::Kernel& kernel_;
  const FusionAssumptions& known_;
  Dependence found_;
};

std::string verb(const Statement& s) {
  switch (s.op) {
    case Op::load:
      return "loaded";
    case Op::store:
      return "stored";
    default:
      return "changed atomically";
  }
}

}  // namespace

Accesses accesses_of(const Statement& loop) {
  Accesses out;
  gather(loop, out);
  return out;
}

Dependence find_dependence(const LinearForms& forms, const ir::Kernel& kernel, const Accesses& first,
                           const Accesses& second, const FusionAssumptions& known) {
  Finder finder(forms, kernel, known);
  for (const Statement* const a : first) {
    for (const Statement* const b : second) finder.pair(*a, *b);
  }
  return finder.take();
}

std::string describe(const ir::Kernel& kernel, const Dependence& dependence) {
  const Statement &a = *dependence.first, &b = *dependence.second;
  const std::string one = ir::describe_parameter(kernel, a.index),
                    two = ir::describe_parameter(kernel, b.index);
  const std::string first = one + " is " + verb(a) + " at " + ir::describe(kernel, a.location) + " and ";
  const std::string second = verb(b) + " at " + ir::describe(kernel, b.location);
  if (a.index == b.index) return first + second;
  return first + two + ", which may be the same memory, " + second;
}

}  // namespace weir::passes
