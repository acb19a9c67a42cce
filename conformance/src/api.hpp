// SPDX-License-Identifier: Apache-2.0
// The driver under test through the public API, for the levels above the table.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>
#include <weir/weir.hpp>

#include "driver/call.hpp"

namespace weir::conformance {

/// The device under test, opened through the public API. Throws Unsupported if libweir finds no manifest of
/// the driver, and Skipped if the device does not exist.
Device api_device();

/// Adds the folder of the driver under test to libweir's search path. Must be called before any other call
/// that lists drivers.
void add_driver_to_search_path();

inline LaunchArgument argument_of(const AnyArrayView& view) {
  return {&view, nullptr, view.element()};
}
template <KernelElement T>
LaunchArgument argument_of(const T& value) {
  return {nullptr, &value, element_type<T>};
}

/// Launches a program. Throws Unsupported if Weir generates no code for the device.
inline void run_program(const Program& program, const StreamRef& stream,
                        std::span<const LaunchArgument> list) {
  try {
    program.launch(stream, list);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::unsupported) throw Unsupported(error.what());
    throw;
  }
}

/// Parses a kernel's text and launches it once.
template <class... Values>
void run_text(const std::string& text, const StreamRef& stream, const Values&... values) {
  const LaunchArgument list[] = {argument_of(values)...};
  run_program(Program::parse(text), stream, list);
}

template <class T>
Array<T> array_of(const Device& device, const std::vector<T>& values) {
  return device.array_of<T>(std::span<const T>(values));
}

}  // namespace weir::conformance
