// SPDX-License-Identifier: Apache-2.0
#include "runtime/programs/annotate.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <span>
#include <utility>
#include <weir/program.hpp>

#include "ir/error_record.hpp"
#include "ir/print_buffer.hpp"
#include "runtime/devices/device_state.hpp"
#include "runtime/launch/launch_steps.hpp"
#include "runtime/launch/loop_space.hpp"
#include "runtime/programs/program_state.hpp"

namespace weir::detail {
namespace {

using ir::Op;

/// Accesses of statements, by array parameter and by location in the launch's scratch memory.
struct Accesses {
  std::map<std::uint32_t, std::uint32_t> arrays;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> scratch;  // offset and bytes
};

void gather(const ir::Block& block, Accesses& out) {
  for (const ir::Statement& s : block.statements) {
    switch (s.op) {
      case Op::load:
        out.arrays[s.index] |= WEIR_ACCESS_READ;
        break;
      case Op::store:
        out.arrays[s.index] |= WEIR_ACCESS_WRITE;
        break;
      case Op::atomic:
        out.arrays[s.index] |= WEIR_ACCESS_SHARED;
        break;
      case Op::scratch_load:  // the first element represents the whole array
        out.scratch[{s.immediate, size_of(s.type)}] |= WEIR_ACCESS_READ;
        break;
      case Op::scratch_store:
        out.scratch[{s.immediate, size_of(s.type)}] |= WEIR_ACCESS_WRITE;
        break;
      default:
        break;
    }
    for (const ir::Block& body : s.bodies) gather(body, out);
  }
}

Accesses accesses_of(const ir::Task& task) {
  constexpr std::uint64_t slot = 8;
  Accesses accesses;
  gather(task.body, accesses);
  const std::pair partials{std::uint64_t{task.partials_offset}, ir::reduce_max_chunks * slot};
  if (task.kind == ir::TaskKind::reduce_partial) accesses.scratch[partials] |= WEIR_ACCESS_WRITE;
  if (task.kind == ir::TaskKind::reduce_final) {
    accesses.scratch[partials] |= WEIR_ACCESS_READ;
    accesses.scratch[{std::uint64_t{task.result_offset}, slot}] |= WEIR_ACCESS_WRITE;
  }
  return accesses;
}

std::string source_of(const ir::Kernel& kernel, const ir::Task& task) {
  ir::Location at = task.location;
  for (auto s = task.body.statements.begin(); at.line == 0 && s != task.body.statements.end(); ++s)
    at = s->location;
  if (!kernel.knows(at)) return {};
  return kernel.files[at.file] + ":" + std::to_string(at.line);
}

/// The array's name in messages, as all other messages name it. Valid forever.
const char* array_name(const ir::Kernel& kernel, std::uint32_t index) {
  return intern(kernel.parameters[index].name)->c_str();
}

/// Whether the memory of an array holds other members of a struct array, too. Blocks of a region may use
/// different members at the same time, but each names the whole memory.
bool is_interleaved(const ProgramState& program, std::uint32_t parameter) {
  for (std::size_t s = 0; s < program.structs.size(); ++s)
    if (program.structs[s].has_member(parameter))
      return s < program.layouts.size() && program.layouts[s].kind() != Layout::Kind::arrays;
  return false;
}

/// The parameter with the strides of a strided array: place_strided() adds them at the end, in order.
std::optional<std::uint16_t> strides_of(const ProgramState& program, std::uint32_t parameter) {
  const auto found = std::ranges::find(program.strided, parameter, &StridedParameter::parameter);
  if (found == program.strided.end()) return {};
  return static_cast<std::uint16_t>(program.kernel->parameters.size() -
                                    static_cast<std::size_t>(program.strided.end() - found));
}

bool is_known(const passes::TouchedBox& box) {
  return std::ranges::any_of(box, [](const auto& indices) { return indices.has_value(); });
}

bool is_in_struct(const ProgramState& program, std::uint32_t parameter) {
  return std::ranges::any_of(program.structs, [&](const auto& s) { return s.has_member(parameter); });
}

/// A part of an array, in bytes from the address in the argument block. Of each `pitch` bytes from there on,
/// only `width` bytes from `first` on belong to it; all of them if the pitch is 0.
struct Part {
  std::uint64_t offset = 0, bytes = 0, pitch = 0, first = 0, width = 0;
};

struct Indices {
  std::int64_t begin = 0, end = 0;
};

/// The indices below `extent` that the loop accesses in one dimension of an array.
Indices evaluate_indices(const passes::Plan& plan, const passes::LoopBounds& loop,
                         const std::optional<passes::TouchedIndices>& touched, std::int64_t extent,
                         const LaunchValues& values) noexcept {
  if (!touched || !has_host_bounds(loop, touched->dimension)) return {0, extent};
  const std::int64_t from = evaluate(loop.low[touched->dimension], plan, values),
                     to = evaluate(loop.high[touched->dimension], plan, values);
  if (to <= from) return {};
  // Clamped before the sum, which then cannot overflow. Places outside of the array are never accessed.
  const auto index = [&](std::int64_t iteration, std::int64_t distance) {
    constexpr std::int64_t far = std::int64_t{1} << 62;
    return std::clamp<std::int64_t>(std::clamp(iteration, -far, far) + distance, 0, extent);
  };
  const std::int64_t begin = index(from, touched->first), end = index(to, touched->last);
  if (!touched->clamped) return {begin, std::max(begin, end)};
  return {std::min(begin, extent - 1), std::max<std::int64_t>(end, 1)};
}

/// The rows of an array, and the window of the first other dimension of which the loop accesses a part.
Part part_of(const passes::Plan& plan, const passes::LoopBounds& loop, const passes::TouchedBox& box,
             const AnyArrayView& array, const LaunchValues& values) noexcept {
  if (array.size_bytes() == 0) return {};
  const std::int64_t rows = array.extent(0);
  std::uint64_t index_bytes = array.size_bytes() / static_cast<std::uint64_t>(rows);
  const Indices touched = evaluate_indices(plan, loop, box[0], rows, values);
  Part part;
  part.offset = static_cast<std::uint64_t>(touched.begin) * index_bytes;
  part.bytes = static_cast<std::uint64_t>(touched.end - touched.begin) * index_bytes;
  for (std::size_t d = 1; d < array.rank(); ++d) {
    const std::int64_t extent = array.extent(d);
    const std::uint64_t pitch = std::exchange(index_bytes, index_bytes / static_cast<std::uint64_t>(extent));
    const Indices window = evaluate_indices(plan, loop, box[d], extent, values);
    if (window.begin == window.end) return {};
    if (part.pitch != 0 || window.end - window.begin == extent) continue;
    part.pitch = pitch;
    part.first = static_cast<std::uint64_t>(window.begin) * index_bytes;
    part.width = static_cast<std::uint64_t>(window.end - window.begin) * index_bytes;
  }
  return part;
}

/// All of a strided array: the window is what its elements reach without their longest stride. `numbers` are
/// those of passes::strides_type, and `reached` is the memory that passes for the array.
Part part_of_strided(std::span<const std::int64_t> numbers, const AnyArrayView& reached) noexcept {
  Part part{0, reached.size_bytes()};
  const std::size_t rank = (numbers.size() - 1) / 2;
  std::uint64_t longest = 0, steps = 0;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t extent = numbers[1 + d];
    const auto stride = static_cast<std::uint64_t>(std::abs(numbers[1 + rank + d]));
    if (extent < 2 || stride <= longest) continue;
    longest = stride;
    steps = static_cast<std::uint64_t>(extent - 1);
  }
  const std::uint64_t pitch = longest * reached.element().size();
  if (part.bytes <= steps * pitch) return part;  // an empty array
  const std::uint64_t width = part.bytes - steps * pitch;
  if (width >= pitch) return part;
  part.pitch = pitch;
  part.width = width;
  return part;
}

}  // namespace

