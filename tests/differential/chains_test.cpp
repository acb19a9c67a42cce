// SPDX-License-Identifier: Apache-2.0
// Chains of small loops, with their loops merged and apart, compared on a device with the IR's interpreter.
//
// WEIR_CHAINS=FIRST:COUNT runs the given seeds instead of the default ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <weir/error.hpp>

#include "chain_kernel.hpp"
#include "ir/parser.hpp"
#include "launcher.hpp"
#include "passes/plan.hpp"
#include "statement_kinds.hpp"
#include "tested_device.hpp"

namespace weir::test {
namespace {

#ifdef WEIR_SANITIZED
constexpr std::uint64_t usual_chains = 20;
#else
constexpr std::uint64_t usual_chains = 120;
#endif
constexpr std::uint64_t chain_steps = 1'500'000;

// Before any program reads it: CPUs then merge by a shared index although the loops inside keep them from
// gaining.
[[maybe_unused]] const int merges_always = setenv("WEIR_FUSION", "always", /*overwrite=*/0);

// ---- how often each kind of statement was in each form of a merged task

enum class Form : std::uint8_t { same_space, reduction, shared_index, independent };
constexpr std::size_t form_count = 4;
constexpr const char* form_names[] = {"same space", "reduction", "shared index", "independent loops"};

struct Result {
  bool failed;
  std::string difference;
  std::size_t tasks;  // of the code that ran
  bool phases;        // some of them run several loops in one block
  bool on_grid;       // or on the whole grid
};

/// The statements of the kind in a block and the blocks in it.
std::size_t count_of(const ir::Block& block, ir::Op op) {
  std::size_t sum = 0;
  for (const ir::Statement& s : block.statements) {
    sum += s.op == op;
    for (const ir::Block& body : s.bodies) sum += count_of(body, op);
  }
  return sum;
}

/// The same in the loops of a kernel that a task was merged from.
std::size_t count_written(const ir::Block& block, const passes::PlannedTask& planned, ir::Op op) {
  std::size_t sum = 0;
  for (const ir::Statement& s : block.statements) {
    const bool is_merged = std::any_of(planned.merged.begin(), planned.merged.end(),
                                       [&](const auto& loop) { return loop.location == s.location; });
    for (const ir::Block& body : s.bodies)
      sum += is_merged ? count_of(body, op) : count_written(body, planned, op);
  }
  return sum;
}

class FormCounts {
 public:
  void add_phases(const Result& result) { phases_ += result.phases; }
  int phases() const { return phases_; }

  void add(const ir::Kernel& kernel, const passes::Plan& plan) {
    for (const passes::PlannedTask& planned : plan.tasks) {
      if (planned.merged.empty()) continue;
      const bool same = std::all_of(planned.merged.begin(), planned.merged.end(),
                                    [&](const auto& loop) { return loop.bounds.rank == planned.rank; });
      const Form form = planned.task.kind == ir::TaskKind::reduce_partial ? Form::reduction
                        : same                                            ? Form::same_space
                                                                          : Form::shared_index;
      count(form, kernel, planned);
      if (!same) continue;
      const std::size_t written_loops = count_written(kernel.body, planned, ir::Op::for_);
      const std::size_t loops = count_of(planned.task.body, ir::Op::for_);
      unrolled_ += loops < written_loops;
      // Loops that are written out store more often.
      overwritten_ += loops == written_loops && count_of(planned.task.body, ir::Op::store) <
                                                count_written(kernel.body, planned, ir::Op::store);
    }
  }
  /// Merged tasks that have fewer inner loops or fewer stores than their loops.
  int unrolled() const { return unrolled_; }
  int overwritten() const { return overwritten_; }

  void add_independent(const ir::Kernel& kernel, const passes::Plan& plan) {
    independent_ += plan.has_independent;
    grouped_ += std::any_of(plan.tasks.begin(), plan.tasks.end(),
                            [](const passes::PlannedTask& planned) { return planned.group != 0; });
    for (const passes::PlannedTask& planned : plan.tasks)
      if (planned.found_independent) count(Form::independent, kernel, planned);
  }
  int independent() const { return independent_; }
  /// Of them those with several groups in one stream block.
  int grouped() const { return grouped_; }

