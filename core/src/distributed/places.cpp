// SPDX-License-Identifier: Apache-2.0
#include "distributed/places.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace weir::distributed {
namespace {

/// Places that `cut` asks for; 0: any number.
std::uint32_t asked_of(const Cut& cut, std::size_t d) {
  if (cut.ranks != 0 && !cut.rows.empty() && cut.rows.size() != cut.ranks)
    throw Error(
        ErrorCode::invalid,
        fmt::format(
            "the cut along dimension {} has {} sizes for {} ranks; expected one for each, or none for an "
            "even cut",
            d, cut.rows.size(), cut.ranks));
  return cut.rows.empty() ? cut.ranks : static_cast<std::uint32_t>(cut.rows.size());
}

/// The search for the best grid.
class Search {
 public:
  Search(CutList cuts, std::span<const std::int64_t> extents, std::vector<std::uint32_t> asked)
      : cuts_(cuts), extents_(extents), asked_(std::move(asked)), tried_(cuts.size()) {}

  /// Empty if there is none.
  std::vector<std::uint32_t> best(std::uint32_t ranks) {
    place(0, ranks);
    return best_;
  }

 private:
  void place(std::size_t d, std::uint32_t left) {
    if (d == cuts_.size()) {
      if (left == 1) judge();
      return;
    }
    for (std::uint32_t places = left; places >= 1; --places) {
      if (left % places != 0 || (asked_[d] != 0 && asked_[d] != places)) continue;
      tried_[d] = places;
      place(d + 1, left / places);
    }
  }

  // Elements of the largest piece, as doubles, because products of extents may exceed 64 bits.
  void judge() {
    double cost = 0;
    bool narrow = false;
    for (std::size_t d = 0; d < cuts_.size(); ++d) {
      if (tried_[d] == 1 && !cuts_[d].periodic) continue;
      narrow = narrow || extents_[d] / tried_[d] < cuts_[d].halo;
      const int sides = tried_[d] == 2 && !cuts_[d].periodic ? 1 : 2;
      double halo = sides * static_cast<double>(std::max<std::int64_t>(cuts_[d].halo, 1));
      for (std::size_t other = 0; other < extents_.size(); ++other)
        if (other != d) halo *= piece(other);
      cost += halo;
    }
    if (!best_.empty() && (narrow > best_narrow_ || (narrow == best_narrow_ && cost >= best_cost_))) return;
    best_ = tried_;
    best_cost_ = cost;
    best_narrow_ = narrow;
  }

  double piece(std::size_t d) const {
    const std::int64_t places = d < cuts_.size() ? tried_[d] : 1;
    return static_cast<double>(extents_[d] / places + (extents_[d] % places != 0 ? 1 : 0));
  }

  CutList cuts_;
  std::span<const std::int64_t> extents_;
  std::vector<std::uint32_t> asked_, tried_, best_;
  double best_cost_ = 0;
  bool best_narrow_ = false;
};

}  // namespace

std::vector<std::uint32_t> places_of(CutList cuts, std::span<const std::int64_t> extents,
                                     std::uint32_t ranks) {
  std::vector<std::uint32_t> asked;
  for (const Cut& cut : cuts) asked.push_back(asked_of(cut, asked.size()));
  const std::vector<std::uint32_t> best = Search(cuts, extents, asked).best(ranks);
  if (!best.empty()) return best;
  if (cuts.size() == 1 && !cuts[0].rows.empty())
    throw Error(ErrorCode::invalid,
                fmt::format("the cut has {} sizes; expected one for each of the {} ranks, or none for an "
                            "even cut",
                            cuts[0].rows.size(), ranks));
  std::vector<std::string> words;
  for (const std::uint32_t number : asked) words.push_back(number == 0 ? "any" : std::to_string(number));
  throw Error(ErrorCode::invalid,
              fmt::format("the cuts make a grid of {} ranks, and the group has {}; expected numbers whose "
                          "product is {}, or 0 for those to be chosen",
                          fmt::join(words, " x "), ranks, ranks));
}

}  // namespace weir::distributed
