// SPDX-License-Identifier: Apache-2.0
// What debuggers, profilers and unwinders find of a loaded object.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>

#include "made_object.hpp"

// GDB's manual defines these: "JIT Compilation Interface".
struct jit_code_entry {
  jit_code_entry* next_entry;
  jit_code_entry* prev_entry;
  const char* symfile_addr;
  std::uint64_t symfile_size;
};
struct jit_descriptor {
  std::uint32_t version;
  std::uint32_t action_flag;
  jit_code_entry* relevant_entry;
  jit_code_entry* first_entry;
};
// Of libgcc.
extern "C" const void* _Unwind_Find_FDE(void* address, void* bases[3]);

namespace cpu_test {
namespace {

void* symbol_of_driver(const char* name) {
  void* const library = dlopen(weir::test::built(WEIR_CPU_DRIVER).c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (!library) throw std::runtime_error(dlerror());
  void* const found = dlsym(library, name);
  dlclose(library);
  if (!found) throw std::runtime_error(dlerror());
  return found;
}

jit_descriptor& descriptor() {
  table();
  static auto* const found = static_cast<jit_descriptor*>(symbol_of_driver("__jit_debug_descriptor"));
  return *found;
}

std::vector<const jit_code_entry*> registered_entries() {
  std::vector<const jit_code_entry*> all;
  const jit_code_entry* before = nullptr;
  for (const jit_code_entry* entry = descriptor().first_entry; entry;
       before = entry, entry = entry->next_entry) {
    EXPECT_EQ(entry->prev_entry, before);
    all.push_back(entry);
  }
  return all;
}

// Sections: 1 the code, 2 and 3 for debuggers, 4 and 5 their relocations, 6 the symbols, 7 more data.
MadeObject object_with_sections() {
  MadeObject object = object_with_its_address();
  const auto section = [](std::uint32_t type, std::uint64_t flags, std::uint64_t address,
                          std::vector<char> bytes, std::uint32_t link = 0, std::uint32_t info = 0) {
    Elf64_Shdr header{};
    header.sh_type = type;
    header.sh_flags = flags;
    header.sh_addr = address;
    header.sh_link = link;
    header.sh_info = info;
    return Section{header, std::move(bytes)};
  };
  const auto bytes_of = [](const auto& values) {
    const auto* begin = reinterpret_cast<const char*>(values.data());
    return std::vector<char>(begin, begin + values.size() * sizeof values[0]);
  };
  const std::vector<Elf64_Sym> symbols = {{},
                                          symbol_of(1, STT_FUNC, 1, code_at, 14),
                                          symbol_of(1, STT_OBJECT, 2, 0x40),  // in a section for debuggers
                                          symbol_of(1, STT_OBJECT, SHN_ABS, 0x50),
                                          symbol_of(1, STT_OBJECT, SHN_UNDEF, 0x60),
                                          symbol_of(1, STT_OBJECT, 7, 0x70),
                                          symbol_of(1, STT_OBJECT, 8, 0x80)};  // no such section
  const auto relocation = [](std::uint64_t at, std::uint32_t symbol, std::uint32_t type,
                             std::int64_t addend) {
    return Elf64_Rela{at, ELF64_R_INFO(symbol, type), addend};
  };
  const std::vector<Elf64_Rela> of_words = {
      relocation(0, 1, R_X86_64_64, 3),    relocation(8, 2, R_X86_64_64, 3),
      relocation(16, 1, R_X86_64_PC64, 3), relocation(24, 1, R_X86_64_64, -1),
      relocation(25, 1, R_X86_64_64, 3),   relocation(1u << 20, 1, R_X86_64_64, 3),
      relocation(16, 7, R_X86_64_64, 3)};
  const std::vector<Elf64_Rela> of_one_word = {relocation(0, 1, R_X86_64_64, 9)};
  object.sections = {section(SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, code_at, {}),
                     section(SHT_PROGBITS, 0, 0x100, std::vector<char>(32, 'w')),
                     section(SHT_PROGBITS, 0, 0, std::vector<char>(8, 'w')),
                     section(SHT_RELA, 0, 0, bytes_of(of_words), 6, 2),
                     section(SHT_RELA, 0, 0, bytes_of(of_one_word), 6, 3),
                     section(SHT_SYMTAB, 0, 0, bytes_of(symbols)),
                     section(SHT_PROGBITS, SHF_WRITE, 0, std::vector<char>(8, 'w'))};
  return object;
}

template <class T>
T number_at(const jit_code_entry& entry, std::uint64_t at) {
  T value{};
  if (at + sizeof value <= entry.symfile_size) std::memcpy(&value, entry.symfile_addr + at, sizeof value);
  return value;
}

// proves R39
TEST(DebuggerInterface, HasEachObjectAtItsPlace) {
  const std::size_t before = registered_entries().size();
  const MadeObject object = object_with_sections();
  {
    const LoadedObject loaded(object);
    const std::uint64_t bias = loaded.number() - code_at;
    ASSERT_EQ(registered_entries().size(), before + 1);
    const jit_code_entry& entry = *registered_entries()[0];
    EXPECT_EQ(entry.symfile_size, object.bytes().size());
    const auto header = number_at<Elf64_Ehdr>(entry, 0);
    EXPECT_EQ(header.e_phnum, 0u);
    EXPECT_EQ(header.e_phoff, 0u);
    ASSERT_EQ(header.e_shnum, 8u);
    const auto section = [&](int i) {
      return number_at<Elf64_Shdr>(entry, header.e_shoff + i * sizeof(Elf64_Shdr));
    };
    EXPECT_EQ(section(1).sh_addr, bias + code_at);
    EXPECT_EQ(section(2).sh_addr, 0x100u);
    const std::uint64_t as_in_the_file = 0x7777777777777777;
    const std::uint64_t words[4] = {bias + code_at + 3, as_in_the_file, as_in_the_file, bias + code_at - 1};
    for (unsigned i = 0; i < 4; ++i)
      EXPECT_EQ(number_at<std::uint64_t>(entry, section(2).sh_offset + 8 * i), words[i]) << i;
    EXPECT_EQ(number_at<std::uint64_t>(entry, section(3).sh_offset), bias + code_at + 9);
    const std::uint64_t values[7] = {0, bias + code_at, 0x40, 0x50, 0x60, 0x70, 0x80};
    for (unsigned i = 0; i < 7; ++i)
      EXPECT_EQ(number_at<Elf64_Sym>(entry, section(6).sh_offset + i * sizeof(Elf64_Sym)).st_value, values[i])
          << i;

    const LoadedObject another(object);
    const LoadedObject third(object);
    EXPECT_EQ(registered_entries().size(), before + 3);
  }
  EXPECT_EQ(registered_entries().size(), before);
  {
    MadeObject stripped = object;
    stripped.sections.clear();
    const LoadedObject loaded(stripped);
    EXPECT_EQ(registered_entries().size(), before);
  }
  const LoadedObject first(object);
  auto second = std::make_unique<LoadedObject>(object);
  const LoadedObject third(object);
  second.reset();  // from the middle of the list
  EXPECT_EQ(registered_entries().size(), before + 2);
}

struct Announcement {
  std::uint32_t version, action;
  const jit_code_entry* entry;
  bool is_listed;
};
std::vector<Announcement> announcements;
const std::byte* breakpoint = nullptr;

// As a debugger does at the breakpoint. The function has no effect, so that it may return at once.
void note_announcement(int, siginfo_t*, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  if (registers[REG_RIP] != reinterpret_cast<greg_t>(breakpoint + 1)) std::abort();
  const jit_descriptor& now = descriptor();
  bool is_listed = false;
  for (const jit_code_entry* entry = now.first_entry; entry; entry = entry->next_entry)
    is_listed |= entry == now.relevant_entry;
  announcements.push_back({now.version, now.action_flag, now.relevant_entry, is_listed});
  registers[REG_RIP] = *reinterpret_cast<greg_t*>(registers[REG_RSP]);
  registers[REG_RSP] += 8;
}

// proves R39
TEST(DebuggerInterfaceDeathTest, StopsADebuggerAtEachChange) {
#ifdef WEIR_SANITIZED
  GTEST_SKIP() << "the handler of the breakpoint allocates, which ThreadSanitizer reports";
#endif
  in_fresh_process("WEIR_CPU_THREADS", "1", [] {
    table();
    auto* const function = static_cast<std::byte*>(symbol_of_driver("__jit_debug_register_code"));
    breakpoint = function;
    struct sigaction handler = {};
    handler.sa_sigaction = note_announcement;
    handler.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &handler, nullptr);
    auto* const page =
        reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(function) & ~std::uintptr_t{4095});
    ASSERT_EQ(mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
    *function = std::byte{0xcc};  // int3
    const jit_code_entry* entry = nullptr;
    {
      const LoadedObject loaded(object_with_sections());
      ASSERT_EQ(announcements.size(), 1u);
      entry = descriptor().first_entry;
      EXPECT_EQ(descriptor().action_flag, 0u);
      EXPECT_EQ(descriptor().relevant_entry, nullptr);
    }
    ASSERT_EQ(announcements.size(), 2u);
    for (const Announcement& one : announcements) {
      EXPECT_EQ(one.version, 1u);
      EXPECT_EQ(one.entry, entry);
    }
    EXPECT_EQ(announcements[0].action, 1u);  // registered
    EXPECT_TRUE(announcements[0].is_listed);
    EXPECT_EQ(announcements[1].action, 2u);  // unregistered
    EXPECT_FALSE(announcements[1].is_listed);
    EXPECT_EQ(descriptor().action_flag, 0u);
    EXPECT_EQ(descriptor().first_entry, nullptr);
  });
}

// Unwind tables -------------------------------------------------------------------------------------------

/// The tables of a made object, of one function: a header, an entry common to functions, the function's, an
/// end.
struct Unwind {
  std::vector<unsigned char> header = {1, 0x1b, 3, 0x3b};
  std::uint32_t common_id = 0;
  std::vector<unsigned char> common = {1,    'z',  'R', 0,    1,
                                       0x78, 16,    // version, augmentation, alignments, register
                                       1,    0x1b,  // augmentation
                                       0x0c, 7,    8,   0x90, 1};  // rules
  std::uint32_t common_length = 0, function_length = 0;            // 0: right
  std::uint32_t distance = 0;                                      // to the common entry; 0: right
  std::uint64_t begin = code_at;
  std::uint32_t size = 14;
  std::vector<unsigned char> function = {0};  // augmentation
  bool ended = true;
  bool described = true;