std::uint32_t stated_bytes(const std::vector<StatedArray>& arrays) noexcept {
  std::uint32_t numbers = 0;
  for (const StatedArray& array : arrays) numbers += array.numbers;
  return numbers * static_cast<std::uint32_t>(sizeof(std::uint64_t));
}

void state_arrays(const passes::Plan& plan, const passes::PlannedTask& task,
                  const std::vector<StatedArray>& arrays, const LaunchValues& values,
                  std::byte* at) noexcept {
  for (const StatedArray& array : arrays) {
    const AnyArrayView& view = *values.arguments[array.parameter].array;
    Part part{0, view.size_bytes()};
    if (array.strides) {
      const LaunchArgument& strides = values.arguments[*array.strides];
      part = part_of_strided({static_cast<const std::int64_t*>(strides.data), strides.element.components()},
                             view);
    } else if (array.numbers > 1) {
      part = part_of(plan, task, array.box, view, values);
    }
    const std::uint64_t numbers[] = {part.offset, part.bytes, part.pitch, part.first, part.width};
    const std::size_t size = array.numbers * sizeof *numbers;
    std::memcpy(at, array.numbers == 1 ? &part.bytes : numbers, size);
    at += size;
  }
}

TaskAnnotation annotate_task(const ProgramState& program, const passes::PlannedTask& planned,
                             std::uint32_t version) {
  using Kind = ir::TaskArgument::Kind;
  const ir::Kernel& kernel = *program.kernel;
  const ir::Task& task = planned.task;
  const Accesses accesses = accesses_of(task);
  const std::uint32_t meant = planned.conflicts_are_meant ? std::uint32_t{WEIR_ACCESS_SHARED} : 0;
  const auto boxes = passes::touched_boxes(kernel, task);
  TaskAnnotation annotation;
  for (std::uint32_t i = 0; i < task.arguments.size(); ++i) {
    const ir::TaskArgument& field = task.arguments[i];
    if (field.kind == Kind::array) {
      const auto found = accesses.arrays.find(field.parameter);
      if (found == accesses.arrays.end()) continue;
      const auto& divided = planned.divided;
      const bool parts = std::find(divided.begin(), divided.end(), field.parameter) != divided.end() ||
                         (planned.region >= 0 && is_interleaved(program, field.parameter));
      StatedArray& stated = annotation.stated.emplace_back();
      stated.parameter = field.parameter;
      if (const auto box = boxes.find(field.parameter);
          box != boxes.end() && !is_in_struct(program, field.parameter))
        stated.box = box->second;
      if (version >= 3) stated.strides = strides_of(program, field.parameter);
      std::uint64_t bytes = 0;
      if (version >= 3 && (stated.strides || is_known(stated.box)))
        stated.numbers = 5, bytes = WEIR_TOUCHED_WINDOW;
      else if (version >= 2 && stated.box[0])
        stated.numbers = 2, bytes = WEIR_TOUCHED_RANGE;
      annotation.touched.push_back({i, found->second | (parts ? std::uint32_t{WEIR_ACCESS_SHARED} : meant), 0,
                                    bytes, array_name(kernel, field.parameter)});
    } else if (field.kind == Kind::scratch) {
      for (const auto& [place, how] : accesses.scratch)
        annotation.touched.push_back({i, how, place.first, place.second, "scratch of the launch"});
    } else if (field.kind == Kind::error) {
      annotation.touched.push_back(
          {i, WEIR_ACCESS_SHARED, 0, sizeof(ir::ErrorRecord), "error record of the stream"});
    } else if (field.kind == Kind::barrier) {
      annotation.touched.push_back(
          {i, WEIR_ACCESS_SHARED, 0, sizeof(std::uint32_t), "barriers of the stream's cooperative launches"});
    } else if (field.kind == Kind::print) {
      annotation.touched.push_back(
          {i, WEIR_ACCESS_SHARED, 0, ir::print_header_bytes, "print buffer of the stream"});
    }
  }
  annotation.source = source_of(kernel, task);
  return annotation;
}

}  // namespace weir::detail
