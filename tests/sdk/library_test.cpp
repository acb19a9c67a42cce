// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/sdk/library.hpp>

namespace sdk_test {
namespace {

using namespace weir::sdk;

struct Api {
  int (*first)();
  int (*second)();
};

int one() {
  return 1;
}
int two() {
  return 2;
}

/// The message with which `open` fails, because no library can be opened.
template <class Open>
std::string refusal_of(const Open& open) {
  try {
    open();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code, WEIR_ERROR_NO_LIBRARY);
    return failure.message;
  }
  ADD_FAILURE() << "a library was opened";
  return {};
}

TEST(Library, NamesAllThatWasTried) {
  // Both names fail for the same reason, which is given once, without the names.
  EXPECT_EQ(refusal_of([] {
              Library::open({"libweir-absent.so.1", "/nowhere/libweir-absent.so"});
            }),
            "the vendor's library cannot be opened; tried libweir-absent.so.1, /nowhere/libweir-absent.so "
            "(cannot open shared object file: No such file or directory)");
}

TEST(Library, NamesTheVariableThatChoseIt) {
  ASSERT_EQ(setenv("WEIR_TEST_LIBRARY", "/nowhere/libc.so.6", 1), 0);
  const char* const names[] = {"libc.so.6"};
  EXPECT_EQ(refusal_of([&] { Library::open("WEIR_TEST_LIBRARY", names); }),
            "WEIR_TEST_LIBRARY names /nowhere/libc.so.6, which cannot be opened (cannot open shared object "
            "file: No such file or directory); correct the variable or unset it");
  ASSERT_EQ(setenv("WEIR_TEST_LIBRARY", "", 1), 0);
  EXPECT_NE(Library::open("WEIR_TEST_LIBRARY", names).symbol("getpid"), nullptr);
  ASSERT_EQ(unsetenv("WEIR_TEST_LIBRARY"), 0);
}

TEST(Library, GroupsTheNamesThatFailForOneReason) {
  EXPECT_THAT(refusal_of([] {
                Library::open({"libweir-absent.so.1", "/proc/self/cmdline", "libweir-absent.so"});
              }),
              testing::AllOf(testing::HasSubstr("tried libweir-absent.so.1, libweir-absent.so (cannot open"),
                             testing::HasSubstr("; /proc/self/cmdline (")));
}

TEST(Library, OpensTheFirstThatIsThere) {
  const Library library = Library::open({"libweir-absent.so.1", "libc.so.6"});
  EXPECT_THAT(library.path(), testing::HasSubstr("libc.so.6"));
  EXPECT_NE(library.function<int (*)()>("getpid"), nullptr);
  EXPECT_EQ(library.symbol("no_such_symbol"), nullptr);
}

// A FIFO without a writer would block the process that opens it.
TEST(Library, AVariableMustNameARegularFile) {
  const std::string path = testing::TempDir() + "weir-library-fifo-" + std::to_string(getpid());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  setenv("WEIR_TEST_LIBRARY", path.c_str(), 1);
  static constexpr const char* names[] = {"libc.so.6"};
  EXPECT_THAT(
      refusal_of([] { Library::open("WEIR_TEST_LIBRARY", names); }),
      testing::AllOf(testing::HasSubstr("WEIR_TEST_LIBRARY names"), testing::HasSubstr("no regular file")));
  unsetenv("WEIR_TEST_LIBRARY");
  unlink(path.c_str());
}

TEST(EntryPoints, FirstRowOfASlotThatIsFoundCounts) {
  constexpr EntryPoint rows[] = {{offsetof(Api, first), "f", 2, "f_v2"},
                                 {offsetof(Api, first), "f", 1, "f"},
                                 {offsetof(Api, second), "g", 3, "g", EntryPoint::optional}};
  Api api{};
  const EntryPoint* missing = fill_entry_points(api, rows, [](const EntryPoint& row) {
    return row.version == 1 ? reinterpret_cast<void*>(one) : nullptr;
  });
  EXPECT_EQ(missing, nullptr);
  EXPECT_EQ(api.first(), 1);
  EXPECT_EQ(api.second, nullptr);
  fill_entry_points(
      api, rows, [](const EntryPoint& row) { return reinterpret_cast<void*>(row.version == 1 ? one : two); });
  EXPECT_EQ(api.first(), 2);
}

TEST(EntryPoints, FirstRequiredSlotThatIsMissingIsNamed) {
  constexpr EntryPoint rows[] = {{offsetof(Api, first), "f", 2, "f_v2"},
                                 {offsetof(Api, second), "g", 3, "g"}};
  Api api{};
  const EntryPoint* missing = fill_entry_points(api, rows, [](const EntryPoint& row) {
    return std::string(row.name) == "f" ? reinterpret_cast<void*>(one) : nullptr;
  });
  ASSERT_NE(missing, nullptr);
  EXPECT_STREQ(missing->name, "g");
}

}  // namespace
}  // namespace sdk_test
