// SPDX-License-Identifier: Apache-2.0
// The metadata note of a code object: LLVM's "User Guide for AMDGPU Backend", "Code Object V5 Metadata".
#include <fmt/format.h>
#include <llvm/BinaryFormat/ELF.h>
#include <llvm/BinaryFormat/MsgPackDocument.h>
#include <llvm/Object/ELF.h>

#include "code/code_object.hpp"

namespace weir::hipsim {
namespace {

using llvm::msgpack::DocNode;

std::uint64_t number(llvm::msgpack::MapDocNode map, llvm::StringRef key, std::uint64_t otherwise) {
  const auto found = map.find(key);
  if (found == map.end()) return otherwise;
  if (found->second.getKind() == llvm::msgpack::Type::UInt) return found->second.getUInt();
  if (found->second.getKind() == llvm::msgpack::Type::Int) return std::uint64_t(found->second.getInt());
  if (found->second.getKind() == llvm::msgpack::Type::Boolean) return found->second.getBool();
  return otherwise;
}

std::string word(llvm::msgpack::MapDocNode map, llvm::StringRef key) {
  const auto found = map.find(key);
  return found == map.end() || !found->second.isString() ? "" : found->second.getString().str();
}

Kernel read_kernel(llvm::msgpack::MapDocNode map) {
  Kernel k;
  k.name = word(map, ".symbol");
  if (k.name.ends_with(".kd")) k.name.resize(k.name.size() - 3);
  k.argument_bytes = std::uint32_t(number(map, ".kernarg_segment_size", 0));
  k.max_threads = std::uint32_t(number(map, ".max_flat_workgroup_size", 1024));
  k.sgpr_count = std::uint32_t(number(map, ".sgpr_count", 0));
  k.vgpr_count = std::uint32_t(number(map, ".vgpr_count", 0));
  k.agpr_count = std::uint32_t(number(map, ".agpr_count", 0));
  k.dynamic_stack = number(map, ".uses_dynamic_stack", 0) != 0;
  const auto arguments = map.find(".args");
  if (arguments == map.end() || !arguments->second.isArray()) return k;
  for (DocNode& node : arguments->second.getArray()) {
    if (!node.isMap()) continue;
    KernelArgument a;
    a.kind = word(node.getMap(), ".value_kind");
    a.offset = std::uint32_t(number(node.getMap(), ".offset", 0));
    a.size = std::uint32_t(number(node.getMap(), ".size", 0));
    if (std::uint64_t(a.offset) + a.size > k.argument_bytes)
      throw CodeObjectError(
          false, fmt::format("places an argument of kernel {} outside of the argument segment", k.name));
    if (!a.hidden()) k.explicit_bytes = std::max(k.explicit_bytes, a.offset + a.size);
    k.arguments.push_back(std::move(a));
  }
  return k;
}

}  // namespace

void CodeObject::read_metadata(std::span<const std::uint8_t> image) {
  using Elf = llvm::object::ELFFile<llvm::object::ELF64LE>;
  const llvm::StringRef bytes(reinterpret_cast<const char*>(image.data()), image.size());
  auto elf = Elf::create(bytes);
  auto segments = elf ? elf->program_headers() : elf.takeError();
  if (!segments)
    throw CodeObjectError(false, "has broken program headers: " + llvm::toString(segments.takeError()));
  bool seen = false;
  for (const auto& segment : *segments) {
    if (segment.p_type != llvm::ELF::PT_NOTE) continue;
    llvm::Error error = llvm::Error::success();
    for (const auto& note : elf->notes(segment, error)) {
      if (note.getName() != "AMDGPU" || note.getType() != llvm::ELF::NT_AMDGPU_METADATA) continue;
      llvm::msgpack::Document document;
      if (!document.readFromBlob(note.getDescAsStringRef(segment.p_align), false) ||
          !document.getRoot().isMap())
        throw CodeObjectError(false, "has metadata that cannot be read");
      auto root = document.getRoot().getMap();
      check_target(word(root, "amdhsa.target"));
      seen = true;
      const auto kernels = root.find("amdhsa.kernels");
      if (kernels == root.end() || !kernels->second.isArray()) continue;
      for (DocNode& node : kernels->second.getArray())
        if (node.isMap()) {
          Kernel kernel = read_kernel(node.getMap());
          kernels_[kernel.name] = kernel;
        }
    }
    if (error) throw CodeObjectError(false, "has broken notes: " + llvm::toString(std::move(error)));
  }
  if (!seen) throw CodeObjectError(false, "has no AMDGPU metadata");
}

void CodeObject::check_target(std::string_view name) const {
  // amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-
  const std::size_t start = name.rfind("--");
  const std::string_view target = start == name.npos ? name : name.substr(start + 2);
  const std::string_view architecture = target.substr(0, target.find(':'));
  const auto fits = [&](const char* feature, bool on) {
    const std::size_t at = target.find(std::string(":") + feature);
    if (at == target.npos) return true;  // matches either setting
    const std::size_t sign = at + 1 + std::string_view(feature).size();
    return sign < target.size() && (target[sign] == '+') == on;
  };
  if (architecture != target_.architecture || !fits("xnack", target_.xnack) ||
      !fits("sramecc", target_.sramecc))
    throw CodeObjectError(
        true, fmt::format("is for {}, but the device is {} with sramecc{} and xnack{}", target,
                          target_.architecture, target_.sramecc ? '+' : '-', target_.xnack ? '+' : '-'));
}

}  // namespace weir::hipsim
