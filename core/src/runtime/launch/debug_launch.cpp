// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/debug_launch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>
#include <weir/array.hpp>

#include "driver/environment.hpp"
#include "dsl/make_program.hpp"
#include "interpreter/checks.hpp"
#include "interpreter/compiled_math.hpp"
#include "interpreter/machine.hpp"
#include "passes/place_members.hpp"
#include "passes/place_strided.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/launch/launch_steps.hpp"
#include "runtime/memory/unwritten.hpp"
#include "runtime/prints/print_output.hpp"
#include "runtime/prints/print_sites.hpp"
#include "runtime/streams/submission.hpp"

namespace weir::detail {
namespace {

/// Consecutive memory that a launch's arrays use: of one memory block, or of several that borrow the same
/// memory. It begins at a multiple of 8 bytes, as the marks of unwritten memory do.
struct UsedPart {
  std::uint64_t begin = ~std::uint64_t{0}, end = 0;  ///< as place_of
  std::vector<const MemoryBlock*> blocks;

  bool meets(const UsedPart& other) const noexcept { return begin < other.end && other.begin < end; }
};

/// The address of the array, or its offset in the memory block if the driver reports no addresses.
std::uint64_t place_of(const AnyArrayView& view) {
  return view.block()->address + view.offset();
}

void add(UsedPart& part, std::uint64_t begin, std::uint64_t end) {
  part.begin = std::min(part.begin, begin & ~std::uint64_t{7});
  part.end = std::max(part.end, end);
}

std::size_t part_of(const std::vector<UsedPart>& parts, const MemoryBlock* block) {
  const auto found = std::ranges::find_if(
      parts, [&](const UsedPart& part) { return std::ranges::count(part.blocks, block); });
  return static_cast<std::size_t>(found - parts.begin());
}

std::vector<UsedPart> used_parts(std::span<const LaunchArgument> arguments) {
  std::vector<UsedPart> parts;
  bool borrowed = false;
  for (const LaunchArgument& argument : arguments) {
    if (!argument.array) continue;
    const MemoryBlock* const block = argument.array->block();
    const std::size_t i = part_of(parts, block);
    if (i == parts.size()) parts.emplace_back().blocks.push_back(block);
    add(parts[i], place_of(*argument.array), place_of(*argument.array) + argument.array->size_bytes());
    borrowed |= block->borrowed != nullptr;
  }
  // Only borrowed memory can be that of another memory block.
  for (std::size_t i = 0; borrowed && i < parts.size(); ++i)
    for (std::size_t j = i + 1; j < parts.size();) {
      if (!parts[i].meets(parts[j])) {
        ++j;
        continue;
      }
      add(parts[i], parts[j].begin, parts[j].end);
      parts[i].blocks.insert(parts[i].blocks.end(), parts[j].blocks.begin(), parts[j].blocks.end());
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(j));
      j = i + 1;  // the part has grown
    }
  return parts;
}

std::vector<std::uint64_t> scalars_of(const LaunchArgument& argument) {
  const std::size_t size = size_of(argument.element.scalar);
  std::vector<std::uint64_t> scalars(argument.element.components());
  for (std::size_t i = 0; i < scalars.size(); ++i)
    std::memcpy(&scalars[i], static_cast<const std::byte*>(argument.data) + i * size, size);
  return scalars;
}

/// Submits copies of the bytes that have changed. Work on other streams may write the others meanwhile.
void copy_changes(const StreamRef& stream, const AnyArrayView& view, std::span<const std::byte> before,
                  std::span<const std::byte> after) {
  for (std::size_t begin = 0; begin < after.size();) {
    if (before[begin] == after[begin]) {
      ++begin;
      continue;
    }
    std::size_t end = begin + 1;
    while (end < after.size() && before[end] != after[end]) ++end;
    const std::int64_t count[] = {static_cast<std::int64_t>(end - begin)};
    view.reinterpreted(begin, {ScalarType::u8}, count)
        .copy_from_bytes_async(stream, after.subspan(begin, end - begin));
    begin = end;
  }
}

/// Copies the arrays to the host; those that share memory on the device share it there, too.
interpreter::Arguments arguments_on_host(const StreamRef& stream, std::span<const LaunchArgument> arguments) {
  const std::vector<UsedPart> parts = used_parts(arguments);
  interpreter::Arguments result;
  result.memories.resize(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) result.memories[i].resize(parts[i].end - parts[i].begin);
  for (const LaunchArgument& argument : arguments) {
    interpreter::ArrayArgument& array = result.arrays.emplace_back();
    auto& scalars = result.scalars.emplace_back();
    if (!argument.array) {
      scalars = scalars_of(argument);
      continue;
    }
    const AnyArrayView& view = *argument.array;
    for (std::size_t d = 0; d < view.rank(); ++d) array.extents.push_back(view.extent(d));
    array.memory = part_of(parts, view.block());
    array.offset = place_of(view) - parts[array.memory].begin;
    view.copy_to_bytes(stream,
                       std::span(result.memories[array.memory]).subspan(array.offset, view.size_bytes()));
  }
  return result;
}

/// The indices of an access before the kernel was rewritten for strided arrays and layouts of structs.
std::vector<std::int64_t> given_indices(const ProgramState& program, const interpreter::Arguments& arguments,
                                        std::uint32_t parameter, std::vector<std::int64_t> indices) {
  const auto strided = std::ranges::find(program.strided, parameter, &StridedParameter::parameter);
  if (strided != program.strided.end()) {
    const auto number = static_cast<std::size_t>(strided - program.strided.begin());
    const std::vector<std::uint64_t>& numbers =
        arguments.scalars[program.parameters.size() - program.strided.size() + number];
    return passes::strided_indices({reinterpret_cast<const std::int64_t*>(numbers.data()), numbers.size()},
                                   indices.front());
  }
  for (std::size_t i = 0; i < program.structs.size(); ++i)
    if (program.structs[i].has_member(parameter))
      return passes::member_indices(program.structs[i], program.layouts[i],
                                    parameter - program.structs[i].first - 1, std::move(indices));
  return indices;
}

/// Keeps the lines that the kernel prints until the run ends.
class DebugChecks final : public interpreter::Checks {
 public:
  explicit DebugChecks(const ProgramState& program)
      : Checks(*program.kernel, program.structs),
        program_(program),
        sites_(std::make_shared<const PrintSites>(*program.kernel)) {}

