// SPDX-License-Identifier: Apache-2.0
// The operations of one rank, on memory that all ranks can access.
#pragma once

#include <memory>
#include <span>

#include "meeting.hpp"

namespace weir::local {

class Group : public sdk::GroupBase {
 public:
  using Stream = const weir_communicator_stream*;

  static std::shared_ptr<Group> join(const weir_group_options& options);
  Group(std::shared_ptr<Meeting> meeting, std::uint32_t rank, std::uint32_t size)
      : GroupBase(rank, size), meeting_(std::move(meeting)) {}

  void leave() { meeting_->leave(rank()); }
  void abort(const char* reason) { meeting_->abort(rank(), reason); }
  int failed_rank() const { return meeting_->failed_rank(); }

  void exchange(std::span<const weir_transfer> transfers, Stream stream);
  void broadcast(const weir_memory& memory, std::uint64_t size, std::uint32_t root, Stream stream);
  void all_gather(const weir_memory& to, const weir_memory& from, std::uint64_t size, Stream stream);
  void reduce_scatter(const weir_memory& to, const weir_memory& from, std::uint64_t count, std::uint32_t type,
                      std::uint32_t reduction, Stream stream);
  void all_reduce(const weir_memory& to, const weir_memory& from, std::uint64_t count, std::uint32_t type,
                  std::uint32_t reduction, Stream stream);
  void all_to_all(const weir_memory& to, const weir_memory& from, std::uint64_t size, Stream stream);
  void barrier(Stream stream);

 private:
  /// Combines elements [begin, begin + count) of all sources, from rank 0 up, into `into`.
  void combine(std::byte* into, std::uint64_t begin, std::uint64_t count, const Call& call) const;

  std::shared_ptr<Meeting> meeting_;
};

}  // namespace weir::local
