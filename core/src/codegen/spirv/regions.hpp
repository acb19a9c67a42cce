// SPDX-License-Identifier: Apache-2.0
// Memory other than arrays: locals of an iteration, memory of a block, constant tables. Vulkan has no
// addresses of these, so each becomes a variable that is an array of unsigned integers, or of vectors of
// them, and a pointer into it is an offset in bytes.
#pragma once

#include <llvm/IR/Module.h>

#include <map>
#include <vector>

#include "codegen/spirv/module_builder.hpp"

namespace weir::codegen::spirv {

struct Region {
  StorageClass storage;
  /// Of a number: the smallest access, so that every access is of whole numbers.
  unsigned bits = 0;
  /// Numbers of an element: more than 1 if all accesses are of aligned vectors of this length.
  unsigned components = 1;
  std::uint64_t bytes = 0;  ///< of all objects
  std::vector<const llvm::Value*> objects;
  Id variable = 0;

  std::uint32_t elements() const { return std::uint32_t(bytes * 8 / (bits * components)); }
};

class Regions {
 public:
  /// Finds the objects of `module` and the accesses to them. Objects share a region where one access may be
  /// to either. Throws Error{compile} for an address whose object is unknown.
  explicit Regions(const llvm::Module& module);

  /// The region that an access through `pointer` is to; null when it is in device memory.
  Region* of(const llvm::Value* pointer);
  /// The offset of an object in its region; 0 when nothing accesses it.
  std::uint64_t offset(const llvm::Value* object) const;
  std::vector<Region>& all() { return regions_; }

 private:
  void look_at(const llvm::Value* pointer, const llvm::Type* type, llvm::Align align);
  std::size_t region_of(const llvm::Value* object);
  std::size_t join(std::size_t a, std::size_t b);
  static void reshape(Region& region, unsigned bits, unsigned components);
  void lay_out(const llvm::DataLayout& layout);

  std::vector<Region> regions_;
  std::map<const llvm::Value*, std::size_t> of_object_;
  std::map<const llvm::Value*, std::uint64_t> offsets_;
};

/// Whether a pointer of this type is an address in device memory.
bool is_device_address(const llvm::Type* type);
/// Whether a pointer of this type is into the memory of a block.
bool is_block_address(const llvm::Type* type);

}  // namespace weir::codegen::spirv
