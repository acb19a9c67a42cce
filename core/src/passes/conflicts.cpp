// SPDX-License-Identifier: Apache-2.0
#include "passes/conflicts.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <weir/error.hpp>

#include "ir/verifier.hpp"
#include "passes/dependence.hpp"

namespace weir::passes {

namespace {

using ir::Block;
using ir::Location;
using ir::Op;
using ir::Statement;

// The uses of a variable in one stream block: the first one, the first write, and of a parameter all
// accesses.
struct Use {
  Location touched;
  std::optional<Location> written;
  Accesses accesses;
};

// An array parameter, or a local variable of the kernel's body.
struct Variable {
  bool local;
  std::uint32_t index;
  friend auto operator<=>(const Variable&, const Variable&) = default;
};

using Uses = std::map<Variable, Use>;

void note(Uses& uses, Variable variable, const Statement& s, bool writes) {
  Use& use = uses.try_emplace(variable, Use{s.location, {}, {}}).first->second;
  if (writes && !use.written) use.written = s.location;
  if (!variable.local) use.accesses.push_back(&s);
}

void gather(const Block& block, Uses& uses) {
  for (const Statement& s : block.statements) {
    switch (s.op) {
      case Op::load:
        note(uses, {false, s.index}, s, false);
        break;
      case Op::store:
      case Op::atomic:
        note(uses, {false, s.index}, s, true);
        break;
      case Op::get:
        note(uses, {true, s.index}, s, false);
        break;
      case Op::set:
        note(uses, {true, s.index}, s, true);
        break;
      default:
        break;
    }
    for (const Block& body : s.bodies) gather(body, uses);
  }
}

class Conflicts {
 public:
  Conflicts(Draft& draft, std::vector<AliasCheck>& checks) : draft_(draft), checks_(checks) {}

  void run() {
    draft_.divided.resize(draft_.regions.size());
    for (number_ = 0; number_ < draft_.regions.size(); ++number_) {
      if (draft_.regions[number_]->immediate == 0) region(*draft_.regions[number_]);
    }
    if (!diagnostics_.empty()) refuse_kernel(*draft_.kernel, diagnostics_);
  }

 private:
  struct Place {
    std::size_t block;
    Use use;
  };

  void region(const Statement& region) {
    std::map<Variable, std::vector<Place>> places;
    std::size_t number = 0;
    for (const Block& block : region.bodies) {
      Uses uses;
      if (has_effect(block)) gather(block, uses);
      for (const auto& [variable, use] : uses) places[variable].push_back({number, use});
      ++number;
    }
    for (const auto& [variable, users] : places) check_variable(variable, users);
    // Parameters, which sort before locals, are few.
    const auto end = places.lower_bound(Variable{true, 0});
    for (auto written = places.begin(); written != end; ++written) {
      for (auto touched = places.begin(); touched != end; ++touched) {
        if (written != touched)
          two_parameters(written->first, written->second, touched->first, touched->second);
      }
    }
  }

  bool has_effect(const Block& block) const {
    for (const Statement& s : block.statements) {
      if (draft_.effects.contains(&s)) return true;
    }
    return false;
  }

  void check_variable(Variable variable, const std::vector<Place>& users) {
    for (const Place& writer : users) {
      if (!writer.use.written) continue;
      for (const Place& other : users) {
        if (other.block == writer.block) continue;
        const auto conflict = conflicting(variable, writer, other);
        if (!conflict) continue;
        if (diagnostics_.size() < ir::max_diagnostics) refuse(variable, conflict->first, conflict->second);
        return;
      }
    }
  }

