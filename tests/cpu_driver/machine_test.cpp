// SPDX-License-Identifier: Apache-2.0
// What the driver finds on machines that are made up here: the files of the system and its processors.
#include <asm/prctl.h>
#include <cpuid.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <csignal>
#include <map>
#include <set>
#include <sstream>

#include "fresh_driver.hpp"
#include "made_affinity.hpp"

namespace {

/// The contents of the files below /proc and /sys by their paths. Others do not exist.
using Files = std::map<std::string, std::string>;

const Files* made_files = nullptr;  // null: those of this machine
long made_processors = 0;           // that are online; 0: those of this machine
long made_pages = 0;                // of memory

template <class Function>
Function* next(const char* name, Function*) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

int (*cpu_test::made_affinity)(std::size_t, cpu_set_t*) = nullptr;

// The driver finds the program's functions first.
extern "C" __attribute__((visibility("default"))) std::FILE* fopen64(const char* path, const char* mode) {
  static auto* const real = next("fopen64", &fopen64);
  const std::string name = path;
  if (!made_files || !(name.starts_with("/proc/") || name.starts_with("/sys/"))) return real(path, mode);
  const auto found = made_files->find(name);
  if (found == made_files->end()) {
    errno = ENOENT;
    return nullptr;
  }
  const int file = memfd_create("made", 0);
  const std::string& text = found->second;
  if (file < 0 || pwrite(file, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    std::abort();
  return fdopen(file, "r");
}

extern "C" __attribute__((visibility("default"))) long sysconf(int name) noexcept {
  static auto* const real = next("sysconf", &sysconf);
  if (name == _SC_NPROCESSORS_ONLN && made_processors) return made_processors;
  if (name == _SC_PHYS_PAGES && made_pages) return made_pages;
  return real(name);
}

namespace cpu_test {
namespace {

weir_device_info info_of(const weir_driver_table& driver) {
  weir_device_info info{};
  info.struct_size = sizeof info;
  call(driver.device_get_info, 0u, &info);
  return info;
}

template <int... processors>
int these(std::size_t bytes, cpu_set_t* set) {
  std::memset(set, 0, bytes);
  for (const int processor : {processors...}) CPU_SET_S(processor, bytes, set);
  return 0;
}

/// As Linux on a machine with 20,000 processors: a set of fewer is refused. Fills it with garbage before.
int of_20000_processors(std::size_t bytes, cpu_set_t* set) {
  std::memset(set, 0xff, bytes);
  if (bytes < 20'000 / 8) {
    errno = EINVAL;
    return -1;
  }
  return these<1, 2, 19'999>(bytes, set);
}

int of_no_known_processor(std::size_t bytes, cpu_set_t* set) {
  std::memset(set, 0xff, bytes);
  errno = ENOSYS;
  return -1;
}

/// The machine of this process until the destructor: 16 processors with 64 GiB.
class MadeMachine {
 public:
  explicit MadeMachine(Files files) : files_(std::move(files)) {
    made_files = &files_;
    made_affinity = these<0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>;
    made_pages = (64 * gibibyte) / sysconf(_SC_PAGESIZE);
  }
  ~MadeMachine() {
    made_files = nullptr;
    made_affinity = nullptr;
    made_processors = made_pages = 0;
  }
  static constexpr long gibibyte = 1l << 30;
  std::uint32_t cores() const { return info_of(fresh_driver()).multiprocessors; }
  std::uint64_t memory() const { return info_of(fresh_driver()).total_memory; }

 private:
  const Files files_;
};

TEST(MadeMachine, HasTheProcessorsThatTheProcessMayUse) {
  MadeMachine machine({});
  EXPECT_EQ(machine.cores(), 16u);
  made_affinity = these<5>;
  EXPECT_EQ(machine.cores(), 1u);
  made_affinity = of_20000_processors;
  EXPECT_EQ(machine.cores(), 3u);
  made_affinity = of_no_known_processor;  // all that are online
  made_processors = 7;
  EXPECT_EQ(machine.cores(), 7u);
  made_processors = -1;
  EXPECT_EQ(machine.cores(), 1u);
}

TEST(MadeMachine, HasTheCoresOfItsControlGroups) {
  const std::string cgroup = "/proc/self/cgroup", root = "/sys/fs/cgroup";
  const struct {
    Files files;
    std::uint32_t cores;
  } machines[] = {
      {{{cgroup, "0::/a/b\n"}, {root + "/a/b/cpu.max", "250000 100000\n"}}, 3},  // a part of a core counts
      {{{cgroup, "0::/a/b\n"}, {root + "/a/b/cpu.max", "200000 100000\n"}}, 2},
      {{{cgroup, "0::/a/b\n"}, {root + "/a/b/cpu.max", "1000 100000\n"}}, 1},
      {{{cgroup, "0::/a/b\n"}, {root + "/a/b/cpu.max", "max 100000\n"}}, 16},
      {{{cgroup, "0::/a/b\n"}, {root + "/a/b/cpu.max", "9900000 100000\n"}}, 16},
      {{{cgroup, "0::/a/b\n"}, {root + "/a/b/cpu.max", "100000 0\n"}}, 16},
      // The lowest limit of all folders up to the root.
      {{{cgroup, "0::/a/b\n"},
        {root + "/a/b/cpu.max", "800000 100000\n"},
        {root + "/a/cpu.max", "400000 100000\n"}},
       4},
      {{{cgroup, "0::/a/b\n"}, {root + "/cpu.max", "500000 100000\n"}}, 5},
      {{{cgroup, "0::/\n"}, {root + "/cpu.max", "500000 100000\n"}}, 5},
      // Version 1 has a tree for each controller.
      {{{cgroup, "9:name=systemd:/x\n4:cpu,cpuacct:/a\n0::/\n"},
        {root + "/cpu/a/cpu.cfs_quota_us", "600000\n"},
        {root + "/cpu/a/cpu.cfs_period_us", "100000\n"},
        {root + "/x/cpu.max", "100000 100000\n"},
        {root + "/cpu/x/cpu.max", "100000 100000\n"}},
       6},
      {{{cgroup, "4:cpuacct,cpu:/a\n"},
        {root + "/cpu/cpu.cfs_quota_us", "700000\n"},
        {root + "/cpu/cpu.cfs_period_us", "100000\n"}},
       7},
      {{{cgroup, "4:cpu:/a\n"},
        {root + "/cpu/a/cpu.cfs_quota_us", "-1\n"},
        {root + "/cpu/a/cpu.cfs_period_us", "100000\n"}},
       16},
      {{{cgroup, "4:cpuset:/a\nno group\n"}, {root + "/cpu/a/cpu.max", "100000 100000\n"}}, 16},
  };
  for (const auto& [files, cores] : machines) {
    const MadeMachine machine(files);
    EXPECT_EQ(machine.cores(), cores)
        << "machine " << &cores - &machines[0].cores << ": " << files.begin()->second;
  }
}

TEST(MadeMachine, HasTheMemoryOfItsControlGroups) {
  const std::string cgroup = "/proc/self/cgroup", root = "/sys/fs/cgroup";
  const std::uint64_t all = 64 * MadeMachine::gibibyte;
  const struct {
    Files files;
    std::uint64_t bytes;
  } machines[] = {
      {{}, all},
      {{{cgroup, "0::/a/b\n"}, {root + "/a/b/memory.max", "5000000000\n"}}, 5'000'000'000},
      {{{cgroup, "0::/a/b\n"}, {root + "/a/b/memory.max", "max\n"}, {root + "/a/memory.max", "7000000000\n"}},
       7'000'000'000},
      {{{cgroup, "0::/a/b\n"}, {root + "/a/b/memory.max", "99999999999999\n"}}, all},
      {{{cgroup, "3:memory:/a\n"}, {root + "/memory/a/memory.limit_in_bytes", "6000000000\n"}},
       6'000'000'000},
      {{{cgroup, "3:memory:/a\n"}, {root + "/memory/memory.limit_in_bytes", "6000000000\n"}}, 6'000'000'000},
  };
  for (const auto& [files, bytes] : machines) EXPECT_EQ(MadeMachine(files).memory(), bytes);
}

TEST(MadeMachine, IsNamedByTheSystemsKernel) {
  const std::string processors =
      "processor\t: 0\nvendor_id\t: TheVendor\nmodel name\t: A Processor: Fast\nmodel name\t: Another\n";
  {
    const MadeMachine machine({{"/proc/cpuinfo", processors}});
    const weir_device_info info = info_of(fresh_driver());
    EXPECT_STREQ(info.name, "A Processor: Fast");
    EXPECT_STREQ(info.vendor, "TheVendor");
  }
  const MadeMachine machine({{"/proc/cpuinfo", "model name\n"}});
  const weir_device_info info = info_of(fresh_driver());
  EXPECT_STREQ(info.name, "x86-64 processor");
  EXPECT_STREQ(info.vendor, "");
}

TEST(MadeMachine, HasTheFreeMemoryThatTheSystemReports) {
  const auto free_of = [](const Files& files, std::uint64_t allocated = 0) {
    const MadeMachine machine(files);
    const weir_driver_table& driver = fresh_driver();
    weir_device device = nullptr;
    call(driver.device_open, 0u, &device);
    const weir_memory_options options = memory_options(allocated);
    weir_allocation memory = nullptr;
    if (allocated) call(driver.memory_allocate, device, &options, &memory);
    std::uint64_t free = 0, total = 0;
    call(driver.device_get_memory, device, &free, &total);
    EXPECT_EQ(total, info_of(driver).total_memory);
    if (memory) call(driver.memory_free, memory);
    return free;
  };
  const std::uint64_t all = 64 * MadeMachine::gibibyte;
  EXPECT_EQ(free_of({{"/proc/meminfo", "MemTotal: 5 kB\nMemAvailable:   3000 kB\nBuffers: 7 kB\n"}}),
            3'072'000u);
  EXPECT_EQ(free_of({{"/proc/meminfo", "MemTotal: 5 kB\nMemAvailable: 99999999999 kB\n"}}), all);
  EXPECT_EQ(free_of({}), all);
  EXPECT_EQ(free_of({}, 1'000'000), all - 1'000'000);
}

// The processor ------------------------------------------------------------------------------------------

struct Bit {
  std::uint32_t leaf, subleaf;
  int where;  // REG_RAX, REG_RBX, REG_RCX or REG_RDX
  unsigned number;
  auto operator<=>(const Bit&) const = default;
};

constexpr std::uint32_t basic = 1, more = 7, extended = 0x80000001;

struct Processor {
  std::set<Bit> bits;
  bool amd = false;
  std::uint32_t version = 0x806f8;  // of an Intel processor
};

const Processor* made_processor = nullptr;

std::uint32_t answer(std::uint32_t leaf, std::uint32_t subleaf, int where) {
  if (leaf == 0) {
    if (where == REG_RAX) return more;
    if (where == REG_RBX) return made_processor->amd ? signature_AMD_ebx : signature_INTEL_ebx;
    if (where == REG_RCX) return made_processor->amd ? signature_AMD_ecx : signature_INTEL_ecx;
    return made_processor->amd ? signature_AMD_edx : signature_INTEL_edx;
  }
  if (leaf == 0x80000000) return where == REG_RAX ? extended : 0;
  if (leaf == basic && where == REG_RAX) return made_processor->version;
  if (leaf == more && subleaf == 0 && where == REG_RAX) return 1;  // subleaves
  std::uint32_t value = 0;
  for (const Bit& bit : made_processor->bits)
    if (bit.leaf == leaf && bit.subleaf == subleaf && bit.where == where) value |= 1u << bit.number;
  return value;
}

void run_cpuid(int, siginfo_t*, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto* const code = reinterpret_cast<const unsigned char*>(registers[REG_RIP]);
  if (!made_processor || code[0] != 0x0f || code[1] != 0xa2) {
    std::signal(SIGSEGV, SIG_DFL);
    return;
  }
  const auto leaf = static_cast<std::uint32_t>(registers[REG_RAX]);
  const auto subleaf = leaf == more ? static_cast<std::uint32_t>(registers[REG_RCX]) : 0;
  for (const int where : {REG_RAX, REG_RBX, REG_RCX, REG_RDX})
    registers[where] = static_cast<greg_t>(answer(leaf, subleaf, where));
  registers[REG_RIP] += 2;
}

/// Lets the instruction `cpuid` of this thread fault, so that run_cpuid() answers it. False if the machine
/// cannot.
bool intercept_cpuid(bool on) {
  return syscall(SYS_arch_prctl, ARCH_SET_CPUID, on ? 0ul : 1ul) == 0;
}

struct Findings {
  std::vector<std::string> targets;  // of the device
  std::string features;              // of the first target
  std::set<std::string> executed;    // names of processors whose code is accepted
};

Findings findings_on(const Processor& processor) {
  const weir_driver_table& driver = fresh_driver();
  struct sigaction handler = {}, before;
  handler.sa_sigaction = run_cpuid;
  handler.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &handler, &before);
  made_processor = &processor;
  intercept_cpuid(true);
  weir_device_info info{};
  info.struct_size = sizeof info;
  const weir_result result = driver.device_get_info(0, &info, nullptr);
  intercept_cpuid(false);
  made_processor = nullptr;
  sigaction(SIGSEGV, &before, nullptr);
  EXPECT_EQ(result, WEIR_OK);
  Findings found{{}, info.target_features, {}};
  for (std::uint32_t i = 0; i < info.code_target_count; ++i)
    found.targets.push_back(info.code_targets[i].target);
  weir_device device = nullptr;
  call(driver.device_open, 0u, &device);
  const weir_code_object object{sizeof object, "elf-x86_64", "no processor", "", 1, ""};
  weir_module module = nullptr;
  std::string message = refusal(WEIR_ERROR_CODE_OBJECT, driver.module_load, device, &object, &module);
  const std::size_t begin = message.find("for targets ") + 12;
  std::istringstream list(message.substr(begin, message.find("; compile") - begin));
  for (std::string name; std::getline(list >> std::ws, name, ',');) found.executed.insert(name);
  return found;
}

// The bits that Intel and AMD document.
const std::vector<Bit> level2 = {{basic, 0, REG_RCX, 0},   {basic, 0, REG_RCX, 9},  {basic, 0, REG_RCX, 13},
                                 {basic, 0, REG_RCX, 19},  {basic, 0, REG_RCX, 20}, {basic, 0, REG_RCX, 23},
                                 {extended, 0, REG_RCX, 0}};
const std::vector<Bit> level3 = {{basic, 0, REG_RCX, 12}, {basic, 0, REG_RCX, 22},  {basic, 0, REG_RCX, 28},
                                 {basic, 0, REG_RCX, 29}, {more, 0, REG_RBX, 3},    {more, 0, REG_RBX, 5},
                                 {more, 0, REG_RBX, 8},   {extended, 0, REG_RCX, 5}};
const std::vector<Bit> level4 = {{more, 0, REG_RBX, 16},
                                 {more, 0, REG_RBX, 17},
                                 {more, 0, REG_RBX, 28},
                                 {more, 0, REG_RBX, 30},
                                 {more, 0, REG_RBX, 31}};
const Bit saves_state = {basic, 0, REG_RCX, 27};  // OSXSAVE

struct Feature {
  Bit bit;
  const char* name;
  int level;               // below which it is not listed
  const char* processors;  // that have it, among the names of the driver
};
const std::vector<Feature> features = {
    {{more, 0, REG_RCX, 11},
     "avx512vnni",
     4,
     "cascadelake cooperlake icelake-client icelake-server sapphirerapids znver4 znver5"},
    {{more, 0, REG_RCX, 1}, "avx512vbmi", 4, "icelake-client icelake-server sapphirerapids znver4 znver5"},
    {{more, 0, REG_RCX, 6}, "avx512vbmi2", 4, "icelake-client icelake-server sapphirerapids znver4 znver5"},
    {{more, 0, REG_RCX, 12}, "avx512bitalg", 4, "icelake-client icelake-server sapphirerapids znver4 znver5"},
    {{more, 0, REG_RCX, 14},
     "avx512vpopcntdq",
     4,
     "icelake-client icelake-server sapphirerapids znver4 znver5"},
    {{more, 0, REG_RBX, 21}, "avx512ifma", 4, "icelake-client icelake-server sapphirerapids znver4 znver5"},
    {{more, 1, REG_RAX, 5}, "avx512bf16", 4, "cooperlake sapphirerapids znver4 znver5"},
    {{more, 0, REG_RDX, 23}, "avx512fp16", 4, "sapphirerapids"},
    {{more, 0, REG_RDX, 8}, "avx512vp2intersect", 4, "znver5"},
    {{more, 1, REG_RAX, 4}, "avxvnni", 3, "sapphirerapids znver5"},
    {{more, 0, REG_RCX, 8}, "gfni", 1, "icelake-client icelake-server sapphirerapids znver4 znver5"},
    {{more, 0, REG_RCX, 9}, "vaes", 3, "icelake-client icelake-server sapphirerapids znver3 znver4 znver5"},
    {{more, 0, REG_RCX, 10},
     "vpclmulqdq",
     3,
     "icelake-client icelake-server sapphirerapids znver3 znver4 znver5"},
    {{basic, 0, REG_RCX, 25},
     "aes",
     1,
     "skylake skylake-avx512 cascadelake cooperlake icelake-client icelake-server sapphirerapids znver1 "
     "znver2 znver3 znver4 znver5"},
    {{basic, 0, REG_RCX, 1},
     "pclmul",
     1,
     "westmere sandybridge ivybridge haswell broadwell skylake skylake-avx512 cascadelake cooperlake "
     "icelake-client "
     "icelake-server sapphirerapids znver1 znver2 znver3 znver4 znver5"},
    {{more, 0, REG_RBX, 29},
     "sha",
     1,
     "icelake-client icelake-server sapphirerapids znver1 znver2 znver3 znver4 znver5"},
    {{more, 0, REG_RBX, 19},
     "adx",
     1,
     "broadwell skylake skylake-avx512 cascadelake cooperlake icelake-client icelake-server sapphirerapids "
     "znver1 znver2 "
     "znver3 znver4 znver5"}};

const std::set<std::string> level_names[] = {
    {},
    {"x86-64"},
    {"x86-64-v2", "nehalem", "westmere", "sandybridge", "ivybridge"},
    {"x86-64-v3", "haswell", "broadwell", "skylake", "znver1", "znver2", "znver3"},
    {"x86-64-v4", "skylake-avx512", "cascadelake", "cooperlake", "icelake-client", "icelake-server",
     "sapphirerapids", "znver4", "znver5"}};

/// With every feature that the driver knows.
Processor processor_with_all() {
  Processor all;
  for (const auto* bits : {&level2, &level3, &level4}) all.bits.insert(bits->begin(), bits->end());
  for (const Feature& feature : features) all.bits.insert(feature.bit);
  all.bits.insert(saves_state);
  return all;
}

std::string list_of_features(int level, bool avx, const std::string& without = "") {
  std::string list;
  for (const Feature& feature : features)
    if (level >= feature.level && feature.name != without)
      list += (list.empty() ? "+" : ",+") + std::string(feature.name);
  if (avx) list += ",+avx";
  if (level == 4 && without != "avx512vbmi2") list += ",-prefer-256-bit";
  return list;
}

std::set<std::string> names_up_to(int level) {
  std::set<std::string> names;
  for (int i = 1; i <= level; ++i) names.insert(level_names[i].begin(), level_names[i].end());
  return names;
}

class MadeProcessor : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!intercept_cpuid(false)) GTEST_SKIP() << "this machine cannot intercept the instruction cpuid";
    constexpr std::uint32_t avx512 = 0xe6;
    std::uint32_t saved = 0;
    if (__get_cpuid(1, &one_[0], &one_[1], &one_[2], &one_[3]) && one_[2] >> 27 & 1)
      __asm__("xgetbv" : "=a"(saved) : "c"(0) : "edx");
    if ((saved & avx512) != avx512) GTEST_SKIP() << "this system does not save the registers of AVX-512";
  }

 private:
  std::uint32_t one_[4] = {};
};

TEST_F(MadeProcessor, HasEachFeatureThatItReports) {
  const Findings all = findings_on(processor_with_all());
  EXPECT_EQ(all.targets, (std::vector<std::string>{"x86-64-v4", "x86-64"}));
  EXPECT_EQ(all.features, list_of_features(4, false));
  EXPECT_EQ(all.executed, names_up_to(4));
  for (const Feature& feature : features) {
    Processor processor = processor_with_all();
    processor.bits.erase(feature.bit);
    const Findings found = findings_on(processor);
    EXPECT_EQ(found.features, list_of_features(4, false, feature.name)) << "without " << feature.name;
    std::set<std::string> executed = names_up_to(4);
    std::istringstream names(feature.processors);
    for (std::string name; names >> name;) executed.erase(name);
    EXPECT_EQ(found.executed, executed) << "without " << feature.name;
  }
}

TEST_F(MadeProcessor, HasTheHighestLevelAllOfWhoseFeaturesItReports) {
  const auto expect_level = [](const Processor& processor, int level, bool avx, const char* what) {
    const Findings found = findings_on(processor);
    const std::string name = level == 1 ? "x86-64" : "x86-64-v" + std::to_string(level);
    EXPECT_EQ(found.targets.front(), name) << what;
    EXPECT_EQ(found.targets.size(), level == 1 ? 1u : 2u);
    EXPECT_EQ(found.features, list_of_features(level, avx)) << what;
    std::set<std::string> executed = names_up_to(level);
    if (level == 2 && !avx)
      for (const char* with_avx : {"sandybridge", "ivybridge"}) executed.erase(with_avx);
    EXPECT_EQ(found.executed, executed) << what;
  };
  for (const int lost : {2, 3, 4})
    for (const Bit& bit : lost == 2 ? level2 : lost == 3 ? level3 : level4) {
      Processor processor = processor_with_all();
      processor.bits.erase(bit);
      const bool avx = lost < 4 && bit != Bit{basic, 0, REG_RCX, 28};
      expect_level(
          processor, lost - 1, avx,
          ("without bit " + std::to_string(bit.number) + " of leaf " + std::to_string(bit.leaf)).c_str());
    }
  Processor unsaved = processor_with_all();
  unsaved.bits.erase(saves_state);
  expect_level(unsaved, 2, false, "without saved registers");
}

TEST_F(MadeProcessor, OfAmdHasTheNameOfItsFamily) {
  Processor processor = processor_with_all();
  processor.amd = true;
  const auto expect_targets = [&](std::uint32_t version, std::vector<std::string> targets) {
    processor.version = version;
    EXPECT_EQ(findings_on(processor).targets, targets) << std::hex << version;
  };
  expect_targets(0xa60f00, {"znver4", "x86-64-v4", "x86-64"});  // family 25
  expect_targets(0xb40f00, {"znver5", "x86-64-v4", "x86-64"});  // family 26
  expect_targets(0xc00f00, {"znver5", "x86-64-v4", "x86-64"});
  processor.bits.erase({more, 0, REG_RDX, 8});
  expect_targets(0xb40f00, {"x86-64-v4", "x86-64"});  // lacks a feature of the name
  processor.bits.erase({more, 0, REG_RBX, 16});
  expect_targets(0xa60f00, {"x86-64-v3", "x86-64"});
  processor = processor_with_all();
  expect_targets(0xb40f00, {"x86-64-v4", "x86-64"});  // another vendor's
}

}  // namespace
}  // namespace cpu_test
