// SPDX-License-Identifier: Apache-2.0
// A stream of choices: endless from a seed, or from the bytes of a fuzzer, which thus control the generated
// input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weir::test {

class Choices {
 public:
  explicit Choices(std::uint64_t seed) : state_(seed) {}
  explicit Choices(std::span<const std::uint8_t> bytes) : bytes_(bytes), from_bytes_(true) {}

  /// A number below `limit`; 0 after the last byte.
  std::size_t below(std::size_t limit) {
    return limit < 2 ? 0 : (from_bytes_ ? take(limit) : next()) % limit;
  }
  bool chance(std::size_t one_in) { return below(one_in) == one_in - 1; }
  std::uint64_t bits() {
    return from_bytes_ ? (take(1u << 16) << 48) | (take(1u << 16) << 24) | take(1u << 16) : next();
  }

 private:
  // splitmix64
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::uint64_t take(std::size_t limit) {
    std::uint64_t value = 0;
    for (std::size_t covered = 1; covered < limit && at_ < bytes_.size(); covered <<= 8)
      value = value << 8 | bytes_[at_++];
    return value;
  }

  std::uint64_t state_ = 0;
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  bool from_bytes_ = false;
};

}  // namespace weir::test
