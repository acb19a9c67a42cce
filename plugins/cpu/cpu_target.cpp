// SPDX-License-Identifier: Apache-2.0
#include "cpu_target.hpp"

#include <cpuid.h>

#include <cstdint>
#include <initializer_list>
#include <iterator>

#include "lazy_value.hpp"

namespace weir::cpu {
namespace {

struct Registers {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(std::uint32_t leaf, std::uint32_t subleaf = 0) {
  Registers r;
  if (!__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx)) return {};
  return r;
}

/// The register state that the operating system saves for a thread: bit 1 SSE, 2 AVX, 5 to 7 AVX-512.
std::uint32_t saved_state() {
  if (!(cpuid(1).ecx >> 27 & 1)) return 0;
  std::uint32_t low;
  __asm__("xgetbv" : "=a"(low) : "c"(0) : "edx");
  return low;
}

/// One bit per feature that LLVM names and that x86-64 does not imply.
enum Feature : std::uint64_t {
  avx512vnni, avx512vbmi, avx512vbmi2, avx512bitalg, avx512vpopcntdq, avx512ifma, avx512bf16, avx512fp16,
  avx512vp2intersect, avxvnni, gfni, vaes, vpclmulqdq, aes, pclmul, sha, adx, avx, feature_count
};
constexpr const char* feature_names[] = {
    "avx512vnni", "avx512vbmi", "avx512vbmi2", "avx512bitalg", "avx512vpopcntdq", "avx512ifma", "avx512bf16",
    "avx512fp16", "avx512vp2intersect", "avxvnni", "gfni", "vaes", "vpclmulqdq", "aes", "pclmul", "sha", "adx", "avx"};
static_assert(std::size(feature_names) == feature_count);

constexpr std::uint64_t bits(std::initializer_list<Feature> features) {
  std::uint64_t set = 0;
  for (Feature feature : features) set |= std::uint64_t{1} << feature;
  return set;
}

struct Host {
  int level = 1;
  std::uint64_t features = 0;
  std::string level_name, feature_list;
};

Host look_at_processor() {
  const Registers one = cpuid(1), seven = cpuid(7), seven_one = seven.eax >= 1 ? cpuid(7, 1) : Registers{};
  const Registers extended = cpuid(0x80000001);
  const std::uint32_t saved = saved_state();
  const bool avx_saved = (saved & 0x6) == 0x6, avx512_saved = (saved & 0xe6) == 0xe6;
  auto all = [](std::uint32_t value, std::initializer_list<int> positions) {
    for (int position : positions)
      if (!(value >> position & 1)) return false;
    return true;
  };
  Host host;
  // The levels of the x86-64 psABI. Level 2: cx16 sahf popcnt sse3 ssse3 sse4.1 sse4.2. Level 3: avx avx2 bmi
  // f16c fma lzcnt movbe. Level 4: avx512 f bw cd dq vl.
  if (all(one.ecx, {0, 9, 13, 19, 20, 23}) && all(extended.ecx, {0})) host.level = 2;
  if (host.level == 2 && avx_saved && all(one.ecx, {12, 22, 28, 29}) && all(seven.ebx, {3, 5, 8}) &&
      all(extended.ecx, {5}))
    host.level = 3;
  if (host.level == 3 && avx512_saved && all(seven.ebx, {16, 17, 28, 30, 31})) host.level = 4;

  auto have = [&](bool condition, Feature feature) {
    if (condition) host.features |= std::uint64_t{1} << feature;
  };
  const bool v4 = host.level == 4, v3 = host.level >= 3;
  have(v4 && all(seven.ecx, {11}), avx512vnni);
  have(v4 && all(seven.ecx, {1}), avx512vbmi);
  have(v4 && all(seven.ecx, {6}), avx512vbmi2);
  have(v4 && all(seven.ecx, {12}), avx512bitalg);
  have(v4 && all(seven.ecx, {14}), avx512vpopcntdq);
  have(v4 && all(seven.ebx, {21}), avx512ifma);
  have(v4 && all(seven_one.eax, {5}), avx512bf16);
  have(v4 && all(seven.edx, {23}), avx512fp16);
  have(v4 && all(seven.edx, {8}), avx512vp2intersect);
  have(v3 && all(seven_one.eax, {4}), avxvnni);
  have(all(seven.ecx, {8}), gfni);
  have(v3 && all(seven.ecx, {9}), vaes);
  have(v3 && all(seven.ecx, {10}), vpclmulqdq);
  have(all(one.ecx, {25}), aes);
  have(all(one.ecx, {1}), pclmul);
  have(all(seven.ebx, {29}), sha);
  have(all(seven.ebx, {19}), adx);
  have(avx_saved && all(one.ecx, {28}), avx);

  host.level_name = host.level == 1 ? "x86-64" : "x86-64-v" + std::to_string(host.level);
  for (unsigned i = 0; i < feature_count; ++i)
    if (host.features >> i & 1 && !(i == avx && v3)) {
      if (!host.feature_list.empty()) host.feature_list += ',';
      host.feature_list += std::string("+") + feature_names[i];
    }
  // Code for level 4 prefers 256-bit vectors, because Intel's first processors of that level slow down with
  // wider ones. Later processors do not.
  if (host.features >> avx512vbmi2 & 1) host.feature_list += ",-prefer-256-bit";
  return host;
}

const Host& host() {
  static constinit LazyValue<Host> found;
  return found.get(look_at_processor);
}

struct NamedProcessor {
  const char* name;
  int level;
  std::uint64_t features;
};
constexpr std::uint64_t crypto = bits({aes, pclmul});
constexpr std::uint64_t icelake = crypto | bits({adx, sha, avx512vnni, avx512vbmi, avx512vbmi2, avx512bitalg,
                                                 avx512vpopcntdq, avx512ifma, gfni, vaes, vpclmulqdq});
constexpr NamedProcessor processors[] = {
    {"x86-64", 1, 0},
    {"x86-64-v2", 2, 0},
    {"x86-64-v3", 3, 0},
    {"x86-64-v4", 4, 0},
    {"nehalem", 2, 0},
    {"westmere", 2, bits({pclmul})},
    {"sandybridge", 2, bits({pclmul, avx})},
    {"ivybridge", 2, bits({pclmul, avx})},
    {"haswell", 3, bits({pclmul})},
    {"broadwell", 3, bits({pclmul, adx})},
    {"skylake", 3, crypto | bits({adx})},
    {"skylake-avx512", 4, crypto | bits({adx})},
    {"cascadelake", 4, crypto | bits({adx, avx512vnni})},
    {"cooperlake", 4, crypto | bits({adx, avx512vnni, avx512bf16})},
    {"icelake-client", 4, icelake},
    {"icelake-server", 4, icelake},
    {"sapphirerapids", 4, icelake | bits({avx512bf16, avx512fp16, avxvnni})},
    {"znver1", 3, crypto | bits({adx, sha})},
    {"znver2", 3, crypto | bits({adx, sha})},
    {"znver3", 3, crypto | bits({adx, sha, vaes, vpclmulqdq})},
    {"znver4", 4, icelake | bits({avx512bf16})},
    {"znver5", 4, icelake | bits({avx512bf16, avxvnni, avx512vp2intersect})},
};

bool runs(const NamedProcessor& processor) {
  return processor.level <= host().level && (processor.features & ~host().features) == 0;
}

// LLVM's scheduling for AMD's processors of level 4 is best under their own names.
std::string tuned_name() {
  const Registers vendor = cpuid(0), version = cpuid(1);
  if (host().level < 4 || vendor.ebx != signature_AMD_ebx || vendor.ecx != signature_AMD_ecx) return "";
  const unsigned family = (version.eax >> 8 & 0xf) + (version.eax >> 20 & 0xff);
  const std::string_view name = family >= 0x1a ? "znver5" : "znver4";
  for (const NamedProcessor& processor : processors)
    if (processor.name == name && runs(processor)) return processor.name;
  return "";
}

}  // namespace

const std::string& host_target() {
  static constinit LazyValue<std::string> name;
  return name.get([] { return tuned_name().empty() ? host().level_name : tuned_name(); });
}
const std::string& host_level() { return host().level_name; }
const std::string& host_features() { return host().feature_list; }

bool executes(std::string_view target) {
  for (const NamedProcessor& processor : processors)
    if (target == processor.name) return runs(processor);
  return false;
}

std::string executed_targets() {
  std::string list;
  for (const NamedProcessor& processor : processors)
    if (runs(processor)) list += (list.empty() ? "" : ", ") + std::string(processor.name);
  return list;
}

}  // namespace weir::cpu
