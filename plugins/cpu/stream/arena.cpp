// SPDX-License-Identifier: Apache-2.0
// The only file that includes oneTBB.
#include "stream/arena.hpp"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <weir/sdk/floating_point.hpp>

namespace weir::cpu {

namespace {
using Limit = tbb::global_control;
}  // namespace

struct Arena::Impl {
  /// Allows more threads than cores, where WEIR_CPU_THREADS asks for them. oneTBB would ignore the others,
  /// and write a warning to the program's standard error.
  std::optional<Limit> limit;
  tbb::task_arena arena;
};

void Arena::initialize() {
  if (std::exchange(tried_, true)) return;
  const sdk::DefaultFloatingPoint floating_point;  // oneTBB gives its threads that of this one
  auto impl = std::make_unique<Impl>();
  const std::size_t threads = helpers_ + 1;
  if (Limit::active_value(Limit::max_allowed_parallelism) < threads)
    impl->limit.emplace(Limit::max_allowed_parallelism, threads);
  // A limit of the program, which is the lower one, stays.
  const auto allowed = static_cast<unsigned>(Limit::active_value(Limit::max_allowed_parallelism));
  const unsigned helpers = std::min(helpers_, allowed - 1);
  impl->arena.initialize(static_cast<int>(helpers + entrants_), entrants_);
  impl_ = impl.release();
}

bool Arena::enter(void (*body)(void*), void* context) noexcept try {
  if (!impl_) return false;
  impl_->arena.execute([=] { body(context); });
  return true;
} catch (...) {
  return false;
}

bool Arena::fork(unsigned participants, void (*body)(void*, unsigned), void* context) noexcept try {
  if (!impl_) return false;
  impl_->arena.execute([=] {
    tbb::this_task_arena::isolate([=] {
      // One task per participant; the left half of every split stays on this thread, including participant 0.
      tbb::parallel_for(
          tbb::blocked_range<unsigned>(0, participants, 1),
          [=](const tbb::blocked_range<unsigned>& range) {
            for (unsigned i = range.begin(); i != range.end(); ++i) body(context, i);
          },
          tbb::simple_partitioner{});
    });
  });
  return true;
} catch (...) {
  return false;
}

}  // namespace weir::cpu
