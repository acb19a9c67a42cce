// SPDX-License-Identifier: Apache-2.0
#include "runtime/communicators/peer_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <thread>

#include "runtime/communicators/group_state.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/memory/array_use.hpp"

namespace weir::detail {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t max_submitted = 256;  // exchanges that the streams may have ahead of them

bool is_peer(const Device& a, const Device& b) {
  return a == b || (a.driver() == b.driver() && a.info().has(Capability::peer_copy));
}

/// Submits a copy from another rank's array.
void copy(const StreamRef& stream, const AnyArrayView& to, const Offer& offer) {
  const Device from = offer.array.device();
  if (is_peer(stream.device(), from)) {
    stream.wait(*offer.ready);
    return to.copy_from_array(stream, offer.array);
  }
  // An array of another device than that with which the rank joined.
  std::vector<std::byte> host(to.size_bytes());
  const Stream there = from.create_stream();
  there.wait(*offer.ready);
  offer.array.copy_to_bytes(there, host);
  to.copy_from_bytes(stream, host);
}

}  // namespace

bool are_peers(std::span<const std::optional<Device>> devices) {
  return devices.size() > 1 &&
         std::ranges::all_of(devices, [&](const auto& one) { return one && is_peer(*devices[0], *one); });
}

/// The arrays that this rank sends in one call. No other rank uses their handles after its destruction.
class PeerExchange::Sends {
 public:
  Sends(ThreadGroup& threads, std::span<const Message> sends, const SharedEvent& ready) : threads_(threads) {
    offers_.reserve(sends.size());
    for (const Message& message : sends) {
      auto offer = std::make_shared<Offer>();
      offer->array = message.array;
      offer->ready = ready;
      numbers_.push_back(threads.make(offer));
      offers_.push_back(std::move(offer));
    }
  }
  Sends(const Sends&) = delete;
  Sends& operator=(const Sends&) = delete;
  ~Sends() {
    if (is_finished_) return;
    for (std::size_t i = 0; i < offers_.size(); ++i)
      if (!threads_.withdraw(numbers_[i])) threads_.wait(*offers_[i]);
  }

  const std::vector<std::uint64_t>& numbers() const noexcept { return numbers_; }
  /// Waits until the receivers, which have the numbers, have submitted their copies.
  void finish() {
    for (const auto& offer : offers_) threads_.wait(*offer);
    is_finished_ = true;
  }
  const SharedEvent& copied(std::size_t i) const noexcept { return offers_[i]->copied; }

 private:
  ThreadGroup& threads_;
  std::vector<std::shared_ptr<Offer>> offers_;
  std::vector<std::uint64_t> numbers_;
  bool is_finished_ = false;
};

/// The numbers that this rank receives in one call. Takes each offer and settles it, also after a failure,
/// because the sender waits for that.
class PeerExchange::Receives {
 public:
  Receives(ThreadGroup& threads, std::size_t count) : numbers_(count, 0), threads_(threads) {
    offers_.reserve(count);  // for the destructor
  }
  Receives(const Receives&) = delete;
  Receives& operator=(const Receives&) = delete;
  ~Receives() {
    take();
    settle(nullptr);
  }

  /// The offers, null for those that were withdrawn or have not arrived.
  const std::vector<std::shared_ptr<Offer>>& take() {
    for (std::size_t i = offers_.size(); i < numbers_.size(); ++i)
      offers_.push_back(numbers_[i] ? threads_.take(numbers_[i]) : nullptr);
    return offers_;
  }
  void settle(const SharedEvent& copied) {
    for (const auto& offer : offers_)
      if (offer && !offer->settled.load(std::memory_order_relaxed)) threads_.settle(*offer, copied);
  }

  std::vector<std::uint64_t> numbers_;  ///< 0: has not arrived

 private:
  ThreadGroup& threads_;
  std::vector<std::shared_ptr<Offer>> offers_;
};

PeerExchange::SharedEvent PeerExchange::record(const StreamRef& stream) {
  const Device device = stream.device();
  for (std::size_t tried = 0; tried < events_.size(); ++tried) {  // they become unused in their order
    next_ = (next_ + 1) % events_.size();
    const SharedEvent& event = events_[next_];
    if (event.use_count() != 1 || event->device() != device) continue;
    event->record(stream);
    return event;
  }
  events_.push_back(std::make_shared<const Event>(device.create_event()));
  events_.back()->record(stream);
  return events_.back();
}

void PeerExchange::fail(const std::string& words) {
  group_.abort(words);
  throw Error(ErrorCode::rank, fmt::format("{} communicator: rank {} of {}: {}", group_.name(), group_.rank(),
                                           group_.size(), words));
}

