// SPDX-License-Identifier: Apache-2.0
// Lowers packets (packets.hpp) to instructions.
#pragma once

#include <vector>

#include "codegen/lowering/loops.hpp"
#include "codegen/lowering/threads/words.hpp"

namespace weir::codegen {

/// Packets begin at multiples of their width in the last dimension, for all bounds of the loop. The first and
/// the last packet of a row may be partly outside: they are its edges.
class PacketLoops : private FunctionPart {
 public:
  /// Keeps references to all arguments. `width` is a power of two.
  PacketLoops(TaskFunction& f, const Iteration& around, const ir::Statement& loop, const Space& space,
              std::uint32_t width);

  /// The number of packets in each dimension, and the first index in each; in the last dimension counted in
  /// packets; i64.
  const std::vector<llvm::Value*>& count() const { return count_; }
  const std::vector<llvm::Value*>& low() const { return low_; }

  /// The packet at `place`, which is counted from low(), in words.
  void run(const std::vector<llvm::Value*>& place);
  /// A share of the packets of a one-dimensional loop, in words. Whole packets come first, so that no round
  /// computes anything for the edges.
  void walk(const Share& share);

 private:
  llvm::Value* first_index(llvm::Value* packet);
  void run_whole(const std::vector<llvm::Value*>& first);
  void run_edge(std::vector<llvm::Value*> first);

  const Iteration& around_;
  const ir::Statement& loop_;
  const Space& space_;
  std::uint32_t width_;
  Words words_;
  std::vector<llvm::Value*> count_, low_;
  llvm::Value *whole_from_ = nullptr,
              *whole_to_ = nullptr;  // the packets of a row that have all their iterations, in words
};

}  // namespace weir::codegen
