// SPDX-License-Identifier: Apache-2.0
// Keeping a stream's driver handle alive while a call uses it, although another thread may destroy the
// stream.
#pragma once

#include "runtime/devices/device_state.hpp"

namespace weir::detail {

/// Holds the stream's turn while work is handed to the driver. A stream that is destroyed meanwhile goes
/// after that; one that was destroyed before is found here: throws Error{invalid}.
class Submission {
 public:
  explicit Submission(StreamState& stream) : lock_(stream.submission_lock) {
    lock_.lock();
    if (stream.closed.load(std::memory_order_relaxed)) [[unlikely]] {
      lock_.unlock();
      throw_dead("stream");
    }
  }
  ~Submission() { lock_.unlock(); }
  Submission(const Submission&) = delete;
  Submission& operator=(const Submission&) = delete;

 private:
  SubmissionLock& lock_;
};

/// The same for calls that need no turn, as those that wait. Throws Error{invalid} when the stream is gone.
class StreamPin {
 public:
  explicit StreamPin(StreamState& stream) : stream_(stream) {
    if (!stream.device.streams.pin(stream)) throw_dead("stream");
  }
  ~StreamPin() { stream_.device.streams.unpin(stream_); }
  StreamPin(const StreamPin&) = delete;
  StreamPin& operator=(const StreamPin&) = delete;

 private:
  StreamState& stream_;
};

}  // namespace weir::detail
