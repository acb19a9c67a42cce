// SPDX-License-Identifier: Apache-2.0
// Messages between the ranks of a group, for the host operations of MessageGroup.
#pragma once

#include <weir/communicator.h>

#include <cstdint>
#include <span>
#include <string>

#include "../status.hpp"

namespace weir::sdk {

/// A message to or from another rank.
struct Part {
  std::uint32_t peer;
  void* address;
  std::uint64_t size;
  bool receive;
};

/// Messages of collective operations do not meet those of exchanges, which involve only some of the ranks.
enum class Channel { collective, exchange };

/// One rank's connection to the others. A wait ends at the group's limit, at a failure of the group, or when
/// a rank that it needs has left or ended. The call then throws a Failure with WEIR_ERROR_RANK.
class Messages {
 public:
  Messages(std::uint32_t rank, std::uint32_t size) : rank_(rank), size_(size) {}
  virtual ~Messages() = default;

  /// Begins an operation: counts it and sets the end of its waits. Throws if the group has failed. `name`
  /// must be a literal.
  virtual void begin(const char* name, Channel channel) = 0;
  /// Makes all transfers of one step of the operation. Those of a pair of ranks keep their order.
  virtual void transfer(std::span<const Part> parts) = 0;
  /// Makes the group fail on all ranks, and throws. `rank` is the cause, or -1 if it is not known.
  [[noreturn]] virtual void fail(int rank, std::string words) = 0;
  virtual void abort(const std::string& reason) = 0;
  virtual int failed_rank() const = 0;

  std::uint32_t rank() const noexcept { return rank_; }
  std::uint32_t size() const noexcept { return size_; }

 protected:
  const std::uint32_t rank_, size_;
};

}  // namespace weir::sdk
