// SPDX-License-Identifier: Apache-2.0
#include "kernels/gate.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "driver/live_objects.hpp"
#include "driver/trace.hpp"

namespace weir::conformance {

std::chrono::seconds patience() {
  return judged().patience;
}

struct Gate::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool opened = false;
  bool expired = false;
  bool reached = false;
  int waiting = 0;      ///< callbacks that were submitted and have not returned
  std::string blocked;  ///< the calls in flight when it expired

  static void pass(void* user) {
    // Each callback owns a reference, so the state outlives the gate for callbacks that run late.
    const std::unique_ptr<std::shared_ptr<State>> owned(static_cast<std::shared_ptr<State>*>(user));
    State& state = **owned;
    std::unique_lock lock(state.mutex);
    state.reached = true;
    state.changed.notify_all();
    if (!state.changed.wait_for(lock, patience(), [&] { return state.opened; }))
      state.expired = state.opened = true, state.blocked = calls_in_flight();
    --state.waiting;
    state.changed.notify_all();
  }
};

namespace {

LiveObjects<Gate*>& gates() {
  static LiveObjects<Gate*> instance;
  return instance;
}

}  // namespace

OpensLater::OpensLater(Gate& gate)
    : opening_([this, &gate](const std::stop_token& stopped) {
        const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(150);
        while (!stopped.stop_requested() && std::chrono::steady_clock::now() < limit)
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        opened_ = true;
        gate.open();
      }) {}

std::size_t independent_streams(std::size_t most) {
  if (info().kind == WEIR_DEVICE_CPU) return most;
  return std::clamp<std::size_t>(info().recommended_streams / 2, 1, most);
}

void destroy_busy_streams(const Stream& held, const Memory& memory, std::size_t count) {
  const Event begin;
  std::vector<Event> ends(count);
  std::vector<Stream> streams(count);  // created first: stream_create may wait for work
  Gate gate;
  gate.hold(held);
  begin.record(held);
  for (std::size_t i = 0; i < count; ++i) {
    streams[i].wait(begin);
    fill<std::uint8_t>(streams[i], memory, 0, 64, 1);
    ends[i].record(streams[i]);
    streams[i].destroy();
  }
  gate.open();
  for (const Event& end : ends) end.synchronize();
}

void open_all_gates() noexcept {
  gates().each([](Gate* gate) { gate->open(); });
}

Gate::Gate() : state_(std::make_shared<State>()) {
  needs(WEIR_CAP_HOST_CALLBACK);
  gates().add(this);
}

Gate::~Gate() {
  gates().remove(this);
  open();
  std::unique_lock lock(state_->mutex);
  const bool ended = state_->changed.wait_for(lock, patience(), [&] { return state_->waiting == 0; });
  if (!ended)
    ADD_FAILURE()
        << "a callback of stream_host_callback did not run within " << patience().count()
        << " seconds, although nothing held its stream. Look first at what starts the stream's work";
  if (state_->expired)
    ADD_FAILURE()
        << (state_->blocked.empty() ? "a call" : state_->blocked) << " blocked for more than "
        << patience().count()
        << " seconds while a host callback held the work of a stream. driver.h: a call that submits returns "
           "without waiting for the work, and functions like memory_get_info and kernel_get_info wait for no "
           "submitted work. Look first at what it waits for";
}

void Gate::hold(const Stream& stream) {
  {
    std::lock_guard lock(state_->mutex);
    ++state_->waiting;
  }
  auto owned = std::make_unique<std::shared_ptr<State>>(state_);
  try {
    call(table().stream_host_callback, weir_stream(stream), &State::pass, static_cast<void*>(owned.get()));
    owned.release();  // owned by the callback from here on
  } catch (...) {
    std::lock_guard lock(state_->mutex);
    --state_->waiting;
    throw;
  }
}

bool Gate::reached() {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, patience(), [&] { return state_->reached; });
}

void Gate::open() {
  std::lock_guard lock(state_->mutex);
  state_->opened = true;
  state_->changed.notify_all();
}

Delay::Delay(const Stream& stream) : stream_(stream) {
  if (Gate::possible()) {
    gate_ = std::make_unique<Gate>();
    gate_->hold(stream);
    return;
  }
  constexpr std::uint64_t size = 16u << 20;
  memory_ = std::make_unique<Memory>(size);
  for (std::uint8_t i = 0; i < 8; ++i) fill<std::uint8_t>(stream, *memory_, 0, size, i);
}

Delay::~Delay() {
  end();
  if (!memory_) return;
  EXPECT_EQ(table().stream_synchronize(stream_, nullptr), WEIR_OK);
}

void Delay::end() {
  if (gate_) gate_->open();
}

}  // namespace weir::conformance
