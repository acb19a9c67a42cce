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
  /// Code that the pack has.
  struct Packed {
    std::string input;
    PackContents::Place place;
  };

  PackContents contents;
  std::vector<std::vector<std::uint32_t>> sets;  // of assumptions, by target; none for the usual ones
  std::string entries;
  std::map<std::string, Packed, std::less<>> packed;  // by key
  std::vector<std::string> texts;                     // of kernels, without locations

  /// Removes what was added after there were so many kernels, codes, and bytes of entries.
  void cut(std::size_t kernels, std::size_t codes, std::size_t bytes) {
    contents.kernels.resize(kernels);
    contents.codes.resize(codes);
    entries.resize(bytes);
    std::erase_if(packed, [bytes](const auto& one) { return one.second.place.offset >= bytes; });
  }
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
  struct Request {
    std::string key, input;
    std::uint64_t lines = 0;
  };
  const std::vector<const ir::Task*> tasks = detail::tasks_of(plan);
  std::vector<PackContents::Code> rows;
  std::vector<compilation::TaskGroup> absent;
  std::vector<Request> requests;  // for them
  for (const compilation::TaskGroup& group : compilation::task_groups(tasks)) {
    const compilation::CanonicalRequest request = compilation::canonical_request(kernel, group, target);
    std::string input = fmt::format("{}\n{}", compilation::pack_identity(), request.input);
    row.tasks = static_cast<std::uint32_t>(group.size());
    row.key = cache::entry_name(input);
    rows.push_back(row);
    const auto packed = draft.packed.find(row.key);
    const auto requested = std::ranges::find(requests, row.key, &Request::key);
    const bool is_packed = packed != draft.packed.end(), is_requested = requested != requests.end();
    if ((is_packed && packed->second.input != input) || (is_requested && requested->input != input))
      throw Error(
          ErrorCode::compile,
          fmt::format("kernel '{}' cannot be packed: two pieces of code have the same key; pack it apart",
                      kernel.name));
    if (is_packed || is_requested) continue;
    absent.push_back(group);
    requests.push_back({row.key, std::move(input), request.lines});
  }
  const std::vector<codegen::CodeObject> objects =
      absent.empty() ? std::vector<codegen::CodeObject>()
                     : compilation::compile_groups(compilation::compiler(), kernel, absent, target);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    cache::Entry entry;
    entry.label = fmt::format("{} for {}:{}", kernel.name, target.format, target.cpu);
    entry.input = std::move(requests[i].input);
    entry.code = compilation::encode_kept(objects[i], requests[i].lines);
    const PackContents::Place place = append(draft, entry);
    draft.packed.emplace(requests[i].key, detail::PackDraft::Packed{std::move(entry.input), place});
  }
  for (PackContents::Code& one : rows) {
    one.place = draft.packed.at(one.key).place;
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
      try {
        add_code(draft, *program.kernel, *plan, target,
                 {.kernel = kernel, .target = number, .assumptions = set});
      } catch (const Error& error) {  // launches take the loops apart
        if (plan == program.plan || !detail::may_exceed_limit(error)) throw;
      }
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
  const std::uint32_t set = detail::target_of(target).assumptions.number();
  auto& targets = draft_->contents.targets;
  const auto at = static_cast<std::size_t>(std::ranges::find_if(targets, same) - targets.begin());
  if (at == targets.size()) {
    targets.push_back(named);
    draft_->sets.emplace_back();
  }
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
  PackContents& contents = draft_->contents;
  const std::size_t kernels = contents.kernels.size(), codes = contents.codes.size(),
                    bytes = draft_->entries.size();
  try {
    contents.kernels.push_back({state.kernel->name, append(*draft_, entry)});
    for (std::uint32_t target = 0; target < contents.targets.size(); ++target)
      detail::for_each_part(state, [&](const detail::ProgramState& part) {
        add_target_code(*draft_, part, static_cast<std::uint32_t>(kernels), target);
      });
    draft_->texts.push_back(text);
  } catch (...) {
    draft_->cut(kernels, codes, bytes);
    throw;
  }
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
