// SPDX-License-Identifier: Apache-2.0
#include "runtime/graphs/call_order.hpp"

#include <algorithm>
#include <bit>

#include "runtime/launch/launch_model.hpp"
#include "runtime/memory/array_use.hpp"

namespace weir::detail {
namespace {

/// Bytes of a copy or fill that a processor moves in the time of one operation of a kernel.
constexpr std::uint64_t bytes_per_operation = 8;

/// An access to a part of an array, or to memory of the host.
struct Access {
  const AnyArrayView* array;  ///< null for memory of the host
  std::uint64_t address;      ///< 0 where the driver reports none
  std::uint64_t size;
  bool writes;
};

bool share_bytes(const Access& a, const Access& b) noexcept {
  if (a.array && b.array) return overlap(*a.array, *b.array);
  return a.address && b.address && a.address < b.address + b.size && b.address < a.address + a.size;
}

struct RowCall {
  std::vector<Access> accesses;
  std::vector<TaskLoad> loads;
  bool ordered = false;  ///< with every other call
};

Access access_of(const AnyArrayView& view, bool writes) noexcept {
  const std::uint64_t base = view.block() ? view.block()->address : 0;
  return {&view, base ? base + view.offset() : 0, view.size_bytes(), writes};
}

Access access_of(const void* host, std::uint64_t size, bool writes) noexcept {
  return {nullptr, reinterpret_cast<std::uint64_t>(host), size, writes};
}

void describe(const GraphState& graph, const ProgramCall& call, RowCall& out) {
  const passes::Plan& plan = call.plan();
  out.ordered = plan.uses_error_record || plan.prints || !plan.repeats.empty() ||
                call.program.state()->kernel->options.no_concurrency;
  if (out.ordered) return;
  for (std::size_t i = 0; i < call.arguments.size(); ++i)
    if (const AnyArrayView* view = call.arguments[i].array)
      out.accesses.push_back(access_of(*view, plan.parameters[i].written));
  out.loads = loads_of(graph.device.info, *call.compiled, LaunchValues(call.arguments));
}

void describe(const GraphState& graph, const GraphCall& call, const TransferCall& transfers, RowCall& out) {
  TaskLoad load{0, 1, std::max(graph.device.info.multiprocessors, 1u), 0};
  for (const Transfer& transfer : transfers.transfers) {
    const weir_graph_node& work = transfer.work;
    load.operations += work.size / bytes_per_operation;
    if (work.kind == WEIR_GRAPH_COPY_TO_DEVICE)
      out.accesses.push_back(access_of(work.host_source, work.size, false));
    else if (work.kind == WEIR_GRAPH_COPY_TO_HOST)
      out.accesses.push_back(access_of(work.host_destination, work.size, true));
  }
  const bool to_host = transfers.kind == WEIR_GRAPH_COPY_TO_HOST;
  // The destination comes first.
  for (std::size_t i = 0; i < call.arrays.size(); ++i)
    out.accesses.push_back(access_of(call.arrays[i], i == 0 && !to_host));
  out.loads.push_back(load);
}

RowCall describe(const GraphState& graph, const GraphCall& call) {
  RowCall described;
  if (const auto* program = std::get_if<ProgramCall>(&call.what))
    describe(graph, *program, described);
  else if (const auto* transfers = std::get_if<TransferCall>(&call.what))
    describe(graph, call, *transfers, described);
  else
    described.ordered = true;
  return described;
}

bool keep_order(const GraphState& graph, const RowCall& earlier, const RowCall& later) noexcept {
  if (earlier.ordered || later.ordered) return true;
  for (const Access& a : earlier.accesses)
    for (const Access& b : later.accesses)
      if ((a.writes || b.writes) && share_bytes(a, b)) return true;
  return !gain_as_branches(graph.device.info.kind, earlier.loads, later.loads);
}

}  // namespace

std::size_t row_end(std::span<const GraphStep> steps, std::size_t begin) noexcept {
  std::size_t end = begin;
  while (end < steps.size() && end - begin < max_row_calls && steps[end].kind == GraphStep::Kind::call) ++end;
  return end;
}

RowOrder order_of(const GraphState& graph, std::span<const GraphStep> row) {
  std::vector<RowCall> calls;
  calls.reserve(row.size());
  for (const GraphStep& step : row) calls.push_back(describe(graph, graph.calls[step.value]));
  RowOrder order{std::vector<std::uint64_t>(row.size()), std::vector<std::uint64_t>(row.size())};
  for (std::size_t i = 0; i < row.size(); ++i)
    for (std::size_t j = i; j-- > 0;) {
      const std::uint64_t bit = std::uint64_t{1} << j;
      if (order.all[i] & bit || !keep_order(graph, calls[j], calls[i])) continue;
      order.direct[i] |= bit;
      order.all[i] |= bit | order.all[j];
    }
  return order;
}

bool same_memory(const GraphCall& a, const GraphCall& b) noexcept {
  const auto same_view = [](const AnyArrayView& x, const AnyArrayView& y) {
    return x.block() == y.block() && x.offset() == y.offset() && x.size_bytes() == y.size_bytes();
  };
  if (!std::equal(a.arrays.begin(), a.arrays.end(), b.arrays.begin(), b.arrays.end(), same_view))
    return false;
  const auto* before = std::get_if<TransferCall>(&a.what);
  const auto* after = std::get_if<TransferCall>(&b.what);
  if (!before || !after) return !before == !after;
  const auto same_host = [](const Transfer& x, const Transfer& y) {
    return x.work.host_source == y.work.host_source && x.work.host_destination == y.work.host_destination;
  };
  return std::equal(before->transfers.begin(), before->transfers.end(), after->transfers.begin(),
                    after->transfers.end(), same_host);
}

}  // namespace weir::detail
