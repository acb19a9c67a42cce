// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <weir/sdk/layer_options.hpp>

namespace weir::validate {

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

}  // namespace weir::validate
