// SPDX-License-Identifier: Apache-2.0
// Exchanges of values of any type between lanes, which exchange i32.
#pragma once

#include "codegen/targets/device_model.hpp"

namespace weir::codegen {

/// `v`, a number of at most 64 bits, after move(word) has moved each of its words between lanes.
template <class Move>
llvm::Value* moved_in_words(Builder& b, llvm::Value* v, const Move& move) {
  llvm::Type* type = v->getType();
  const unsigned bits = type->getPrimitiveSizeInBits();
  llvm::Value* whole = b.CreateBitCast(v, b.getIntNTy(bits));
  if (bits <= 32) {
    llvm::Value* moved = move(b.CreateZExt(whole, b.getInt32Ty()));
    return b.CreateBitCast(b.CreateTrunc(moved, b.getIntNTy(bits)), type);
  }
  llvm::Value* low = move(b.CreateTrunc(whole, b.getInt32Ty()));
  llvm::Value* high = move(b.CreateTrunc(b.CreateLShr(whole, 32), b.getInt32Ty()));
  llvm::Value* joined =
      b.CreateOr(b.CreateZExt(low, b.getInt64Ty()), b.CreateShl(b.CreateZExt(high, b.getInt64Ty()), 32));
  return b.CreateBitCast(joined, type);
}

}  // namespace weir::codegen
