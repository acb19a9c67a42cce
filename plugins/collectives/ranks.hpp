// SPDX-License-Identifier: Apache-2.0
// Messages between the ranks of a group over sockets, and the watch over the ranks.
//
// A rank connects to another one when it first sends to it; each connection carries frames in one direction.
// Every rank connects to its right neighbour at the start, so that two others detect the end of a process and
// notify all. A service thread reads and writes; callers wait for their transfers.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>
#include <weir/sdk/ranks/messages.hpp>

#include "rendezvous.hpp"

namespace weir::collectives {

using sdk::Channel;
using sdk::Part;
using Lock = std::unique_lock<std::mutex>;

/// The time before the end of a wait in which the other ranks report their progress.
constexpr std::chrono::nanoseconds longest_question = std::chrono::milliseconds(500);

class Ranks final : public sdk::Messages {
 public:
  Ranks(std::uint32_t rank, std::uint32_t size, std::chrono::nanoseconds limit, Table table);
  ~Ranks() override;

  void begin(const char* name, Channel channel) override;
  void transfer(std::span<const Part> parts) override;
  [[noreturn]] void fail(int rank, std::string words) override;
  void abort(const std::string& reason) override;
  int failed_rank() const override;

  /// Notifies the others that this rank makes no more operations. With `wait`, returns when all others have
  /// left, the group has failed, or the limit has passed.
  void leave(bool wait);

  // For operations of a device, which do not return to the caller when they end.
  /// The number of this rank's collective operations.
  std::uint64_t collectives() const;
  /// The collective operations that streams have not reached, which do not count in answers to other ranks.
  void set_waiting(std::uint64_t operations);
  /// Asks the others for their progress.
  void ask();
  /// Makes the group fail because of the operation `number` of `name`. The failure names the ranks with less
  /// progress. An exchange waits for `peers` only.
  void give_up(const char* name, std::uint64_t number, std::span<const std::uint32_t> peers) noexcept;
  /// Makes the group fail, without throwing.
  void fail_quietly(int rank, std::string words) noexcept;
  /// Whether the rank has left with fewer collective operations than `number`.
  bool left_before(std::uint32_t rank, std::uint64_t number) const;
  bool has_failed() const;
  /// Throws the failure of the group, if there is one.
  void check() const;
  /// Runs `look` on the service thread every few milliseconds, and after a failure. With null, stops this and
  /// waits for a call in progress.
  void watch(std::function<void()> look);

  std::chrono::nanoseconds limit() const noexcept { return limit_; }

 private:
  struct Frame;
  struct Control;
  struct Message;
  struct Incoming;
  struct Outgoing;
  struct Peer;

  void check_locked() const;
  /// With the failure of the group, if there is one.
  Control failure_message(std::uint32_t kind) const;
  void set_failure(int rank, std::string words, bool tell);
  [[noreturn]] void fail_locked(int rank, std::string words);
  void send_control(std::uint32_t to, const Control& control);
  void give_up_locked(const char* name, std::uint64_t number, Channel channel,
                      std::span<const std::uint32_t> awaited);
  std::string describe(std::uint32_t rank) const;
  void ask_locked();
  void judge(std::span<const std::shared_ptr<Message>> messages);
  void withdraw(std::span<const std::shared_ptr<Message>> messages) noexcept;

  void serve() noexcept;
  bool open(std::uint32_t to);
  void write_some(std::uint32_t to);
  bool read_some(Incoming& from);
  void begin_message(Incoming& from);
  void handle(std::uint32_t from, const Control& control);
  void lose(std::uint32_t rank);
  void close_connection(std::uint32_t to) noexcept;
  void apply_abort();
  void wake() const noexcept;

  const std::chrono::nanoseconds limit_;
  Table table_;
  Socket wake_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Peer> peers_;
  std::vector<std::unique_ptr<Incoming>> incoming_;
  std::uint64_t calls_ = 0, collectives_ = 0, waiting_ = 0;
  const char* last_ = "";
  Channel channel_ = Channel::collective;
  Clock::time_point until_{};
  Clock::time_point moved_{};  ///< when a part of a message was last sent or received
  std::string failure_;
  int failed_rank_ = -1;
  std::unique_ptr<Control> abort_;  ///< of another rank
  bool leaving_ = false, ending_ = false;
  std::mutex watching_;
  std::function<void()> look_;
  std::thread thread_;
};

}  // namespace weir::collectives
