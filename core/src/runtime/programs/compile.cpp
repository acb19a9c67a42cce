// SPDX-License-Identifier: Apache-2.0
// A program's first launch on a device: code generation, loading, and preparation for later launches.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "compilation/cached_compiler.hpp"
#include "compilation/packs.hpp"
#include "compilation/request.hpp"
#include "compilation/task_groups.hpp"
#include "ir/error_record.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/errors/thrown_copy.hpp"
#include "runtime/launch/launch_steps.hpp"
#include "runtime/programs/annotate.hpp"
#include "runtime/programs/preparation.hpp"

namespace weir::detail {
namespace {

/// The targets of the device for which this build generates code, in the device's order.
std::vector<codegen::Target> targets_of(const DeviceState& device,
                                        const codegen::LaunchAssumptions& assumptions) {
  std::vector<codegen::Target> targets;
  for (const CodeTarget& code : device.info.code_targets)
    if (codegen::generates(code.format))
      targets.push_back({code.format, code.target, device.info.target_features, device.info.lanes,
                         device.info.max_block_threads, assumptions});
  return targets;
}

[[noreturn]] void refuse_formats(const ir::Kernel& kernel, const DeviceState& device) {
  std::string loaded;
  for (const CodeTarget& code : device.info.code_targets)
    loaded += fmt::format("{}'{}'", loaded.empty() ? "" : ", ", code.format);
  throw Error(
      ErrorCode::unsupported,
      fmt::format("kernel '{}' cannot be compiled for device {}: this build generates {}, and the device "
                  "loads {}; load ready code objects, or choose another device, for example with "
                  "WEIR_DEVICE=cpu",
                  kernel.name, device.device_name(), codegen::list_of_formats(),
                  loaded.empty() ? "no format" : "only " + loaded));
}

/// The code of all tasks, in order, from the cache on disk or from the code generator.
std::vector<codegen::CodeObject> generate(const ir::Kernel& kernel,
                                          std::span<const compilation::TaskGroup> groups,
                                          std::span<const codegen::Target> targets) {
  std::exception_ptr refusal;
  for (const codegen::Target& target : targets) try {
      return compilation::compile_groups(compilation::cached_compiler(), kernel, groups, target);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      if (!refusal) refusal = std::current_exception();
    }
  std::rethrow_exception(refusal);
}

/// The code of a plan's tasks, in order, in one or more modules.
struct LoadedCode {
  std::vector<std::shared_ptr<ModuleState>> modules;
  std::vector<codegen::CodeObject> objects;
};

LoadedCode load(const ir::Kernel& kernel, DeviceState& device, std::vector<codegen::CodeObject>&& objects) {
  LoadedCode code;
  for (const codegen::CodeObject& object : objects)
    code.modules.push_back(load_module(
        device, {object.format, object.target, std::as_bytes(std::span(object.bytes)), kernel.name}));
  code.objects = std::move(objects);
  return code;
}

enum class CodeSource {
  packs,  ///< the packs of this process only
  any     ///< likewise, else the cache on disk, else the code generator
};

/// Nothing when the code is not in `source`.
std::optional<LoadedCode> load_code(const ir::Kernel& kernel, const passes::Plan& plan, DeviceState& device,
                                    const codegen::LaunchAssumptions& assumptions, CodeSource source) {
  std::vector<const ir::Task*> tasks;
  for (const passes::PlannedTask& planned : plan.tasks) tasks.push_back(&planned.task);
  const std::vector<compilation::TaskGroup> groups = compilation::task_groups(tasks);
  const std::vector<codegen::Target> targets = targets_of(device, assumptions);
  if (targets.empty()) refuse_formats(kernel, device);
  std::optional<LoadedCode> code;
  const auto accept = [&](std::vector<codegen::CodeObject>&& objects) {
    try {
      code = load(kernel, device, std::move(objects));
    } catch (const Error& error) {  // of a target that the driver does not load
      if (error.code() != ErrorCode::code_object) throw;
    }
    return code.has_value();
  };
  if (compilation::find_packed(kernel, groups, targets, accept) || source == CodeSource::packs) return code;
  return load(kernel, device, away_from_driver([&] { return generate(kernel, groups, targets); }));
}

/// Looks up the task's kernel. Sets `stated` to the arrays whose accessed parts its launches pass.
weir_kernel find_kernel(ModuleState& module, const ProgramState& program, const passes::PlannedTask& planned,
                        const std::string& symbol, std::vector<StatedArray>& stated) {
  const ir::Task& task = planned.task;
  std::vector<weir_parameter> layout;
  for (const ir::TaskArgument& field : task.arguments) {
    const std::uint32_t kind = field.is_address() ? WEIR_PARAMETER_BUFFER : WEIR_PARAMETER_VALUE;
    layout.push_back({field.offset, field.is_address() ? module.device.address_bytes : field.size, kind});
  }
  check_argument_bytes(module.device, program.name(), task.argument_bytes);
  if (!module.device.driver().annotate()) return get_kernel(module, symbol, task.argument_bytes, layout);
  TaskAnnotation annotation = annotate_task(program, planned, module.device.driver().annotate_version());
  const weir_kernel_annotation raw = annotation.raw(program.name().c_str());
  const weir_kernel found = get_kernel(module, symbol, task.argument_bytes, layout, &raw);
  stated = std::move(annotation.stated);
  return found;
}

/// Returns the plan with argument blocks extended by the parts that a layer requests.
std::shared_ptr<const passes::Plan> with_stated(const passes::Plan& plan,
                                                const std::vector<CompiledTask>& tasks) {
  auto extended = std::make_shared<passes::Plan>(plan);
  for (std::size_t i = 0; i < tasks.size(); ++i)
    extended->tasks[i].task.argument_bytes += stated_bytes(tasks[i].stated);
  return extended;
}

std::uint32_t resident_blocks_of(DeviceState& device, CompiledTask& task, bool cooperative) {
  if (device.info.kind == DeviceKind::cpu) return 0;
  weir_kernel_info info{};
  info.struct_size = sizeof info;
  device.call_no_throw(
      [&](weir_status* status) { return device.table().kernel_get_info(task.kernel, &info, status); });
  task.registers = info.registers;
  task.stack_bytes = info.local_bytes;
  const std::uint32_t threads = task.block.x * task.block.y * task.block.z;
  if (!cooperative) return resident_blocks(device.info, info, threads, task.shared_bytes);
  std::uint32_t blocks = 0;
  device.call("query the largest grid of a cooperative launch", [&](weir_status* status) {
    return device.table().kernel_max_cooperative_blocks(task.kernel, threads, task.shared_bytes, &blocks,
                                                        status);
  });
  return std::max(blocks, 1u);
}

CompiledTask make_task(ModuleState& module, const ProgramState& program, const passes::PlannedTask& planned,
                       const codegen::CodeObject::Entry& entry) {
  CompiledTask ready;
  ready.kernel = find_kernel(module, program, planned, entry.symbol, ready.stated);
  ready.origin = origin_of(*program.kernel, planned.task);
  ready.block = {entry.block[0], entry.block[1], entry.block[2]};
  ready.shared_bytes = entry.dynamic_shared_bytes;
  ready.block_share = std::max(entry.block_share, 1u);
  ready.waves = entry.waves;
  ready.lowering = entry.lowering;
  ready.resident_blocks = resident_blocks_of(module.device, ready, planned.task.cooperative);
  return ready;
}

/// Bytes of the local variables of a task, which are the stack of its code unless registers spill.
std::uint64_t local_bytes(const ir::Block& block) {
  std::uint64_t bytes = 0;
  for (const ir::Statement& s : block.statements) {
    if (s.op == ir::Op::local) bytes += s.immediate * size_of(s.type);
    for (const ir::Block& body : s.bodies) bytes += local_bytes(body);
  }
  return bytes;
}

/// Edges between the nodes of a GPU's graph cost less than the tasks that they keep apart. A fork of streams,
/// or of threads, costs more than most groups gain.
std::vector<PlacedTask> place_in_graphs(const passes::Plan& plan, DeviceKind kind) {
  std::vector<TaskPlace> places;
  std::int32_t branch = 0;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    const passes::PlannedTask& task = plan.tasks[i];
    if (i != 0) {
      const passes::PlannedTask& before = plan.tasks[i - 1];
      const bool divides = kind != DeviceKind::cpu && task.group != before.group;
      if (task.region != before.region)
        branch = 0;
      else if (task.block != before.block || divides)
        ++branch;
    }
    places.push_back({task.region, branch});
  }
  return place_tasks(places);
}

/// Null when the code is not in `source`.
std::unique_ptr<DeviceProgram> compile(const ProgramState& program, DeviceState& device,
                                       std::shared_ptr<const passes::Plan> chosen,
                                       const codegen::LaunchAssumptions& assumptions, CodeSource source) {
  auto compiled = std::make_unique<DeviceProgram>();
  compiled->plan = std::move(chosen);
  compiled->assumptions = assumptions;
  const passes::Plan& plan = *compiled->plan;

  std::vector<TaskPlace> places;
  for (const passes::PlannedTask& planned : plan.tasks)
    places.push_back({planned.region, std::max(planned.block, 0)});
  compiled->placed = place_tasks(places);
  compiled->placed_in_graphs = place_in_graphs(plan, device.info.kind);
  for (const passes::PlannedRepeat& repeat : plan.repeats)
    compiled->repeats.push_back({repeat.begin, repeat.end});
  compiled->forks =
      std::ranges::any_of(compiled->placed, [](const PlacedTask& task) { return task.fork != 0; });

  if (const std::uint32_t sites = plan.uses_error_record || plan.prints ? failure_sites(plan) : 0)
    compiled->first_site = register_failure_sites(sites, make_failure_source(program, compiled->plan));
  if (plan.tasks.empty()) return compiled;

  std::optional<LoadedCode> code = load_code(*program.kernel, plan, device, assumptions, source);
  if (!code) return nullptr;
  compiled->modules = std::move(code->modules);
  std::size_t i = 0;
  std::uint32_t site = compiled->first_site;
  for (std::size_t m = 0; m < compiled->modules.size(); ++m) {
    for (const codegen::CodeObject::Entry& entry : code->objects[m].entries) {
      const passes::PlannedTask& planned = plan.tasks.at(i++);
      CompiledTask ready = make_task(*compiled->modules[m], program, planned, entry);
      ready.site_base = site;
      if (compiled->first_site) site += ir::failure_sites(planned.task.body);
      compiled->argument_bytes =
          std::max(compiled->argument_bytes, planned.task.argument_bytes + stated_bytes(ready.stated));
      compiled->tasks.push_back(std::move(ready));
    }
  }
  if (device.driver().annotate()) compiled->plan = with_stated(plan, compiled->tasks);
  return compiled;
}

std::uint32_t max_stack(const DeviceProgram& compiled) {
  std::uint32_t most = 0;
  for (const CompiledTask& task : compiled.tasks) most = std::max(most, task.stack_bytes);
  return most;
}

/// Whether a task with merged loops has more stack than its local variables take.
bool spills(const DeviceProgram& compiled) {
  for (std::size_t i = 0; i < compiled.tasks.size(); ++i) {
    const passes::PlannedTask& planned = compiled.plan->tasks[i];
    if (!planned.merged.empty() && compiled.tasks[i].stack_bytes > local_bytes(planned.task.body))
      return true;
  }
  return false;
}

bool is_vector_code(const CompiledTask& task) {
  return task.lowering.takes(LoweringPath::vector_loop) || task.lowering.takes(LoweringPath::lane_loop);
}

/// The loops that were merged into tasks of a CPU that are no vector code.
std::vector<ir::Location> loops_without_vectors(const DeviceProgram& compiled) {
  std::vector<ir::Location> loops;
  for (std::size_t i = 0; i < compiled.tasks.size(); ++i) {
    if (!compiled.tasks[i].lowering.takes(LoweringPath::scalar_loop) || is_vector_code(compiled.tasks[i]))
      continue;
    for (const passes::PlannedLoop& loop : compiled.plan->tasks[i].merged) loops.push_back(loop.location);
  }
  return loops;
}

/// Whether at least half of some loops are in tasks of vector code.
bool most_are_vectors(const std::vector<ir::Location>& loops, const DeviceProgram& compiled) {
  std::size_t vectors = 0;
  const auto count = [&](const ir::Location& loop) { vectors += std::ranges::count(loops, loop) != 0; };
  for (std::size_t i = 0; i < compiled.tasks.size(); ++i) {
    if (!is_vector_code(compiled.tasks[i])) continue;
    const passes::PlannedTask& planned = compiled.plan->tasks[i];
    if (planned.merged.empty()) count(planned.task.location);
    for (const passes::PlannedLoop& loop : planned.merged) count(loop.location);
  }
  return 2 * vectors >= loops.size();
}

std::string why_apart(const DeviceProgram& merged) {
  if (!spills(merged)) return "merged, the loops are no vector code, as some of them are none";
  return fmt::format(
      "merged, the loops need more registers than a thread has, and keep {} bytes of each thread in memory",
      max_stack(merged));
}

/// Compiles the plan of the variant. A plan is replaced by one that merges fewer loops if merged loops need
/// more registers than a thread has, or are not vector code on a CPU. It stays if fewer do not help or their
/// code is not in `source`. Null when the code of the variant is not in `source`.
std::unique_ptr<DeviceProgram> compile(const ProgramState& program, DeviceState& device,
                                       const LaunchVariant& variant, CodeSource source) {
  auto merged =
      compile_within_limits(program, device.address_bytes, plan_for(program, device.address_bytes, variant),
                            [&](std::shared_ptr<const passes::Plan> plan) {
                              return compile(program, device, std::move(plan), variant.assumptions, source);
                            });
  if (!merged) return merged;
  const bool may_lose = device.info.kind == DeviceKind::cpu && !merges_always();
  const auto scalar = may_lose ? loops_without_vectors(*merged) : std::vector<ir::Location>{};
  if (scalar.empty() && !spills(*merged)) return merged;
  std::unique_ptr<DeviceProgram> fewer;
  try {
    fewer = variant.shared_index
                ? compile(program, device, LaunchVariant{variant.assumptions}, source)
                : compile(program, device,
                          plan_apart(program, device.address_bytes, *merged->plan, why_apart(*merged)),
                          variant.assumptions, source);
  } catch (const compilation::MissingGenerator&) {  // `merged` is from a pack
  }
  if (!fewer) return merged;
  const bool helps =
      scalar.empty() ? max_stack(*fewer) < max_stack(*merged) : most_are_vectors(scalar, *fewer);
  return helps ? std::move(fewer) : std::move(merged);
}

/// The code in the packs of this process that serves launches of the variant although it assumes less; the
/// code that assumes the most. Null when there is none.
std::unique_ptr<DeviceProgram> find_weaker(const ProgramState& program, DeviceState& device,
                                           const LaunchVariant& variant) {
  constexpr auto bits = [](std::uint32_t set) { return std::popcount(set); };
  const std::uint32_t all = variant.assumptions.number();
  std::vector<std::uint32_t> sets;
  for (std::uint32_t set = 0; set < codegen::LaunchAssumptions::sets; ++set)
    if ((set & ~all) == 0 && (set != all || variant.shared_index || variant.phases || variant.cooperative))
      sets.push_back(set);
  std::ranges::stable_sort(sets, std::greater(), bits);
  for (const std::uint32_t set : sets)
    if (auto found =
            compile(program, device, LaunchVariant{codegen::LaunchAssumptions::of(set)}, CodeSource::packs))
      return found;
  return nullptr;
}

[[noreturn]] void refuse_absent(const ProgramState& program, const DeviceState& device,
                                const compilation::MissingGenerator& missing) {
  const std::vector<codegen::Target> targets = targets_of(device, {});
  const std::string packs = compilation::describe_packs(program.name(), targets);
  if (packs.empty()) throw missing;
  const codegen::Target& best = targets.front();
  throw Error(
      ErrorCode::compile,
      fmt::format("kernel '{}' has no code for device {}: {}. Make the pack with weir compile for a "
                  "target of the device, such as {}:{}, or install weir-codegen of the same version "
                  "as libweir. Tried:\n  {}",
                  program.name(), device.device_name(), packs, best.format, best.cpu, missing.reason()));
}

/// The code for launches of the variant: compiled for it, or without a code generator the nearest that is in
/// a pack.
std::unique_ptr<DeviceProgram> compile_or_find(const ProgramState& program, DeviceState& device,
                                               const LaunchVariant& variant) {
  try {
    return compile(program, device, variant, CodeSource::any);
  } catch (const compilation::MissingGenerator& missing) {
    if (auto weaker = find_weaker(program, device, variant)) return weaker;
    refuse_absent(program, device, missing);
  }
}

/// Created on first use; lives as long as the program.
CompiledVariants& variants_of(ProgramState& program, std::uint32_t device) {
  std::atomic<CompiledVariants*>& slot = program.compiled[device];
  if (CompiledVariants* ready = slot.load(std::memory_order_acquire)) [[likely]]
    return *ready;
  auto made = std::make_unique<CompiledVariants>();
  CompiledVariants* ready = nullptr;
  if (slot.compare_exchange_strong(ready, made.get(), std::memory_order_acq_rel)) ready = made.release();
  return *ready;
}

/// The code, or a copy of the failure.
const DeviceProgram& wait_for(const RunningCompilation& running, std::condition_variable& ended,
                              std::unique_lock<std::mutex>& lock,
                              const std::atomic<const DeviceProgram*>& slot) {
  if (!running.ended) {
    leave_driver();  // the end of the process does not wait for another thread's code generator
    ended.wait(lock, [&] { return running.ended; });
    lock.unlock();
    return_to_driver();
  }
  if (running.error) throw_copy(running.error);
  return *slot.load(std::memory_order_acquire);
}

}  // namespace

