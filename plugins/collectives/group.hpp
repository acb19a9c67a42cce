// SPDX-License-Identifier: Apache-2.0
// The operations of one rank: device memory over NCCL, host memory over the connections of the ranks.
#pragma once

#include <memory>
#include <optional>
#include <weir/sdk/ranks/message_group.hpp>

#include "device_group.hpp"

namespace weir::collectives {

class Group final : public sdk::MessageGroup {
 public:
  static std::shared_ptr<Group> join(const weir_group_options& options);
  Group(std::shared_ptr<Ranks> ranks, bool validate)
      : MessageGroup(ranks, validate), ranks_(std::move(ranks)) {}

  void leave();

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
  bool is_on_device(Stream stream, std::initializer_list<const weir_memory*> memories) const;
  void compare_sizes(std::span<const weir_transfer> transfers);
  void submit(Stream stream, DeviceGroup::Operation operation, const DeviceGroup::Call& call) {
    device_->submit(stream ? stream->native : nullptr, std::move(operation), call);
  }

  std::shared_ptr<Ranks> ranks_;
  std::unique_ptr<DeviceGroup> device_;
};

}  // namespace weir::collectives
