// SPDX-License-Identifier: Apache-2.0
#include "report/sha256.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <vector>

namespace weir::conformance {
namespace {

// The first 32 bits of the fractional parts of the square and cube roots of the first 64 primes.
struct Constants {
  std::array<std::uint32_t, 8> square{};
  std::array<std::uint32_t, 64> cube{};

  Constants() {
    std::size_t count = 0;
    for (std::uint32_t n = 2; count < cube.size(); ++n) {
      bool prime = true;
      for (std::uint32_t d = 2; d * d <= n; ++d) prime = prime && n % d != 0;
      if (!prime) continue;
      if (count < square.size()) square[count] = fraction(sqrtl(static_cast<long double>(n)));
      cube[count++] = fraction(cbrtl(static_cast<long double>(n)));
    }
  }
  static std::uint32_t fraction(long double root) {
    return static_cast<std::uint32_t>((root - floorl(root)) * 4294967296.0L);
  }
};

void compress(std::array<std::uint32_t, 8>& state, const std::uint8_t* block, const Constants& constants) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t i = 0; i < 16; ++i)
    for (std::size_t byte = 0; byte < 4; ++byte) w[i] = w[i] << 8 | block[4 * i + byte];
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + constants.cube[i] + w[i];
    const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const std::array<std::uint32_t, 8> added = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state[i] += added[i];
}

}  // namespace

std::string sha256(std::span<const std::uint8_t> bytes) {
  static const Constants constants;
  std::vector<std::uint8_t> padded(bytes.begin(), bytes.end());
  padded.push_back(0x80);
  while (padded.size() % 64 != 56) padded.push_back(0);
  const std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) padded.push_back(static_cast<std::uint8_t>(bits >> shift));

  std::array<std::uint32_t, 8> state = constants.square;
  for (std::size_t at = 0; at < padded.size(); at += 64) compress(state, padded.data() + at, constants);
  std::string hexadecimal;
  for (const std::uint32_t word : state)
    for (int shift = 28; shift >= 0; shift -= 4) hexadecimal += "0123456789abcdef"[word >> shift & 15];
  return hexadecimal;
}

std::string sha256_of_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error(file.string() + " cannot be read");
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  return sha256({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

}  // namespace weir::conformance