  // The uses of both that may be the same element, or nothing when the analysis proves that there are none.
  std::optional<std::pair<Place, Place>> conflicting(Variable variable, const Place& writer,
                                                     const Place& other) {
    if (variable.local) return std::pair(writer, other);
    if (!forms_) forms_.emplace(*draft_.kernel);
    Uses first, second;
    for (const Statement* const a : writer.use.accesses) {
      for (const Statement* const b : other.use.accesses) {
        if (a->op == Op::load && b->op == Op::load) continue;
        const bool atomic = a->op == Op::atomic || b->op == Op::atomic;
        if (!atomic && !find_dependence(*forms_, *draft_.kernel, {a}, {b}, {}).exists) continue;
        note(first, variable, *a, a->op != Op::load);
        note(second, variable, *b, b->op != Op::load);
      }
    }
    if (first.empty()) {
      auto& divided = draft_.divided[number_];
      const auto parameter = static_cast<std::uint16_t>(variable.index);
      if (divided.empty() || divided.back() != parameter) divided.push_back(parameter);
      return std::nullopt;
    }
    const Place one{writer.block, first.begin()->second}, two{other.block, second.begin()->second};
    return one.use.written ? std::pair(one, two) : std::pair(two, one);
  }

  void refuse(Variable variable, const Place& writer, const Place& other) {
    const ir::Kernel& kernel = *draft_.kernel;
    std::string what;
    if (variable.local) {
      what = "the variable declared at " +
             ir::describe(kernel, draft_.locals[variable.index].declaration->location);
    } else {
      what = ir::describe_parameter(kernel, variable.index);
    }
    const std::string verb = other.use.written ? "written" : "read";
    const Location at = other.use.written.value_or(other.use.touched);
    diagnostics_.push_back(
        {*writer.use.written,
         what + " is written in this stream_parallel block and " + verb + " in another one at " +
             ir::describe(kernel, at) +
             "; blocks of one region run at the same time. Put one of them into a stream_region "
             "of its own, or write stream_parallel(conflicts_are_meant, ...) (in text: region allow_conflicts) "
             "if this is meant"});
  }

  // Two parameters written on both sides are checked once.
  void two_parameters(Variable written, const std::vector<Place>& writers, Variable touched,
                      const std::vector<Place>& users) {
    for (const Place& writer : writers) {
      if (!writer.use.written) continue;
      for (const Place& user : users) {
        if (user.block == writer.block) continue;
        if (seen_.contains({touched.index, written.index}) && user.use.written) continue;
        if (!seen_.insert({written.index, touched.index}).second) return;
        AliasCheck check{};
        check.written = static_cast<std::uint16_t>(written.index);
        check.touched = static_cast<std::uint16_t>(touched.index);
        check.written_at = *writer.use.written;
        check.touched_at = user.use.written.value_or(user.use.touched);
        checks_.push_back(check);
        return;
      }
    }
  }

  Draft& draft_;
  std::size_t number_ = 0;  // of the region
  std::optional<LinearForms> forms_;
  std::vector<AliasCheck>& checks_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen_;
  std::vector<ir::Diagnostic> diagnostics_;
};

void gather_uses(const Block& block, std::vector<ParameterUse>& uses) {
  for (const Statement& s : block.statements) {
    if (s.op == Op::load || s.op == Op::argument || s.op == Op::atomic) uses[s.index].read = true;
    if (s.op == Op::store || s.op == Op::atomic) uses[s.index].written = true;
    for (const Block& body : s.bodies) gather_uses(body, uses);
  }
}

}  // namespace

void refuse_kernel(const ir::Kernel& kernel, const std::vector<ir::Diagnostic>& diagnostics) {
  std::string text = "kernel '" + kernel.name + "'";
  if (!kernel.parameters.empty() && kernel.parameters.front().location.line != 0)
    text += " (" + ir::describe(kernel, kernel.parameters.front().location) + ")";
  text += " cannot be built:";
  for (const ir::Diagnostic& diagnostic : diagnostics)
    text += "\n  " + ir::describe(kernel, diagnostic.location) + ": " + diagnostic.message;
  const Location& first = diagnostics.front().location;
  const std::string file = first.file < kernel.files.size() ? kernel.files[first.file] : "";
  throw Error(ErrorCode::kernel, text, kernel.name, file, first.line);
}

void find_conflicts(Draft& draft, std::vector<AliasCheck>& checks) {
  Conflicts(draft, checks).run();
}

std::vector<ParameterUse> find_uses(const ir::Kernel& kernel) {
  std::vector<ParameterUse> uses(kernel.parameters.size());
  gather_uses(kernel.body, uses);
  return uses;
}

}  // namespace weir::passes
