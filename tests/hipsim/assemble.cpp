// SPDX-License-Identifier: Apache-2.0
#include <llvm/MC/MCAsmBackend.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCObjectFileInfo.h>
#include <llvm/MC/MCObjectWriter.h>
#include <llvm/MC/MCParser/MCAsmParser.h>
#include <llvm/MC/MCParser/MCTargetAsmParser.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>

#include <stdexcept>

#include "compile.hpp"
#include "initialize.hpp"

namespace weir::hipsim::test {
namespace {

/// The assembler's message for a line, counted from 1.
struct Diagnostic {
  unsigned line;
  std::string words;
};

/// The code of the text's section .text; empty if there are diagnostics.
std::vector<std::uint8_t> assemble_text(const std::string& text, const std::string& architecture,
                                        unsigned lanes, std::vector<Diagnostic>& diagnostics) {
  initialize_llvm();
  const llvm::Triple triple("amdgcn-amd-amdhsa");
  std::string messages;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, messages);
  const llvm::MCTargetOptions options;
  const std::unique_ptr<llvm::MCRegisterInfo> registers(target->createMCRegInfo(triple));
  const std::unique_ptr<llvm::MCAsmInfo> assembly(target->createMCAsmInfo(*registers, triple, options));
  const std::unique_ptr<llvm::MCInstrInfo> instructions(target->createMCInstrInfo());
  const bool choice = architecture.size() >= 7;  // GFX10 and later
  const std::string features = !choice       ? ""
                               : lanes == 32 ? "+wavefrontsize32,-wavefrontsize64"
                                             : "-wavefrontsize32,+wavefrontsize64";
  const std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
      target->createMCSubtargetInfo(triple, architecture, features));

  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text + "\n"), llvm::SMLoc());
  sources.setDiagHandler(
      [](const llvm::SMDiagnostic& d, void* out) {
        static_cast<std::vector<Diagnostic>*>(out)->push_back(
            {unsigned(d.getLineNo()), (d.getMessage() + " in \"" + d.getLineContents() + "\"").str()});
      },
      &diagnostics);
  llvm::MCContext context(triple, assembly.get(), registers.get(), subtarget.get(), &sources);
  const std::unique_ptr<llvm::MCObjectFileInfo> file(target->createMCObjectFileInfo(context, true));
  context.setObjectFileInfo(file.get());
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream out(object);
  std::unique_ptr<llvm::MCAsmBackend> backend(target->createMCAsmBackend(*subtarget, *registers, options));
  auto writer = backend->createObjectWriter(out);
  std::unique_ptr<llvm::MCStreamer> streamer(target->createMCObjectStreamer(
      triple, context, std::move(backend), std::move(writer),
      std::unique_ptr<llvm::MCCodeEmitter>(target->createMCCodeEmitter(*instructions, context)), *subtarget));
  const std::unique_ptr<llvm::MCAsmParser> parser(
      llvm::createMCAsmParser(sources, context, *streamer, *assembly));
  const std::unique_ptr<llvm::MCTargetAsmParser> target_parser(
      target->createMCAsmParser(*subtarget, *parser, *instructions, options));
  parser->setTargetParser(*target_parser);
  if (parser->Run(false) || !diagnostics.empty()) return {};

  const llvm::MemoryBufferRef bytes(llvm::StringRef(object.data(), object.size()), "snippet");
  auto elf = llvm::object::ObjectFile::createObjectFile(bytes);
  if (!elf) throw std::runtime_error(llvm::toString(elf.takeError()));
  for (const auto& section : (*elf)->sections()) {
    auto name = section.getName();
    if (!name) throw std::runtime_error(llvm::toString(name.takeError()));
    if (*name != ".text") continue;
    auto contents = section.getContents();
    if (!contents) throw std::runtime_error(llvm::toString(contents.takeError()));
    return {contents->bytes_begin(), contents->bytes_end()};
  }
  throw std::runtime_error("the snippet has no code");
}

}  // namespace

std::vector<std::uint8_t> assemble(const std::string& text, const std::string& architecture, unsigned lanes) {
  std::vector<Diagnostic> diagnostics;
  std::vector<std::uint8_t> code = assemble_text(text, architecture, lanes, diagnostics);
  if (diagnostics.empty()) return code;
  std::string message = "cannot assemble:";
  for (const Diagnostic& d : diagnostics) message += " " + d.words + "\n";
  throw std::runtime_error(message);
}

std::vector<std::string> assembler_errors(const std::vector<std::string>& lines,
                                          const std::string& architecture, unsigned lanes) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  std::vector<Diagnostic> diagnostics;
  assemble_text(text, architecture, lanes, diagnostics);
  std::vector<std::string> errors(lines.size());
  for (const Diagnostic& d : diagnostics)
    if (d.line >= 1 && d.line <= lines.size()) errors[d.line - 1] += d.words;
  return errors;
}

}  // namespace weir::hipsim::test
