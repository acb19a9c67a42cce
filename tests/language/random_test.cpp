// SPDX-License-Identifier: Apache-2.0
// Random numbers: reproducible, independent, and laid out as documented.
#include <array>
#include <cmath>
#include <set>

#include "support.hpp"

namespace weir::test {
namespace {

using Block = std::array<std::uint32_t, 4>;

// Philox 4x32-10 as described by its authors.
Block philox(Block counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0],
                        b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

std::uint32_t site(std::string_view kernel, std::uint32_t number) {
  std::uint32_t hash = 2166136261u;
  for (const char c : kernel) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash + number;
}

// The finaliser of SplitMix64.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

const Kernel draw{"draw", [](View<std::uint32_t> x) {
                    range_for(x.size(), [&](Index i) { x[i] = random<std::uint32_t>(); });
                  }};

std::vector<std::uint32_t> drawn(const LaunchOptions& options, std::size_t count = 64) {
  auto x = tested().array<std::uint32_t>(count);
  draw(options, tested().default_stream(), x);
  return x.to_host();
}

// proves R22
TEST(Random, IsReproducibleForSeedAndLaunch) {
  EXPECT_EQ(drawn({.seed = 1, .launch_number = 5}), drawn({.seed = 1, .launch_number = 5}));
  EXPECT_NE(drawn({.seed = 1, .launch_number = 5}), drawn({.seed = 2, .launch_number = 5}));
  EXPECT_NE(drawn({.seed = 1, .launch_number = 5}), drawn({.seed = 1, .launch_number = 6}));
  EXPECT_NE(drawn({.seed = 1}), drawn({.seed = 1}));  // each launch takes the next number
}

// proves R22
TEST(Random, CountersAreLaidOutAsDocumented) {
  const Kernel kernel{"layout", [](View<std::uint32_t> x, View<std::uint32_t> twice) {
                        range_for(x.size(), [&](Index i) { x[i] = random<std::uint32_t>(); });
                        range_for(range(3, 5), 2, [&](Index i, Index j) {
                          for_(0, 2,
                               [&](Index k) { twice[((i - 3) * 2 + j) * 2 + k] = random<std::uint32_t>(); });
                        });
                      }};
  auto x = tested().array<std::uint32_t>(4), twice = tested().array<std::uint32_t>(8);
  kernel(LaunchOptions{.seed = 7, .launch_number = 3}, tested().default_stream(), x, twice);
  const auto got = x.to_host(), loops = twice.to_host();
  const std::uint64_t key = mix(mix(7 + 0x9e3779b97f4a7c15u) + 3);
  const std::array<std::uint32_t, 2> words{static_cast<std::uint32_t>(key),
                                           static_cast<std::uint32_t>(key >> 32)};
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(philox({i, 0, site("layout", 0), 0}, words)[0], got[i]);
  for (std::uint32_t e = 0; e < 4; ++e) {
    for (std::uint32_t k = 0; k < 2; ++k) {
      EXPECT_EQ(philox({e, 0, site("layout", 1), k}, words)[0], loops[2 * e + k]);
    }
  }
}

// proves R22
TEST(Random, InConcurrentBlocksIsIndependentOfTheirNumber) {
  const auto body = [](View<float> x, View<float> y) {
    stream_parallel([&] { range_for(x.size(), [&](Index i) { x[i] = random<float>(); }); });
    stream_parallel([&] { range_for(y.size(), [&](Index i) { y[i] = random<float>(); }); });
  };
  const auto in_order = [](View<float> x, View<float> y) {
    range_for(x.size(), [&](Index i) { x[i] = random<float>(); });
    range_for(y.size(), [&](Index i) { y[i] = random<float>(); });
  };
  const Kernel blocks{"same", body};
  const Kernel loops{"same", in_order};
  const LaunchOptions options{.seed = 3, .launch_number = 1};
  auto x = tested().array<float>(10000), y = tested().array<float>(10000);
  blocks(options, tested().default_stream(), x, y);
  const auto x1 = x.to_host(), y1 = y.to_host();
  loops(options, tested().default_stream(), x, y);
  EXPECT_EQ(x.to_host(), x1);
  EXPECT_EQ(y.to_host(), y1);
  EXPECT_NE(x1, y1);
}

TEST(Random, UniformNumbersFillTheirRange) {
  const Kernel kernel{"uniform", [](View<float> x, View<double> y) {
                        range_for(x.size(), [&](Index i) {
                          x[i] = random<float>();
                          y[i] = random<double>();
                        });
                      }};
  auto x = tested().array<float>(100000);
  auto y = tested().array<double>(100000);
  kernel(LaunchOptions{.seed = 11, .launch_number = 0}, tested().default_stream(), x, y);
  double sum = 0;
  for (const float v : x.to_host()) {
    ASSERT_GE(v, 0);
    ASSERT_LT(v, 1);
    sum += v;
  }
  EXPECT_NEAR(sum / 100000, 0.5, 0.01);
  sum = 0;
  for (const double v : y.to_host()) {
    ASSERT_GE(v, 0);
    ASSERT_LT(v, 1);
    sum += v;
  }
  EXPECT_NEAR(sum / 100000, 0.5, 0.01);
}

TEST(Random, NormalNumbersHaveMeanZeroAndVarianceOne) {
  const Kernel kernel{
      "normal", [](View<float> x) { range_for(x.size(), [&](Index i) { x[i] = random_normal<float>(); }); }};
  auto x = tested().array<float>(100000);
  kernel(LaunchOptions{.seed = 5, .launch_number = 0}, tested().default_stream(), x);
  double sum = 0, squares = 0;
  for (const float v : x.to_host()) {
    ASSERT_TRUE(std::isfinite(v));
    sum += v;
    squares += static_cast<double>(v) * v;
  }
  EXPECT_NEAR(sum / 100000, 0, 0.02);
  EXPECT_NEAR(squares / 100000, 1, 0.03);
}

TEST(Random, DrawsInALoopDiffer) {
  const Kernel kernel{"loop", [](View<std::uint32_t> x) {
                        for_(0, x.size(), [&](Index i) { x[i] = random<std::uint32_t>(); });
                      }};
  const auto got = run<std::uint32_t>(kernel, 100);
  EXPECT_EQ(std::set<std::uint32_t>(got.begin(), got.end()).size(), got.size());
}

// proves R22
TEST(Random, OfANumberedElementDoesNotDependOnTheIteration) {
  const Kernel pair{"piece", [](View<std::uint32_t> words, View<double> normals, Index first) {
                      range_for(words.size(), [&](Index i) {
                        words[i] = random<std::uint32_t>(first + i);
                        normals[i] = random_normal<double>(first + i);
                      });
                    }};
  const Kernel plain{"piece", [](View<std::uint32_t> words, View<double> normals) {
                       range_for(words.size(), [&](Index i) {
                         words[i] = random<std::uint32_t>();
                         normals[i] = random_normal<double>();
                       });
                     }};
  const Stream stream = tested().create_stream();
  const LaunchOptions options{.seed = 3, .launch_number = 2};
  auto words = tested().array<std::uint32_t>(stream, 100), piece = tested().array<std::uint32_t>(stream, 30);
  auto normals = tested().array<double>(stream, 100), normal_piece = tested().array<double>(stream, 30);
  plain(options, stream, words, normals);
  pair(options, stream, piece, normal_piece, 50);
  EXPECT_EQ(piece.to_host(stream), words.slice(50, 80).to_host(stream));
  EXPECT_EQ(normal_piece.to_host(stream), normals.slice(50, 80).to_host(stream));
}

// In the first launch, merged loops overwrite the draws before anything reads them.
TEST(Random, ALaunchTakesItsNumberWhateverItsDrawsAreFor) {
  const auto second_launch = [](bool fusion) {
    const Kernel noise{"numbered",
                       [](View<float> x, View<float> y, View<float> z) {
                         range_for(x.size(), [&](Index i) { x[i] = random<float>(); });
                         range_for(x.size(), [&](Index i) { z[i] = y[i]; });
                         range_for(x.size(), [&](Index i) { x[i] = y[i] + 1.0f; });
                       },
                       {.fusion = fusion}};
    auto x = upload(ramp<float>(100)), y = upload(ramp<float>(100)), z = upload(ramp<float>(100));
    noise(x, y, z);
    noise(x, x, z);
    return z.to_host();
  };
  EXPECT_EQ(second_launch(true), second_launch(false));
}

}  // namespace
}  // namespace weir::test
