// SPDX-License-Identifier: Apache-2.0
// Converts a site's number to the message, the array and the source line of the failed statement, or to the
// print.
#include <fmt/format.h>

#include <algorithm>

#include "ir/error_record.hpp"
#include "ir/groups.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/prints/print_sites.hpp"
#include "runtime/programs/program_state.hpp"

namespace weir::detail {
namespace {

std::string tuple(const std::int64_t (&values)[4], std::size_t count) {
  std::string text = "(";
  for (std::size_t i = 0; i < count; ++i) text += (i ? ", " : "") + std::to_string(values[i]);
  return text + ")";
}

bool contains(const ir::Block& block, const ir::Statement& wanted) {
  for (const ir::Statement& s : block.statements) {
    if (&s == &wanted) return true;
    for (const ir::Block& body : s.bodies)
      if (contains(body, wanted)) return true;
  }
  return false;
}

/// The number of indices of the parallel loop around `statement`, or 0.
std::size_t loop_rank(const ir::Block& block, const ir::Statement& statement) {
  for (const ir::Statement& s : block.statements)
    for (const ir::Block& body : s.bodies) {
      if (!contains(body, statement)) continue;
      const bool loop = s.op == ir::Op::parallel || s.op == ir::Op::reduce;
      return loop ? body.arguments.size() : loop_rank(body, statement);
    }
  return 0;
}

std::size_t rank_of(const passes::PlannedTask& planned, const ir::Statement& statement) {
  return planned.task.kind == ir::TaskKind::phases ? loop_rank(planned.task.body, statement) : planned.rank;
}

class ProgramFailures final : public FailureSource {
 public:
  ProgramFailures(const ProgramState& program, std::shared_ptr<const passes::Plan> plan)
      : kernel_(program.kernel),
        structs_(program.structs),
        layouts_(program.layouts),
        plan_(std::move(plan)) {
    if (plan_->prints) prints_ = std::make_shared<const PrintSites>(*kernel_);
  }

  Error describe(std::uint32_t number, const ir::ErrorRecord& record) const override {
    for (const passes::PlannedTask& planned : plan_->tasks) {
      const std::uint32_t sites = ir::failure_sites(planned.task.body);
      if (number < sites) return describe(planned, *ir::failure_site(planned.task.body, number), record);
      number -= sites;
    }
    return Error(
        ErrorCode::assertion,
        fmt::format("kernel '{}' failed at an unknown statement; report it with its ir()", kernel_->name),
        kernel_->name, std::string(), 0);
  }

  std::shared_ptr<const PrintSite> print(std::uint32_t number) const override {
    const ir::Statement* statement = nullptr;
    for (const passes::PlannedTask& planned : plan_->tasks) {
      const std::uint32_t sites = ir::failure_sites(planned.task.body);
      if (number < sites) {
        statement = ir::failure_site(planned.task.body, number);
        break;
      }
      number -= sites;
    }
    const PrintSite* found = statement && prints_ ? prints_->find(*statement) : nullptr;
    return found ? std::shared_ptr<const PrintSite>(prints_, found) : nullptr;
  }

 private:
  static bool is_shared(const ir::Block& block, std::uint32_t local) {
    return std::ranges::any_of(block.statements, [&](const ir::Statement& s) {
      return (s.op == ir::Op::shared && s.index == local) ||
             std::ranges::any_of(s.bodies, [&](const ir::Block& body) { return is_shared(body, local); });
    });
  }

  Error describe(const passes::PlannedTask& planned, const ir::Statement& statement,
                 const ir::ErrorRecord& record) const {
    std::string words = fmt::format("kernel '{}': ", kernel_->name);
    if (statement.op == ir::Op::assert_) {
      const bool has_text =
          statement.index < kernel_->strings.size() && !kernel_->strings[statement.index].empty();
      words += has_text ? "assertion failed: " + kernel_->strings[statement.index] : "assertion failed";
    } else {
      std::size_t rank = 0;
      while (rank < 4 && record.extent[rank] != 0) ++rank;
      rank = std::max<std::size_t>(rank, 1);
      const bool local = ir::names_local(statement);
      std::string what =
          local && is_shared(planned.task.body, statement.index) ? "a shared array" : "a local array";
      if (!local && statement.index < kernel_->parameters.size()) {
        const ir::Parameter& parameter = kernel_->parameters[statement.index];
        what = ir::describe_array(*kernel_, structs_, statement.index);
        rank = std::max<std::size_t>(parameter.rank, 1);
        for (std::size_t i = 0; i < structs_.size(); ++i) {
          if (!structs_[i].has_member(statement.index)) continue;
          what += ",";
          // The second dimension of the other layouts are scalars of a struct.
          if (layouts_[i].kind() != Layout::Kind::arrays) rank = 1;
        }
      }
      words += fmt::format("index {} is outside {} of extents {}", tuple(record.array_index, rank), what,
                           tuple(record.extent, rank));
    }
    if (const std::size_t rank = rank_of(planned, statement))
      words += fmt::format(", in the iteration {}", tuple(record.index, rank));
    const ir::Location& at = statement.location;
    if (!kernel_->knows(at)) return Error(ErrorCode::assertion, words, kernel_->name, std::string(), 0);
    const std::string& file = kernel_->files[at.file];
    return Error(ErrorCode::assertion, fmt::format("{} ({}:{})", words, file, at.line), kernel_->name, file,
                 at.line);
  }

  std::shared_ptr<const ir::Kernel> kernel_;
  std::vector<ir::StructParameter> structs_;
  std::vector<Layout> layouts_;  // of structs_
  std::shared_ptr<const passes::Plan> plan_;
  std::shared_ptr<const PrintSites> prints_;  // null if the kernel prints nothing
};

}  // namespace

const KernelOrigin* origin_of(const ir::Kernel& kernel, const ir::Task& task) {
  const ir::Location& at = task.location;
  if (!kernel.knows(at)) return intern_origin(kernel.name);
  return intern_origin(kernel.name, kernel.files[at.file], at.line);
}

std::shared_ptr<const FailureSource> make_failure_source(const ProgramState& program,
                                                         std::shared_ptr<const passes::Plan> plan) {
  return std::make_shared<ProgramFailures>(program, std::move(plan));
}

std::uint32_t failure_sites(const passes::Plan& plan) noexcept {
  std::uint32_t count = 0;
  for (const passes::PlannedTask& planned : plan.tasks) count += ir::failure_sites(planned.task.body);
  return count;
}

}  // namespace weir::detail
