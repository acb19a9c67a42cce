// SPDX-License-Identifier: Apache-2.0
// The only file that includes oneTBB.
#include "stream/arena.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <memory>
#include <utility>

namespace weir::cpu {

struct Arena::Impl {
  tbb::task_arena arena;
};

void Arena::initialize() {
  if (std::exchange(tried_, true)) return;
  auto impl =
      std::make_unique<Impl>(Impl{tbb::task_arena(static_cast<int>(helpers_ + entrants_), entrants_)});
  impl->arena.initialize();
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
