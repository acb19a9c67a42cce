// SPDX-License-Identifier: Apache-2.0
#include "runtime/programs/annotate.hpp"

#include <algorithm>
#include <cstring>
#include <map>

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

bool is_in_struct(const ProgramState& program, std::uint32_t parameter) {
  return std::ranges::any_of(program.structs, [&](const auto& s) { return s.has_member(parameter); });
}

struct ByteRange {
  std::uint64_t offset = 0, bytes = 0;
};

ByteRange range_of(const passes::Plan& plan, const passes::LoopBounds& loop,
                   const passes::TouchedRows& touched, const AnyArrayView& array,
                   const LaunchValues& values) noexcept {
  using Kind = passes::HostBound::Kind;
  const passes::HostBound &low = loop.low[touched.dimension], &high = loop.high[touched.dimension];
  const std::int64_t rows = array.extent(0);
  if (rows == 0) return {};
  const std::uint64_t row_bytes = array.size_bytes() / static_cast<std::uint64_t>(rows);
  std::int64_t begin = 0, end = rows;
  if (low.kind != Kind::device && high.kind != Kind::device) {
    const std::int64_t from = evaluate(low, plan, values), to = evaluate(high, plan, values);
    if (to <= from) return {};
    // Clamped before the sum, which then cannot overflow. Rows outside of the array are never accessed.
    const auto row = [&](std::int64_t iteration, std::int64_t distance) {
      constexpr std::int64_t far = std::int64_t{1} << 62;
      return std::clamp<std::int64_t>(std::clamp(iteration, -far, far) + distance, 0, rows);
    };
    begin = row(from, touched.first);
    end = std::max(begin, row(to, touched.last));
  }
  return {static_cast<std::uint64_t>(begin) * row_bytes, static_cast<std::uint64_t>(end - begin) * row_bytes};
}

}  // namespace

std::uint32_t stated_bytes(const std::vector<StatedArray>& arrays) noexcept {
  std::uint32_t numbers = 0;
  for (const StatedArray& array : arrays) numbers += array.rows ? 2 : 1;
  return numbers * static_cast<std::uint32_t>(sizeof(std::uint64_t));
}

void state_arrays(const passes::Plan& plan, const passes::PlannedTask& task,
                  const std::vector<StatedArray>& arrays, const LaunchValues& values,
                  std::byte* at) noexcept {
  const auto put = [&](std::uint64_t number) {
    std::memcpy(at, &number, sizeof number);
    at += sizeof number;
  };
  for (const StatedArray& array : arrays) {
    const AnyArrayView& view = *values.arguments[array.parameter].array;
    if (!array.rows) {
      put(view.size_bytes());
      continue;
    }
    const ByteRange range = range_of(plan, task, *array.rows, view, values);
    put(range.offset);
    put(range.bytes);
  }
}

TaskAnnotation annotate_task(const ProgramState& program, const passes::PlannedTask& planned, bool ranges) {
  using Kind = ir::TaskArgument::Kind;
  const ir::Kernel& kernel = *program.kernel;
  const ir::Task& task = planned.task;
  const Accesses accesses = accesses_of(task);
  const std::uint32_t meant = planned.conflicts_are_meant ? std::uint32_t{WEIR_ACCESS_SHARED} : 0;
  const auto rows =
      ranges ? passes::touched_rows(kernel, task) : std::map<std::uint32_t, passes::TouchedRows>();
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
      if (const auto of_array = rows.find(field.parameter);
          of_array != rows.end() && !is_in_struct(program, field.parameter))
        stated.rows = of_array->second;
      annotation.touched.push_back({i, found->second | (parts ? std::uint32_t{WEIR_ACCESS_SHARED} : meant), 0,
                                    stated.rows ? WEIR_TOUCHED_RANGE : 0,
                                    array_name(kernel, field.parameter)});
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
