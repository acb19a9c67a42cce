// SPDX-License-Identifier: Apache-2.0
// A loaded communicator: its checked table.
#pragma once

#include <weir/communicator.h>

#include <cstdint>
#include <string>

namespace weir {

class CommunicatorPlugin {
 public:
  /// Checks `table` and copies it. Throws Error{abi} when its version is outside the range, or Error{invalid}
  /// that names the missing slot or the other fault.
  CommunicatorPlugin(const weir_communicator_table& table, std::uint32_t abi_min, std::uint32_t abi_max);
  CommunicatorPlugin(const CommunicatorPlugin&) = delete;
  CommunicatorPlugin& operator=(const CommunicatorPlugin&) = delete;

  const std::string& name() const noexcept { return name_; }
  const std::string& version() const noexcept { return version_; }
  const std::string& vendor() const noexcept { return vendor_; }
  std::uint32_t abi_version() const noexcept { return table_.abi_version; }
  const weir_communicator_table& table() const noexcept { return table_; }

 private:
  weir_communicator_table table_{};
  std::string name_, version_, vendor_;
};

}  // namespace weir
