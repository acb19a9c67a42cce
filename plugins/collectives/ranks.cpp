// SPDX-License-Identifier: Apache-2.0
// Operations, waits and failures. service.cpp has the connections.
#include "ranks.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <weir/sdk/thread.hpp>

#include "frames.hpp"

namespace weir::collectives {
namespace {

using namespace std::chrono_literals;
using sdk::format_text;

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

Ranks::Ranks(std::uint32_t rank, std::uint32_t size, std::chrono::nanoseconds limit, Table table)
    : Messages(rank, size),
      limit_(limit),
      table_(std::move(table)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_) sdk::fail_system(errno, "cannot create an event descriptor");
  peers_ = std::vector<Peer>(size);
  if (size > 1) {
    const Lock lock(mutex_);
    open((rank + 1) % size);
  }
  thread_ = sdk::start_thread("weir-group", [this] { serve(); });
}

Ranks::~Ranks() {
  {
    const Lock lock(mutex_);
    ending_ = true;
  }
  wake();
  thread_.join();
}

void Ranks::wake() const noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(wake_.get(), &one, sizeof one);
}

void Ranks::check_locked() const {
  if (!failure_.empty()) sdk::fail(static_cast<weir_result>(WEIR_ERROR_RANK), "%s", failure_.c_str());
}

void Ranks::check() const {
  const Lock lock(mutex_);
  check_locked();
}

bool Ranks::has_failed() const {
  const Lock lock(mutex_);
  return !failure_.empty();
}

int Ranks::failed_rank() const {
  const Lock lock(mutex_);
  return failed_rank_;
}

std::uint64_t Ranks::collectives() const {
  const Lock lock(mutex_);
  return collectives_;
}

void Ranks::set_waiting(std::uint64_t operations) {
  const Lock lock(mutex_);
  waiting_ = operations;
}

bool Ranks::left_before(std::uint32_t rank, std::uint64_t number) const {
  const Lock lock(mutex_);
  return peers_[rank].left && peers_[rank].last.collectives < number;
}

Ranks::Control Ranks::failure_message(std::uint32_t kind) const {
  Control message;
  message.kind = kind;
  message.rank = failed_rank_;
  std::snprintf(message.text, sizeof message.text, "%s", failure_.c_str());
  return message;
}

void Ranks::set_failure(int rank, std::string words, bool tell) {
  if (!failure_.empty()) return;
  failure_ = std::move(words);
  failed_rank_ = rank;
  if (tell) {
    const Control message = failure_message(Control::abort);
    for (std::uint32_t other = 0; other < size_; ++other)
      if (other != rank_) send_control(other, message);
  }
  changed_.notify_all();
  wake();
}

void Ranks::fail_locked(int rank, std::string words) {
  set_failure(rank, std::move(words), true);
  check_locked();
  std::abort();  // unreachable: check_locked throws
}

void Ranks::fail(int rank, std::string words) {
  const Lock lock(mutex_);
  fail_locked(rank, std::move(words));
}

void Ranks::fail_quietly(int rank, std::string words) noexcept try {
  const Lock lock(mutex_);
  set_failure(rank, std::move(words), true);
} catch (const std::exception&) {
}

void Ranks::abort(const std::string& reason) {
  const Lock lock(mutex_);
  set_failure(static_cast<int>(rank_), format_text("rank %u ended the group: %.512s", rank_, reason.c_str()),
              true);
}

void Ranks::begin(const char* name, Channel channel) {
  const Lock lock(mutex_);
  check_locked();
  ++calls_;
  if (channel == Channel::collective) ++collectives_;
  last_ = name;
  channel_ = channel;
  until_ = Clock::now() + limit_;
}

void Ranks::transfer(std::span<const Part> parts) {
  if (parts.empty()) return;
  Lock lock(mutex_);
  std::vector<std::shared_ptr<Message>> messages;
  const auto question_time = std::min(limit_ / 4, longest_question);
  bool asked = false;
  try {
    for (const bool receive : {true, false})
      for (const Part& part : parts) {
        if (part.receive != receive) continue;
        auto message = std::make_shared<Message>();
        message->frame = {Frame::data, static_cast<std::uint32_t>(channel_), part.size};
        message->peer = part.peer;
        message->receive = receive;
        message->address = part.address;
        messages.push_back(message);
        Peer& peer = peers_[part.peer];
        if (!receive) {
          peer.outgoing.queue.push_back(message);
          write_some(part.peer);
          if (!peer.outgoing.queue.empty()) wake();
          continue;
        }
        auto& arrived = peer.arrived[message->frame.channel];
        if (arrived.empty()) {
          peer.posted[message->frame.channel].push_back(message);
          continue;
        }
        const std::shared_ptr<Message> early = std::move(arrived.front());
        arrived.pop_front();
        peer.buffered -= early->size();
        wake();  // reading may have paused
        if (early->size() != part.size)
          fail_locked(
              static_cast<int>(part.peer),
              format_text("rank %u receives %llu bytes from rank %u in %s, which sent %llu; both must be "
                          "equal, and all ranks must make the same calls",
                          rank_, static_cast<unsigned long long>(part.size), part.peer, last_,
                          static_cast<unsigned long long>(early->size())));
        early->posted = message;
        if (early->done) {
          if (part.size != 0) std::memcpy(part.address, early->own.data(), part.size);
          message->done = true;
        }
      }
    for (;;) {
      // Even if the group has failed since: an abort after an operation does not affect that operation.
      if (std::ranges::all_of(messages, [](const auto& message) { return message->done; })) return;
      check_locked();
      judge(messages);
      const auto now = Clock::now();
      const auto until = std::max(until_, moved_ + limit_);  // a large message may take longer than the limit
      if (now >= until) {
        std::vector<std::uint32_t> awaited;
        for (const auto& message : messages)
          if (!message->done) awaited.push_back(message->peer);
        give_up_locked(last_, collectives_, channel_, awaited);
        check_locked();
      }
      const bool is_late = now >= until - question_time;
      if (is_late && !asked) ask_locked();
      asked = is_late;
      changed_.wait_until(lock, asked ? until : until - question_time);
    }
  } catch (...) {
    withdraw(messages);
    throw;
  }
}