// That rank has ended the group before.
void PeerExchange::fail_with(std::uint32_t rank) {
  group_.check();
  fail(fmt::format("rank {} ended its exchange", rank));
}

void PeerExchange::exchange(const StreamRef& stream, std::span<const Message> sends,
                            std::span<const Message> receives) {
  throw_failure(live(stream));
  for (const auto messages : {sends, receives})
    for (const Message& message : messages) live(message.array);
  check_progress();
  while (submitted_.size() >= max_submitted) {
    std::this_thread::sleep_for(50us);
    check_progress();
  }
  Submitted record_of_call{record(stream), nullptr};
  stream.flush();
  Sends sent(*threads_, sends, record_of_call.begin);
  Receives received(*threads_, receives.size());
  group_.call_directly([&](const weir_communicator_table& table, weir_group handle, weir_status* status) {
    std::vector<std::uint64_t> numbers = sent.numbers();
    std::vector<weir_transfer> transfers;
    const auto add = [&](const Message& message, std::uint64_t& number, bool receive) {
      const weir_memory memory{nullptr, nullptr, 0, &number};
      transfers.push_back({message.rank, receive ? 1u : 0u, sizeof number, memory});
    };
    for (std::size_t i = 0; i < sends.size(); ++i) add(sends[i], numbers[i], false);
    for (std::size_t i = 0; i < receives.size(); ++i) add(receives[i], received.numbers_[i], true);
    return table.exchange(handle, static_cast<std::uint32_t>(transfers.size()), transfers.data(), nullptr,
                          status);
  });
  try {
    const auto& offers = received.take();
    for (std::size_t i = 0; i < receives.size(); ++i) {
      const Message& message = receives[i];
      if (!offers[i]) fail_with(message.rank);
      if (offers[i]->array.size_bytes() != message.array.size_bytes())
        fail(fmt::format("rank {} receives {} bytes from rank {}, which sent {}; both must be equal",
                         group_.rank(), message.array.size_bytes(), message.rank,
                         offers[i]->array.size_bytes()));
      copy(stream, message.array, *offers[i]);
      record_of_call.others.emplace_back(message.rank, offers[i]->ready);
    }
    record_of_call.end = record(stream);
    stream.flush();
    received.settle(record_of_call.end);
    sent.finish();
    for (std::size_t i = 0; i < sends.size(); ++i) {
      const SharedEvent& copied = sent.copied(i);
      if (!copied) fail_with(sends[i].rank);
      if (i > 0 && copied == sent.copied(i - 1)) continue;
      if (is_peer(stream.device(), copied->device()))
        stream.wait(*copied);
      else
        copied->synchronize();
      record_of_call.others.emplace_back(sends[i].rank, copied);
    }
  } catch (const std::exception& error) {
    group_.abort(error.what());
    throw;
  }
  submitted_.push_back(std::move(record_of_call));
}

void PeerExchange::check_progress() {
  const auto is_reached = [](const auto& other) { return other.second->query(); };
  while (!submitted_.empty() && submitted_.front().end->query() &&
         std::ranges::all_of(submitted_.front().others, is_reached))
    submitted_.pop_front();
  if (submitted_.empty()) return;
  group_.check();
  Submitted& first = submitted_.front();
  if (!first.since && first.begin->query()) first.since = Clock::now();
  if (!first.since || Clock::now() - *first.since < limit_) return;
  const auto late = std::ranges::find_if_not(first.others, is_reached);
  if (late == first.others.end()) return;  // this rank's copies take so long
  fail(
      fmt::format("no answer within {} s: the stream of rank {} has not reached its exchange; raise "
                  "JoinOptions::limit if it computes so long",
                  std::chrono::duration<double>(limit_).count(), late->first));
}

template <class Condition>
void PeerExchange::wait_until(Condition is_done) {
  const auto begin = Clock::now();
  while (!submitted_.empty() && !is_done()) {
    check_progress();
    if (Clock::now() - begin < 200us)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(50us);
  }
}

template <class Mark>
void PeerExchange::wait_for(const Mark& mark) {
  wait_until([&] { return mark.query(); });
  mark.synchronize();
}

void PeerExchange::finish() {
  wait_until([] { return false; });
}

void PeerExchange::synchronize(const StreamRef& stream) {
  stream.flush();
  wait_for(stream);
}

void PeerExchange::synchronize(const EventRef& event) {
  wait_for(event);
}

}  // namespace weir::detail