const DeviceProgram& compiled_for(ProgramState& program, DeviceState& device, const LaunchVariant& variant) {
  CompiledVariants& variants = variants_of(program, device.number);
  std::atomic<const DeviceProgram*>& slot = variants.by_variant[variant.number()];
  if (const DeviceProgram* ready = slot.load(std::memory_order_acquire)) [[likely]]
    return *ready;
  device.check_not_forked();
  const auto running = std::make_shared<RunningCompilation>();
  {
    std::unique_lock lock(variants.mutex);
    if (const DeviceProgram* ready = slot.load(std::memory_order_acquire)) return *ready;
    const auto [other, first] = variants.running.try_emplace(variant.number(), running);
    if (!first) return wait_for(*std::shared_ptr(other->second), variants.ended, lock, slot);
  }
  std::unique_ptr<DeviceProgram> made;
  std::exception_ptr error;
  try {
    made = compile_or_find(program, device, variant);
  } catch (...) {
    error = std::current_exception();
  }
  std::unique_lock lock(variants.mutex);
  slot.store(made.release(), std::memory_order_release);
  running->error = std::move(error);
  running->ended = true;
  variants.running.erase(variant.number());
  variants.ended.notify_all();
  return wait_for(*running, variants.ended, lock, slot);
}

void compile_usual_variants(ProgramState& program, DeviceState& device) {
  for_each_part(program, [&](ProgramState& part) {
    const codegen::LaunchAssumptions usual = usual_assumptions(part, device.info.kind == DeviceKind::cpu);
    compiled_for(part, device, {usual});
    if (may_share_index(part, device.info.kind == DeviceKind::cpu)) compiled_for(part, device, {usual, true});
    if (has_phases(part)) compiled_for(part, device, {usual, false, true});
    if (may_cooperate(part, device)) compiled_for(part, device, {usual, false, false, true});
  });
}

DeviceProgram::~DeviceProgram() {
  if (first_site) forget_failure_sites(first_site);
}

ProgramState::~ProgramState() {
  for (const PlacedProgram* next = placed.load(std::memory_order_relaxed); next;)
    delete std::exchange(next, next->next);
  for (const auto& slot : compiled) {
    std::unique_ptr<CompiledVariants> variants(slot.load(std::memory_order_relaxed));
    if (!variants) continue;
    if (!variants->running.empty()) {  // of the parent of a fork: its waiting threads will not wake up here
      keep_reachable(variants.release());
      continue;
    }
    for (const auto& variant : variants->by_variant) delete variant.load(std::memory_order_relaxed);
  }
}

}  // namespace weir::detail
