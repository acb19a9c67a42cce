// SPDX-License-Identifier: Apache-2.0
// Guards that keep a stream's driver handle alive during a call while another thread destroys the stream.
#pragma once

#include "runtime/devices/device_state.hpp"

namespace weir::detail {

/// Called with the submission lock held, and returns with it: waits until no other thread's
/// SubmissionSequence is open.
void wait_for_sequence(StreamState& stream) noexcept;

/// Holds the stream's submission lock while work is submitted to the driver. Destruction by another thread
/// waits for the lock. Waits for the end of another thread's SubmissionSequence. Throws Error{invalid} if the
/// stream was destroyed before.
class Submission {
 public:
  explicit Submission(StreamState& stream) : lock_(stream.submission_lock) {
    lock_.lock();
    if (stream.sequence.load(std::memory_order_relaxed)) [[unlikely]]
      wait_for_sequence(stream);
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

/// Makes several submissions of this thread one step of the stream: until it is destroyed, submissions of
/// other threads to the stream wait. Unlike under the submission lock, memory may be allocated and code
/// compiled in between. A thread may open one inside another.
class SubmissionSequence {
 public:
  explicit SubmissionSequence(StreamState& stream);
  ~SubmissionSequence();
  SubmissionSequence(const SubmissionSequence&) = delete;
  SubmissionSequence& operator=(const SubmissionSequence&) = delete;

 private:
  StreamState& stream_;
  const void* outer_ = nullptr;  ///< this thread, if it has one open
};

/// Whether this thread has a SubmissionSequence of the stream open.
bool in_sequence(const StreamState& stream) noexcept;

/// Whether this thread has a SubmissionSequence of any stream open. It must not wait for other threads then,
/// because they may wait for the sequence.
bool in_any_sequence() noexcept;

/// As Submission, for calls that do not take the submission lock, such as waits. Throws Error{invalid} when
/// the stream is gone.
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
