// SPDX-License-Identifier: Apache-2.0
// Generates machine code for tests with LLVM in this process.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace llvm {
class Module;
}

namespace weir::hipsim::test {

/// Assembles AMDGPU text, such as "v_add_f32 v0, v1, v2\ns_endpgm", to bytes of code. Throws
/// std::runtime_error with the assembler's message.
std::vector<std::uint8_t> assemble(const std::string& text, const std::string& architecture, unsigned lanes);

/// The assembler's error for each of these lines, one instruction each; empty if it accepts the line.
std::vector<std::string> assembler_errors(const std::vector<std::string>& lines,
                                          const std::string& architecture, unsigned lanes);

/// Compiles a module to an HSACO. Its kernels are functions of calling convention amdgpu_kernel.
std::vector<std::uint8_t> compile(llvm::Module& module, const std::string& architecture,
                                  const std::string& features = "");
/// Compiles LLVM IR text, without a target triple or data layout in it.
std::vector<std::uint8_t> compile_ir(const std::string& text, const std::string& architecture,
                                     const std::string& features = "");

}  // namespace weir::hipsim::test