  void printed(const interpreter::Machine& machine, const ir::Statement& s) override {
    Printed line{0, {sites_, sites_->find(s)}, {}, {}};
    if (machine.iteration().loop) std::ranges::copy(machine.iteration().indices, line.index.begin());
    for (const ir::ValueId id : s.operands) line.values.push_back(machine.bits(id));
    for (const ir::ValueId id : line.site->repetitions) line.values.push_back(machine.bits(id));
    printed_.push_back(std::move(line));
  }
  std::vector<std::int64_t> indices(const interpreter::Machine& machine,
                                    const ir::Statement& s) const override {
    return given_indices(program_, machine.arguments(), s.index, Checks::indices(machine, s));
  }
  void show_lines() noexcept try {
    output_lines(lines_in_order(std::move(printed_)));
  } catch (...) {  // without memory the lines are lost
  }

 private:
  const ProgramState& program_;
  std::shared_ptr<const PrintSites> sites_;
  std::vector<Printed> printed_;
};

[[noreturn]] void throw_fault(const ir::Kernel& kernel, const interpreter::Fault& fault) {
  const bool known = kernel.knows(fault.location);
  const std::string file = known ? kernel.files[fault.location.file] : std::string();
  const std::uint32_t line = known ? fault.location.line : 0;
  const std::string place = known ? fmt::format(" ({}:{})", file, line) : std::string();
  throw Error(ErrorCode::assertion,
              fmt::format("kernel '{}': {}{}{}", kernel.name, fault.problem, place, fault.details),
              kernel.name, file, line);
}

/// Prints, when the process ends, the names in WEIR_DEBUG that no kernel had. Otherwise a misspelt name would
/// look like a kernel without faults.
class DebuggedNames {
 public:
  static DebuggedNames& get() {
    static DebuggedNames& names = *new DebuggedNames;
    return names;
  }

