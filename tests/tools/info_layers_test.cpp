// SPDX-License-Identifier: Apache-2.0
// Layers in the report of `weir info`, and errors for an invalid WEIR_LAYERS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "driver/driver_folder.hpp"
#include "places.hpp"
#include "tools/run_program.hpp"

namespace weir::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class InfoLayers : public testing::Test {
 protected:
  InfoLayers() { folder.add_driver("good", "good"); }

  /// With layers from the build folder, or from a test's folder.
  ProgramResult info(const std::string& layers, const std::vector<std::string>& options = {},
                     const fs::path& where = built("lib/weir/layers")) const {
    std::vector<std::string> command{tool(), "info"};
    command.insert(command.end(), options.begin(), options.end());
    return run_program(command, {"WEIR_DRIVER_PATH=" + folder.path().string(), "HOME=/nonexistent",
                                 "XDG_DATA_HOME", "XDG_CACHE_HOME=" + (folder.path() / "cache").string(),
                                 "WEIR_LAYERS=" + layers, "WEIR_LAYER_PATH=" + where.string()});
  }

  /// Expects a failure with the reason on standard error and no part of a report.
  void expect_refused(const std::string& layers, const testing::Matcher<std::string>& words) const {
    for (const std::vector<std::string>& options : {std::vector<std::string>{}, {"--json"}}) {
      const ProgramResult result = info(layers, options);
      EXPECT_EQ(result.status, 1) << "WEIR_LAYERS=" << layers;
      EXPECT_EQ(result.out, "") << "WEIR_LAYERS=" << layers;
      EXPECT_THAT(result.err, AllOf(HasSubstr("WEIR_LAYERS"), words));
    }
  }

  DriverFolder folder;
};

TEST_F(InfoLayers, StandBelowEachDriverFromTheProgramDown) {
  const ProgramResult result = info("validate,fault:call=kernel_launch:nth=3");
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out,
              HasSubstr("  layers        validate, fault (call=kernel_launch:nth=3); the first is "
                        "nearest to the program\n"));
}

