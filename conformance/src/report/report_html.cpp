// SPDX-License-Identifier: Apache-2.0
// One self-contained page: a verdict, the driver and device, a bar for each level, and every requirement.
#include <algorithm>
#include <cstdio>

#include "report/report.hpp"

namespace weir::conformance {
namespace {

constexpr const char* style = R"(
:root { --ink: #1d2733; --soft: #5d6b7a; --line: #dde3ea; --paper: #ffffff; --back: #f4f6f9;
  --passed: #2e8b57; --failed: #c8372d; --expected: #c98a1b; --unexpected: #2f7fc1; --unsupported: #9aa7b5; --skipped: #c3ccd6; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9ef; --soft: #9aa7b5; --line: #2f3a47; --paper: #1b232d;
  --back: #12181f; --unsupported: #5d6b7a; --skipped: #3d4957; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 64rem; margin: 0 auto; padding: 2rem 1rem 4rem; }
h1 { font-size: 1.7rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
.verdict { display: flex; gap: 1.2rem; align-items: center; margin-bottom: 1.5rem; }
.seal { flex: none; width: 4rem; height: 4rem; border-radius: 50%; color: #fff; font-size: 2rem; line-height: 4rem; text-align: center; }
.card { background: var(--paper); border: 1px solid var(--line); border-radius: .6rem; padding: 1rem 1.2rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.2rem; margin: 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
.counts { display: flex; flex-wrap: wrap; gap: .4rem 1.4rem; margin: 1rem 0; }
.counts b { font-size: 1.3rem; }
.bar { display: flex; height: .7rem; border-radius: .35rem; overflow: hidden; background: var(--line); }
.bar i { display: block; }
details { border-bottom: 1px solid var(--line); } details:last-child { border: 0; }
summary { cursor: pointer; display: grid; grid-template-columns: 1.4rem 18rem 1fr max-content; gap: .8rem; padding: .6rem 0; align-items: center; }
@media (max-width: 45rem) { summary { grid-template-columns: 1.4rem 1fr max-content; } summary .bar { grid-column: 2 / 4; } }
table { border-collapse: collapse; width: 100%; margin-bottom: 1rem; }
td { padding: .35rem .6rem .35rem 0; vertical-align: top; border-top: 1px solid var(--line); }
td:first-child { font-variant-numeric: tabular-nums; color: var(--soft); white-space: nowrap; }
td:nth-child(2) { white-space: nowrap; } td:last-child { text-align: right; color: var(--soft); white-space: nowrap; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .3rem 0 0; font-size: .85rem; color: var(--soft); }
.dot { display: inline-block; width: .7rem; height: .7rem; border-radius: 50%; margin-right: .4rem; }
.soft { color: var(--soft); }
)";

std::string color(Outcome outcome) {
  switch (outcome) {
    case Outcome::passed:
      return "var(--passed)";
    case Outcome::failed:
      return "var(--failed)";
    case Outcome::expected_failure:
      return "var(--expected)";
    case Outcome::unexpected_pass:
      return "var(--unexpected)";
    case Outcome::unsupported:
      return "var(--unsupported)";
    case Outcome::skipped:
      return "var(--skipped)";
  }
  return "var(--failed)";
}

std::string dot(Outcome outcome) {
  return "<span class=\"dot\" style=\"background:" + color(outcome) + "\"></span>";
}

std::string time_text(double milliseconds) {
  char text[32];
  if (milliseconds < 1000)
    std::snprintf(text, sizeof text, "%.1f ms", milliseconds);
  else
    std::snprintf(text, sizeof text, "%.2f s", milliseconds / 1000);
  return text;
}

std::string bar(const Counts& counts) {
  std::size_t all = 0;
  for (const std::size_t count : counts) all += count;
  std::string out = "<span class=\"bar\">";
  for (std::size_t i = 0; i < outcome_count && all; ++i) {
    if (!counts[i]) continue;
    const auto outcome = static_cast<Outcome>(i);
    char width[32];
    std::snprintf(width, sizeof width, "%.2f%%",
                  100.0 * static_cast<double>(counts[i]) / static_cast<double>(all));
    out += "<i style=\"width:" + std::string(width) + ";background:" + color(outcome) + "\" title=\"" +
           std::to_string(counts[i]) + " " + std::string(to_string(outcome)) + "\"></i>";
  }
  return out + "</span>";
}

std::string fact(const std::string& name, const std::string& value) {
  return value.empty() ? "" : "<dt>" + name + "</dt><dd>" + escaped(value) + "</dd>";
}

std::string joined(const nlohmann::json& list) {
  std::string out;
  for (const auto& entry : list) out += (out.empty() ? "" : ", ") + entry.get<std::string>();
  return out;
}

std::string facts(const Run& run) {
  const auto text = [](const nlohmann::json& object, const char* key) {
    return object.is_object() ? object.value(key, "") : "";
  };
  std::string out = "<div class=\"card\"><dl>";
  out += fact("Driver", text(run.driver, "name") + " " + text(run.driver, "version") + ", by " +
                            text(run.driver, "vendor"));
  out += fact("Driver ABI", text(run.driver, "abi")) + fact("Library", text(run.driver, "library"));
  out += fact("Layer", text(run.driver, "layer"));
  out += fact("SHA-256", text(run.driver, "sha256")) + fact("Device", text(run.device, "name"));
  out += fact("Runtime", text(run.device, "driver_version")) + fact("Location", text(run.device, "location"));
  if (run.device.contains("capabilities")) out += fact("Capabilities", joined(run.device["capabilities"]));
  if (run.device.contains("code_targets")) out += fact("Loads", joined(run.device["code_targets"]));
  out += fact("Notes", text(run.device, "notes")) + fact("Suite", WEIR_VERSION);
  out += fact("Started", run.started) + fact("Took", time_text(run.seconds * 1000));
  out += fact("Error", text(run.driver, "error")) + fact("At exit", text(run.driver, "exit"));
  out += fact("Wrote to foreign descriptors", text(run.driver, "wrote"));
  out += fact("No device", text(run.driver, "no_device"));
  return out + "</dl></div>";
}

std::string level_section(const Run& run, int level) {
  const Counts counts = run.counts(level);
  std::size_t all = 0;
  for (const std::size_t count : counts) all += count;
  if (!all) return "";
  const std::size_t failed = count_of(counts, Outcome::failed);
  std::string out = std::string("<details") + (failed ? " open" : "") + "><summary><b>" +
                    std::to_string(level) + "</b><span>" + escaped(level_title(level)) + "</span>" +
                    bar(counts) + "<span class=\"soft\">" +
                    std::to_string(count_of(counts, Outcome::passed)) + " of " + std::to_string(all) +
                    "</span></summary><table>";
  for (const Result& result : run.results) {
    if (result.requirement->level != level) continue;
    out += "<tr><td>" + result.requirement->id + "</td><td>" + dot(result.outcome) +
           std::string(to_string(result.outcome)) + "</td><td>" + escaped(result.requirement->sentence);
    if (!result.reason.empty()) out += "<pre>" + escaped("Expected: " + result.reason) + "</pre>";
    if (!result.message.empty()) out += "<pre>" + escaped(result.message) + "</pre>";
    out += "</td><td>" + time_text(result.milliseconds) + "</td></tr>";
  }
  return out + "</table></details>";
}

}  // namespace

std::string html_report(const Run& run) {
  const Counts counts = run.counts();
  const std::string verdict = run.executed() ? run.verdict() : "nothing was executed";
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>" +
      escaped(verdict) + "</title><style>" + style +
      "</style></head><body><main><div class=\"verdict\"><div class=\"seal\" style=\"background:" +
      color(run.good() ? Outcome::passed : Outcome::failed) + "\">" + (run.good() ? "&#10003;" : "&#10007;") +
      "</div><div><h1>" + escaped(verdict) + "</h1><div class=\"soft\">" +
      escaped(run.device.is_object() ? run.device.value("name", "no device") : "no device") + ", " +
      escaped(run.started) + "</div></div></div>";
  out += facts(run) + "<div class=\"counts\">";
  for (std::size_t i = 0; i < outcome_count; ++i)
    if (counts[i])
      out += "<span>" + dot(static_cast<Outcome>(i)) + "<b>" + std::to_string(counts[i]) + "</b> " +
             std::string(to_string(static_cast<Outcome>(i))) + "</span>";
  out += "</div>" + bar(counts) + "<h2>Levels</h2><div class=\"card\">";
  for (int level = 0; level < level_count(); ++level) out += level_section(run, level);
  return out + "</div></main></body></html>\n";
}

}  // namespace weir::conformance
