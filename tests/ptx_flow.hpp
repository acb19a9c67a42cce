// SPDX-License-Identifier: Apache-2.0
// The control flow of PTX.
#pragma once

#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace weir::test {

/// The successors of each basic block of a function; block 0 is its entry.
using FlowGraph = std::vector<std::set<std::size_t>>;

/// Whether each loop has one entry. Merges blocks that have a single predecessor into it, and ignores edges
/// from a block to itself, which leaves one block (Hecht and Ullman, "Flow Graph Reducibility", SIAM J.
/// Comput. 1 (2), 1972).
inline bool is_reducible(FlowGraph successors) {
  std::set<std::size_t> left{0};  // reached from the entry
  for (std::vector<std::size_t> open{0}; !open.empty();) {
    const std::size_t from = open.back();
    open.pop_back();
    for (const std::size_t to : successors[from])
      if (left.insert(to).second) open.push_back(to);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (auto block = left.begin(); block != left.end();) {
      successors[*block].erase(*block);
      std::set<std::size_t> predecessors;
      for (const std::size_t from : left)
        if (successors[from].contains(*block)) predecessors.insert(from);
      if (*block == 0 || predecessors.size() != 1) {
        ++block;
        continue;
      }
      FlowGraph::value_type& into = successors[*predecessors.begin()];
      into.erase(*block);
      into.merge(successors[*block]);
      block = left.erase(block);
      changed = true;
    }
  }
  return left.size() == 1;
}

/// The flow graphs of the functions of a PTX module, by their names.
inline std::map<std::string, FlowGraph> flow_graphs(const std::string& ptx) {
  std::map<std::string, FlowGraph> graphs;
  FlowGraph* graph = nullptr;
  std::map<std::string, std::size_t> labels;  // of blocks
  std::vector<std::pair<std::size_t, std::string>> branches;
  bool continues = false;  // to the next block
  const auto begin_block = [&] {
    graph->emplace_back();
    if (continues) (*graph)[graph->size() - 2].insert(graph->size() - 1);
    continues = true;
  };
  std::string name, line;
  for (std::istringstream in(ptx); std::getline(in, line);) {
    std::istringstream words(line);
    std::string word, label;
    words >> word;
    const bool conditional = word.starts_with("@");
    if (conditional) words >> word;
    if (word == ".visible" || word == ".func") {
      name = line.substr(0, line.find_last_of('('));
    } else if (line.starts_with("{")) {
      graph = &graphs[name];
      continues = false;
      begin_block();
    } else if (!graph) {
      continue;
    } else if (line.starts_with("}")) {
      for (const auto& [from, to] : branches) (*graph)[from].insert(labels.at(to));
      labels.clear();
      branches.clear();
      graph = nullptr;
    } else if (word.starts_with("$") && word.ends_with(":")) {
      begin_block();
      labels[word.substr(0, word.size() - 1)] = graph->size() - 1;
    } else if (word == "bra" || word == "bra.uni") {
      words >> label;
      branches.emplace_back(graph->size() - 1, label.substr(0, label.find(';')));
      continues = conditional;
      if (conditional) begin_block();
    } else if (word == "ret;" || word == "trap;" || word == "exit;") {
      continues = conditional;
    }
  }
  return graphs;
}

}  // namespace weir::test