TEST_F(InfoLayers, AreFoundNextToTheDriversWithoutAVariable) {
  const ProgramResult result =
      run_program({tool(), "info"}, {"WEIR_DRIVER_PATH=" + folder.path().string(), "HOME=/nonexistent",
                                     "XDG_DATA_HOME", "XDG_CACHE_HOME=" + (folder.path() / "cache").string(),
                                     "WEIR_LAYERS=validate", "WEIR_LAYER_PATH"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("  layers        validate"));
}

TEST_F(InfoLayers, OfEachDriverAreInTheJsonReport) {
  const ProgramResult result = info("validate,fault:call=kernel_launch:nth=3", {"--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const json report = json::parse(result.out);
  ASSERT_GE(report["drivers"].size(), 1u);
  for (const json& driver : report["drivers"]) {
    if (driver["status"] != "usable") continue;
    ASSERT_EQ(driver["layers"].size(), 2u) << driver["name"];
    EXPECT_EQ(driver["layers"][0]["name"], "validate");
    EXPECT_EQ(driver["layers"][0]["options"], "");
    EXPECT_EQ(driver["layers"][0]["library"], built("lib/weir/layers/libweir-layer-validate.so").string());
    EXPECT_EQ(driver["layers"][1]["name"], "fault");
    EXPECT_EQ(driver["layers"][1]["options"], "call=kernel_launch:nth=3");
  }
  EXPECT_EQ(report["drivers"][0]["name"], "good");
  EXPECT_EQ(report["drivers"][0]["status"], "usable");
}

TEST_F(InfoLayers, AreNotMentionedWhereThereAreNone) {
  const ProgramResult text = info("");
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, Not(HasSubstr("layers  ")));
  const json report = json::parse(info("", {"--json"}).out);
  for (const json& driver : report["drivers"]) EXPECT_EQ(driver["layers"], json::array());
}

// proves R35
TEST_F(InfoLayers, MissingOnesAreNamedWithTheExistingOnes) {
  expect_refused("validate,faults",
                 AllOf(HasSubstr("asks for the layer 'faults', which is not installed"),
                       HasSubstr("the layers are fault, validate"),
                       HasSubstr("name one of them, or put the folder of libweir-layer-faults.so in "
                                 "WEIR_LAYER_PATH")));
}

// proves R35
TEST_F(InfoLayers, WhereThereAreNoneTheFoldersAreNamed) {
  if (fs::exists("/usr/lib/weir/layers")) GTEST_SKIP() << "this system has layers of its own";
  // A copy of libweir, found before the built one, searches its own folder for layers and finds none.
  fs::copy_file(built("lib/libweir.so.1"), folder.path() / "libweir.so.1");
  const ProgramResult result = run_program(
      {tool(), "info"},
      {"LD_LIBRARY_PATH=" + folder.path().string(), "HOME=/nonexistent", "XDG_DATA_HOME", "WEIR_LAYER_PATH",
       "WEIR_DRIVER_PATH=" + folder.path().string(), "WEIR_PROBE=off", "WEIR_LAYERS=fault"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(
      result.err,
      AllOf(HasSubstr("asks for the layer 'fault', which is not installed; no layer was found in"),
            HasSubstr((folder.path().parent_path() / "layers").string()), HasSubstr("install weir-tools")));
}

// proves R35
TEST_F(InfoLayers, RelativeFoldersAreRefused) {
  const ProgramResult result = info("validate", {}, "layers");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("WEIR_LAYER_PATH has the folder 'layers'; expected absolute folders"));
}

// proves R35
TEST_F(InfoLayers, EmptyNamesAreCountedAndTheFormIsShown) {
  const auto form = HasSubstr("expected layers between commas");
  expect_refused(",", AllOf(HasSubstr("is ','"), HasSubstr("layer 1 has no name"), form));
  expect_refused("validate,", AllOf(HasSubstr("layer 2 has no name"), form));
  expect_refused("validate,,fault", AllOf(HasSubstr("layer 2 has no name"), form));
  expect_refused(":nth=3", AllOf(HasSubstr("layer 1 has no name"), form));
}

// proves R35
TEST_F(InfoLayers, InvalidNamesAreQuoted) {
  expect_refused("Validate",
                 HasSubstr("'Validate' is not the name of a layer (lower case letters, digits and '-'"));
  expect_refused("../fault", HasSubstr("'../fault' is not the name of a layer"));
  expect_refused(std::string(33, 'x'), HasSubstr("at most 32"));
}

struct BadOptions {
  const char* layers;
  std::vector<const char*> words;
};

// proves R35
TEST_F(InfoLayers, BadOptionsAreQuotedWithTheExpectation) {
  const BadOptions all[] = {
      {"fault:speed=2", {"there is no option 'speed'", "the options are call, nth, times"}},
      {"fault:nth=0", {"nth is '0'", "a number of at least 1"}},
      {"fault:nth=many", {"nth is 'many'", "a number of at least 1"}},
      {"fault:nth=", {"nth is ''", "a number of at least 1"}},
      {"fault:nth=99999999999999999999", {"nth is '99999999999999999999'"}},
      {"fault:call=kernel_lunch", {"call is 'kernel_lunch'", "a function of the driver's table"}},
      {"fault:result=bad", {"result is 'bad'", "out_of_memory"}},
      {"fault:memory=1T", {"memory is '1T'", "K, M or G"}},
      {"fault:late=yes", {"late is 'yes'", "expected no value"}},
      {"fault::nth=2", {"an option is empty or has no name ('')", "key or key=value"}},
      {"fault:=2", {"an option is empty or has no name ('=2')"}},
      {"validate:races=some", {"races is 'some'", "off, known or all"}},
      {"validate:leaks=no", {"leaks is 'no'", "on or off"}},
      {"validate:ignore", {"ignore is ''", "the name of a kernel"}},
      {"validate,fault:x", {"layer 'fault'", "there is no option 'x'"}},
  };
  for (const BadOptions& bad : all)
    for (const char* words : bad.words) expect_refused(bad.layers, HasSubstr(words));
}

// proves R35
TEST_F(InfoLayers, LibrariesThatCannotBeALayerAreRefusedWithTheReason) {
  const fs::path mine = folder.path() / "layers";
  fs::create_directory(mine);
  chmod(mine.c_str(), 0755);
  const auto put = [&](const fs::path& library, mode_t mode) {
    const fs::path to = mine / "libweir-layer-mine.so";
    fs::copy_file(library, to, fs::copy_options::overwrite_existing);
    chmod(to.c_str(), mode);
    return info("mine", {}, mine);
  };
  const fs::path fault = built("lib/weir/layers/libweir-layer-fault.so");
  ProgramResult result = put(fault, 0644);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("  layers        mine; "));
  result = put(fault, 0666);
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("the layer 'mine'"), HasSubstr("WEIR_LAYERS"),
                                HasSubstr("libweir-layer-mine.so may be written by every user"),
                                HasSubstr("run chmod go-w ")));
  fs::remove(mine / "libweir-layer-mine.so");
  ASSERT_EQ(mkfifo((mine / "libweir-layer-mine.so").c_str(), 0644), 0);
  result = info("mine", {}, mine);
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("libweir-layer-mine.so is not a regular file but a named pipe"));
  fs::remove(mine / "libweir-layer-mine.so");
  result = put(built("tests/driver/broken/good.so"), 0644);
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("the layer 'mine'"), HasSubstr("exports no symbol weir_layer_entry"),
                    HasSubstr("report it to the author")));
  result = put(folder.write("text", "no library"), 0644);
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("the layer 'mine'"), HasSubstr("libweir-layer-mine.so"),
                                HasSubstr("reinstall the layer")));
}

}  // namespace
}  // namespace weir::test
