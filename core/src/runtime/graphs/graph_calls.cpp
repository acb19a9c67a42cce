// SPDX-License-Identifier: Apache-2.0
// Recording of calls in a graph. Each is checked like the direct call, and its arguments are copied.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/graphs/graph_state.hpp"
#include "runtime/memory/array_use.hpp"
#include "runtime/memory/fill_pattern.hpp"

namespace weir::detail {
namespace {

constexpr std::size_t scalar_alignment = 16;

void check_place(const DeviceState& device, const AnyArrayView& view) {
  const MemoryBlock& block = live_or_strided(view);
  if (!view.contiguous()) throw_strided("a copy or fill of a graph");
  if (&block.device != &device)
    throw_other_device("the array is on device", block.device, "but the graph is for", device,
                       copy_array_there);
}

void check_size(std::size_t host, const AnyArrayView& view) {
  if (host != view.size_bytes())
    throw Error(ErrorCode::invalid,
                fmt::format("a copy needs {} bytes of host memory; found {}; pass as many, or copy a slice",
                            view.size_bytes(), host));
}

/// A copy or fill of no bytes becomes an empty node, because some vendors reject copies of no bytes.
Transfer new_transfer(std::uint32_t kind, std::uint64_t size) {
  Transfer transfer;
  transfer.work.struct_size = sizeof transfer.work;
  transfer.work.kind = size == 0 ? std::uint32_t{WEIR_GRAPH_EMPTY} : kind;
  transfer.work.size = size;
  return transfer;
}

void write_to(Transfer& transfer, const AnyArrayView& to, std::uint64_t offset) {
  transfer.work.destination = to.block()->allocation;
  transfer.work.destination_offset = offset;
}

void read_from(Transfer& transfer, const AnyArrayView& from, std::uint64_t offset) {
  transfer.work.source = from.block()->allocation;
  transfer.work.source_offset = offset;
}

Transfer new_fill(const AnyArrayView& to, std::uint64_t offset, std::uint64_t size, const std::byte* pattern,
                  std::uint32_t pattern_bytes) {
  Transfer transfer = new_transfer(WEIR_GRAPH_FILL, size);
  write_to(transfer, to, offset);
  transfer.work.pattern_size = pattern_bytes;
  std::memcpy(transfer.pattern, pattern, pattern_bytes);
  return transfer;
}

}  // namespace

const KernelOrigin* GraphCall::kernel() const noexcept {
  if (const auto* call = std::get_if<ProgramCall>(&what)) return call->program.state()->origin;
  if (const auto* call = std::get_if<KernelCall>(&what)) return call->kernel->origin;
  return nullptr;
}

std::size_t GraphCall::node_count() const noexcept {
  if (const auto* call = std::get_if<ProgramCall>(&what)) return call->repeats.tasks;
  if (const auto* call = std::get_if<TransferCall>(&what)) return call->transfers.size();
  return 1;
}

std::size_t GraphCall::repeated_tasks() const noexcept {
  const auto* call = std::get_if<ProgramCall>(&what);
  return call && !call->repeats.counts.empty() ? call->repeats.tasks : 0;
}

GraphCall program_call(DeviceState& device, const Program& program, std::span<const LaunchArgument> arguments,
                       const LaunchOptions& options) {
  ProgramState& state = *program.state();
  check_arguments(state, device, arguments);
  ProgramCall call{program, options, {}, {}, {arguments.begin(), arguments.end()}, nullptr, 0};
  std::size_t scalars = 0, views = 0;
  for (const LaunchArgument& argument : arguments) {
    if (argument.array) ++views;
    scalars += argument.array ? 0 : (argument.element.size() + scalar_alignment - 1) / scalar_alignment;
  }
  call.scalars.resize(scalars * scalar_alignment);
  call.views.reserve(views);
  std::byte* at = call.scalars.data();
  for (LaunchArgument& argument : call.arguments) {
    if (argument.array) {
      argument.array = &call.views.emplace_back(*argument.array);
      continue;
    }
    std::memcpy(at, argument.data, argument.element.size());
    argument.data = at;
    at += (argument.element.size() + scalar_alignment - 1) / scalar_alignment * scalar_alignment;
  }
  LaunchValues values(call.arguments);
  call.compiled = &compiled_for(state, device, choose_variant(state, device, values));
  call.repeats = count_repetitions(*call.compiled, values);
  GraphCall result{std::move(call), {}, 1};
  result.arrays = std::get<ProgramCall>(result.what).views;
  return result;
}

GraphCall kernel_call(DeviceState& device, const std::shared_ptr<const KernelState>& kernel,
                      const LaunchShape& shape, std::span<const KernelArgument> arguments) {
  if (!kernel) throw_dead("kernel");
  if (&kernel->module->device != &device)
    throw_other_device(fmt::format("kernel '{}' is loaded on", kernel->name()), kernel->module->device,
                       "but the graph is for", device, "load the module on that device too");
  check_shape(device, kernel->name(), shape);
  KernelCall call{kernel, shape, std::vector<std::byte>(kernel->argument_bytes), -1, -1};
  pack(*kernel, arguments, call.arguments.data());
  GraphCall result{std::move(call), {}, 1};
  for (const KernelArgument& argument : arguments)
    if (argument.is_array()) result.arrays.push_back(argument.view());
  return result;
}

GraphCall copy_call(DeviceState& device, const AnyArrayView& to, const AnyArrayView& from) {
  const MemoryBlock &target = live(to), &source = live(from);
  if (&target.device != &source.device)
    throw Error(
        ErrorCode::unsupported,
        fmt::format("a graph holds work of one device, here {}, and no copy from {} to {}; copy on a stream "
                    "between two launches instead",
                    device.device_name(), source.device.device_name(), target.device.device_name()));
  check_place(device, to);
  check_place(device, from);
  if (from.size_bytes() != to.size_bytes())
    throw Error(ErrorCode::invalid, fmt::format("a copy between arrays needs equal sizes; the source has {} "
                                                "bytes, the destination {}; copy a slice of the larger",
                                                from.size_bytes(), to.size_bytes()));
  if (overlap(to, from))
    throw Error(ErrorCode::invalid,
                "a copy between arrays that overlap or interleave; copy through a third array");
  Transfer transfer = new_transfer(WEIR_GRAPH_COPY_ON_DEVICE, to.size_bytes());
  write_to(transfer, to, to.offset());
  read_from(transfer, from, from.offset());
  return {TransferCall{WEIR_GRAPH_COPY_ON_DEVICE, {transfer}}, {to, from}, 1};
}

GraphCall upload_call(DeviceState& device, const AnyArrayView& to, std::span<const std::byte> from) {
  check_place(device, to);
  check_size(from.size(), to);
  Transfer transfer = new_transfer(WEIR_GRAPH_COPY_TO_DEVICE, from.size());
  write_to(transfer, to, to.offset());
  transfer.work.host_source = from.data();
  return {TransferCall{WEIR_GRAPH_COPY_TO_DEVICE, {transfer}}, {to}, 1};
}

GraphCall download_call(DeviceState& device, const AnyArrayView& from, std::span<std::byte> to) {
  check_place(device, from);
  check_size(to.size(), from);
  Transfer transfer = new_transfer(WEIR_GRAPH_COPY_TO_HOST, to.size());
  read_from(transfer, from, from.offset());
  transfer.work.host_destination = to.data();
  return {TransferCall{WEIR_GRAPH_COPY_TO_HOST, {transfer}}, {from}, 1};
}

GraphCall fill_call(DeviceState& device, const AnyArrayView& to, const void* element) {
  check_place(device, to);
  const auto* bytes = static_cast<const std::byte*>(element);
  const std::size_t size = to.element().size();
  TransferCall call{WEIR_GRAPH_FILL, {}};
  if (const std::uint32_t pattern = pattern_size(bytes, size); pattern || to.size_bytes() == 0) {
    call.transfers.push_back(new_fill(to, to.offset(), to.size_bytes(), bytes, pattern));
    return {std::move(call), {to}, 1};
  }
  fill_by_copies(
      bytes, size, to.offset(), to.size_bytes(),
      [&](std::uint64_t at, const std::byte* piece, std::uint32_t length) {
        call.transfers.push_back(new_fill(to, at, length, piece, length));
      },
      [&](std::uint64_t target, std::uint64_t source, std::uint64_t length) {
        Transfer transfer = new_transfer(WEIR_GRAPH_COPY_ON_DEVICE, length);
        write_to(transfer, to, target);
        read_from(transfer, to, source);
        call.transfers.push_back(transfer);
      });
  return {std::move(call), {to}, 1};
}

void draw_numbers(const GraphState& graph, std::span<std::uint64_t> numbers) noexcept {
  const ProgramState* last = nullptr;
  std::uint64_t number = 0;
  for (const std::uint32_t index : graph.keyed) {
    const ProgramCall& call = std::get<ProgramCall>(graph.calls[index].what);
    // The parts of one launch are recorded one after the other, with the same options.
    const ProgramState& program = *call.program.state();
    const bool goes_on = last && last->kernel->part != 0 && last->launches == program.launches &&
                         program.kernel->part > last->kernel->part;
    if (!goes_on) number = next_launch_number(program, call.options);
    numbers[index] = number;
    last = &program;
  }
}

void draw_keys(const GraphState& graph, std::span<std::uint64_t> keys) noexcept {
  draw_numbers(graph, keys);
  for (const std::uint32_t index : graph.keyed)
    keys[index] = launch_key(std::get<ProgramCall>(graph.calls[index].what).options.seed, keys[index]);
}

LaunchValues values_of(const GraphRun& run, std::uint32_t index, const ProgramCall& call,
                       std::uint64_t key) noexcept {
  LaunchValues values(call.arguments);
  values.scratch = run.scratch;
  values.scratch_offset = call.scratch_offset;
  values.record = run.record;
  values.barriers = run.barriers;
  values.first_barrier = call.first_barrier;
  values.key = key;
  values.prints = run.prints;
  values.launch_number = run.first_launch + index;
  return values;
}

}  // namespace weir::detail