  /// The pairs that chain_kernel() makes and that were not met.
  std::string missing() const {
    static const Kind kinds[] = {kind_of(ir::Op::load),
                                 kind_of(ir::Op::store),
                                 kind_of(ir::Op::if_),
                                 kind_of(ir::Op::for_),
                                 kind_of(ir::Op::get),
                                 kind_of(ir::Op::philox),
                                 kind_of(ir::Op::continue_),
                                 exact_math_kind,
                                 kind_of(ir::AtomicKind::add),
                                 kind_of(ir::Op::cast),
                                 vector_kind};
    std::string words;
    for (std::size_t form = 0; form < form_count; ++form)
      for (const Kind kind : kinds)
        if (counts_[form][kind] == 0)
          words += std::string(form_names[form]) + " with " + kind_name(kind) + "\n";
    return words;
  }

 private:
  void count(Form form, const ir::Kernel& kernel, const passes::PlannedTask& planned) {
    const Kinds kinds = kinds_of(kernel, planned.task);
    for (Kind kind = 0; kind < kind_count; ++kind) counts_[std::size_t(form)][kind] += kinds[kind];
  }

  std::uint64_t counts_[form_count][kind_count] = {};
  int phases_ = 0, independent_ = 0, grouped_ = 0, unrolled_ = 0, overwritten_ = 0;
};

// ---- one chain

void rename(ir::Block& block, const std::vector<std::uint32_t>& memory) {
  for (ir::Statement& s : block.statements) {
    if (s.op == ir::Op::load || s.op == ir::Op::store || s.op == ir::Op::atomic) s.index = memory[s.index];
    for (ir::Block& body : s.bodies) rename(body, memory);
  }
}

std::uint64_t square_root(const ir::Statement&, std::span<const ScalarType>,
                          std::span<const std::uint64_t> x) {
  return std::bit_cast<std::uint32_t>(std::sqrt(std::bit_cast<float>(static_cast<std::uint32_t>(x[0]))));
}

struct Chain {
  ChainKernel chain;
  RunnableKernel runnable;
  LaunchData data;
};

Chain make(std::uint64_t seed) {
  Choices choices(seed);
  Chain made;
  made.chain = chain_kernel(choices);
  made.runnable.kernel = ir::parse(made.chain.text, "chain");
  made.runnable.extents = made.chain.extents;
  made.runnable.shifted = made.chain.shifted;
  made.runnable.memory = made.chain.memory;
  made.data = random_data(made.runnable, choices);
  std::int64_t least = 5;
  for (const auto& extents : made.chain.extents)
    if (extents.size() == 2) least = std::min({least, extents[0], extents[1]});
  const std::size_t scalars = made.chain.extents.size() - 2;
  made.data.components[scalars] = {static_cast<std::uint64_t>(least)};
  made.data.components[scalars + 1] = {choices.chance(3) ? choices.below(8) : 1000};
  return made;
}

Result run(const Chain& chain, const Program& program, const Device& device, const LaunchOptions& options,
           const Components& expected) {
  Launch launch(chain.runnable, chain.data, device);
  launch.submit(program, options);
  const bool failed = launch.finish().has_value();
  const auto variants = program.variants(launch.stream());
  const auto& tasks = variants.at(0).tasks;
  const auto takes = [&](LoweringPath path) {
    return std::any_of(tasks.begin(), tasks.end(), [path](const auto& task) { return task.lowering.takes(path); });
  };
  return {failed, difference(chain.runnable, launch.components(), expected), tasks.size(),
          takes(LoweringPath::phases), takes(LoweringPath::grid_phases)};
}

std::uint64_t key_of(std::uint64_t seed) {
  const auto mix = [](std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  };
  return mix(mix(seed + 0x9e3779b97f4a7c15u));
}

bool shares_memory(const ChainKernel& chain) {
  for (std::uint32_t p = 0; p < chain.memory.size(); ++p)
    if (chain.memory[p] != p) return true;
  return false;
}

// proves R25, R26 and R27 on a device, and R29: merged code is other code
TEST(Chains, GiveTheSameBitsMergedAndApart) {
  std::uint64_t first = 0, count = usual_chains;
  if (const char* text = std::getenv("WEIR_CHAINS")) {
    char* end = nullptr;
    first = std::strtoull(text, &end, 10);
    count = *end == ':' ? std::strtoull(end + 1, nullptr, 10) : 1;
  }
  const Device device = open(tested_device());
  FormCounts counts;
  int ran = 0, merged = 0, repeated = 0, short_phases = 0, on_grid = 0;
  // Devices merge other loops, so that some need more chains for each form.
  const auto goes_on = [&](std::uint64_t drawn) {
    return drawn < count || (count >= 100 && drawn < 3 * count && !counts.missing().empty());
  };
  for (std::uint64_t seed = first; goes_on(seed - first) && !HasFailure(); ++seed) {
    SCOPED_TRACE("run again with WEIR_CHAINS=" + std::to_string(seed));
    Chain chain = make(seed);
    chain.data.launch_key = key_of(seed);
    ir::Kernel kernel = chain.runnable.kernel;
    rename(kernel.body, chain.chain.memory);
    Machine machine(kernel, chain.data, square_root);
    try {
      machine.run_kernel(chain_steps);
    } catch (const CannotRun&) {
      continue;
    }
    if (machine.failed_between_loops()) continue;
    ++ran;
    const Components expected = components_of(chain.runnable, machine);
    const auto with = [&](const char* option, LaunchMode mode = LaunchMode::automatic) {
      std::string text = chain.chain.text;
      text.insert(text.find('\n', text.find("kernel")), option);
      const Result result = run(chain, Program::parse(text), device, {seed, 0, mode}, expected);
      EXPECT_EQ(result.difference, "") << text;
      EXPECT_EQ(result.failed, machine.failed()) << text;
      return result;
    };
    const LaunchMode mode = seed % 2 == 0 ? LaunchMode::graph : LaunchMode::streams;
    const Result phased = with(""), on = with(" no_phases", mode), off = with(" no_fusion", mode);
    with(" no_phases no_concurrency", mode);
    counts.add_independent(chain.runnable.kernel,
                           passes::make_plan(chain.runnable.kernel, 8,
                                             {.fusion = passes::Fusion::same_space,
                                              .known = {.no_alias = !shares_memory(chain.chain)},
                                              .concurrency = true}));
    const bool repeats = chain.chain.text.find("repeat") != std::string::npos;
    repeated += repeats;
    short_phases += phased.phases && !repeats;
    counts.add_phases(phased);
    on_grid += phased.on_grid;
    EXPECT_FALSE(on.on_grid) << "no_phases with WEIR_FUSION=always keeps repeats in one block";
    if (on.tasks == off.tasks) continue;
    ++merged;
    for (const passes::Fusion how : {passes::Fusion::same_space, passes::Fusion::shared_index}) {
      const passes::Plan plan = passes::make_plan(chain.runnable.kernel, 8, {how, {.no_alias = true}});
      if (plan.tasks.size() == on.tasks) counts.add(chain.runnable.kernel, plan);
    }
  }
  RecordProperty("kernels", std::to_string(ran));
  RecordProperty("merged", std::to_string(merged));
  std::printf(
      "%d chains ran, %d of them merged, %d in phases, %d of these without repeats, %d with repeats, "
      "%d with independent loops, %d of these in stream blocks, %d on the whole grid\n",
      ran, merged, counts.phases(), short_phases, repeated, counts.independent(), counts.grouped(), on_grid);
  std::printf("%d merged tasks with inner loops written out, %d without overwritten stores\n",
              counts.unrolled(), counts.overwritten());
  if (count < 100 || HasFailure()) return;
  EXPECT_GT(merged, ran / 8);
  EXPECT_GT(counts.phases(), ran * 2 / 5);
  EXPECT_GT(short_phases, ran / 4);
  EXPECT_GT(counts.unrolled(), ran / 12);
  EXPECT_GT(counts.overwritten(), 0);
  EXPECT_GT(repeated, ran / 8);
  EXPECT_GT(on_grid, device.info().has(Capability::cooperative_launch) ? ran / 20 : -1);
  EXPECT_GT(counts.independent(), ran / 8);
  EXPECT_GT(counts.grouped(), ran / 100);
  EXPECT_EQ(counts.missing(), "");
}

}  // namespace
}  // namespace weir::test
