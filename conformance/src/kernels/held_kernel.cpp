// SPDX-License-Identifier: Apache-2.0
#include "kernels/held_kernel.hpp"

#include <algorithm>
#include <chrono>

#include "kernels/gate.hpp"

namespace weir::conformance {
namespace {

const std::vector<std::int32_t> unset{0, 0};

}  // namespace

std::int64_t meeting_rounds(const Kernel& meet) {
  static const std::int64_t rounds = [&] {
    const Memory alone = Memory::of(unset);
    const Stream stream;
    constexpr std::int64_t tried = 200'000;
    // On a busy machine most times are too long, and so are the first ones on a GPU, whose clock rises under
    // load. With them the kernel would end too early. So the shortest time counts, once none has been shorter
    // for a while.
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds settled{100};
    std::chrono::duration<double> took = patience();
    for (auto shorter = Clock::now(); Clock::now() - shorter < settled;) {
      const auto began = Clock::now();
      meet.launch(stream, arguments(alone, alone, std::int64_t{2}, std::int64_t{0}, std::int64_t{1}, tried));
      stream.synchronize();
      const std::chrono::duration<double> now = Clock::now() - began;
      if (now < 0.95 * took) shorter = Clock::now();
      took = std::min(took, now);
    }
    return static_cast<std::int64_t>(static_cast<double>(tried) *
                                     (static_cast<double>(patience().count()) / took.count()));
  }();
  return rounds;
}

HeldKernel::HeldKernel() : flags_(Memory::of(unset)), result_(Memory::of(unset)) {
  needs(WEIR_CAP_CONCURRENT_STREAMS);
  (void)meeting_rounds(kernel_);
}

HeldKernel::~HeldKernel() {
  release();
  for (const Event& end : ends_) (void)result_of(table().event_synchronize, weir_event(end));
}

void HeldKernel::launched(const Stream& stream, const Arguments& arguments) const {
  kernel_.launch(stream, arguments);
  ends_.emplace_back();
  ends_.back().record(stream);
}

Arguments HeldKernel::arguments(weir_allocation result) const {
  Memory lent(result);
  const Arguments made = conformance::arguments(flags_, lent, std::int64_t{2}, std::int64_t{0},
                                                std::int64_t{1}, meeting_rounds(kernel_));
  lent.release();
  return made;
}

bool HeldKernel::starts() const {
  return eventually([&] { return read_through(control_, flags_, 0, 1)[0] != 0; });
}

void HeldKernel::release() {
  fill<std::int32_t>(control_, flags_, 4, 4, 1);
  control_.synchronize();
}

bool HeldKernel::was_released() const {
  return read_through(control_, result_, 0, 1)[0] != 0;
}

Bytes read_through(const Stream& control, weir_allocation memory, std::uint64_t offset, std::uint64_t size) {
  Bytes bytes(size);
  call(table().copy_to_host, weir_stream(control), static_cast<void*>(bytes.data()), memory, offset, size);
  control.synchronize();
  return bytes;
}

}  // namespace weir::conformance
