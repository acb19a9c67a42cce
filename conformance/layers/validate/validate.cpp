// SPDX-License-Identifier: Apache-2.0
#include "validate.hpp"

#include <atomic>
#include <cstdarg>
#include <weir/sdk/layer_options.hpp>

namespace weir::validate {
namespace {

std::uint32_t next_layer() {
  static std::atomic<std::uint32_t> next{0};
  return next.fetch_add(1, std::memory_order_relaxed);
}

constexpr Kind kinds[] = {Kind::device, Kind::stream, Kind::event, Kind::allocation,
                          Kind::module, Kind::kernel, Kind::graph};

/// Throws Failure that names the invalid option.
Options parse_options(std::string_view text) {
  constexpr const char* layer = "validate";
  Options options;
  for (const sdk::LayerOption& option : sdk::split_layer_options(layer, text)) {
    if (option.key == "races") {
      if (option.value == "off")
        options.races = Options::Races::off;
      else if (option.value == "known")
        options.races = Options::Races::known;
      else if (option.value == "all")
        options.races = Options::Races::all;
      else
        sdk::refuse_layer_value(layer, option, "off, known or all");
    } else if (option.key == "leaks") {
      if (option.value != "on" && option.value != "off") sdk::refuse_layer_value(layer, option, "on or off");
      options.leaks = option.value == "on";
    } else if (option.key == "ignore") {
      if (option.value.empty()) sdk::refuse_layer_value(layer, option, "the name of a kernel");
      options.ignored.insert(option.value);
    } else {
      sdk::refuse_layer_option(layer, option, "races, leaks, ignore");
    }
  }
  return options;
}

}  // namespace

thread_local const char* Validate::calling = "";
thread_local const void* Validate::in_callback = nullptr;

Validate::Validate(const sdk::LayerHost& host) : next(host.next), layer_(host), objects_(next_layer()) {
  options_ = parse_options(host.options);
  objects_.set_driver(host.driver);
}

void Validate::configure(std::string_view text) {
  Options options = parse_options(text);
  const Lock lock(mutex_);
  options_ = std::move(options);
  said_.clear();
}

std::uint64_t Validate::get(std::string_view what) const {
  const Lock lock(mutex_);
  if (what == "reports") {
    std::uint64_t sum = 0;
    for (const auto& [rule, count] : reports_) sum += count;
    return sum;
  }
  if (what.starts_with("reports.")) {
    const auto found = reports_.find(what.substr(8));
    return found == reports_.end() ? 0 : found->second;
  }
  if (what.starts_with("live."))
    for (const Kind kind : kinds)
      if (what.substr(5) == word(kind)) return objects_.live(kind);
  sdk::fail(WEIR_ERROR_NOT_FOUND,
            "layer validate has no counter '%.64s'; expected reports, reports.RULE, or live.KIND for device, "
            "stream, event, allocation, module, kernel and graph",
            std::string(what).c_str());
}

void Validate::check_thread() {
  if (in_callback)
    refuse("callback",
           "a host callback calls the driver; expected it to signal another thread, which makes the call");
}

void Validate::report(const char* rule, const std::string& message) {
  {
    const Lock lock(mutex_);
    ++reports_[rule];
    if (!said_.insert(message).second) return;  // each message is printed once
  }
  layer_.report(rule, message);
}

void Validate::refuse(const char* rule, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const std::string message = std::string(calling) + ": " + sdk::detail::format_text(format, arguments);
  va_end(arguments);
  report(rule, message);
  throw sdk::Failure{WEIR_ERROR_INVALID, "validate layer: " + message};
}

void Validate::check_device(const Object& object, const Device& device, const char* what) {
  if (object.device.get() != &device)
    refuse("foreign", "%s is %s; expected one of %s", what, describe(object).c_str(),
           describe(device).c_str());
}

}  // namespace weir::validate

using weir::validate::Validate;
WEIR_LAYER(Validate)