  std::vector<char> bytes(std::uint64_t at) const {
    std::vector<char> all;
    const auto put = [&](std::uint32_t word) {
      for (int i = 0; i < 4; ++i) all.push_back(static_cast<char>(word >> 8 * i));
    };
    const auto put_bytes = [&](const std::vector<unsigned char>& some) {
      all.insert(all.end(), some.begin(), some.end());
    };
    put_bytes(header);
    put(4);  // from here to the tables
    const std::size_t common_at = all.size();
    put(common_length ? common_length : static_cast<std::uint32_t>(4 + common.size()));
    put(common_id);
    put_bytes(common);
    if (described) {
      put(function_length ? function_length : static_cast<std::uint32_t>(12 + function.size()));
      put(distance ? distance : static_cast<std::uint32_t>(all.size() - common_at));
      put(static_cast<std::uint32_t>(begin - (at + all.size())));
      put(size);
      put_bytes(function);
    }
    if (ended) put(0);
    return all;
  }
};

/// Whether an unwinder finds the function of an object with these tables.
bool finds_function(const Unwind& unwind) {
  MadeObject object = object_with_its_address();
  object.unwind = unwind.bytes(object.unwind_at());
  object.segments = {{PT_GNU_EH_FRAME, PF_R, 0, object.unwind_at(), object.unwind_at(), 0, 8, 1}};
  // The tables end with their segment: the others are part of the data.
  object.data = {77, 0, 1ull | 2ull << 32, 1, 0, data_at, ELF64_R_INFO(1, R_X86_64_GLOB_DAT), 0};
  object.dynamic = {{DT_HASH, {data_at + 16}}, {DT_RELA, {data_at + 40}}, {DT_RELASZ, {24}}};
  object.relocations.clear();
  object.hash.clear();
  const LoadedObject loaded(object);
  void* bases[3] = {};
  return _Unwind_Find_FDE(reinterpret_cast<std::byte*>(loaded.number()) + 3, bases) != nullptr;
}

template <class Alter>
bool finds_altered(Alter alter) {
  Unwind unwind;
  alter(unwind);
  return finds_function(unwind);
}

// proves R39
TEST(UnwindTables, AreFoundInTheUsualForm) {
  EXPECT_TRUE(finds_function({}));
  EXPECT_TRUE(finds_altered([](Unwind& unwind) { unwind.size = 4; }));
  EXPECT_FALSE(finds_altered([](Unwind& unwind) { unwind.size = 3; }));  // ends before
  EXPECT_TRUE(
      finds_altered([](Unwind& unwind) { unwind.common = {1, 'z', 'R', 'S', 0, 1, 0x78, 16, 1, 0x1b}; }));
  // Functions that handle exceptions, with numbers of more than one byte.
  EXPECT_TRUE(finds_altered([](Unwind& unwind) {
    unwind.common = {1, 'z', 'P', 'L', 'R', 0, 0x81, 0, 0x78, 16, 7, 0x9b, 0, 0, 0, 0, 0x1b, 0x1b};
    unwind.function = {4, 0, 0, 0, 0};
  }));
}

// An unwinder trusts registered tables. Without them it ends at the function.
TEST(UnwindTables, OfAnotherFormAreNotRegistered) {
  const auto refused = [](auto alter) { return !finds_altered(alter); };
  EXPECT_TRUE(refused([](Unwind& unwind) { unwind.header[0] = 2; }));
  EXPECT_TRUE(refused([](Unwind& unwind) { unwind.header[1] = 0x3b; }));
  EXPECT_TRUE(refused([](Unwind& unwind) { unwind.common[0] = 3; })) << "version";
  EXPECT_TRUE(refused([](Unwind& unwind) { unwind.common[1] = 'y'; })) << "augmentation";
  EXPECT_TRUE(refused([](Unwind& unwind) { unwind.common[2] = 'X'; })) << "augmentation";
  EXPECT_TRUE(refused([](Unwind& unwind) { unwind.common[2] = 'S'; })) << "no encoding";
  EXPECT_TRUE(refused([](Unwind& unwind) { unwind.common[8] = 0x1c; })) << "encoding";
  EXPECT_TRUE(refused([](Unwind& unwind) { unwind.common[8] = 0x9b; })) << "encoding";
  for (const int pointer : {11, 16})  // its encoding
    EXPECT_TRUE(refused([&](Unwind& unwind) {
      unwind.common = {1, 'z', 'P', 'L', 'R', 0, 1, 0x78, 16, 7, 0x9b, 0x9b, 0, 0, 0, 0, 0x1b, 0x1b};
      unwind.common.erase(unwind.common.begin() + 10);
      unwind.common[pointer == 11 ? 10 : 15] = 0x1c;
      unwind.function = {4, 0, 0, 0, 0};
    })) << pointer;
  EXPECT_TRUE(refused([](Unwind& unwind) { unwind.common.assign(200, 'z'), unwind.common[0] = 1; }))
      << "no end";
  EXPECT_TRUE(refused([](Unwind& unwind) {
    unwind.common = {1,    'z',  'R',  0,    0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                     0x80, 0x80, 0x80, 0x80, 0,    0x78, 16,   1,    0x1b};
  })) << "number";
  EXPECT_TRUE(refused([](Unwind& unwind) { unwind.common = {1, 'z', 'R', 0, 1, 0x78, 16, 1}; })) << "cut";
  EXPECT_TRUE(refused([](Unwind& unwind) { unwind.common = {1, 'z', 'R', 0, 1, 0x78}; })) << "cut";
  EXPECT_TRUE(refused([](Unwind& unwind) {
    unwind.common = {1, 'z', 'P', 'R', 0, 1, 0x78, 16, 6, 0x1b, 0, 0, 0};
  })) << "cut";
  EXPECT_TRUE(refused([](Unwind& unwind) { unwind.common = {1, 'z', 'R', 0, 1, 0x78, 0x90, 0, 1, 0x1b}; }))
      << "the register is one byte";
  EXPECT_TRUE(refused([](Unwind& unwind) { unwind.common_id = 5; })) << "no common entry";
  EXPECT_TRUE(refused([](Unwind& unwind) { unwind.distance = 8; })) << "no common entry there";
  EXPECT_TRUE(refused([](Unwind& unwind) { unwind.common_length = 1u << 20; })) << "length";
  EXPECT_TRUE(refused([](Unwind& unwind) { unwind.function_length = 3; })) << "length";
  EXPECT_TRUE(refused([](Unwind& unwind) { unwind.size = 15; })) << "beyond the code";
  EXPECT_TRUE(refused([](Unwind& unwind) { unwind.begin = data_at; })) << "not code";
  EXPECT_TRUE(refused([](Unwind& unwind) { unwind.function = {0x80}; })) << "number";
  EXPECT_TRUE(refused([](Unwind& unwind) { unwind.function.clear(); })) << "cut";
  EXPECT_TRUE(refused([](Unwind& unwind) { unwind.described = false; })) << "no function";
  EXPECT_TRUE(refused([](Unwind& unwind) { unwind.ended = false; })) << "no end";
}

TEST(UnwindTables, AreGoneWithTheirObject) {
  std::byte* code = nullptr;
  MadeObject object = object_with_its_address();
  object.unwind = Unwind().bytes(object.unwind_at());
  object.segments = {{PT_GNU_EH_FRAME, PF_R, 0, object.unwind_at(), object.unwind_at(), 0, 8, 1}};
  void* bases[3] = {};
  {
    const LoadedObject loaded(object);
    code = reinterpret_cast<std::byte*>(loaded.number());
    EXPECT_TRUE(_Unwind_Find_FDE(code + 3, bases));
  }
  EXPECT_FALSE(_Unwind_Find_FDE(code + 3, bases));
}

// Perf ----------------------------------------------------------------------------------------------------

std::string perf_map_path() {
  return "/tmp/perf-" + std::to_string(getpid()) + ".map";
}

std::string contents_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// proves R39
TEST(PerfMapDeathTest, ListsEachFunction) {
  in_fresh_process("WEIR_CPU_PERF_MAP", "1", [] {
    std::filesystem::remove(perf_map_path());
    MadeObject object = object_with_its_address();
    object.base = 0x400000;
    object.symbols.push_back(symbol_of(MadeObject::unknown_name, STT_OBJECT, 1, data_at, 8));
    object.symbols.push_back(symbol_of(MadeObject::unknown_name, STT_FUNC, SHN_UNDEF, code_at, 8, STB_WEAK));
    object.symbols.push_back(symbol_of(MadeObject::unknown_name, STT_FUNC, 1, code_at, 0));
    object.symbols.push_back(symbol_of(MadeObject::unknown_name, STT_FUNC, 1, code_at + 13, 1));
    object.hash = {1, 6, 1, 0, 0, 0, 0, 0, 0};
    char expected[200];
    const LoadedObject loaded(object);
    const auto line = [&](int from, int size, const char* name) {
      std::snprintf(expected, sizeof expected, "%llx %x %s\n",
                    static_cast<unsigned long long>(loaded.number()) + from, size, name);
      return std::string(expected);
    };
    std::string lines = line(0, 14, "kernel [test kernels]") + line(13, 1, "nowhere [test kernels]");
    EXPECT_EQ(contents_of(perf_map_path()).substr(0, lines.size()), lines);
    const std::vector<char> bytes = object.bytes();
    weir_code_object nameless = code_object(bytes);
    nameless.name = nullptr;
    weir_module module = nullptr;
    call(table().module_load, first_device(), &nameless, &module);
    EXPECT_NE(contents_of(perf_map_path()).find(" e kernel\n"), std::string::npos);
    // The file of another owner, or another kind of file, stays as it is.
    std::filesystem::remove(perf_map_path());
    ASSERT_EQ(mkfifo(perf_map_path().c_str(), 0600), 0);
    const int reader = open(perf_map_path().c_str(), O_RDONLY | O_NONBLOCK);  // so that it can be written to
    const auto files = [] {
      return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                           std::filesystem::directory_iterator());
    };
    const auto files_before = files();
    { const LoadedObject again(object); }
    char byte = 0;
    EXPECT_LE(::read(reader, &byte, 1), 0);
    close(reader);
    EXPECT_EQ(files(), files_before - 1);
    std::filesystem::remove(perf_map_path());
    if (geteuid() == 0) {
      std::ofstream(perf_map_path()) << "of another user\n";
      ASSERT_EQ(chown(perf_map_path().c_str(), 1234, 1234), 0);
      { const LoadedObject again(object); }
      EXPECT_EQ(contents_of(perf_map_path()), "of another user\n");
      std::filesystem::remove(perf_map_path());
    }
  });
}

TEST(PerfMap, IsNotWrittenUnlessItIsRequested) {
  std::filesystem::remove(perf_map_path());
  const LoadedObject loaded(object_with_its_address());
  EXPECT_FALSE(std::filesystem::exists(perf_map_path()));
}

}  // namespace
}  // namespace cpu_test
