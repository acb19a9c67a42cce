// SPDX-License-Identifier: Apache-2.0
// Messages of the system's loader, translated into reasons and remedies.
#include <gtest/gtest.h>

#include "driver/dynamic_library.hpp"

namespace weir::test {
namespace {

TEST(LoaderMessage, MissingLibrary) {
  const Refusal refusal = explain_loader_message(
      "libfoo.so.7: cannot open shared object file: No such file or directory", "/d/libweir-x.so", {});
  EXPECT_EQ(refusal.status, DriverStatus::broken);
  EXPECT_EQ(refusal.reason, "libweir-x.so needs the library libfoo.so.7, which was not found");
  EXPECT_EQ(refusal.remedy, "install the package that provides libfoo.so.7");
}

TEST(LoaderMessage, UndefinedSymbolWithVersion) {
  EXPECT_EQ(
      explain_loader_message("/d/libweir-x.so: undefined symbol: frob, version V_2", "/d/libweir-x.so", {})
          .reason,
      "libweir-x.so uses the symbol frob, which no library provides");
}

TEST(LoaderMessage, NewerSystemLibraryNeeded) {
  EXPECT_EQ(
      explain_loader_message("/lib/libc.so.6: version `GLIBC_2.99' not found (required by /d/libweir-x.so)",
                             "/d/libweir-x.so", {})
          .reason,
      "libweir-x.so needs GLIBC_2.99 of /lib/libc.so.6, which is not installed");
}

TEST(LoaderMessage, OthersAreQuoted) {
  EXPECT_EQ(explain_loader_message("/d/libweir-x.so: file too short", "/d/libweir-x.so", {}).reason,
            "libweir-x.so cannot be loaded: /d/libweir-x.so: file too short");
}

}  // namespace
}  // namespace weir::test
