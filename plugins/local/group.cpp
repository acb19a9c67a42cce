// SPDX-License-Identifier: Apache-2.0
#include "group.hpp"

#include <algorithm>
#include <cstring>

namespace weir::local {
namespace {

void copy_bytes(void* to, const void* from, std::uint64_t size) {
  if (size != 0 && to != from) std::memcpy(to, from, size);
}

const std::byte* bytes(const void* memory) {
  return static_cast<const std::byte*>(memory);
}

}  // namespace

std::shared_ptr<Group> Group::join(const weir_group_options& options) {
  if (options.size == 0 || !options.address)
    sdk::fail(WEIR_ERROR_INVALID,
              "options.size is %u and options.address is %s; threads need a size of at least 1 and an "
              "address, because "
              "no launcher starts them",
              options.size, options.address ? options.address : "null");
  sdk::notice_forks();  // a child has no other ranks
  return std::make_shared<Group>(Meeting::join(options), options.rank, options.size);
}

void Group::exchange(std::span<const weir_transfer> transfers, Stream stream) {
  sdk::refuse_stream(stream);
  for (const weir_transfer& transfer : transfers)
    sdk::host_address(transfer.memory, "the memory of a transfer");
  meeting_->exchange(rank(), transfers);
}

void Group::broadcast(const weir_memory& memory, std::uint64_t size, std::uint32_t root, Stream stream) {
  sdk::refuse_stream(stream);
  void* const mine = sdk::host_address(memory, "memory");
  meeting_->begin(rank(), {"broadcast", size, 0, 0, root, mine, mine});
  if (rank() != root) copy_bytes(mine, meeting_->call_of(root).from, size);
  meeting_->meet(rank());
}

void Group::all_gather(const weir_memory& to, const weir_memory& from, std::uint64_t size, Stream stream) {
  sdk::refuse_stream(stream);
  auto* const mine = static_cast<std::byte*>(sdk::host_address(to, "destination"));
  meeting_->begin(rank(), {"all_gather", size, 0, 0, 0, mine, sdk::host_address(from, "source")});
  for (std::uint32_t other = 0; other < this->size(); ++other)
    copy_bytes(mine + other * size, meeting_->call_of(other).from, size);
  meeting_->meet(rank());
}

void Group::combine(std::byte* into, std::uint64_t begin, std::uint64_t count, const Call& call) const {
  const std::uint64_t element = sdk::scalar_size(call.type);
  copy_bytes(into, bytes(meeting_->call_of(0).from) + begin * element, count * element);
  for (std::uint32_t other = 1; other < size(); ++other)
    sdk::reduce(call.type, call.reduction, into, bytes(meeting_->call_of(other).from) + begin * element,
                count);
}

void Group::reduce_scatter(const weir_memory& to, const weir_memory& from, std::uint64_t count,
                           std::uint32_t type, std::uint32_t reduction, Stream stream) {
  sdk::refuse_stream(stream);
  auto* const mine = static_cast<std::byte*>(sdk::host_address(to, "destination"));
  const Call call{"reduce_scatter", count, type, reduction, 0, mine, sdk::host_address(from, "source")};
  meeting_->begin(rank(), call);
  combine(mine, rank() * count, count, call);
  meeting_->meet(rank());
}

// Each rank combines a part in shared memory, because sources may be destinations.
void Group::all_reduce(const weir_memory& to, const weir_memory& from, std::uint64_t count,
                       std::uint32_t type, std::uint32_t reduction, Stream stream) {
  sdk::refuse_stream(stream);
  auto* const mine = static_cast<std::byte*>(sdk::host_address(to, "destination"));
  const Call call{"all_reduce", count, type, reduction, 0, mine, sdk::host_address(from, "source")};
  meeting_->begin(rank(), call);
  const std::uint64_t element = sdk::scalar_size(type);
  std::byte* const shared = meeting_->scratch(rank(), count * element);
  const auto part = [&](std::uint32_t of) {
    return count / size() * of + std::min<std::uint64_t>(of, count % size());
  };
  combine(shared + part(rank()) * element, part(rank()), part(rank() + 1) - part(rank()), call);
  meeting_->meet(rank());
  copy_bytes(mine, shared, count * element);
  meeting_->meet(rank());
}

void Group::all_to_all(const weir_memory& to, const weir_memory& from, std::uint64_t size, Stream stream) {
  sdk::refuse_stream(stream);
  auto* const mine = static_cast<std::byte*>(sdk::host_address(to, "destination"));
  meeting_->begin(rank(), {"all_to_all", size, 0, 0, 0, mine, sdk::host_address(from, "source")});
  for (std::uint32_t other = 0; other < this->size(); ++other)
    copy_bytes(mine + other * size, bytes(meeting_->call_of(other).from) + rank() * size, size);
  meeting_->meet(rank());
}

void Group::barrier(Stream stream) {
  sdk::refuse_stream(stream);
  meeting_->begin(rank(), {"barrier"});
  meeting_->meet(rank());  // no rank replaces its call by the next one before all have compared this one
}

}  // namespace weir::local
