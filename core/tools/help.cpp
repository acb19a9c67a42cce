// SPDX-License-Identifier: Apache-2.0
// `weir help [TOPIC]`: the options of a subcommand, or a page of the installed documentation.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"
#include "folder_names.hpp"
#include "near_words.hpp"
#include "tool_files.hpp"

namespace weir::tool {
namespace {

namespace fs = std::filesystem;

/// Pages by topic, the file's name without its extension. A guide takes precedence over a reference page of
/// the same name, which is then listed as NAME-reference.
std::map<std::string, fs::path> documentation_pages() {
  std::map<std::string, fs::path> pages;
  for (const fs::path& folder : {documentation_folder() / "guides", documentation_folder()})
    for_each_name(folder, [&](std::string_view name) {
      const fs::path page = folder / name;
      if (page.extension() != ".md" || page.stem() == "README") return;
      const std::string topic = page.stem().string();
      if (!pages.try_emplace(topic, page).second) pages.emplace(topic + "-reference", page);
    });
  return pages;
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// The subcommand of a subcommand, such as "driver watch"; null if there is none.
const CLI::App* nested(const CLI::App& root, const std::vector<std::string>& words) {
  const CLI::App* app = &root;
  for (const std::string& word : words) {
    const auto below = app->get_subcommands([&](const CLI::App* one) { return one->get_name() == word; });
    if (below.empty()) return nullptr;
    app = below.front();
  }
  return app;
}

/// The help of `command` with its whole name, such as "weir cache warm", in the line of its usage.
std::string help_of(const CLI::App& command) {
  std::string parents;
  for (const CLI::App* parent = command.get_parent(); parent != nullptr; parent = parent->get_parent())
    parents = parent->get_name() + (parents.empty() ? "" : " ") + parents;
  return command.help(parents);
}

int show(const CLI::App& root, const std::vector<std::string>& words) {
  if (const CLI::App* const command = words.size() > 1 ? nested(root, words) : nullptr) {
    std::fputs(help_of(*command).c_str(), stdout);
    return 0;
  }
  std::string topic;
  for (const std::string& word : words) topic += (topic.empty() ? "" : " ") + word;
  const auto pages = documentation_pages();
  const auto subcommands = root.get_subcommands([](const CLI::App*) { return true; });
  if (topic.empty()) {
    std::printf("weir help TOPIC prints one of these.\n\nSubcommands:");
    for (const CLI::App* command : subcommands) std::printf(" %s", command->get_name().c_str());
    std::printf("\nPages:");
    for (const auto& [name, file] : pages) std::printf(" %s", name.c_str());
    if (pages.empty())
      std::printf(" none; install weir-driver-sdk, which holds %s", documentation_folder().c_str());
    std::printf("\n");
    return 0;
  }
  const auto command =
      std::ranges::find(subcommands, topic, [](const CLI::App* app) { return app->get_name(); });
  if (const auto page = pages.find(topic); page != pages.end()) {
    std::fputs(text_of(page->second).c_str(), stdout);
    if (command != subcommands.end())
      std::printf("\nweir %s --help lists the options of the subcommand.\n", topic.c_str());
    return 0;
  }
  if (command != subcommands.end()) {
    std::fputs(help_of(**command).c_str(), stdout);
    return 0;
  }
  std::vector<std::string> topics;
  for (const CLI::App* app : subcommands) topics.push_back(app->get_name());
  for (const auto& [name, file] : pages) topics.push_back(name);
  throw UsageError("there is no topic '" + topic + "'; weir help lists the topics" +
                   suggestion(topic, topics));
}

const Command help_command("help", "Show the options of a subcommand, or a page of the documentation",
                           [](CLI::App& app) -> std::function<int()> {
                             auto topic = std::make_shared<std::vector<std::string>>();
                             app.add_option("topic", *topic,
                                            "A subcommand or a page; without one, all topics are listed");
                             const CLI::App* root = app.get_parent();
                             return [topic, root] { return show(*root, *topic); };
                           });

}  // namespace
}  // namespace weir::tool
