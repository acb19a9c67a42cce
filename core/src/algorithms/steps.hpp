// SPDX-License-Identifier: Apache-2.0
// The steps of an algorithm, which go to a stream or into a graph.
#pragma once

#include <vector>
#include <weir/algorithms.hpp>
#include <weir/graph.hpp>

#include "runtime/errors/stream_errors.hpp"
#include "runtime/streams/submission.hpp"

namespace weir::algorithms {

/// An array of `count` elements that lives until the work submitted to the stream so far is done.
AnyArray scratch(const StreamRef& stream, ElementType element, std::int64_t count);

/// Submits the steps of one call of an algorithm to a stream, or records them in a graph. Functions throw as
/// the direct calls do.
class Steps {
 public:
  explicit Steps(const WorkTarget& target) : target_(target) {}
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  Device device() const;
  template <class... P>
  void launch(const Kernel<void(P...)>& kernel,
              const typename weir::detail::KernelParameter<P>::Argument&... arguments) const {
    if (GraphBuilder* const graph = target_.graph())
      graph->launch(kernel, arguments...);
    else
      kernel(*target_.stream(), arguments...);
  }
  void fill_zero(const AnyArrayView& array) const;
  void copy(const AnyArrayView& to, const AnyArrayView& from) const;
  /// Of one element, for kernels that take a Size; an empty view in the memory of `any` if there is no such
  /// size.
  AnyArrayView size(const AnyArrayView& any) const;
  /// As the function; the array belongs to this object or to the graph.
  AnyArrayView scratch(ElementType element, std::int64_t count) const;

 private:
  const WorkTarget target_;
  mutable std::vector<AnyArray> scratch_;
};

/// Other forms of targets.
struct Targets {
  /// For the first size[0] elements.
  static WorkTarget with_size(WorkTarget target, const AnyArrayView& size) {
    target.size_ = size;
    return target;
  }
  /// Functions of <weir/algorithms.hpp> then check their arguments, and submit nothing.
  static WorkTarget for_checks(WorkTarget target) {
    target.checks_only_ = true;
    return target;
  }
  static bool is_for_checks(const WorkTarget& target) noexcept { return target.checks_only_; }
};

/// Calls submit(steps), unless the target is for checks. On a stream they are one step, which work of other
/// threads does not divide. In a graph they are recorded together, or not at all if one fails.
template <class Submit>
void as_one_step(const WorkTarget& target, const Submit& submit) {
  if (Targets::is_for_checks(target)) return;
  const Steps steps(target);
  if (GraphBuilder* const graph = target.graph()) return graph->parallel([&] { submit(steps); });
  detail::StreamState& stream = detail::live(*target.stream());
  detail::throw_failure(stream);
  const detail::SubmissionSequence one_step(stream);
  submit(steps);
}

}  // namespace weir::algorithms
