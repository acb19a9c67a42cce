// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/threads/words.hpp"

namespace weir::codegen {

using llvm::Value;

Words::Words(TaskFunction& f)
    : FunctionPart(f),
      index32_(device_.assumptions().index32),
      type_(index32_ ? b_.getInt32Ty() : b_.getInt64Ty()) {}

std::vector<Value*> Words::to_words(std::vector<Value*> values) {
  for (Value*& v : values) v = to_word(v);
  return values;
}

Value* Words::index_of(Value* low, Value* digit) {
  if (!index32_) return b_.CreateAdd(low, digit);
  return b_.CreateSExt(b_.CreateNSWAdd(to_word(low), digit), b_.getInt64Ty());
}

std::vector<Value*> Words::digits_of(const std::vector<Value*>& count, Value* number) {
  std::vector<Value*> digits(count.size());
  for (std::size_t d = count.size(); d-- > 1; number = b_.CreateUDiv(number, count[d]))
    digits[d] = b_.CreateURem(number, count[d]);
  digits[0] = number;
  return digits;
}

Digits::Digits(TaskFunction& f, const Words& words, const std::vector<Value*>& count, Value* position)
    : FunctionPart(f), type_(words.type()), count_(count) {
  for (Value* digit : Words(f).digits_of(count, position)) {
    at_.push_back(stack_slot(type_, 1, "digit"));
    b_.CreateStore(digit, at_.back());
  }
}

std::vector<Value*> Digits::values() {
  std::vector<Value*> digits;
  for (llvm::AllocaInst* digit : at_) digits.push_back(b_.CreateLoad(type_, digit));
  return digits;
}

// The sum of two numbers below `count` and a carry is below twice the count. It fits an unsigned word,
// because counts are below half of its range.
void Digits::advance(const std::vector<Value*>& step) {
  Value* carry = nullptr;
  for (std::size_t d = at_.size(); d-- > 0;) {
    Value* next = b_.CreateAdd(b_.CreateLoad(type_, at_[d]), step[d]);
    if (carry) next = b_.CreateAdd(next, b_.CreateZExt(carry, type_));
    if (d > 0) {
      carry = b_.CreateICmpUGE(next, count_[d]);
      next = b_.CreateSelect(carry, b_.CreateSub(next, count_[d]), next);
    }
    b_.CreateStore(next, at_[d]);
  }
}

}  // namespace weir::codegen
