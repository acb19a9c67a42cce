// SPDX-License-Identifier: Apache-2.0
#include "runtime/streams/submission.hpp"

namespace weir::detail {
namespace {

/// Its address identifies a thread.
thread_local constinit char this_thread = 0;
thread_local constinit unsigned open_sequences = 0;

}  // namespace

void wait_for_sequence(StreamState& stream) noexcept {
  const void* owner = nullptr;
  while ((owner = stream.sequence.load(std::memory_order_acquire)) && owner != &this_thread) {
    stream.submission_lock.unlock();
    stream.sequence.wait(owner, std::memory_order_acquire);
    stream.submission_lock.lock();
  }
}

SubmissionSequence::SubmissionSequence(StreamState& stream) : stream_(stream) {
  const Submission submission(stream);
  outer_ = stream.sequence.exchange(&this_thread, std::memory_order_relaxed);
  ++open_sequences;
}

bool in_sequence(const StreamState& stream) noexcept {
  return stream.sequence.load(std::memory_order_relaxed) == &this_thread;
}

bool in_any_sequence() noexcept {
  return open_sequences != 0;
}

SubmissionSequence::~SubmissionSequence() {
  --open_sequences;
  stream_.sequence.store(outer_, std::memory_order_release);
  if (!outer_) stream_.sequence.notify_all();
}

}  // namespace weir::detail
