// SPDX-License-Identifier: Apache-2.0
// Algorithms as statements of a trace.
#include <span>
#include <weir/dsl/algorithm.hpp>

#include "dsl/names.hpp"
#include "dsl/trace.hpp"
#include "ir/algorithm.hpp"

namespace weir::detail {

void Trace::algorithm(ir::Algorithm algorithm, const Where& where) {
  const OpenBlock& around = stack_.back();
  if (around.kind != BlockKind::body && around.kind != BlockKind::stream_block)
    return report(
        std::string(ir::info(algorithm.kind).name) + " is inside the " + std::string(describe(around.kind)) +
            " at " + at(around.opened) +
            "; it processes whole arrays, so it belongs directly in the kernel or in a "
            "stream_parallel block. Move it out of there, or call the function for arrays between launches",
        where);
  ir::Statement statement = statement_of(ir::Op::algorithm);
  statement.index = static_cast<std::uint32_t>(kernel_.algorithms.size());
  kernel_.algorithms.push_back(std::move(algorithm));
  append(std::move(statement), where);
}

void emit_algorithm(const AlgorithmSource& source, const ParameterOfTrace* arrays, std::size_t count,
                    const ParameterOfTrace* size, Where where) {
  Trace& trace = Trace::current(source.name, where);
  ir::Algorithm algorithm;
  algorithm.kind = algorithm_named(source.name);
  if (ir::info(algorithm.kind).choice == ir::AlgorithmChoice::combine)
    algorithm.combine = reduce_named(source.choice);
  algorithm.descending = source.choice == "descending";
  algorithm.low = source.low;
  algorithm.high = source.high;
  for (const ParameterOfTrace& array : std::span(arrays, count)) {
    if (!trace.owns_array(array.trace, where)) return;
    algorithm.arrays.push_back(array.parameter);
  }
  if (size) {
    if (!trace.owns_array(size->trace, where)) return;
    algorithm.size = size->parameter;
  }
  trace.algorithm(std::move(algorithm), where);
}

}  // namespace weir::detail
