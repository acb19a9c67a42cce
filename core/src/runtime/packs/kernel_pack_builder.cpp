// SPDX-License-Identifier: Apache-2.0
// Makes packs: the code that launches of a kernel may take, for each target.
#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <weir/pack.hpp>

#include "compilation/canonical_request.hpp"
#include "compilation/kept_code.hpp"
#include "compilation/packs.hpp"
#include "compilation/remote_compiler.hpp"
#include "compilation/task_groups.hpp"
#include "ir/printer.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/launch/launch_steps.hpp"
#include "runtime/programs/offline.hpp"
#include "temporary_file.hpp"

namespace weir {

using compilation::PackContents;

struct detail::PackDraft {
  PackContents contents;
  std::vector<std::vector<std::uint32_t>> sets;  // of assumptions, by target; none for the usual ones
  std::string entries;
  std::map<std::string, PackContents::Place, std::less<>> places;  // of code, by key
  std::map<std::string, std::string, std::less<>> inputs;          // likewise
  std::vector<std::string> texts;                                  // of kernels, without locations
};

namespace {

bool is_for_cpu(const PackContents::Target& target) {
  return target.format.starts_with("elf");
}

/// The sets of assumptions for whose launches a kernel has code of its own; the empty one is the last.
std::vector<std::uint32_t> sets_for(const detail::ProgramState& program, const PackContents::Target& target,
                                    const std::vector<std::uint32_t>& wanted) {
  constexpr std::uint32_t all = codegen::LaunchAssumptions::sets - 1;
  const bool cpu = is_for_cpu(target);
  const std::uint32_t used = detail::usual_assumptions(program, cpu).number();
  constexpr std::uint32_t no_alias = codegen::LaunchAssumptions{.no_alias = true}.number();
  std::vector<std::uint32_t> sets;
  for (const std::uint32_t set : wanted.empty() ? std::vector{all} : wanted)
    // Code for CPUs relies on no_alias alone; the usual set decides which loops are merged.
    if (const std::uint32_t kept = cpu ? (set & no_alias ? used : 0) : set & used;
        kept && std::ranges::find(sets, kept) == sets.end())
      sets.push_back(kept);
  sets.push_back(0);
  return sets;
}

PackContents::Place append(detail::PackDraft& draft, const cache::Entry& entry) {
  const std::string bytes = cache::encode_entry(entry);
  const PackContents::Place place{draft.entries.size(), bytes.size()};
  draft.entries += bytes;
  return place;
}

/// Compiles the groups that the pack does not have yet, and lists all of them.
void add_code(detail::PackDraft& draft, const ir::Kernel& kernel, const passes::Plan& plan,
              const codegen::Target& target, PackContents::Code row) {
  const std::vector<const ir::Task*> tasks = detail::tasks_of(plan);
  std::vector<compilation::TaskGroup> groups = compilation::task_groups(tasks), absent;
  std::vector<PackContents::Code> rows;
  std::vector<std::pair<std::string, std::uint64_t>> requests;  // of the absent groups: input and lines
  for (const compilation::TaskGroup& group : groups) {
    const compilation::CanonicalRequest request = compilation::canonical_request(kernel, group, target);
    const std::string input = fmt::format("{}\n{}", compilation::pack_identity(), request.input);
    row.tasks = static_cast<std::uint32_t>(group.size());
    row.key = cache::entry_name(input);
    rows.push_back(row);
    const auto [known, is_new] = draft.inputs.try_emplace(row.key, input);
    if (known->second != input)
      throw Error(
          ErrorCode::compile,
          fmt::format("kernel '{}' cannot be packed: two pieces of code have the same key; pack it apart",
                      kernel.name));
    if (!is_new) continue;
    absent.push_back(group);
    requests.emplace_back(input, request.lines);
  }
  const std::vector<codegen::CodeObject> objects =
      absent.empty() ? std::vector<codegen::CodeObject>()
                     : compilation::compile_groups(compilation::compiler(), kernel, absent, target);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    cache::Entry entry;
    entry.label = fmt::format("{} for {}:{}", kernel.name, target.format, target.cpu);
    entry.input = requests[i].first;
    entry.code = compilation::encode_kept(objects[i], requests[i].second);
    draft.places[cache::entry_name(entry.input)] = append(draft, entry);
  }
  for (PackContents::Code& one : rows) {
    one.place = draft.places.at(one.key);
    draft.contents.codes.push_back(std::move(one));
  }
}

void add_target_code(detail::PackDraft& draft, const detail::ProgramState& program, std::uint32_t kernel,
                     std::uint32_t number) {
  const PackContents::Target& named = draft.contents.targets[number];
  codegen::Target target{named.format, named.cpu, named.features};
  for (const std::uint32_t set : sets_for(program, named, draft.sets[number])) {
    target.assumptions = codegen::LaunchAssumptions::of(set);
    for (const detail::LaunchVariant& variant :
         detail::variants_with(program, target.assumptions, target.format)) {
      const auto plan = detail::plan_for(program, 8, variant);
      if (plan->tasks.empty()) continue;
      add_code(draft, *program.kernel, *plan, target,
               {.kernel = kernel, .target = number, .assumptions = set});
    }
  }
}

}  // namespace

