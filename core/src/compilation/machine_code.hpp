// SPDX-License-Identifier: Apache-2.0
// Code that a vendor's compiler made of a code object, as it is kept in the compile cache. All functions are
// thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cache/store.hpp"

namespace weir::compilation {

/// Code in a format of the driver interface.
struct MachineCode {
  std::string format, target, bytes;
};

/// The inputs of a vendor's compiler besides the code object.
struct VendorCompiler {
  std::string_view driver, driver_version;  ///< of Weir's driver
  std::string_view vendor, vendor_version;  ///< of the vendor's runtime
  std::string_view device, architecture;    ///< the device's name, and the targets that it loads
};

/// The key of an entry: everything that determines the machine code of an object.
std::string machine_code_input(const VendorCompiler& compiler, std::string_view format,
                               std::string_view target, std::string_view bytes);

/// Nothing if there is no whole, undamaged entry.
std::optional<MachineCode> find_machine_code(cache::Store& store, std::string_view input) noexcept;

/// `name` is that of the code object, and `seconds` the time that the vendor's compiler took. Failures are
/// ignored.
void keep_machine_code(cache::Store& store, std::string_view input, std::string_view name,
                       const MachineCode& code, double seconds) noexcept;

}  // namespace weir::compilation
