// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>
#include <weir/program.hpp>
#include <weir/stream.hpp>

#include "ir/ir.hpp"

namespace weir::interpreter {

/// The MathLibrary of generated code: launches the function on a device, for one value at a time, and keeps
/// the result. Not thread-safe.
class CompiledMath {
 public:
  explicit CompiledMath(const Device& device) : stream_(device.create_stream()) {}
  std::uint64_t operator()(const ir::Statement& s, std::span<const ScalarType> types,
                           std::span<const std::uint64_t> operands);

 private:
  const Program& program(const std::string& key, const ir::Statement& s, std::span<const ScalarType> types);

  Stream stream_;
  std::map<std::string, Program> programs_;
  std::map<std::pair<std::string, std::vector<std::uint64_t>>, std::uint64_t> known_;
};

}  // namespace weir::interpreter
