// SPDX-License-Identifier: Apache-2.0
// The parts of Ranks: frames on connections, and the state kept for each peer. Ranks' mutex guards all of it.
#pragma once

#include "ranks.hpp"

namespace weir::collectives {

/// The first bytes of a connection.
struct Greeting {
  std::uint64_t token = 0;
  std::uint32_t rank = 0, reserved = 0;
};

/// Comes before each message.
struct Ranks::Frame {
  enum Kind : std::uint32_t { data, control };
  std::uint32_t kind = data;
  std::uint32_t channel = 0;
  std::uint64_t size = 0;
};

struct Ranks::Control {
  enum Kind : std::uint32_t { abort, question, answer, left };
  std::uint32_t kind = abort;
  std::int32_t rank = -1;  ///< abort, and left after a failure: the cause
  std::uint32_t leaving = 0, reserved = 0;
  std::uint64_t calls = 0, collectives = 0;
  char text[600] = "";  ///< abort, left: the failure; answer: the name of the last call
};

/// A message that is sent or received. `address` is the caller's memory until the message is done or
/// withdrawn.
struct Ranks::Message {
  Frame frame;
  std::uint32_t peer = 0;
  bool receive = false, done = false;
  void* address = nullptr;   ///< null for a withdrawn receive: its message is discarded
  std::uint64_t offset = 0;  ///< sends: bytes of frame and payload that are written
  std::vector<std::byte> own;
  std::shared_ptr<Message> posted;  ///< the receive to which an early message is copied when it is complete

  std::uint64_t size() const { return frame.size; }
};

/// A connection from another rank.
struct Ranks::Incoming {
  Socket socket;
  int rank = -1;
  std::byte head[sizeof(Greeting) > sizeof(Frame) ? sizeof(Greeting) : sizeof(Frame)];
  std::uint64_t got = 0;  ///< bytes of the head, then of the payload
  bool in_payload = false;
  std::shared_ptr<Message> message;  ///< in the payload of data
  Control control;
};

/// A connection to another rank.
struct Ranks::Outgoing {
  Socket socket;
  bool closed = false;
  std::deque<std::shared_ptr<Message>> queue;
};

struct Ranks::Peer {
  Outgoing outgoing;
  std::deque<std::shared_ptr<Message>> posted[2];   ///< receives, by channel
  std::deque<std::shared_ptr<Message>> arrived[2];  ///< messages before their receives
  std::uint64_t buffered = 0;                       ///< bytes of `arrived`
  bool left = false, answered = false;
  Control last;                   ///< the last answer or farewell
  Clock::time_point suspected{};  ///< when a connection to it broke; it may have left
};

}  // namespace weir::collectives
