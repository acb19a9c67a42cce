// SPDX-License-Identifier: Apache-2.0
// Conversion of a traced kernel to a launchable program.
#include <weir/array.hpp>
#include <weir/error.hpp>
#include <weir/kernel.hpp>
#include <weir/program.hpp>

#include "dsl/make_program.hpp"
#include "dsl/trace.hpp"

namespace weir::detail {

Program trace_program(const KernelSource& source) try {
  std::vector<ir::StructParameter> structs;
  for (const StructParameter& array : std::span(source.structs, source.struct_count))
    structs.push_back(
        {array.first, array.type->size_bytes, {array.type->members.begin(), array.type->members.end()}});
  return make_program(trace_kernel(source), std::move(structs));
} catch (...) {
  rethrow_as_error();
}

Device device_of(const LaunchArgument* arguments, std::size_t count) try {
  for (std::size_t i = 0; i < count; ++i) {
    // A freed array has no device; the launch reports which argument it is.
    if (arguments[i].array != nullptr && arguments[i].array->alive()) return arguments[i].array->device();
  }
  return open();
} catch (...) {
  rethrow_as_error();
}

}  // namespace weir::detail
