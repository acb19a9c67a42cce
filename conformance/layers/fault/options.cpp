// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <weir/sdk/layer_options.hpp>

#include "owners.hpp"

namespace weir::fault {
namespace {

constexpr const char* layer = "fault";
/// Whether a function fills an output of its caller. Copies to the host do not count: their destination is
/// already initialised.
template <class A>
constexpr bool is_filled = std::is_pointer_v<A> && !std::is_const_v<std::remove_pointer_t<A>> &&
                           !std::is_function_v<std::remove_pointer_t<A>> && kind_of<A> == 0 &&
                           !std::is_same_v<A, void*> && !std::is_same_v<A, weir_status*>;
template <class... A>
constexpr bool fills(weir_result (*)(A...)) {
  return (is_filled<A> || ...);
}

struct Slot {
  std::string_view name;
  bool fills;
};
constexpr Slot table_slots[] = {
#define WEIR_SLOT(slot, need) {#slot, fills(decltype(weir_driver_table::slot){})},
#include <weir/sdk/slots.def>
#undef WEIR_SLOT
};
const Slot* find_slot(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(table_slots, name, &Slot::name);
  return found == std::end(table_slots) ? nullptr : found;
}

// In numeric order, from WEIR_ERROR_UNKNOWN on.
constexpr std::string_view result_words[] = {"unknown",   "invalid",    "unsupported",     "abi",
                                             "no_device", "no_library", "out_of_memory",   "code_object",
                                             "not_found", "launch",     "illegal_address", "device_lost",
                                             "system"};

std::string list(const auto& words) {
  std::string text;
  for (const std::string_view word : words) text += (text.empty() ? "" : ", ") + std::string(word);
  return text;
}

weir_result parse_result(const sdk::LayerOption& option) {
  if (option.value == "ok") return WEIR_OK;
  const auto found = std::ranges::find(result_words, option.value);
  if (found == std::end(result_words))
    sdk::refuse_layer_value(layer, option, ("ok, or one of " + list(result_words)).c_str());
  return static_cast<weir_result>(WEIR_ERROR_UNKNOWN + (found - std::begin(result_words)));
}

}  // namespace

bool is_slot(std::string_view name) noexcept {
  return find_slot(name) != nullptr;
}

bool may_be_lost(std::string_view name) noexcept {
  const Slot* const slot = find_slot(name);
  return !slot || !slot->fills;
}

const char* result_word(weir_result result) noexcept {
  if (result == WEIR_OK) return "ok";
  const auto place = static_cast<std::size_t>(result - WEIR_ERROR_UNKNOWN);
  return place < std::size(result_words) ? result_words[place].data() : "a result without a name";
}

Options parse_options(std::string_view text) {
  Options options;
  const auto rule = [&]() -> Rule& {
    if (options.rules.empty()) options.rules.emplace_back();
    return options.rules.back();
  };
  for (const sdk::LayerOption& option : sdk::split_layer_options(layer, text)) {
    const std::string& key = option.key;
    if (key == "call") {
      if (option.value != "any" && !is_slot(option.value))
        sdk::refuse_layer_value(layer, option,
                                "any, or a function of the driver's table, such as kernel_launch");
      options.rules.emplace_back().call = option.value == "any" ? "" : option.value;
    } else if (key == "nth") {
      rule().nth = sdk::layer_number(layer, option, 1);
    } else if (key == "times") {
      rule().times = option.value == "forever" ? ~std::uint64_t{0} : sdk::layer_number(layer, option, 1);
    } else if (key == "result") {
      rule().result = parse_result(option);
      if (rule().result == WEIR_OK && !may_be_lost(rule().call))
        sdk::refuse_layer_value(
            layer, option,
            ("an error: after success, a caller of " + rule().call + " uses its outputs").c_str());
    } else if (key == "device") {
      rule().device = static_cast<std::int64_t>(sdk::layer_number(layer, option, 0));
    } else if (key == "late") {
      if (!option.value.empty()) sdk::refuse_layer_value(layer, option, "no value");
      rule().late = true;
    } else if (key == "memory") {
      options.memory = sdk::layer_number(layer, option, 0);
    } else if (key == "delay") {
      options.delay = option.value.empty() ? 10 : sdk::layer_number(layer, option, 1);
    } else if (key == "reorder") {
      options.reorder = option.value.empty() ? 1 : sdk::layer_number(layer, option, 0);
    } else {
      sdk::refuse_layer_option(layer, option,
                               "call, nth, times, result, device, late, memory, delay, reorder");
    }
  }
  return options;
}

}  // namespace weir::fault