PackBuilder::PackBuilder() try : draft_(std::make_unique<detail::PackDraft>()) {
  draft_->contents.maker = compilation::pack_identity();
  draft_->contents.generator = compilation::generator_text();
} catch (...) {
  detail::rethrow_as_error();
}
PackBuilder::PackBuilder(PackBuilder&&) noexcept = default;
PackBuilder& PackBuilder::operator=(PackBuilder&&) noexcept = default;
PackBuilder::~PackBuilder() = default;

void PackBuilder::add_target(const CompileTarget& target) try {
  if (!draft_) detail::throw_dead("pack builder");
  if (target.cpu == "native")
    throw Error(ErrorCode::invalid,
                fmt::format("target {}:native is another processor on each machine, and a pack is for others "
                            "too; name one, such as elf-x86_64:x86-64-v3",
                            target.format));
  const PackContents::Target named{target.format, target.cpu, target.features};
  const auto same = [&](const PackContents::Target& one) {
    return one.format == named.format && one.cpu == named.cpu && one.features == named.features;
  };
  auto& targets = draft_->contents.targets;
  const auto at = static_cast<std::size_t>(std::ranges::find_if(targets, same) - targets.begin());
  if (at == targets.size()) {
    targets.push_back(named);
    draft_->sets.emplace_back();
  }
  const std::uint32_t set = detail::target_of(target).assumptions.number();
  if (set) draft_->sets[at].push_back(set);
} catch (...) {
  detail::rethrow_as_error();
}

void PackBuilder::add(const Program& program) try {
  if (!draft_) detail::throw_dead("pack builder");
  if (!program.state()) detail::throw_dead("kernel");
  if (draft_->contents.targets.empty())
    throw Error(ErrorCode::invalid,
                "a pack needs at least one target before its kernels; add_target, or "
                "--target FORMAT:CPU as weir info lists them");
  const detail::ProgramState& state = *program.state();
  const std::string text = ir::print(*state.kernel, false);
  if (std::ranges::find(draft_->texts, text) != draft_->texts.end()) return;
  cache::Entry entry;
  entry.label = state.kernel->name;
  entry.input = compilation::text_input;
  entry.code = ir::print(*state.kernel, true);
  const auto number = static_cast<std::uint32_t>(draft_->contents.kernels.size());
  draft_->contents.kernels.push_back({state.kernel->name, append(*draft_, entry)});
  for (std::uint32_t target = 0; target < draft_->contents.targets.size(); ++target)
    detail::for_each_part(
        state, [&](const detail::ProgramState& part) { add_target_code(*draft_, part, number, target); });
  draft_->texts.push_back(text);
} catch (...) {
  detail::rethrow_as_error();
}

void PackBuilder::write(const std::string& file) const try {
  if (!draft_) detail::throw_dead("pack builder");
  if (!replace_file(file, compilation::encode_pack(draft_->contents, draft_->entries)))
    throw Error(ErrorCode::system,
                fmt::format("{}: cannot write the pack: {}; check the folder and the space", file,
                            strerrordesc_np(errno)));
} catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir
