// SPDX-License-Identifier: Apache-2.0
// A plugin of clang 22 that puts all mutants of a component's files into each object. Its input is the list
// of files in $WEIR_MUTATION_FILES; it writes the list of the object's mutants to $WEIR_MUTATION_LIST.
// ../README.md describes the use.
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Plugins/PassPlugin.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>

#include <cstdlib>
#include <map>
#include <tuple>

#include "changes.hpp"

namespace weir::mutation {

using namespace llvm;

namespace {

constexpr unsigned file_bits = 8, line_bits = 9, column_bits = 7, kind_bits = 3, ordinal_bits = 5;
static_assert(file_bits + line_bits + column_bits + kind_bits + ordinal_bits == 32);
constexpr unsigned mark_bits = 20;  // of selector.cpp's marks

const char* needed(const char* variable) {
  const char* value = std::getenv(variable);
  if (!value) report_fatal_error(Twine("the plugin for mutants needs $") + variable);
  return value;
}

// The number depends on the place alone: an inline function has the same mutants in each object, and a
// template in each instance. Changes beyond the number's limits are left out.
std::vector<Change> numbered(std::vector<Change> changes) {
  std::map<std::tuple<unsigned, unsigned, unsigned, Kind>, unsigned> ordinals;
  std::map<const BasicBlock*, unsigned> marks;
  std::vector<Change> kept;
  for (Change& change : changes) {
    Place place = change.place;
    place.column = std::min(place.column, (1u << column_bits) - 1);
    change.ordinal = ordinals[{place.file, place.line, place.column, change.kind}]++;
    if (place.file >> file_bits || place.line >> line_bits || change.ordinal >> ordinal_bits) continue;
    unsigned number = place.file;
    number = number << line_bits | place.line;
    number = number << column_bits | place.column;
    const unsigned mark = (number * 2654435761u) >> (32 - mark_bits);
    change.mark = marks.insert({change.at->getParent(), mark}).first->second;
    number = number << kind_bits | static_cast<unsigned>(change.kind);
    change.id = number << ordinal_bits | change.ordinal;
    kept.push_back(std::move(change));
  }
  return kept;
}

struct MutationPass : PassInfoMixin<MutationPass> {
  PreservedAnalyses run(Module& module, ModuleAnalysisManager&) {
    const Files files(needed("WEIR_MUTATION_FILES"));
    json::Array list;
    for (Function& function : module) {
      if (!files.contain(function)) continue;
      const std::vector<Change> changes = numbered(find_changes(function, files));
      if (changes.empty()) continue;
      for (const Change& change : changes) {
        list.push_back(json::Object{{"id", change.id},
                                    {"mark", change.mark},
                                    {"file", files.name(change.place.file)},
                                    {"line", change.place.line},
                                    {"column", change.place.column},
                                    {"kind", name_of(change.kind)},
                                    {"ordinal", change.ordinal},
                                    {"change", change.text}});
      }
      apply_changes(function, changes);
    }
    std::error_code error;
    raw_fd_ostream output(needed("WEIR_MUTATION_LIST"), error);
    if (error) report_fatal_error(Twine("cannot write the list of mutants: ") + error.message());
    output << json::Value(std::move(list)) << "\n";
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};

}  // namespace

}  // namespace weir::mutation

extern "C" [[gnu::visibility("default")]] llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {
      LLVM_PLUGIN_API_VERSION, "weir-mutation", "1", [](llvm::PassBuilder& builder) {
        // Before all optimisation: instructions still correspond to the source.
        builder.registerPipelineStartEPCallback([](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
          passes.addPass(weir::mutation::MutationPass());
        });
      }};
}