// The call has failed: its messages must not use the caller's memory. The other ranks fail too, so they need
// none that is not begun.
void Ranks::withdraw(std::span<const std::shared_ptr<Message>> messages) noexcept {
  for (const auto& message : messages) {
    if (message->done) continue;
    if (message->receive) {
      message->address = nullptr;
    } else if (message->offset == 0) {
      std::erase(peers_[message->peer].outgoing.queue, message);
    } else {
      try {
        const auto* const bytes = static_cast<const std::byte*>(message->address);
        message->own.assign(bytes, bytes + message->size());
        message->address = message->own.data();
      } catch (const std::bad_alloc&) {
        close_connection(message->peer);
      }
    }
  }
}

void Ranks::judge(std::span<const std::shared_ptr<Message>> messages) {
  for (const auto& message : messages)
    if (!message->done && peers_[message->peer].left)
      fail_locked(static_cast<int>(message->peer),
                  format_text("rank %u left the group, while other ranks waited for it in %s; all ranks must "
                              "make the same calls",
                              message->peer, last_));
}

void Ranks::ask_locked() {
  Control message;
  message.kind = Control::question;
  for (std::uint32_t rank = 0; rank < size_; ++rank)
    if (rank != rank_) {
      peers_[rank].answered = false;
      send_control(rank, message);
    }
}

void Ranks::ask() {
  const Lock lock(mutex_);
  ask_locked();
}

std::string Ranks::describe(std::uint32_t rank) const {
  const Peer& peer = peers_[rank];
  if (peer.left) return format_text("rank %u left the group", rank);
  if (!peer.answered)
    return format_text("rank %u does not answer: its process is stopped or its machine cannot be reached",
                       rank);
  if (peer.last.calls == 0) return format_text("rank %u has made no call", rank);
  return format_text("rank %u has come no further than its call %llu, %.40s", rank,
                     static_cast<unsigned long long>(peer.last.calls), peer.last.text);
}

// A rank that this rank waits for may itself wait for another one. The cause is the rank with the fewest
// calls.
void Ranks::give_up_locked(const char* name, std::uint64_t number, Channel channel,
                           std::span<const std::uint32_t> awaited) {
  std::vector<std::uint32_t> late;
  const auto is_awaited = [&](std::uint32_t rank) {
    return std::ranges::find(awaited, rank) != awaited.end();
  };
  for (std::uint32_t rank = 0; rank < size_; ++rank) {
    const Peer& peer = peers_[rank];
    if (rank == rank_ || (channel == Channel::exchange && !is_awaited(rank))) continue;
    if ((!peer.answered && !peer.left) || peer.left ||
        (channel == Channel::collective && peer.last.collectives < number))
      late.push_back(rank);
  }
  if (late.empty()) late.assign(awaited.begin(), awaited.end());
  std::erase(late, rank_);
  std::string text;
  for (const std::uint32_t rank : late) {
    if (text.size() > 400) {
      text += ", and others";
      break;
    }
    text += (text.empty() ? "" : ", ") + describe(rank);
  }
  set_failure(late.empty() ? -1 : static_cast<int>(late.front()),
              format_text("no answer within %g s: %s, while other ranks waited for it in %s; make the same "
                          "calls on all ranks, or raise JoinOptions::limit",
                          seconds(limit_), text.empty() ? "the device did not finish" : text.c_str(), name),
              true);
}

void Ranks::give_up(const char* name, std::uint64_t number, std::span<const std::uint32_t> peers) noexcept
    try {
  const Lock lock(mutex_);
  if (!peers.empty()) return give_up_locked(name, number, Channel::exchange, peers);
  std::vector<std::uint32_t> all;
  for (std::uint32_t rank = 0; rank < size_; ++rank) all.push_back(rank);
  give_up_locked(name, number, Channel::collective, all);
} catch (const std::exception&) {
}

void Ranks::watch(std::function<void()> look) {
  {
    const std::lock_guard guard(watching_);
    look_ = std::move(look);
  }
  wake();
}

void Ranks::leave(bool wait) {
  Lock lock(mutex_);
  leaving_ = true;
  Control farewell = failure_message(Control::left);
  farewell.calls = calls_;
  farewell.collectives = collectives_;
  for (std::uint32_t other = 0; other < size_; ++other)
    if (other != rank_) send_control(other, farewell);
  const auto others_left = [&] {
    for (std::uint32_t other = 0; other < size_; ++other)
      if (other != rank_ && !peers_[other].left) return false;
    return true;
  };
  if (wait)
    changed_.wait_until(lock, Clock::now() + limit_, [&] { return !failure_.empty() || others_left(); });
  // Notifies the others that this rank left. A rank that reads nothing for so long detects it by its closed
  // socket.
  const auto flushed = [&] {
    return std::ranges::all_of(peers_, [](const Peer& peer) { return peer.outgoing.queue.empty(); });
  };
  changed_.wait_until(lock, Clock::now() + 1s, flushed);
}

}  // namespace weir::collectives
