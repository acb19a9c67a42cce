// SPDX-License-Identifier: Apache-2.0
// The connections of Ranks, and its service thread.
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "frames.hpp"

namespace weir::collectives {
namespace {

using namespace std::chrono_literals;
using sdk::format_text;

constexpr std::uint64_t max_buffered = 64 << 20;  // bytes of a peer's messages before their receives
constexpr auto farewell_time = 200ms;             // for a farewell to arrive after its connection broke
constexpr int watch_ms = 10;

}  // namespace

// A rank that cannot be reached has ended or left.
bool Ranks::open(std::uint32_t to) {
  Outgoing& outgoing = peers_[to].outgoing;
  if (outgoing.socket) return true;
  if (outgoing.closed) return false;
  const Greeting greeting{table_.token, rank_, 0};
  outgoing.socket = connect_to(table_.members[to].address);
  if (outgoing.socket && send_all(outgoing.socket, &greeting, sizeof greeting, Clock::now() + 1s))
    return true;
  close_connection(to);
  wake();
  return false;
}

void Ranks::close_connection(std::uint32_t to) noexcept {
  Peer& peer = peers_[to];
  peer.outgoing.socket = Socket();
  peer.outgoing.closed = true;
  peer.outgoing.queue.clear();
  if (peer.suspected == Clock::time_point{}) peer.suspected = Clock::now();
}

void Ranks::send_control(std::uint32_t to, const Control& control) {
  auto message = std::make_shared<Message>();
  message->frame = {Frame::control, 0, sizeof control};
  message->peer = to;
  message->own.resize(sizeof control);
  std::memcpy(message->own.data(), &control, sizeof control);
  message->address = message->own.data();
  peers_[to].outgoing.queue.push_back(std::move(message));
  write_some(to);
  if (!peers_[to].outgoing.queue.empty()) wake();
}

void Ranks::write_some(std::uint32_t to) {
  Outgoing& outgoing = peers_[to].outgoing;
  if (!open(to)) {
    outgoing.queue.clear();
    return;
  }
  while (!outgoing.queue.empty()) {
    Message& message = *outgoing.queue.front();
    constexpr std::uint64_t head = sizeof(Frame);
    iovec parts[2];
    unsigned count = 0;
    if (message.offset < head)
      parts[count++] = {reinterpret_cast<std::byte*>(&message.frame) + message.offset, head - message.offset};
    const std::uint64_t done = message.offset > head ? message.offset - head : 0;
    if (done < message.size())
      parts[count++] = {static_cast<std::byte*>(message.address) + done, message.size() - done};
    msghdr header{};
    header.msg_iov = parts;
    header.msg_iovlen = count;
    const ssize_t sent = sendmsg(outgoing.socket.get(), &header, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (sent < 0) {
      close_connection(to);
      return wake();
    }
    message.offset += static_cast<std::uint64_t>(sent);
    if (message.frame.kind == Frame::data) moved_ = Clock::now();
    if (message.offset < head + message.size()) continue;
    message.done = true;
    outgoing.queue.pop_front();
    changed_.notify_all();
  }
}

// Finds the receive of a message whose frame has arrived.
void Ranks::begin_message(Incoming& from) {
  Frame frame;
  std::memcpy(&frame, from.head, sizeof frame);
  from.got = 0;
  from.in_payload = true;
  from.message = nullptr;
  if (frame.kind == Frame::control) {
    if (frame.size != sizeof(Control)) frame.size = 0;
    return;
  }
  Peer& peer = peers_[static_cast<std::uint32_t>(from.rank)];
  const std::uint32_t channel = frame.channel & 1u;
  auto& posted = peer.posted[channel];
  if (!posted.empty()) {
    const std::shared_ptr<Message> receive = std::move(posted.front());
    posted.pop_front();
    if (receive->size() == frame.size) {
      from.message = receive;
      return;
    }
    set_failure(
        from.rank,
        format_text("rank %u receives %llu bytes from rank %d in %s, which sent %llu; both must be equal, "
                    "and all ranks must make the same calls",
                    rank_, static_cast<unsigned long long>(receive->size()), from.rank, last_,
                    static_cast<unsigned long long>(frame.size)),
        true);
  }
  from.message = std::make_shared<Message>();
  from.message->frame = frame;
  from.message->receive = true;
  from.message->own.resize(frame.size);
  from.message->address = from.message->own.data();
  peer.arrived[channel].push_back(from.message);
  peer.buffered += frame.size;
}

/// False at the end of the connection.
bool Ranks::read_some(Incoming& from) {
  for (;;) {
    if (!from.in_payload && from.rank >= 0 &&
        peers_[static_cast<std::uint32_t>(from.rank)].buffered > max_buffered)
      return true;
    const std::uint64_t wanted = from.in_payload ? (from.message ? from.message->size() : sizeof(Control))
                                 : from.rank < 0 ? sizeof(Greeting)
                                                 : sizeof(Frame);
    if (from.got < wanted) {
      void* const target = !from.in_payload ? from.head
                           : from.message   ? from.message->address
                                            : static_cast<void*>(&from.control);
      std::byte discarded[4096];
      const std::uint64_t left = wanted - from.got;
      const ssize_t got =
          target ? recv(from.socket.get(), static_cast<std::byte*>(target) + from.got, left, 0)
                 : recv(from.socket.get(), discarded, std::min<std::uint64_t>(left, sizeof discarded), 0);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
      if (got <= 0) return false;
      from.got += static_cast<std::uint64_t>(got);
      if (from.in_payload && from.message) moved_ = Clock::now();
      if (from.got < wanted) continue;
    }
    if (!from.in_payload && from.rank < 0) {
      Greeting greeting;
      std::memcpy(&greeting, from.head, sizeof greeting);
      if (greeting.token != table_.token || greeting.rank >= size_) return false;  // not of this group
      from.rank = static_cast<int>(greeting.rank);
      from.got = 0;
    } else if (!from.in_payload) {
      begin_message(from);
    } else {
      if (from.message) {
        from.message->done = true;
        if (const auto& posted = from.message->posted) {
          if (posted->address && posted->size() != 0)
            std::memcpy(posted->address, from.message->own.data(), posted->size());
          posted->done = true;
        }
        from.message = nullptr;
        changed_.notify_all();
      } else {
        handle(static_cast<std::uint32_t>(from.rank), from.control);
      }
      from.in_payload = false;
      from.got = 0;
    }
  }
}

void Ranks::handle(std::uint32_t from, const Control& control) {
  Peer& peer = peers_[from];
  switch (control.kind) {
    case Control::abort:
      if (!abort_) abort_ = std::make_unique<Control>(control);
      break;
    case Control::question: {
      Control answer;
      answer.kind = Control::answer;
      answer.leaving = leaving_;
      answer.calls = calls_;
      answer.collectives = collectives_ - std::min(waiting_, collectives_);
      std::snprintf(answer.text, sizeof answer.text, "%s", last_);
      send_control(from, answer);
      break;
    }
    case Control::answer:
      peer.answered = true;
      if (!peer.left) peer.last = control;
      break;
    case Control::left:
      // The word of the rank that failed may still be on its way, on another connection.
      if (*control.text && !abort_) abort_ = std::make_unique<Control>(control);
      peer.left = true;
      peer.last = control;
      break;
    default:
      break;
  }
  changed_.notify_all();
}

void Ranks::lose(std::uint32_t rank) {
  if (peers_[rank].left || leaving_ || ending_) return;
  set_failure(
      static_cast<int>(rank),
      format_text(
          "rank %u has ended without leaving the group: its process was killed or exited; see its output",
          rank),
      true);
}

// Messages that were sent before the abort come first, though they arrive on other connections.
void Ranks::apply_abort() {
  if (!abort_) return;
  while (Socket socket = accept_from(table_.listener)) {
    incoming_.push_back(std::make_unique<Incoming>());
    incoming_.back()->socket = std::move(socket);
  }
  for (const auto& from : incoming_) read_some(*from);  // the next poll reports connections that ended
  set_failure(abort_->rank, {abort_->text, strnlen(abort_->text, sizeof abort_->text)}, false);
}

void Ranks::serve() noexcept {
  std::vector<pollfd> waits;
  std::vector<Incoming*> readers;
  std::vector<std::uint32_t> writers;
  auto looked = Clock::now();
  for (;;) {
    bool suspicion = false;
    {
      const Lock lock(mutex_);
      if (ending_) return;
      waits.assign(1, {wake_.get(), POLLIN, 0});
      if (table_.listener) waits.push_back({table_.listener.get(), POLLIN, 0});
      readers.clear();
      for (const auto& from : incoming_) {
        const bool full = from->rank >= 0 && !from->in_payload &&
                          peers_[static_cast<std::uint32_t>(from->rank)].buffered > max_buffered;
        if (full) continue;
        readers.push_back(from.get());
        waits.push_back({from->socket.get(), POLLIN, 0});
      }
      writers.clear();
      for (std::uint32_t rank = 0; rank < size_; ++rank) {
        const Peer& peer = peers_[rank];
        suspicion |= peer.suspected != Clock::time_point{} && !peer.left;
        if (!peer.outgoing.socket) continue;
        writers.push_back(rank);
        waits.push_back({peer.outgoing.socket.get(),
                         static_cast<short>(POLLRDHUP | (peer.outgoing.queue.empty() ? 0 : POLLOUT)), 0});
      }
    }
    bool watched;
    {
      const std::lock_guard guard(watching_);
      watched = static_cast<bool>(look_);
    }
    poll(waits.data(), waits.size(), watched || suspicion ? watch_ms : 1000);
    try {
      const Lock lock(mutex_);
      std::uint64_t count;
      [[maybe_unused]] const auto got = read(wake_.get(), &count, sizeof count);
      std::size_t at = 1;
      if (table_.listener && (waits[at++].revents & POLLIN))
        while (Socket socket = accept_from(table_.listener)) {
          incoming_.push_back(std::make_unique<Incoming>());
          incoming_.back()->socket = std::move(socket);
        }
      for (Incoming* from : readers) {
        if (!waits[at++].revents || read_some(*from)) continue;
        if (from->rank >= 0) lose(static_cast<std::uint32_t>(from->rank));
        std::erase_if(incoming_, [&](const auto& one) { return one.get() == from; });
      }
      apply_abort();
      for (const std::uint32_t rank : writers) {
        const short events = waits[at++].revents;
        if (events & POLLOUT) write_some(rank);
        if (Outgoing& outgoing = peers_[rank].outgoing;
            outgoing.socket && (events & (POLLHUP | POLLERR | POLLRDHUP))) {
          close_connection(rank);
          changed_.notify_all();
        }
      }
      for (std::uint32_t rank = 0; rank < size_; ++rank)
        if (peers_[rank].suspected != Clock::time_point{} &&
            Clock::now() - peers_[rank].suspected > farewell_time)
          lose(rank);
    } catch (const std::exception& error) {  // no memory for a message
      fail_quietly(static_cast<int>(rank_), format_text("rank %u: %s", rank_, error.what()));
    }
    const std::lock_guard guard(watching_);
    if (look_ && Clock::now() - looked >= std::chrono::milliseconds(watch_ms) / 2) {
      looked = Clock::now();
      look_();
    }
  }
}

}  // namespace weir::collectives
