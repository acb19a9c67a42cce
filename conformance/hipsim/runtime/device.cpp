// SPDX-License-Identifier: Apache-2.0
#include "runtime/device.hpp"

#include <algorithm>
#include <utility>

namespace weir::hipsim {
namespace {
constexpr unsigned non_blocking = 1;
}

Device::Device(int index, const DeviceConfig& config, MemoryTable& table)
    : index(index), config(config), table_(table) {}

std::shared_ptr<Allocation> Device::allocate(std::uint64_t size, bool pooled) {
  const std::scoped_lock lock(memory_mutex_);
  const std::uint64_t from_kept = pooled ? std::min(kept_, size) : 0;
  if (size - from_kept > free_bytes()) return nullptr;
  auto block = table_.allocate(size, index, MemoryKind::device);
  if (!block) return nullptr;
  block->pooled = pooled;
  kept_ -= from_kept;
  (pooled ? used_by_pools_ : used_) += size;
  return block;
}

void Device::free(const std::shared_ptr<Allocation>& block) {
  table_.free(block);
  const std::scoped_lock lock(memory_mutex_);
  if (!block->pooled) {
    used_ -= block->size;
    return;
  }
  used_by_pools_ -= block->size;
  kept_ += block->size;
}

void Device::trim_pools() {
  const std::scoped_lock lock(memory_mutex_);
  kept_ = 0;
}

Device::MemoryUse Device::memory_use() const {
  const std::scoped_lock lock(memory_mutex_);
  return {free_bytes(), used_by_pools_, kept_};
}

std::uint64_t Device::free_bytes() const {
  return config.memory_bytes - used_ - used_by_pools_ - kept_;
}

std::shared_ptr<Stream> Device::create_stream(unsigned flags, int priority) {
  auto stream = std::make_shared<Stream>(index, flags, priority);
  const std::scoped_lock lock(mutex_);
  streams_.push_back(stream);
  return stream;
}

void Device::remove_stream(const std::shared_ptr<Stream>& stream) {
  const std::scoped_lock lock(mutex_);
  std::erase(streams_, stream);
}

std::shared_ptr<Stream> Device::null_stream() {
  const std::scoped_lock lock(mutex_);
  if (!null_) null_ = std::make_shared<Stream>(index, 0u, 0);
  return null_;
}

std::vector<std::shared_ptr<Stream>> Device::streams() const {
  const std::scoped_lock lock(mutex_);
  auto all = streams_;
  if (null_) all.push_back(null_);
  return all;
}

void Device::enqueue(const std::shared_ptr<Stream>& stream, Stream::Item item) {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<Marker>> before;
  const auto mark = [&](const std::shared_ptr<Stream>& other) {
    if (other->idle()) return;
    auto marker = std::make_shared<Marker>();
    other->enqueue(marker);
    before.push_back(marker);
  };
  if (stream == null_) {
    for (const auto& other : streams_)
      if (!(other->flags & non_blocking)) mark(other);
  } else if (!(stream->flags & non_blocking) && null_) {
    mark(null_);
  }
  if (!before.empty())
    stream->enqueue([before = std::move(before)] {
      for (const auto& marker : before) marker->wait();
    });
  stream->enqueue(std::move(item));
  if (const hipError_t late = std::exchange(late_failure(), hipSuccess); late != hipSuccess)
    stream->enqueue([this, late] { set_error(late); });
}

hipError_t& Device::late_failure() {
  thread_local hipError_t error = hipSuccess;
  return error;
}

void Device::synchronize() {
  for (const auto& stream : streams()) stream->synchronize();
}

void Device::set_error(hipError_t error) {
  hipError_t none = hipSuccess;
  error_.compare_exchange_strong(none, error);
}

}  // namespace weir::hipsim