  bool match(const std::string& list, std::string_view kernel) {
    const std::lock_guard lock(mutex_);
    bool found = false;
    for (std::string_view rest = list; !rest.empty();) {
      std::string_view name = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), name.size() + 1));
      while (name.starts_with(' ')) name.remove_prefix(1);
      while (name.ends_with(' ')) name.remove_suffix(1);
      const bool matches = name == kernel || name == "*";
      if (!name.empty()) seen_[std::string(name)] |= matches;
      found |= matches;
    }
    if (built_.size() < listed) built_.emplace(kernel);
    return found;
  }

 private:
  static constexpr std::size_t listed = 10;

  DebuggedNames() { std::atexit(tell); }

  static void tell() {
    DebuggedNames& names = get();
    const std::lock_guard lock(names.mutex_);
    for (const auto& [name, matched] : names.seen_)
      if (!matched)
        std::fprintf(stderr,
                     "weir: WEIR_DEBUG names '%s', but no kernel of that name was built; kernels: %s\n",
                     name.c_str(), fmt::format("{}", fmt::join(names.built_, ", ")).c_str());
  }

  std::mutex mutex_;
  std::map<std::string, bool> seen_;  ///< whether a kernel had the name
  std::set<std::string> built_;       ///< the names of the first kernels
};

}  // namespace

bool is_named_for_debugging(std::string_view kernel) {
  const std::string list = secure_environment("WEIR_DEBUG");
  return !list.empty() && DebuggedNames::get().match(list, kernel);
}

void debug(ProgramState& program, bool on) noexcept {
  if (on) mark_new_arrays();
  program.debugged.store(on, std::memory_order_relaxed);
  for (const ProgramStep& step : program.steps)
    if (step.part) debug(*step.part, on);
  for (const PlacedProgram* placed = program.placed.load(std::memory_order_acquire); placed;
       placed = placed->next)
    debug(*placed->program, on);
}

void debug_launch(ProgramState& program, const StreamRef& stream, std::span<const LaunchArgument> arguments,
                  const LaunchOptions& options) {
  const ir::Kernel& kernel = *program.kernel;
  StreamState& state = live(stream);
  stream.synchronize();  // throws failures of earlier launches, and shows their lines
  // Work of other threads on the stream must not come between the copies.
  std::optional<SubmissionSequence> one_step(std::in_place, state);
  LaunchValues values(arguments);
  (void)choose_variant(program, state.device, values);  // refuses loops of too many iterations
  interpreter::Arguments on_host = arguments_on_host(stream, arguments);
  if (program.plan->uses_launch_key) on_host.launch_key = next_launch_key(program, options);
  const std::vector<std::vector<std::byte>> before = on_host.memories;
  interpreter::CompiledMath math(stream.device());
  interpreter::Machine machine(kernel, std::move(on_host), std::ref(math));
  DebugChecks checks(program);
  machine.observe(&checks);
  try {
    machine.run_kernel(~std::uint64_t{0});
  } catch (const interpreter::Fault& fault) {
    one_step.reset();
    checks.show_lines();
    throw_fault(kernel, fault);
  }
  state.device.streams.wait_before_throwing(state, [&] {  // the copies read the host's memory
    for (std::size_t p = 0; p < arguments.size(); ++p) {
      if (!arguments[p].array || !program.parameters[p].written) continue;
      const interpreter::ArrayArgument& array = machine.arguments().arrays[p];
      const std::size_t size = arguments[p].array->size_bytes();
      const auto part_of_memory = [&](const std::vector<std::vector<std::byte>>& memories) {
        return std::span(memories[array.memory]).subspan(array.offset, size);
      };
      copy_changes(stream, *arguments[p].array, part_of_memory(before),
                   part_of_memory(machine.arguments().memories));
    }
    stream.synchronize();
  });
  one_step.reset();      // a program's function for printed lines may launch on any stream
  checks.show_lines();
}

}  // namespace weir::detail
