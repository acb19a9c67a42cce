// SPDX-License-Identifier: Apache-2.0
// The options of a layer in WEIR_LAYERS: `key` or `key=value`, separated by ':'. An invalid option throws a
// Failure that names the layer, the word, the expectation and the finding.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "status.hpp"

namespace weir::sdk {

/// One option. `value` is empty if there was no '='.
struct LayerOption {
  std::string key, value;
};

/// Splits "nth=3:call=fill". Throws Failure for an empty key.
inline std::vector<LayerOption> split_layer_options(const char* layer, std::string_view text) {
  std::vector<LayerOption> options;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(':'), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t equals = std::min(word.find('='), word.size());
    if (equals == 0)
      fail(WEIR_ERROR_INVALID,
           "layer %s: an option is empty or has no name ('%s'); expected key or key=value", layer,
           std::string(word).c_str());
    options.push_back(
        {std::string(word.substr(0, equals)), std::string(word.substr(std::min(equals + 1, word.size())))});
  }
  return options;
}

/// Refuses an unknown option; `known` lists the valid ones.
[[noreturn]] inline void refuse_layer_option(const char* layer, const LayerOption& option,
                                             const char* known) {
  fail(WEIR_ERROR_INVALID, "layer %s: there is no option '%s'; the options are %s", layer, option.key.c_str(),
       known);
}

/// Refuses an option's value; `expected` describes the valid values.
[[noreturn]] inline void refuse_layer_value(const char* layer, const LayerOption& option,
                                            const char* expected) {
  fail(WEIR_ERROR_INVALID, "layer %s: %s is '%s'; expected %s", layer, option.key.c_str(),
       option.value.c_str(), expected);
}

/// The value as a number of at least `min_value`; a suffix K, M or G multiplies by a power of 1024.
inline std::uint64_t layer_number(const char* layer, const LayerOption& option, std::uint64_t min_value) {
  const std::string& text = option.value;
  std::uint64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  const int shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
  if (error != std::errc() || shift < 0 || number < min_value || number > (~std::uint64_t{0} >> shift))
    refuse_layer_value(
        layer, option,
        ("a number of at least " + std::to_string(min_value) + ", which K, M or G may follow").c_str());
  return number << shift;
}

}  // namespace weir::sdk
