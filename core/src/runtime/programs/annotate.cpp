// SPDX-License-Identifier: Apache-2.0
#include "runtime/programs/annotate.hpp"

#include <algorithm>
#include <map>

#include "ir/error_record.hpp"
#include "ir/print_buffer.hpp"
#include "runtime/devices/device_state.hpp"
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

}  // namespace

TaskAnnotation annotate_task(const ProgramState& program, const passes::PlannedTask& planned) {
  using Kind = ir::TaskArgument::Kind;
  const ir::Kernel& kernel = *program.kernel;
  const ir::Task& task = planned.task;
  const Accesses accesses = accesses_of(task);
  const std::uint32_t meant = planned.conflicts_are_meant ? std::uint32_t{WEIR_ACCESS_SHARED} : 0;
  TaskAnnotation annotation;
  for (std::uint32_t i = 0; i < task.arguments.size(); ++i) {
    const ir::TaskArgument& field = task.arguments[i];
    if (field.kind == Kind::array) {
      const auto found = accesses.arrays.find(field.parameter);
      if (found == accesses.arrays.end()) continue;
      const auto& divided = planned.divided;
      const bool parts = std::find(divided.begin(), divided.end(), field.parameter) != divided.end() ||
                         (planned.region >= 0 && is_interleaved(program, field.parameter));
      annotation.touched.push_back({i, found->second | (parts ? std::uint32_t{WEIR_ACCESS_SHARED} : meant), 0,
                                    0, array_name(kernel, field.parameter)});
      annotation.sized.push_back(field.parameter);
    } else if (field.kind == Kind::scratch) {
      for (const auto& [place, how] : accesses.scratch)
        annotation.touched.push_back({i, how, place.first, place.second, "scratch of the launch"});
    } else if (field.kind == Kind::error) {
      annotation.touched.push_back(
          {i, WEIR_ACCESS_SHARED, 0, sizeof(ir::ErrorRecord), "error record of the stream"});
    } else if (field.kind == Kind::print) {
      annotation.touched.push_back(
          {i, WEIR_ACCESS_SHARED, 0, ir::print_header_bytes, "print buffer of the stream"});
    }
  }
  annotation.source = source_of(kernel, task);
  return annotation;
}

}  // namespace weir::detail
