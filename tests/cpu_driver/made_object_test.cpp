// SPDX-License-Identifier: Apache-2.0
// The limits of what the loader accepts: each part of an object, just inside and just outside.
#include "made_object.hpp"

#include <unistd.h>

#include <functional>

extern "C" std::uint32_t who_is_called();  // of the program: loader_test.cpp

namespace cpu_test {
namespace {

void expect_refusal(const std::vector<char>& bytes, const std::string& reason) {
  const std::string message = load_refusal_of(bytes);
  EXPECT_NE(message.find(reason), std::string::npos) << "expected '" << reason << "' in: " << message;
}
void expect_refusal(const MadeObject& object, const std::string& reason) {
  expect_refusal(object.bytes(), reason);
}
void expect_number(const MadeObject& object, std::uint64_t number) {
  EXPECT_EQ(LoadedObject(object).number(), number);
}

/// An object with one thing altered.
template <class Alter>
MadeObject altered(Alter alter) {
  MadeObject object;
  alter(object);
  return object;
}
template <class Alter>
std::vector<char> with_segment(int index, Alter alter, const MadeObject& object = {}) {
  std::vector<char> bytes = object.bytes();
  alter(segment_of(bytes, index));
  return bytes;
}

TEST(MadeObject, Loads) {
  expect_number({}, 77);
  expect_number(altered([](MadeObject& object) { object.base = 0x400000; }), 77);
}

TEST(MadeObject, BindsItsReferences) {
  const auto number_with = [](std::uint32_t type, std::uint32_t symbol, std::int64_t addend,
                              Elf64_Sym second) {
    return LoadedObject(altered([&](MadeObject& object) {
             object.symbols.push_back(second);
             object.hash = {1, 3, 1, 0, 0, 0};
             object.relocations = {{data_at + 8, R_X86_64_NONE, 0},
                                   {data_at, ELF64_R_INFO(symbol, type), addend}};
           }))
        .number();
  };
  const Elf64_Sym program = symbol_of(MadeObject::program_name, STT_FUNC, SHN_UNDEF, 0);
  const auto of_program = reinterpret_cast<std::uint64_t>(&who_is_called);
  for (const std::uint32_t type : {R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT})  // without the addend
    EXPECT_EQ(number_with(type, 2, 40, program), of_program);
  EXPECT_EQ(number_with(R_X86_64_64, 2, 40, program), of_program + 40);
  const Elf64_Sym weak = symbol_of(MadeObject::unknown_name, STT_FUNC, SHN_UNDEF, 0, 0, STB_WEAK);
  EXPECT_EQ(number_with(R_X86_64_GLOB_DAT, 2, 0, weak), 0u);
  EXPECT_EQ(number_with(R_X86_64_64, 2, 5, weak), 5u);
  const Elf64_Sym absolute = symbol_of(MadeObject::unknown_name, STT_OBJECT, SHN_ABS, 0x123456789);
  EXPECT_EQ(number_with(R_X86_64_GLOB_DAT, 2, 0, absolute), 0x123456789u);
  // The code is on the second page.
  EXPECT_EQ(number_with(R_X86_64_GLOB_DAT, 1, 0, weak) % 4096, 0u);
  EXPECT_GT(number_with(R_X86_64_RELATIVE, 0, 0x1234, weak), 4096u);
  EXPECT_EQ(number_with(R_X86_64_RELATIVE, 0, 0x1234, weak) % 4096, 0x234u);
}

// The linker of a program would refuse it, but versions of a symbol look like this.
TEST(MadeObject, IsBoundToItsOwnEntryOfTheSameName) {
  MadeObject object;
  object.symbols = {{},
                    symbol_of(MadeObject::kernel_name, STT_FUNC, 1, code_at, 14),
                    symbol_of(MadeObject::program_name, STT_FUNC, SHN_UNDEF, 0),
                    symbol_of(MadeObject::unknown_name, STT_FUNC, 1, code_at + 1),
                    symbol_of(MadeObject::program_name, STT_OBJECT, SHN_ABS, 5),
                    symbol_of(MadeObject::program_name, STT_OBJECT, 1, code_at + 9)};
  object.hash = {1, 6, 1, 0, 0, 0, 0, 0, 0};
  object.relocations = {{data_at, ELF64_R_INFO(2, R_X86_64_GLOB_DAT), 0}};
  EXPECT_EQ(LoadedObject(object).number() % 4096, 9u);
  object.symbols.back().st_value = 0x100000;  // outside of the object: not its own
  expect_number(object, reinterpret_cast<std::uint64_t>(&who_is_called));
}

TEST(MadeObject, HasTablesUpToTheEndOfTheirSegment) {
  const auto cut = [](std::vector<char> bytes) {
    --segment_of(bytes, 0).p_filesz;
    return bytes;
  };
  // Buckets, first symbol, filters, shift, a filter of two words, a bucket, a chain that ends.
  const std::vector<std::uint32_t> gnu_hash = {1, 1, 1, 0, 0, 0, 1, 1};
  const MadeObject gnu = altered([&](MadeObject& object) { object.gnu = true, object.hash = gnu_hash; });
  expect_number(gnu, 77);
  expect_refusal(cut(gnu.bytes()), "has a hash table outside of its segments");
  const MadeObject two = altered([](MadeObject& object) {
    object.gnu = true;
    object.symbols.insert(object.symbols.begin() + 1,
                          symbol_of(MadeObject::unknown_name, STT_OBJECT, 1, code_at));
    object.hash = {3, 1, 1, 0, 0, 0, 0, 1, 0, 2, 3};  // a chain of two
  });
  expect_number(two, 77);
  // No symbol is exported: no chain follows the buckets.
  const MadeObject none = altered([](MadeObject& object) {
    object.gnu = true;
    object.symbols = {{}};
    object.hash = {1, 1, 1, 0, 0, 0, 0};
  });
  const LoadedObject loaded(none);
  expect_refusal(cut(none.bytes()), "has a hash table outside of its segments");
  const MadeObject other = altered([](MadeObject& object) { object.hash.resize(2); });
  expect_number(other, 77);
  expect_refusal(cut(other.bytes()), "has a hash table outside of its segments");
  // Without a hash table another one is the last.
  const MadeObject compact = altered([](MadeObject& object) {
    object.compact = {data_at};
    object.hash.clear();
    object.dynamic = {{DT_HASH, {tables_at - 8}}};
  });
  expect_refusal(cut(compact.bytes()), "has relocations outside of its segments");
}

TEST(MadeObject, HasOnlyRelocationsOfItsData) {
  const auto with = [](std::uint64_t at, std::uint32_t type = R_X86_64_RELATIVE, std::uint32_t symbol = 0) {
    return altered([&](MadeObject& object) { object.relocations = {{at, ELF64_R_INFO(symbol, type), 0}}; });
  };
  std::vector<char> plain = with(data_at + 8).bytes();
  const std::uint64_t data_bytes = segment_of(plain, 2).p_memsz;
  const std::string outside = "has a relocation outside of its writable segments";
  expect_number(with(data_at + data_bytes - 8), 77);
  expect_refusal(with(data_at + data_bytes - 7), outside);
  expect_refusal(with(data_at - 1), outside);
  expect_refusal(with(code_at), outside);
  expect_refusal(with(tables_at), outside);
  expect_refusal(with(~0ull - 3), outside);
  expect_number(with(data_at + 8, R_X86_64_64, 1), 77);
  expect_refusal(with(data_at + 8, R_X86_64_64, 2), "has a relocation for a symbol that does not exist");
  for (const std::uint32_t type :
       {R_X86_64_PC32, R_X86_64_GLOB_DAT - 1, R_X86_64_RELATIVE + 1, R_X86_64_IRELATIVE})
    expect_refusal(with(data_at + 8, type), "has a relocation of type " + std::to_string(type));
  // Relocations of the kind REL, and of the code, have entries of their own.
  const auto with_entry = [](Elf64_Sxword tag, std::uint64_t value) {
    return altered([&](MadeObject& object) { object.dynamic = {{tag, {value}}}; });
  };
  expect_refusal(with_entry(DT_REL, tables_at), "has relocations without addends");
  expect_refusal(with_entry(DT_PLTREL, DT_REL), "has relocations without addends");
  expect_refusal(with_entry(DT_TEXTREL, 0), "has relocations in its code");
  expect_refusal(with_entry(DT_RELAENT, 16), "has relocations of an unknown size");
  expect_refusal(with_entry(DT_SYMENT, 16), "has symbols of an unknown size");
  const auto with_table = [](Elf64_Sxword table, Elf64_Sxword size, std::uint64_t at, std::uint64_t bytes) {
    return altered([&](MadeObject& object) { object.dynamic = {{table, {at}}, {size, {bytes}}}; });
  };
  expect_refusal(with_table(DT_JMPREL, DT_PLTRELSZ, tables_at, 25),
                 "has relocations outside of its segments");
  expect_refusal(with_table(DT_JMPREL, DT_PLTRELSZ, 0x5000, 24), "has relocations outside of its segments");
  expect_refusal(with_table(DT_RELR, DT_RELRSZ, tables_at, 7), "has relocations outside of its segments");
  expect_refusal(with_table(DT_RELR, DT_RELRSZ, 0x5000, 8), "has relocations outside of its segments");
}

TEST(MadeObject, HasCompactRelocations) {
  const auto number_with = [](std::vector<std::uint64_t> compact, std::size_t place) {
    MadeObject object;
    object.data.assign(200, 0x10);
    std::swap(object.data[0], object.data[place]);
    object.data[place] = 0x10;
    object.compact = std::move(compact);
    // The code reads that place.
    const auto distance = static_cast<std::uint32_t>(data_at + 8 * place - code_at - 10);
    std::memcpy(object.code.data() + 6, &distance, 4);
    return LoadedObject(object).number();
  };
  const std::uint64_t all = ~0ull;
  EXPECT_EQ(number_with({data_at}, 1), 0x10u);
  EXPECT_NE(number_with({data_at}, 0), 0x10u);
  EXPECT_EQ(number_with({data_at}, 0) % 4096, 0x10u);
  EXPECT_NE(number_with({data_at, all}, 1), 0x10u);
  EXPECT_NE(number_with({data_at, all}, 63), 0x10u);
  EXPECT_EQ(number_with({data_at, all}, 64), 0x10u);
  EXPECT_NE(number_with({data_at, all, 3}, 64), 0x10u);
  EXPECT_EQ(number_with({data_at, all, 3}, 65), 0x10u);
  EXPECT_EQ(number_with({data_at, all, 1ull << 63 | 1}, 64), 0x10u);
  EXPECT_NE(number_with({data_at, all, 1ull << 63 | 1}, 126), 0x10u);
  EXPECT_NE(number_with({data_at, all, 1, 3}, 127), 0x10u);
  MadeObject outside;
  outside.compact = {code_at};
  expect_refusal(outside, "has a relocation outside of its writable segments");
  outside.compact = {data_at - 8};
  expect_refusal(outside, "has a relocation outside of its writable segments");
}

TEST(MadeObject, HasSegmentsInOrderAndApart) {
  Elf64_Ehdr header;
  std::vector<char> only_header = MadeObject{}.bytes();
  only_header.resize(sizeof header);
  std::memcpy(&header, only_header.data(), sizeof header);
  header.e_phnum = 0;
  std::memcpy(only_header.data(), &header, sizeof header);
  expect_refusal(only_header, "has no segments to load");
  only_header.pop_back();
  expect_refusal(only_header, "is too short for an ELF header");
  const auto refuse = [](int index, auto alter, const char* reason) {
    expect_refusal(with_segment(index, alter), reason);
  };
  const auto load = [](const std::vector<char>& bytes) { EXPECT_EQ(LoadedObject(bytes).number(), 77u); };
  refuse(
      1, [](Elf64_Phdr& code) { --code.p_memsz; }, "larger in the file than in memory");
  refuse(
      1, [](Elf64_Phdr& code) { code.p_flags |= PF_W; }, "writable and executable");
  const char* const overlap = "has segments that overlap, share a page or are not in ascending order";
  refuse(
      0, [](Elf64_Phdr& tables) { tables.p_memsz = code_at + 1; }, overlap);
  load(with_segment(0, [](Elf64_Phdr& tables) { tables.p_memsz = code_at; }));  // ends where the code begins
  refuse(
      1, [](Elf64_Phdr& code) { code.p_vaddr = data_at + 0x3000; }, overlap);
  const char* const alignment = "aligned to other than a power of two up to 2 MiB";
  refuse(
      2, [](Elf64_Phdr& data) { data.p_align = 3; }, alignment);
  refuse(
      2, [](Elf64_Phdr& data) { data.p_align = 1 << 22; }, alignment);
  for (const std::uint64_t align : {0, 1, 2, 1 << 21})
    load(with_segment(2, [&](Elf64_Phdr& data) { data.p_align = align; }));
  for (const std::uint64_t align : {1u << 16, 1u << 21})
    EXPECT_EQ(LoadedObject(with_segment(
                               1, [&](Elf64_Phdr& code) { code.p_align = align; }, object_with_its_address()))
                      .number() %
                  align,
              code_at);
  refuse(
      2, [](Elf64_Phdr& data) { data.p_memsz = (1ull << 32) - data_at + 1; }, "has a segment beyond 4 GiB");
  refuse(
      2, [](Elf64_Phdr& data) { data.p_vaddr = 1ull << 32; }, "has a segment beyond 4 GiB");
  refuse(
      2, [](Elf64_Phdr& data) { data.p_offset = 1 << 20; }, "is cut short: a segment is outside of the file");
  refuse(
      2, [](Elf64_Phdr& data) { ++data.p_filesz, ++data.p_memsz; }, "is cut short: a segment is outside");
  const auto with = [](Elf64_Phdr more) {
    return altered([&](MadeObject& object) { object.segments = {more}; });
  };
  const std::uint64_t far = 1ull << 40;
  load(with({PT_NULL, 0, far, 0, 0, far, 0, 0}).bytes());  // no segments of the file
  load(with({PT_GNU_STACK, 0, far, 0, 0, far, 0, 0}).bytes());
  load(with({PT_LOAD, PF_R, 0, 0, 0, 0, 0, 3}).bytes());  // without bytes
  expect_refusal(with({PT_NOTE, 0, far, 0, 0, far, 0, 0}), "is cut short: a segment is outside of the file");
  expect_refusal(with({PT_INTERP, PF_R, 0, 0, 0, 8, 8, 1}), "is a program, not a shared object");
  load(with({PT_TLS, PF_R, 0, 0, 0, 0, 0, 1}).bytes());
  expect_refusal(with({PT_TLS, PF_R, 0, 0, 0, 0, 1, 1}), "has thread-local variables");
  refuse(
      3, [](Elf64_Phdr& dynamic) { dynamic.p_type = PT_NOTE; }, "has no dynamic section");
  std::vector<char> none = MadeObject{}.bytes();
  for (int i = 0; i < 3; ++i) segment_of(none, i).p_type = PT_NOTE;
  expect_refusal(none, "has no segments to load");
}

TEST(MadeObject, HasAreasInItsSegments) {
  const auto with = [](std::uint32_t type, std::uint64_t at, std::uint64_t bytes) {
    return altered([&](MadeObject& object) { object.segments = {{type, PF_R, 0, at, at, 0, bytes, 1}}; });
  };
  const char* const area = "has a read-only area outside of its segments";
  expect_number(with(PT_GNU_RELRO, data_at, 1), 77);
  expect_number(with(PT_GNU_RELRO, data_at, 4096), 77);  // up to the end of the page
  expect_refusal(with(PT_GNU_RELRO, data_at, 4097), area);
  expect_refusal(with(PT_GNU_RELRO, data_at + 4096, 1), area);
  expect_number(with(PT_GNU_RELRO, data_at + 4096, 0), 77);
  std::vector<char> plain = with(PT_GNU_EH_FRAME, data_at, 8).bytes();
  const std::uint64_t data_end = data_at + segment_of(plain, 2).p_filesz;
  const char* const tables = "has unwind tables outside of its segments";
  expect_number(with(PT_GNU_EH_FRAME, data_end - 8, 8), 77);
  expect_refusal(with(PT_GNU_EH_FRAME, data_end - 7, 8), tables);
}

TEST(MadeObject, HasFunctionsInItsCode) {
  const auto with = [](Elf64_Sym symbol) {
    return altered([&](MadeObject& object) {
      object.symbols.push_back(symbol);
      object.hash = {1, 3, 1, 0, 0, 0};
    });
  };
  const std::uint32_t name = MadeObject::unknown_name;
  expect_number(with(symbol_of(name, STT_FUNC, 1, code_at + 1, 13)), 77);
  expect_refusal(with(symbol_of(name, STT_FUNC, 1, code_at + 1, 14)),
                 "has a function that does not end in its code");
  expect_number(with(symbol_of(name, STT_FUNC, 1, code_at + 13, 0)), 77);
  expect_refusal(with(symbol_of(name, STT_FUNC, 1, code_at + 14, 0)), "has a function outside of its code");
  expect_refusal(with(symbol_of(name, STT_FUNC, 1, data_at, 1)), "has a function outside of its code");
  expect_number(with(symbol_of(name, STT_FUNC, SHN_UNDEF, data_at, 1, STB_WEAK)), 77);
  expect_number(with(symbol_of(name, STT_OBJECT, 1, data_at, 8)), 77);
  expect_number(with(symbol_of(name, STT_COMMON, 1, data_at, 8)), 77);
  expect_refusal(with(symbol_of(name, STT_TLS, SHN_UNDEF, 0)), "has thread-local variables");
  expect_number(with(symbol_of(name, STT_TLS + 1, SHN_UNDEF, 0, 0, STB_WEAK)), 77);
  expect_refusal(with(symbol_of(name, STT_GNU_IFUNC, 1, code_at)), "(ifunc)");
  // Each name ends in the table of names.
  expect_refusal(with(symbol_of(30, STT_OBJECT, 1, data_at)), "has a name outside of its string table");
  expect_number(with(symbol_of(29, STT_OBJECT, 1, data_at)), 77);
  MadeObject unended = with(symbol_of(name, STT_OBJECT, 1, data_at));
  unended.strings.pop_back();
  expect_refusal(unended, "has a name without an end");
  MadeObject many;
  many.hash = {1, 1u << 30, 1, 0, 0};
  expect_refusal(many, "has more symbols than it has room for");
  many.hash[1] = 40;
  expect_refusal(many, "has symbols outside of its segments");
}

TEST(MadeObject, ExportsOnlyItsGlobalFunctions) {
  const std::uint32_t name = MadeObject::unknown_name;
  const weir_kernel_layout layout{sizeof layout, 0, 0, nullptr};
  const auto found = [&](Elf64_Sym symbol) {
    const LoadedObject loaded(altered([&](MadeObject& object) {
      object.symbols.push_back(symbol);
      object.hash = {1, 3, 1, 0, 0, 0};
    }));
    weir_kernel kernel = nullptr;
    return table().module_get_kernel(loaded.module(), "nowhere", &layout, &kernel, nullptr) == WEIR_OK;
  };
  EXPECT_TRUE(found(symbol_of(name, STT_FUNC, 1, code_at, 1)));
  EXPECT_TRUE(found(symbol_of(name, STT_FUNC, 1, code_at, 1, STB_WEAK)));
  EXPECT_FALSE(found(symbol_of(name, STT_FUNC, 1, code_at, 1, STB_LOCAL)));
  EXPECT_FALSE(found(symbol_of(name, STT_OBJECT, 1, code_at, 1)));
  EXPECT_FALSE(found(symbol_of(name, STT_FUNC, SHN_UNDEF, 0, 0, STB_WEAK)));
}

TEST(MadeObject, HasADynamicSectionWithTables) {
  expect_refusal(altered([](MadeObject& object) { object.terminated = false; }),
                 "has a dynamic section without an end");
  expect_refusal(with_segment(3, [](Elf64_Phdr& dynamic) { dynamic.p_filesz -= 16; }), "without an end");
  expect_refusal(with_segment(3, [](Elf64_Phdr& dynamic) { dynamic.p_filesz -= 1; }), "without an end");
  expect_refusal(with_segment(3, [](Elf64_Phdr& dynamic) { dynamic.p_vaddr += 8; }),
                 "has a dynamic section outside");
  expect_refusal(altered([](MadeObject& object) { object.strings.clear(); }),
                 "has names outside of its segments");
  expect_refusal(altered([](MadeObject& object) { object.hash.clear(); }), "has no table of symbols");
  const auto with_entries = [](std::vector<Elf64_Dyn> entries) {
    return altered([&](MadeObject& object) { object.dynamic = std::move(entries); });
  };
  expect_number(
      with_entries({{DT_FLAGS, {0}}, {DT_RELAENT, {24}}, {DT_SYMENT, {24}}, {DT_PLTREL, {DT_RELA}}}), 77);
  const char* const outside = "has initialisation outside of its code";
  for (const Elf64_Sxword tag : {DT_INIT, DT_FINI}) {
    expect_refusal(with_entries({{tag, {data_at}}}), outside);
    expect_refusal(with_entries({{tag, {code_at + 14}}}), outside);
    expect_number(with_entries({{tag, {code_at + 13}}}), 77);  // returns at once
  }
  const char* const lists = "has a list of initialisation functions outside of its segments";
  for (const auto& [list, size] :
       {std::pair{DT_INIT_ARRAY, DT_INIT_ARRAYSZ}, {DT_FINI_ARRAY, DT_FINI_ARRAYSZ}}) {
    const auto with_list = [&, list = list, size = size](std::uint64_t at, std::uint64_t bytes) {
      return with_entries({{list, {at}}, {size, {bytes}}});
    };
    expect_refusal(with_list(data_at + 4, 8), lists);
    expect_refusal(with_list(data_at + 8, 4), lists);
    expect_refusal(with_list(code_at + 0x10, 8), lists);
    expect_number(with_list(code_at + 0x10, 0), 77);
    expect_number(with_list(data_at + 8, 8), 77);    // 0: no function
    expect_refusal(with_list(data_at, 8), outside);  // 77: no function of the object
    MadeObject last = with_list(data_at + 8, 8);
    last.data[1] = ~0ull;  // no function either
    expect_number(last, 77);
    last.data[1] = code_at + 13;
    last.relocations = {{data_at + 8, R_X86_64_RELATIVE, code_at + 13}};
    expect_number(last, 77);
  }
}

// The arguments of a program are not the object's, as if there were none. Its environment is.
TEST(MadeObject, BeginsWithoutArguments) {
  const auto number_with = [](std::initializer_list<unsigned char> store) {
    MadeObject object;
    object.dynamic = {{DT_INIT, {code_at + object.code.size()}}};
    object.code.insert(object.code.end(), store);
    const auto distance = static_cast<std::uint32_t>(data_at - code_at - object.code.size() - 4);
    for (int i = 0; i < 4; ++i) object.code.push_back(static_cast<unsigned char>(distance >> 8 * i));
    object.code.push_back(0xc3);
    return LoadedObject(object).number();
  };
  EXPECT_EQ(number_with({0x48, 0x89, 0x3d}), 0u);                    // data[0] = first parameter
  EXPECT_EQ(number_with({0x48, 0x8b, 0x06, 0x48, 0x89, 0x05}), 0u);  // data[0] = *second parameter
  EXPECT_EQ(number_with({0x48, 0x89, 0x15}), reinterpret_cast<std::uint64_t>(environ));
}

TEST(MadeObject, HasItsSectionsInTheFile) {
  const auto with = [](Elf64_Shdr section) {
    return altered([&](MadeObject& object) { object.sections = {{section, {}}}; });
  };
  Elf64_Shdr section{};
  section.sh_type = SHT_PROGBITS;
  const std::uint64_t size = with(section).bytes().size();
  section.sh_size = size;
  expect_number(with(section), 77);
  section.sh_size = size + 1;
  expect_refusal(with(section), "is cut short: a section is outside of the file");
  section.sh_type = SHT_NOBITS;
  expect_number(with(section), 77);
  section.sh_size = 0;
  section.sh_type = SHT_PROGBITS;
  section.sh_link = 1;
  expect_number(with(section), 77);
  section.sh_link = 2;
  expect_refusal(with(section), "has a section that refers to one that does not exist");
  section.sh_link = 0;
  const auto with_header = [&](auto alter) {
    std::vector<char> bytes = with(section).bytes();
    alter(*reinterpret_cast<Elf64_Ehdr*>(bytes.data()), bytes);
    return bytes;
  };
  const char* const cut = "is cut short: its section headers are outside of the file";
  expect_refusal(with_header([](Elf64_Ehdr& header, auto&) { header.e_shoff += 1; }), cut);
  expect_refusal(with_header([](Elf64_Ehdr& header, auto&) { header.e_shnum = 0; }), cut);
  expect_refusal(with_header([](Elf64_Ehdr& header, auto&) { header.e_shentsize = 56; }), cut);
  expect_refusal(with_header([](Elf64_Ehdr& header, auto&) { header.e_shstrndx = 2; }),
                 "has no section with the names of its sections");
  // The first section has no bytes in a valid file.
  expect_refusal(with_header([](Elf64_Ehdr& header, std::vector<char>& bytes) {
                   auto* const first = reinterpret_cast<Elf64_Shdr*>(bytes.data() + header.e_shoff);
                   first->sh_type = SHT_SYMTAB;
                   first->sh_size = 1 << 20;
                 }),
                 "is cut short: a section is outside of the file");
}

/// The permissions of the page at an address, as the system lists them.
std::string permissions_at(std::uint64_t address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0, end = 0;
    char permissions[5] = {};
    if (std::sscanf(line.c_str(), "%llx-%llx %4s", &begin, &end, permissions) == 3 && begin <= address &&
        address < end)
      return permissions;
  }
  return "";
}

TEST(MadeObject, HasThePermissionsOfItsSegments) {
  MadeObject object = object_with_its_address();
  object.data.resize(1500);  // three pages
  object.segments = {{PT_GNU_RELRO, PF_R, data_at, data_at, data_at, 5000, 5000, 1}};
  const LoadedObject loaded(object);
  const std::uint64_t code = loaded.number();
  EXPECT_EQ(permissions_at(code - 4096), "r--p");
  EXPECT_EQ(permissions_at(code), "r-xp");
  EXPECT_EQ(permissions_at(code + 4096), "r--p");      // of the area that is read only after relocation
  EXPECT_EQ(permissions_at(code + 2 * 4096), "rw-p");  // it ends on this page
}

#ifndef WEIR_SANITIZED  // the heap of a sanitizer keeps what is freed
std::uint64_t mapped_pages() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0;
  file >> pages;
  return pages;
}

