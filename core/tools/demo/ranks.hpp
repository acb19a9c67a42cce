// SPDX-License-Identifier: Apache-2.0
// The ranks that run the demo together, each with consecutive rows of the terrain. Functions that take values
// of all ranks are collective: every rank calls them in the same order, and they wait on the host. Alone,
// they return their argument.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>
#include <weir/distributed.hpp>

namespace weir::demo {

class Ranks {
 public:
  /// One rank, without a communicator.
  Ranks() = default;
  /// `world` must outlive the copies of this object; `stream` carries the values of the functions below.
  Ranks(const Communicator& world, const StreamRef& stream) : world_(&world), stream_(stream) {}

  bool alone() const noexcept { return !world_; }
  std::uint32_t size() const noexcept { return world_ ? world_->size() : 1; }
  std::uint32_t rank() const noexcept { return world_ ? world_->rank() : 0; }
  /// Whether this rank writes the output of all.
  bool first() const noexcept { return rank() == 0; }
  const Communicator& world() const noexcept { return *world_; }  ///< not alone
  const StreamRef& stream() const noexcept { return *stream_; }   ///< not alone

  /// The rows of a rank, of `total`, as even as possible.
  Rows rows(std::int64_t total, std::uint32_t rank) const noexcept;
  Rows rows(std::int64_t total) const noexcept { return rows(total, rank()); }

  /// As stream.synchronize(); throws the failure of another rank.
  void synchronize(const StreamRef& stream) const;
  /// Waits until all ranks have called it.
  void meet() const {
    if (world_) world_->barrier();
  }

  /// The reduction of each value over all ranks.
  void reduce(std::span<double> values, Reduction reduction) const;
  /// f(... f(f(value)) ...) with f called once on each rank, in their order.
  template <class T, class F>
  T in_turn(T value, const F& f) const {
    for (std::uint32_t turn = 0; turn < size(); ++turn) {
      if (turn == rank()) value = f(value);
      broadcast(std::as_writable_bytes(std::span(&value, 1)), turn);
    }
    return value;
  }

  /// This rank's rows of `whole`, which the first rank gives; others give nothing.
  std::vector<float> scatter(std::span<const float> whole, std::int64_t total, std::int64_t cols) const;
  /// This rank's rows between up to `halo` rows of each neighbour; none at the edges of the whole.
  std::vector<float> with_neighbours(std::span<const float> own, std::int64_t total, std::int64_t cols,
                                     std::int64_t halo) const;
  /// The rows of all ranks, on every rank. `sizes`: the number of rows of each rank.
  std::vector<float> gather(std::vector<float> own, const std::vector<std::int64_t>& sizes,
                            std::int64_t cols) const;

 private:
  void broadcast(std::span<std::byte> bytes, std::uint32_t root) const;

  const Communicator* world_ = nullptr;
  std::optional<StreamRef> stream_;
};

}  // namespace weir::demo
