// SPDX-License-Identifier: Apache-2.0
#include "ranks.hpp"

#include <algorithm>
#include <numeric>

namespace weir::demo {

Rows Ranks::rows(std::int64_t total, std::uint32_t rank) const noexcept {
  const std::int64_t each = total / size(), more = total % size();
  const std::int64_t begin = rank * each + std::min<std::int64_t>(rank, more);
  return {begin, begin + each + (rank < more ? 1 : 0)};
}

void Ranks::synchronize(const StreamRef& stream) const {
  if (alone())
    stream.synchronize();
  else
    world_->synchronize(stream);
}

void Ranks::reduce(std::span<double> values, Reduction reduction) const {
  if (alone()) return;
  const Array<double> all = stream_->device().array_of<double>(*stream_, values);
  world_->all_reduce(*stream_, all, reduction);
  world_->synchronize(*stream_);
  all.copy_to(*stream_, values);
}

void Ranks::broadcast(std::span<std::byte> bytes, std::uint32_t root) const {
  if (alone()) return;
  const Array<std::uint8_t> all = stream_->device().array<std::uint8_t>(*stream_, bytes.size());
  all.copy_from_bytes(*stream_, bytes);
  world_->broadcast(*stream_, all, root);
  world_->synchronize(*stream_);
  all.copy_to_bytes(*stream_, bytes);
}

std::vector<float> Ranks::scatter(std::span<const float> whole, std::int64_t total, std::int64_t cols) const {
  if (alone()) return {whole.begin(), whole.end()};
  const Distributed<float, 2> pieces(*world_, *stream_, {total, cols});
  const auto all = stream_->device().array<float>(*stream_, first() ? total : 0, cols);
  if (first()) all.copy_from(*stream_, whole);
  pieces.scatter(*stream_, all, 0);
  world_->synchronize(*stream_);
  return pieces.own().to_host(*stream_);
}

std::vector<float> Ranks::with_neighbours(std::span<const float> own, std::int64_t total, std::int64_t cols,
                                          std::int64_t halo) const {
  if (alone()) return {own.begin(), own.end()};
  Cut cut;
  cut.halo = halo;
  const Distributed<float, 2> pieces(*world_, *stream_, {total, cols}, cut);
  pieces.own().copy_from(*stream_, own);
  pieces.exchange(*stream_);
  world_->synchronize(*stream_);
  return pieces.local().to_host(*stream_);
}

std::vector<float> Ranks::gather(std::vector<float> own, const std::vector<std::int64_t>& sizes,
                                 std::int64_t cols) const {
  if (alone()) return own;
  const std::int64_t total = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  Cut cut;
  cut.rows = sizes;
  const Distributed<float, 2> pieces(*world_, *stream_, {total, cols}, cut);
  const auto all = stream_->device().array<float>(*stream_, total, cols);
  pieces.own().copy_from(*stream_, own);
  pieces.gather(*stream_, all, 0);
  world_->broadcast(*stream_, all, 0);
  world_->synchronize(*stream_);
  return all.to_host(*stream_);
}

}  // namespace weir::demo
