// SPDX-License-Identifier: Apache-2.0
// Names of the lowerings that code generation chose.
#include <fmt/format.h>

#include <array>
#include <weir/lowering.hpp>
#include <weir/program.hpp>

#include "runtime/programs/program_state.hpp"

namespace weir {
namespace {

constexpr std::array<std::string_view, lowering_path_count> path_names{
    "serial",          "scalar loop",   "vector loop",   "lane loop",     "thread loop",  "packets",
    "packet edges",    "shared loops",  "tiles",         "tile packets",  "staged reads", "private counters",
    "direct counters", "reduce chunks", "reduce blocks", "reduce strips", "reduce final", "group loops",
    "group blocks",    "phases",        "private sums",  "region",        "long body",    "grid phases",
    "replicated phases"};

void add_variants(const detail::ProgramState& program, std::uint32_t device,
                  std::vector<CompiledVariant>& result) {
  const detail::CompiledVariants* all = program.compiled[device].load(std::memory_order_acquire);
  for (std::uint32_t number = 0; all && number < detail::LaunchVariant::count; ++number) {
    const detail::DeviceProgram* compiled = all->by_variant[number].load(std::memory_order_acquire);
    if (!compiled) continue;
    CompiledVariant& variant = result.emplace_back();
    variant.assume = detail::format_assumptions(compiled->assumptions.number());
    for (std::size_t i = 0; i < compiled->tasks.size(); ++i)
      variant.tasks.push_back(
          {compiled->plan->tasks[i].task.name, compiled->tasks[i].lowering,
           static_cast<std::uint32_t>(std::max<std::size_t>(
               compiled->plan->tasks[i].merged.size() + compiled->plan->tasks[i].phases.size(), 1))});
  }
}

}  // namespace

std::string detail::format_assumptions(std::uint32_t assumptions) {
  constexpr std::array<std::string_view, 4> names{"no_alias", "index32", "aligned", "device_local"};
  std::string words;
  for (std::size_t bit = 0; bit < names.size(); ++bit)
    if (assumptions >> bit & 1u) words += fmt::format("{}{}", words.empty() ? "" : ",", names[bit]);
  return words;
}

std::string_view to_string(LoweringPath path) noexcept {
  const auto number = static_cast<std::size_t>(path);
  return number < path_names.size() ? path_names[number] : "unknown";
}

std::string to_string(const Lowering& lowering) try {
  std::string words;
  for (std::uint32_t number = 0; number < lowering_path_count; ++number) {
    const auto path = static_cast<LoweringPath>(number);
    if (!lowering.takes(path)) continue;
    if (!words.empty()) words += ", ";
    words += to_string(path);
    if (path == LoweringPath::vector_loop) words += fmt::format(" of {}", lowering.vector_width);
    if (path == LoweringPath::packets) words += fmt::format(" of {}", lowering.packet_width);
  }
  return words;
} catch (...) {
  detail::rethrow_as_error();
}

std::vector<CompiledVariant> Program::variants(const StreamRef& on) const try {
  if (!state_) detail::throw_dead("kernel");
  const std::uint32_t device = detail::live(on).device.number;
  std::vector<CompiledVariant> result;
  detail::for_each_part(*state_,
                        [&](const detail::ProgramState& part) { add_variants(part, device, result); });
  return result;
} catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir
