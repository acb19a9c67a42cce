// SPDX-License-Identifier: Apache-2.0
// `weir completion SHELL`: prints a completion script generated from the program's subcommands and options.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "command.hpp"

namespace weir::tool {
namespace {

/// A subcommand with the words that may follow it.
struct Completion {
  std::string path;  ///< "", " run", " demo river"
  std::vector<const CLI::App*> subcommands;
  std::vector<const CLI::Option*> options;
};

void collect(const CLI::App& app, const std::string& path, std::vector<Completion>& all) {
  const auto subcommands = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* subcommand : subcommands)
    collect(*subcommand, path + " " + subcommand->get_name(), all);
  Completion completion{path, {subcommands.begin(), subcommands.end()}, {}};
  for (const CLI::Option* option : app.get_options())
    if (!option->get_lnames().empty()) completion.options.push_back(option);
  all.push_back(std::move(completion));
}

/// All subcommands, nested ones before the one that contains them.
std::vector<Completion> completions(const CLI::App& root) {
  std::vector<Completion> all;
  collect(root, "", all);
  return all;
}

std::string choices_of(const Completion& completion) {
  std::string words;
  for (const CLI::App* subcommand : completion.subcommands) words += subcommand->get_name() + " ";
  for (const CLI::Option* option : completion.options) words += "--" + option->get_lnames().front() + " ";
  if (!words.empty()) words.pop_back();
  return words;
}

/// The text as one word of a shell, in single quotes.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string cases_of(const std::vector<Completion>& all) {
  std::string cases;
  for (const Completion& completion : all)
    cases += "    " + (completion.path.empty() ? std::string("*") : "\"" + completion.path + "\"*") +
             ") choices=" + quoted(choices_of(completion)) + " ;;\n";
  return cases;
}

// The path consists of the words that are not options, so an option's argument does not end a subcommand.
void print_bash(const std::vector<Completion>& all) {
  std::printf(
      "# Completion of weir for bash.\n"
      "_weir() {\n"
      "  local path= word choices\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    case \"$word\" in -*) ;; *) path+=\" $word\" ;; esac\n"
      "  done\n"
      "  case \"$path\" in\n%s  esac\n"
      "  COMPREPLY=($(compgen -W \"$choices\" -- \"$2\"))\n"
      "  [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- \"$2\"))\n"
      "}\n"
      "complete -o filenames -F _weir weir\n",
      cases_of(all).c_str());
}

void print_zsh(const std::vector<Completion>& all) {
  std::printf(
      "#compdef weir\n"
      "_weir() {\n"
      "  local path_= word choices\n"
      "  for word in ${words[2,CURRENT-1]}; do\n"
      "    case \"$word\" in -*) ;; *) path_+=\" $word\" ;; esac\n"
      "  done\n"
      "  case \"$path_\" in\n%s  esac\n"
      "  compadd -- ${=choices}\n"
      "  _files\n"
      "}\n"
      "_weir \"$@\"\n",
      cases_of(all).c_str());
}

/// Whether the command line contains the subcommands of `path`. A name that also occurs inside other
/// subcommands, as in `weir cache info`, counts only outside these.
std::string fish_condition(const std::string& path, const std::vector<Completion>& all) {
  if (path.empty()) return "__fish_use_subcommand";
  std::string condition;
  std::istringstream words(path);
  for (std::string word; words >> word;)
    condition += (condition.empty() ? "" : "; and ") + ("__fish_seen_subcommand_from " + word);
  for (const Completion& other : all)
    if (other.path.size() > path.size() && other.path.ends_with(path))
      condition +=
          "; and not __fish_seen_subcommand_from" + other.path.substr(0, other.path.size() - path.size());
  return condition;
}

void print_fish(const std::vector<Completion>& all) {
  std::printf("# Completion of weir for fish.\n");
  for (const Completion& completion : all) {
    const std::string condition = fish_condition(completion.path, all);
    for (const CLI::App* subcommand : completion.subcommands)
      std::printf("complete -c weir -f -n %s -a %s -d %s\n", quoted(condition).c_str(),
                  subcommand->get_name().c_str(), quoted(subcommand->get_description()).c_str());
    for (const CLI::Option* option : completion.options)
      std::printf("complete -c weir -n %s -l %s -d %s\n", quoted(condition).c_str(),
                  option->get_lnames().front().c_str(), quoted(option->get_description()).c_str());
  }
}

const Command completion_command(
    "completion", "Print a completion script for a shell", [](CLI::App& app) -> std::function<int()> {
      auto shell = std::make_shared<std::string>();
      app.add_option("shell", *shell, "The shell")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
      const CLI::App* root = app.get_parent();
      return [shell, root] {
        const auto all = completions(*root);
        if (*shell == "bash") print_bash(all);
        if (*shell == "zsh") print_zsh(all);
        if (*shell == "fish") print_fish(all);
        return 0;
      };
    });

}  // namespace
}  // namespace weir::tool
