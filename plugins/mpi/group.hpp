// SPDX-License-Identifier: Apache-2.0
// The operations of one rank, made of messages between pairs of ranks.
#pragma once

#include <memory>
#include <span>
#include <weir/sdk/communicator.hpp>

#include "membership.hpp"

namespace weir::mpi {

inline std::byte* host_bytes(const weir_memory& memory, const char* what) {
  return static_cast<std::byte*>(sdk::host_address(memory, what));
}

class Group : public sdk::GroupBase {
 public:
  using Stream = const weir_communicator_stream*;

  static std::shared_ptr<Group> join(const weir_group_options& options);
  Group(std::shared_ptr<Membership> membership, bool validate)
      : GroupBase(membership->rank(), membership->size()),
        ranks_(std::move(membership)),
        validate_(validate) {}

  void leave();
  void abort(const char* reason) { ranks_->abort(reason); }
  int failed_rank() const { return ranks_->failed_rank(); }

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
  /// The parts of a call that are equal on all ranks.
  struct Call {
    char name[16];
    std::uint64_t size;  ///< bytes, or elements of a reduction
    std::uint32_t type, reduction, root, validate;
  };
  struct Reduction {
    std::uint32_t type, kind;
    std::uint64_t element;
  };

  void meet(const weir_group_options& options, Clock::time_point until);
  void begin(Stream stream, const char* name, std::uint64_t size, std::uint32_t type = 0,
             std::uint32_t reduction = 0, std::uint32_t root = 0);
  void compare(const Call& mine);

  void broadcast_bytes(std::byte* memory, std::uint64_t size, std::uint32_t root);
  void gather_bytes(std::byte* all, std::uint64_t size);
  void reduce_to_first(std::byte* values, std::uint64_t count, const Reduction& reduction);
  void reduce_part(std::byte* to, const std::byte* from, std::span<const std::uint64_t> begins,
                   const Reduction& reduction);

  std::shared_ptr<Membership> ranks_;
  bool validate_;
};

}  // namespace weir::mpi
