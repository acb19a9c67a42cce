// SPDX-License-Identifier: Apache-2.0
// The suite's command line: its choice of the driver, and the arguments, manifests and kernels that it
// refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "suite_run.hpp"
#include "temporary_folder.hpp"

namespace weir::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Suite, LevelsThatThereAreNotAreRefused) {
  for (const char* level : {"9", "2-9", "12", "3-2", "", "x"}) {
    const Judgement run = judge(WEIR_CPU_MANIFEST, "--list --level '" + std::string(level) + "'");
    EXPECT_EQ(run.status, 2) << level;
    EXPECT_THAT(run.printed, HasSubstr("expected a number from 0 to 8")) << level;
  }
}

TEST(Suite, ReadyKernelsAreNamedWhenTheirFolderIsWrong) {
  const TemporaryFolder temporary;
  const fs::path& folder = temporary.path();
  const auto run_with = [&](const std::string& index) {
    std::ofstream(folder / "kernels.json") << index;
    return judge(WEIR_CPU_MANIFEST, "--filter C3.01 --kernels '" + folder.string() + "'");
  };
  const auto message = [&](const std::string& index) {
    const Judgement run = run_with(index);
    EXPECT_EQ(run.status, 2) << index;
    return run.printed;
  };
  const Judgement without = judge(WEIR_CPU_MANIFEST, "--filter C3.01 --kernels '" + folder.string() + "'");
  EXPECT_EQ(without.status, 2);
  EXPECT_THAT(without.printed, HasSubstr("kernels.json is missing"));
  EXPECT_THAT(message("{}"), HasSubstr("has no list of objects"));
  EXPECT_THAT(message(R"({"objects": []})"), HasSubstr("lists no objects"));
  EXPECT_THAT(message(R"({"objects": [{"format": 5, "file": "f", "kernels": ["iota"]}]})"),
              HasSubstr("an object lacks its format"));
  EXPECT_THAT(message(R"({"objects": [{"format": "elf-x86_64", "kernels": ["iota"]}]})"),
              HasSubstr("its file"));
  EXPECT_THAT(message(R"({"objects": [{"format": "x", "file": "f", "kernels": ["itoa"]}]})"),
              HasSubstr("'itoa'"));
  EXPECT_THAT(message(R"({"objects": [{"format": "elf-x86_64", "file": "gone.so", "kernels": ["iota"]}]})"),
              HasSubstr("gone.so"));
  std::ofstream(folder / "f") << "a code object";
  const Judgement other = run_with(R"({"objects": [{"format": "other", "file": "f", "kernels": ["iota"]}]})");
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.outcome_of("C3.01").at("message"),
              HasSubstr("no kernel 'iota' in a format of the device"));
}

TEST(Suite, AnInstalledDriverIsTheOneThatProgramsLoad) {
  const TemporaryFolder temporary;
  const fs::path& data = temporary.path();
  const fs::path drivers = data / "weir/drivers";
  fs::create_directories(drivers);
  const fs::path library = fs::path(WEIR_ODD_MANIFEST).parent_path() / "libweir-odd.so";
  fs::copy_file(library, drivers / "libweir-odd.so", fs::copy_options::overwrite_existing);
  std::string manifest = contents(WEIR_ODD_MANIFEST);
  manifest.replace(manifest.find("minimal"), 7, "cpu");  // the name of an installed driver next to libweir
  std::ofstream(drivers / "other.json") << manifest;
  const Judgement run =
      judge("cpu", "--filter C0.01", "XDG_DATA_HOME='" + data.string() + "' WEIR_DRIVER_PATH=");
  EXPECT_EQ(run.report.at("driver").value("manifest", ""), (drivers / "other.json").string()) << run.printed;
  const fs::path cpu_folder = fs::path(WEIR_CPU_MANIFEST).parent_path();
  const Judgement first =
      judge("cpu", "--filter C0.01",
            "XDG_DATA_HOME='" + data.string() + "' WEIR_DRIVER_PATH='" + cpu_folder.string() + "'");
  EXPECT_EQ(first.report.at("driver").value("manifest", ""), WEIR_CPU_MANIFEST);
}

