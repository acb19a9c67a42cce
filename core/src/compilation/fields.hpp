// SPDX-License-Identifier: Apache-2.0
// The fields of each type that is sent to the code generator, for writing, reading and hashing. A structured
// binding names all fields, so adding a field to a type without listing it here is a compile error.
#pragma once

#include <concepts>
#include <type_traits>

#include "codegen/codegen.hpp"
#include "ir/ir.hpp"
#include "ir/task.hpp"

namespace weir::compilation {

template <class T, class U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

void fields(auto& archive, Is<ElementType> auto& element) {
  auto& [scalar, shape, rows, cols] = element;
  archive(scalar, shape, rows, cols);
}

void fields(auto& archive, Is<ir::Location> auto& location) {
  auto& [file, line, column] = location;
  archive(file, line, column);
}

void fields(auto& archive, Is<ir::Options> auto& options) {
  auto& [fast_math, check_bounds, no_fusion, no_phases, no_concurrency, deterministic, min_resident_threads] =
      options;
  archive(fast_math, check_bounds, no_fusion, no_phases, no_concurrency, deterministic, min_resident_threads);
}

void fields(auto& archive, Is<ir::Parameter> auto& parameter) {
  auto& [name, kind, element, rank, location] = parameter;
  archive(name, kind, element, rank, location);
}

void fields(auto& archive, Is<ir::Block> auto& block) {
  auto& [arguments, statements] = block;
  archive(arguments, statements);
}

void fields(auto& archive, Is<ir::Statement> auto& statement) {
  auto& [op, type, component, result, index, immediate, operands, bodies, location] = statement;
  archive(op, type, component, result, index, immediate, operands, bodies, location);
}

void fields(auto& archive, Is<ir::Kernel> auto& kernel) {
  auto& [name, options, parameters, body, strings, algorithms, files, part, value_count, local_count] =
      kernel;
  archive(name, options, parameters, strings, files, part, value_count, local_count);
  (void)body, (void)algorithms;  // the tasks are sent instead
}

void fields(auto& archive, Is<ir::TaskArgument> auto& argument) {
  auto& [kind, parameter, index, type, offset, size] = argument;
  archive(kind, parameter, index, type, offset, size);
}

void fields(auto& archive, Is<ir::Task> auto& task) {
  auto& [name, kind, body, arguments, argument_bytes, value_count, local_count, cost, merged, cooperative,
         read_by_others, partials_offset, result_offset, reduce_type, reduce_kind, location] = task;
  archive(name, kind, body, arguments, argument_bytes, value_count, local_count, cost, merged, cooperative,
          read_by_others, partials_offset, result_offset, reduce_type, reduce_kind, location);
}

void fields(auto& archive, Is<codegen::LaunchAssumptions> auto& assumptions) {
  auto& [no_alias, index32, aligned, device_local] = assumptions;
  archive(no_alias, index32, aligned, device_local);
}

void fields(auto& archive, Is<codegen::Target> auto& target) {
  auto& [format, cpu, features, lanes, max_block_threads, assumptions] = target;
  archive(format, cpu, features, lanes, max_block_threads, assumptions);
}

void fields(auto& archive, Is<Lowering> auto& lowering) {
  auto& [paths, vector_width, packet_width] = lowering;
  archive(paths, vector_width, packet_width);
}

void fields(auto& archive, Is<codegen::CodeObject::Entry> auto& entry) {
  auto& [symbol, block, dynamic_shared_bytes, block_share, waves, lowering] = entry;
  archive(symbol, block[0], block[1], block[2], dynamic_shared_bytes, block_share, waves, lowering);
}

void fields(auto& archive, Is<codegen::CodeObject> auto& object) {
  auto& [format, target, bytes, entries, needs] = object;
  archive(format, target, bytes, entries, needs);
}

}  // namespace weir::compilation
