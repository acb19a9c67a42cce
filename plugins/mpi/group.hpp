// SPDX-License-Identifier: Apache-2.0
// The operations of one rank, made of messages between pairs of ranks.
#pragma once

#include <memory>
#include <utility>
#include <weir/sdk/ranks/message_group.hpp>

#include "membership.hpp"

namespace weir::mpi {

class Group : public sdk::MessageGroup {
 public:
  static std::shared_ptr<Group> join(const weir_group_options& options);
  Group(std::shared_ptr<Membership> membership, bool validate)
      : MessageGroup(membership, validate), membership_(std::move(membership)) {}

  void leave();

 private:
  void meet(const weir_group_options& options, Clock::time_point until);

  std::shared_ptr<Membership> membership_;
};

}  // namespace weir::mpi