TEST(Suite, ManifestsThatLibweirRefusesDoNotConform) {
  const TemporaryFolder temporary;
  const fs::path& folder = temporary.path();
  fs::create_directories(folder / "inside");
  const fs::path built = fs::path(WEIR_ODD_MANIFEST).parent_path() / "libweir-odd.so";
  fs::copy_file(built, folder / "libweir-odd.so", fs::copy_options::overwrite_existing);
  const auto with = [](const std::string& from, const std::string& to) {
    std::string text = contents(WEIR_ODD_MANIFEST);
    return text.replace(text.find(from), from.size(), to);
  };
  const auto expect = [&](const fs::path& file, const std::string& text, const std::string& words) {
    std::ofstream(file) << text;
    const Judgement run = judge(file.string(), "--filter C0.08");
    EXPECT_EQ(run.status, 1) << text << run.printed;
    EXPECT_THAT(run.printed, HasSubstr(words)) << text;
  };
  const fs::path file = folder / "odd.json";
  const std::string library = "libweir-odd.so";
  expect(file, with(library, (folder / library).string()), "by an absolute path");
  expect(folder / "inside/odd.json", with(library, "../" + library), "outside the manifest's folder");
  expect(file, with("{", R"({"name": "first",)"), "has the key \"name\" twice");
  expect(file, with("x86_64", "z80"), "is for the architecture \"z80\"");
  expect(file, with("{", R"({"deep": [[[[[[[[1]]]]]]]],)"), "nested more than 8 levels deep");
  expect(file, with("\"minimal\"", "5"), "has a number for \"name\"; a string is expected");
  expect(file, with("minimal", "-minimal"), "no '-' first");
}

TEST(Suite, WrongCallsAreRefusedBeforeTheRun) {
  const auto refused = [](const std::string& arguments, const std::string& words) {
    const Judgement run = judge(WEIR_ODD_MANIFEST, arguments);
    EXPECT_EQ(run.status, 2) << arguments << "\n" << run.printed;
    EXPECT_THAT(run.printed, HasSubstr(words)) << arguments;
    EXPECT_THAT(run.printed, Not(HasSubstr("passed"))) << arguments;
  };
  refused("--filter C0.01,NOPE", "--filter has 'NOPE', which matches no requirement");
  refused("--filter C1.01 --level 0", "--filter matches no requirement of --level 0");
  refused("--timeout 0", "--timeout");
  refused("--patience -3", "--patience");
  refused("--device x", "--device");
  refused("--nonsense", "--nonsense");
  refused("--filter C0.01 --layer fault:call=nosuch:nth=1:result=launch", "cannot be loaded over the driver");
  const auto unwritable = [](const std::string& folder) {
    const std::string command = "'" WEIR_CONFORMANCE "' --driver '" WEIR_ODD_MANIFEST
                                "' --filter C0.01 --report '" +
                                folder + "' 2>&1 | grep -q 'where no report can be written'";
    return WEXITSTATUS(std::system(command.c_str())) == 0;
  };
  EXPECT_TRUE(unwritable("/proc/nowhere"));
  EXPECT_TRUE(unwritable(WEIR_ODD_MANIFEST));
}

TEST(Suite, ADeviceThatIsNotThereIsRefusedWithTheirNumber) {
  const Judgement run = judge(WEIR_CPU_MANIFEST, "--filter C0.01 --device 7", "WEIR_CPU_DEVICES=2");
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.printed, HasSubstr("--device is 7, but the driver cpu has 2 devices: expected 0 to 1"));
}

TEST(Suite, AnUnknownDriverSaysWhereItWasLookedFor) {
  const Judgement run = judge("nobody", "");
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.printed, HasSubstr("nobody.json"));
}

}  // namespace
}  // namespace weir::test
