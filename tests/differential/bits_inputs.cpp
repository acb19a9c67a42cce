// SPDX-License-Identifier: Apache-2.0
#include "bits_inputs.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <thread>

namespace weir::test {
namespace {

struct Format {
  unsigned mantissa, exponent;
  unsigned bits() const { return 1 + exponent + mantissa; }
  int bias() const { return (1 << (exponent - 1)) - 1; }
};

Format format_of(ScalarType type) {
  return type == ScalarType::f16 ? Format{10, 5} : type == ScalarType::f32 ? Format{23, 8} : Format{52, 11};
}

std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

std::uint64_t mask_of(ScalarType type) {
  return size_of(type) == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * size_of(type))) - 1;
}

/// The float nearest to `v`, rounded down, for small sets of ordinary numbers.
std::uint64_t float_bits(ScalarType type, double v) {
  if (type == ScalarType::f64) return std::bit_cast<std::uint64_t>(v);
  if (type == ScalarType::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(v));
  const auto bits = std::bit_cast<std::uint64_t>(v);
  const std::int64_t exponent = std::int64_t((bits >> 52) & 0x7ff) - 1023;
  const std::uint64_t sign = bits >> 63 << 15;
  if (v == 0 || exponent < -14) return sign;
  if (exponent > 15) return sign | 0x7c00;
  return sign | std::uint64_t(exponent + 15) << 10 | (bits >> 42 & 0x3ff);
}

/// A random float: either all bits random, or a magnitude in the functions' significant range.
std::uint64_t random_float(ScalarType type, std::uint64_t r, std::size_t i) {
  const Format f = format_of(type);
  const std::uint64_t sign = (r >> 63) << (f.bits() - 1);
  const std::uint64_t fraction = r & ((std::uint64_t{1} << f.mantissa) - 1);
  const auto with_exponent = [&](int low, int high) {
    const int e = low + int((r >> 52 & 0x3ff) % unsigned(high - low + 1));
    return sign | std::uint64_t(std::clamp(e + f.bias(), 0, 2 * f.bias())) << f.mantissa | fraction;
  };
  switch (i % 4) {
    case 0:
      return r & mask_of(type);
    case 1:
      return with_exponent(-24, -1);  // inside (-1, 1)
    case 2:
      return with_exponent(-3, 7);  // up to 256
    default:
      return with_exponent(-f.bias() / 2, f.bias() / 2);
  }
}

std::uint64_t random_integer(ScalarType type, std::uint64_t r, std::size_t i) {
  const unsigned bits = unsigned(8 * size_of(type));
  switch (i % 3) {
    case 0:
      return r & mask_of(type);
    case 1: {
      const std::uint64_t small = r % 256;
      return (is_signed(type) ? small - 128 : small) & mask_of(type);
    }
    default:
      return (r >> (r % bits)) & mask_of(type);
  }
}

}  // namespace

std::vector<std::uint64_t> special_values(ScalarType type) {
  if (type == ScalarType::boolean) return {0, 1};
  std::vector<std::uint64_t> values;
  const std::uint64_t mask = mask_of(type);
  if (size_of(type) == 1) {
    for (std::uint64_t v = 0; v < 256; ++v) values.push_back(v);
  } else if (!is_float(type)) {
    const unsigned bits = unsigned(8 * size_of(type));
    for (const std::int64_t v : {0, 1, 2, 3, 5, 7, 10, 16, 31, 32, 63, 64, 100, 127})
      for (const std::int64_t sign : {1, -1}) values.push_back(std::uint64_t(v * sign) & mask);
    const std::uint64_t half = std::uint64_t{1} << (bits - 1);
    for (const std::uint64_t v : {half, half - 1, half + 1, half / 2, half - 2}) values.push_back(v & mask);
  } else {
    const Format f = format_of(type);
    const std::uint64_t infinity = ((std::uint64_t{1} << f.exponent) - 1) << f.mantissa;
    const std::uint64_t one_ulp = 1, normal = std::uint64_t{1} << f.mantissa;
    std::vector<std::uint64_t> sizes{0,           one_ulp,    2,        normal - 1,   normal,
                                     normal + 1,  normal * 2, infinity, infinity - 1, infinity | normal / 2,
                                     infinity | 1};
    for (const double v : {0.25,
                           0.5,
                           0.75,
                           1.0,
                           1.5,
                           2.0,
                           2.5,
                           3.0,
                           4.0,
                           10.0,
                           100.0,
                           127.0,
                           127.5,
                           128.0,
                           255.0,
                           255.5,
                           256.0,
                           0.7853981633974483,
                           1.5707963267948966,
                           3.141592653589793,
                           6.283185307179586,
                           0.6931471805599453,
                           2.718281828459045,
                           32767.0,
                           32768.0,
                           65504.0,
                           65535.5,
                           88.7,
                           104.0,
                           709.7,
                           745.2,
                           16777216.0,
                           16777217.0,
                           2147483647.0,
                           2147483648.0,
                           4294967295.0,
                           4294967296.0,
                           9223372036854775807.0,
                           18446744073709551615.0,
                           1e10,
                           1e22,
                           1e30}) {
      const std::uint64_t bits = float_bits(type, v);
      for (const std::uint64_t near : {bits - 1, bits, bits + 1}) sizes.push_back(near);
    }
    for (const std::uint64_t size : sizes) {
      values.push_back(size & mask >> 1);
      values.push_back((size & mask >> 1) | std::uint64_t{1} << (f.bits() - 1));
    }
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

std::vector<std::byte> operands(ScalarType type, std::size_t count, unsigned which) {
  const std::vector<std::uint64_t> special = special_values(type);
  const std::size_t size = size_of(type);
  const std::size_t combinations = 300 * 300;  // at least as many as special values of any two types
  std::vector<std::byte> bytes(count * size);
  const auto fill = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      std::uint64_t v;
      if (i < combinations) {
        const std::size_t pair = i * 7919 % combinations;  // every value of each occurs early
        const std::size_t k = which == 0   ? pair % 300
                              : which == 1 ? pair / 300
                                           : (pair * 7 + pair / 300) % 300;
        v = special[k % special.size()];
      } else {
        const std::uint64_t r = mix(i * 3 + which);
        if (type == ScalarType::boolean)
          v = r & 1;
        else if (size_of(type) == 2 && which == 0)
          v = i & 0xffff;  // so that every value occurs
        else
          v = is_float(type) ? random_float(type, r, i / (which + 1))
                             : random_integer(type, r, i / (which + 1));
      }
      std::memcpy(bytes.data() + i * size, &v, size);
    }
  };
  std::vector<std::jthread> threads;
  const std::size_t parts = std::max(1u, std::thread::hardware_concurrency());
  for (std::size_t p = 0; p < parts; ++p)
    threads.emplace_back(fill, count * p / parts, count * (p + 1) / parts);
  threads.clear();
  return bytes;
}

}  // namespace weir::test
