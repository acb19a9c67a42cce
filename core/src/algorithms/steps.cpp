// SPDX-License-Identifier: Apache-2.0
#include "algorithms/steps.hpp"

#include <utility>
#include <weir/current_stream.hpp>

#include "algorithms/workspace.hpp"

namespace weir {

Device WorkTarget::device() const {
  return graph_ ? graph_->device() : stream_->device();
}

namespace algorithms {

Device Steps::device() const {
  return target_.device();
}

void Steps::fill_zero(const AnyArrayView& array) const {
  if (GraphBuilder* const graph = target_.graph())
    graph->fill_zero(array);
  else
    array.fill_zero(*target_.stream());
}

void Steps::copy(const AnyArrayView& to, const AnyArrayView& from) const {
  if (GraphBuilder* const graph = target_.graph())
    graph->copy(to, from);
  else
    to.copy_from_array(*target_.stream(), from);
}

AnyArrayView Steps::size(const AnyArrayView& any) const {
  return target_.size() ? *target_.size() : no_elements(any);
}

AnyArray scratch(const StreamRef& stream, ElementType element, std::int64_t count) {
  const std::int64_t extents[] = {count};
  return AnyArray(stream, element, extents);
}

AnyArrayView Steps::scratch(ElementType element, std::int64_t count) const {
  GraphBuilder* const graph = target_.graph();
  AnyArray array = algorithms::scratch(graph ? current_stream(device()) : *target_.stream(), element, count);
  const AnyArrayView view = array;
  if (graph)
    graph->keep(std::move(array));
  else
    scratch_.push_back(std::move(array));
  return view;
}

}  // namespace algorithms
}  // namespace weir