// In a process in which nothing else maps memory.
TEST(MadeObjectDeathTest, KeepsNoPagesWhenItIsUnloadedOrRefused) {
  in_fresh_process("WEIR_CPU_THREADS", "1", [] {
    MadeObject good, refused;
    good.data.resize(20'000);
    refused.data.resize(20'000);
    refused.symbols.push_back(symbol_of(MadeObject::unknown_name, STT_FUNC, SHN_UNDEF, 0));
    refused.hash = {1, 3, 1, 0, 0, 0};
    refused.relocations = {{data_at, ELF64_R_INFO(2, R_X86_64_GLOB_DAT), 0}};
    const std::vector<char> good_bytes = good.bytes(), refused_bytes = refused.bytes();
    const auto round = [&] {
      { const LoadedObject loaded(good_bytes); }
      expect_refusal(refused_bytes, "needs 'nowhere', which neither it");
    };
    round();
    const std::uint64_t before = mapped_pages();
    for (int i = 0; i < 50; ++i) round();
    EXPECT_LT(mapped_pages(), before + 50 * 20);  // an object has 41
  });
}
#endif

/// Whether a library is loaded.
bool is_loaded(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (library) dlclose(library);
  return library;
}

TEST(MadeObject, HoldsTheLibrariesThatItNeeds) {
  const std::string path = weir::test::built("tests/cpu_driver/objects/needed.so").string();
  ASSERT_FALSE(is_loaded(path));
  const auto needing = [](const std::string& library) {
    MadeObject object;
    object.dynamic = {{DT_NEEDED, {object.strings.size()}}};
    object.strings += library + '\0';
    return object;
  };
  {
    const LoadedObject loaded(needing(path));
    EXPECT_TRUE(is_loaded(path));
  }
  EXPECT_FALSE(is_loaded(path));
  MadeObject refused = needing(path);
  refused.symbols.push_back(symbol_of(MadeObject::unknown_name, STT_FUNC, SHN_UNDEF, 0));
  refused.hash = {1, 3, 1, 0, 0, 0};
  refused.relocations = {{data_at, ELF64_R_INFO(2, R_X86_64_GLOB_DAT), 0}};
  expect_refusal(refused, "nowhere");
  EXPECT_FALSE(is_loaded(path));
  expect_refusal(needing("/no/such/library.so"), "/no/such/library.so");
}

}  // namespace
}  // namespace cpu_test
