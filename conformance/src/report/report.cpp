// SPDX-License-Identifier: Apache-2.0
#include "report/report.hpp"

#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace weir::conformance {
namespace {

using nlohmann::json;

json counts_object(const Counts& counts) {
  json object = json::object();
  for (std::size_t i = 0; i < outcome_count; ++i)
    object[std::string(to_string(static_cast<Outcome>(i)))] = counts[i];
  return object;
}

std::string describe_skip(const Result& result) {
  std::string words(to_string(result.outcome));
  if (!result.reason.empty()) words += ": " + result.reason;
  if (!result.message.empty()) words += ": " + result.message;
  return words;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t')
      out += '?';
    else
      out += c;
  }
  return out;
}

std::string json_report(const Run& run) {
  json report = {{"report_version", 1},    {"suite_version", WEIR_VERSION},
                 {"started", run.started}, {"seconds", run.seconds},
                 {"driver", run.driver},   {"device", run.device},
                 {"calls", run.calls},     {"counts", counts_object(run.counts())}};
  report["verdict"] = run.good() ? "passed" : "failed";
  report["levels"] = json::array();
  for (int level = 0; level < level_count(); ++level) {
    const Counts counts = run.counts(level);
    report["levels"].push_back(
        {{"level", level}, {"title", level_title(level)}, {"counts", counts_object(counts)}});
  }
  report["requirements"] = json::array();
  for (const Result& result : run.results) {
    json entry = {{"id", result.requirement->id},
                  {"level", result.requirement->level},
                  {"test", result.requirement->test_name()},
                  {"sentence", result.requirement->sentence},
                  {"outcome", to_string(result.outcome)},
                  {"milliseconds", result.milliseconds}};
    if (!result.message.empty()) entry["message"] = result.message;
    if (!result.reason.empty()) entry["reason"] = result.reason;
    report["requirements"].push_back(std::move(entry));
  }
  return report.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

namespace {

/// Properties precede the cases of a suite, or are inside a case.
std::string junit_property(std::string_view name, const std::string& value) {
  if (value.empty()) return "";
  return "<property name=\"" + std::string(name) + "\" value=\"" + escaped(value) + "\"/>";
}

std::string junit_properties(const Run& run) {
  const auto text = [](const json& object, const char* key) {
    return object.is_object() ? object.value(key, "") : "";
  };
  std::string out = "<properties>\n";
  for (const char* key : {"name", "version", "vendor", "abi", "library", "sha256", "layer", "error", "exit",
                          "wrote", "no_device"})
    out += junit_property(std::string("driver.") + key, text(run.driver, key));
  for (const char* key : {"name", "vendor", "driver_version", "location"})
    out += junit_property(std::string("device.") + key, text(run.device, key));
  out += junit_property("suite.version", WEIR_VERSION) + junit_property("verdict", run.verdict());
  return out + "\n</properties>\n";
}

/// JUnit has three outcomes: passed, failed and skipped. The property "outcome" gives the exact one.
std::string junit_case(const Result& result) {
  const bool plain = result.outcome == Outcome::passed || result.outcome == Outcome::failed;
  std::string out;
  if (!plain)
    out +=
        "<properties>" + junit_property("outcome", std::string(to_string(result.outcome))) + "</properties>";
  if (result.outcome == Outcome::failed)
    out += "<failure message=\"" + escaped(result.requirement->sentence) + "\">" + escaped(result.message) +
           "</failure>";
  else if (result.outcome == Outcome::unexpected_pass)
    out += "<system-out>" + escaped(describe_skip(result)) + "; remove the expectation</system-out>";
  else if (!plain)
    out += "<skipped message=\"" + escaped(describe_skip(result)) + "\"/>";
  return out;
}

}  // namespace

std::string junit_report(const Run& run) {
  const Counts all = run.counts();
  const std::size_t failed = count_of(all, Outcome::failed);
  const std::string failures = std::to_string(failed);
  const std::string skipped = std::to_string(run.results.size() - failed - count_of(all, Outcome::passed) -
                                             count_of(all, Outcome::unexpected_pass));
  const std::string numbers = " tests=\"" + std::to_string(run.results.size()) + "\" failures=\"" + failures +
                              "\" skipped=\"" + skipped + "\" time=\"" + std::to_string(run.seconds) + "\"";
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" + numbers +
                    ">\n<testsuite name=\"weir-conformance " + escaped(run.driver.value("name", "")) + "\"" +
                    numbers + " timestamp=\"" + escaped(run.started) + "\">\n" + junit_properties(run);
  for (const Result& result : run.results) {
    out += "<testcase classname=\"level " + std::to_string(result.requirement->level) + "." +
           escaped(result.requirement->group) + "\" name=\"" +
           escaped(result.requirement->id + " " + result.requirement->name) + "\" time=\"" +
           std::to_string(result.milliseconds / 1000) + "\"";
    const std::string inside = junit_case(result);
    out += inside.empty() ? "/>\n" : ">" + inside + "</testcase>\n";
  }
  return out + "</testsuite>\n</testsuites>\n";
}

void prepare_reports(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error && access(folder.c_str(), W_OK | X_OK) != 0) error.assign(errno, std::generic_category());
  if (!error && !std::filesystem::is_directory(folder))
    error = std::make_error_code(std::errc::not_a_directory);
  if (error)
    throw std::runtime_error("--report is '" + folder.string() +
                             "', where no report can be written: " + error.message() +
                             "; expected a writable folder, which is created if it does not exist");
}

void write_reports(const Run& run, const std::filesystem::path& folder) {
  auto write = [&](const char* name, const std::string& text) {
    std::ofstream file(folder / name, std::ios::binary);
    file << text;
    file.close();
    if (!file) throw std::runtime_error("the report " + (folder / name).string() + " cannot be written");
  };
  write("conformance.json", json_report(run));
  write("conformance.xml", junit_report(run));
  write("conformance.html", html_report(run));
}

}  // namespace weir::conformance
