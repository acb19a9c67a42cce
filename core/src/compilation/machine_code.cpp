// SPDX-License-Identifier: Apache-2.0
#include "compilation/machine_code.hpp"

#include <fmt/format.h>

#include "compilation/archive.hpp"

namespace weir::compilation {

std::string machine_code_input(const VendorCompiler& compiler, std::string_view format,
                               std::string_view target, std::string_view bytes) {
  Writer writer;
  writer(std::string_view("machine code 1"), compiler.driver, compiler.driver_version, compiler.vendor,
         compiler.vendor_version, compiler.device, compiler.architecture, format, target, bytes);
  return writer.take();
}

std::optional<MachineCode> find_machine_code(cache::Store& store, std::string_view input) noexcept try {
  const std::optional<std::string> bytes = store.find(input);
  if (!bytes) return std::nullopt;
  MachineCode code;
  Reader reader(*bytes);
  reader(code.format, code.target, code.bytes);
  reader.expect_end();
  return code;
} catch (...) {  // damaged, or memory is short
  return std::nullopt;
}

void keep_machine_code(cache::Store& store, std::string_view input, std::string_view name,
                       const MachineCode& code, double seconds) noexcept try {
  Writer writer;
  writer(code.format, code.target, code.bytes);
  store.add({fmt::format("{} for {}:{}", name, code.format, code.target), std::string(input), writer.take(),
             seconds});
} catch (...) {
}

}  // namespace weir::compilation
