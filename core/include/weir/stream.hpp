// SPDX-License-Identifier: Apache-2.0
// Streams: in-order queues of work. Only events and regions order two streams.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <weir/device.hpp>
#include <weir/event.hpp>
#include <weir/export.hpp>
#include <weir/launch_report.hpp>

namespace weir {

/// A view of a stream: cheap, copyable, owns nothing. Every function may be called from several threads, and
/// throws Error{invalid} if the stream was destroyed. Calls of several threads run in an unspecified order.
/// The work of one call is one step: a launch of a kernel, a Graph or a TaskList, a copy, a fill, a record or
/// a wait. A launch of a kernel is one step with any number of loops and regions. A step runs after all steps
/// submitted before it and before all steps submitted after it. While a thread waits on the host, other
/// threads can submit.
///
/// After a failure on the device (an assert_ in a kernel, an illegal address), the next call that names the
/// stream throws it: a launch, a copy, synchronize(), query(). That call submits nothing. A failed assert is
/// reported once; a lost device stays lost.
class WEIR_API StreamRef {
 public:
  Device device() const;

  /// Waits on the host until everything submitted before is done.
  void synchronize() const;
  /// Whether everything submitted before is done. Does not wait.
  bool query() const;
  /// Starts work that the driver may have batched. Never needed for correctness.
  void flush() const;

  /// Submits: later work of this stream begins after the mark that `event` holds now. No effect when it was
  /// never recorded. Throws Error{unsupported} if the driver cannot wait for events of the event's device on
  /// this stream.
  void wait(const EventRef& event) const;
  /// Submits: later work of this stream begins after everything that was submitted to `other` so far.
  void wait(const StreamRef& other) const;

  /// Submits a call of `callback` on a thread of the driver. It must not throw and must not call Weir; the
  /// stream continues when it returns. Throws Error{unsupported} without Capability::host_callback. The
  /// callback may end the process by exit(); other work in flight then has a second to end.
  void call_host(std::function<void()> callback) const;

  /// How the last launch of a Kernel, a Program or a Graph on this stream was submitted: the nodes of the
  /// driver graph, or the reason why it was none. Does not wait. Launches of a TaskList or a KernelFunction
  /// do not change it.
  LaunchReport last_launch() const;

  int priority() const;
  /// The vendor's handle (a CUstream), owned by the stream. Throws Error{unsupported} if there is none.
  void* native_handle() const;
  bool alive() const noexcept;

  friend bool operator==(const StreamRef&, const StreamRef&) = default;

  StreamRef(detail::StreamState* state, std::uint64_t generation) noexcept
      : state_(state), generation_(generation) {}
  detail::StreamState* state() const noexcept { return state_; }
  std::uint64_t generation() const noexcept { return generation_; }

 protected:
  StreamRef() = default;

  detail::StreamState* state_ = nullptr;
  std::uint64_t generation_ = 0;
};

/// A stream that belongs to this object. Destroying it never waits; work that was submitted completes.
/// A moved-from or default-made Stream is not alive.
class WEIR_API Stream : public StreamRef {
 public:
  Stream() = default;
  Stream(Stream&& other) noexcept : StreamRef(std::exchange(other.state_, nullptr), other.generation_) {}
  Stream& operator=(Stream&& other) noexcept {
    Stream taken(std::move(other));
    std::swap(state_, taken.state_);
    std::swap(generation_, taken.generation_);
    return *this;
  }
  ~Stream();

 private:
  friend class Device;
  Stream(detail::StreamState* state, std::uint64_t generation) noexcept : StreamRef(state, generation) {}
};

}  // namespace weir
