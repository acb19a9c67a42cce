// SPDX-License-Identifier: Apache-2.0
#include "isa/code/disassembler.hpp"

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>

#include <mutex>
#include <stdexcept>

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUDisassembler();
}

namespace weir::hipsim {

struct Disassembler::State {
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> assembly;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstPrinter> printer;
};

Disassembler::Disassembler(const std::string& architecture, unsigned lanes)
    : state_(std::make_unique<State>()) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
  });
  const llvm::Triple triple("amdgcn-amd-amdhsa");
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) throw std::runtime_error("LLVM of this library has no AMDGPU target: " + error);
  State& s = *state_;
  s.registers.reset(target->createMCRegInfo(triple));
  s.assembly.reset(target->createMCAsmInfo(*s.registers, triple, s.options));
  // Only architectures from GFX10 on have waves of 32 lanes, and accept the feature.
  const bool choice = architecture.size() >= 7;
  const std::string features = !choice       ? ""
                               : lanes == 32 ? "+wavefrontsize32,-wavefrontsize64"
                                             : "-wavefrontsize32,+wavefrontsize64";
  s.subtarget.reset(target->createMCSubtargetInfo(triple, architecture, features));
  if (!s.subtarget || !s.subtarget->isCPUStringValid(architecture))
    throw std::runtime_error("LLVM has no architecture \"" + architecture + "\"");
  s.instructions.reset(target->createMCInstrInfo());
  s.context =
      std::make_unique<llvm::MCContext>(triple, s.assembly.get(), s.registers.get(), s.subtarget.get());
  s.disassembler.reset(target->createMCDisassembler(*s.subtarget, *s.context));
  s.printer.reset(target->createMCInstPrinter(triple, 0, *s.assembly, *s.instructions, *s.registers));
  if (!s.disassembler || !s.printer)
    throw std::runtime_error("LLVM of this library cannot disassemble AMDGPU code");
}

Disassembler::~Disassembler() = default;

unsigned Disassembler::instruction(std::span<const std::uint8_t> bytes, std::uint64_t address,
                                   std::string& text) const {
  llvm::MCInst instruction;
  std::uint64_t size = 0;
  const auto status = state_->disassembler->getInstruction(
      instruction, size, llvm::ArrayRef<std::uint8_t>(bytes.data(), bytes.size()), address, llvm::nulls());
  text.clear();
  if (status == llvm::MCDisassembler::Fail || size == 0) return 0;
  llvm::raw_string_ostream out(text);
  state_->printer->printInst(&instruction, address, "", *state_->subtarget, out);
  return unsigned(size);
}

}  // namespace weir::hipsim
