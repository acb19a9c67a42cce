// SPDX-License-Identifier: Apache-2.0
// Packs that a program loads.
#include <fmt/format.h>
#include <stdio.h>

#include <algorithm>
#include <weir/pack.hpp>

#include "compilation/packs.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/launch/launch_steps.hpp"

namespace weir {
namespace {

using compilation::PackContents;

const detail::LoadedPack& alive(const std::shared_ptr<const detail::LoadedPack>& pack) {
  if (!pack) detail::throw_dead("pack");
  return *pack;
}

std::string list_of_kernels(const PackContents& contents) {
  std::string list;
  for (const PackContents::Kernel& kernel : contents.kernels)
    list += (list.empty() ? "" : ", ") + kernel.name;
  return list;
}

Program read_program(const detail::LoadedPack& pack, const PackContents::Kernel& kernel) {
  const auto entry = pack.file.read(kernel.text);
  if (!entry || entry->input != compilation::text_input)
    throw Error(ErrorCode::invalid, fmt::format("{}: the text of kernel '{}' is damaged; make the pack again",
                                                pack.name, kernel.name));
  return Program::parse(entry->code, pack.name);
}

/// The positions of the kernels of that name in all packs that have some.
using Found = std::vector<std::pair<compilation::LoadedPack, const PackContents::Kernel*>>;

Program only(const Found& found, std::string_view name, const std::string& where) {
  Program program = read_program(*found[0].first, *found[0].second);
  const std::string text = program.text();
  for (const auto& [pack, kernel] : std::span(found).subspan(1))
    if (read_program(*pack, *kernel).text() != text)
      throw Error(ErrorCode::invalid, fmt::format("{} kernels in {} are called '{}'; give each another name",
                                                  found.size(), where, name));
  return program;
}

void collect(const compilation::LoadedPack& pack, std::string_view name, Found& found) {
  for (const PackContents::Kernel& kernel : pack->file.contents().kernels)
    if (kernel.name == name) found.emplace_back(pack, &kernel);
}

}  // namespace

Pack Pack::load(const std::string& file) try {
  return Pack(compilation::add_pack(compilation::read_pack(file, true)));
} catch (...) {
  detail::rethrow_as_error();
}

Pack Pack::examine(const std::string& file) try {
  return Pack(compilation::read_pack(file, false));
} catch (...) {
  detail::rethrow_as_error();
}

Pack Pack::embedded(std::span<const std::byte> bytes, std::string_view name) noexcept {
  try {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return Pack(compilation::add_pack(std::make_shared<const detail::LoadedPack>(std::string(name), text)));
  } catch (const std::exception& error) {
    fprintf(stderr, "weir: the pack in the program is not used: %s\n", error.what());
    return Pack(nullptr);
  }
}

const std::string& Pack::name() const try { return alive(state_).name; } catch (...) {
  detail::rethrow_as_error();
}

const std::string& Pack::maker() const try { return alive(state_).file.contents().generator; } catch (...) {
  detail::rethrow_as_error();
}

bool Pack::usable() const try { return alive(state_).usable(); } catch (...) {
  detail::rethrow_as_error();
}

std::vector<std::string> Pack::kernels() const try {
  std::vector<std::string> names;
  for (const PackContents::Kernel& kernel : alive(state_).file.contents().kernels)
    names.push_back(kernel.name);
  return names;
} catch (...) {
  detail::rethrow_as_error();
}

Program Pack::program(std::string_view name) const try {
  const PackContents& contents = alive(state_).file.contents();
  Found found;
  collect(state_, name, found);
  if (found.empty())
    throw Error(ErrorCode::not_found, fmt::format("{} has no kernel '{}'; it has {}", state_->name, name,
                                                  list_of_kernels(contents)));
  return only(found, name, state_->name);
} catch (...) {
  detail::rethrow_as_error();
}

Program Pack::program(std::size_t position) const try {
  const PackContents& contents = alive(state_).file.contents();
  if (position >= contents.kernels.size())
    throw Error(ErrorCode::not_found, fmt::format("{} has {} kernels, and none at position {}", state_->name,
                                                  contents.kernels.size(), position));
  return read_program(*state_, contents.kernels[position]);
} catch (...) {
  detail::rethrow_as_error();
}

std::vector<PackedCode> Pack::code() const try {
  const PackContents& contents = alive(state_).file.contents();
  std::vector<PackedCode> all;
  for (const PackContents::Code& code : contents.codes) {
    const PackContents::Target& target = contents.targets[code.target];
    const auto entry = state_->file.read(code.place);
    all.push_back({code.kernel,
                   {target.format, target.cpu, target.features, detail::format_assumptions(code.assumptions)},
                   code.tasks,
                   code.place.size,
                   entry.has_value()});
  }
  return all;
} catch (...) {
  detail::rethrow_as_error();
}

Program Program::load(std::string_view name) try {
  const std::vector<compilation::LoadedPack> packs = compilation::packs();
  Found found;
  std::string inside;
  for (const compilation::LoadedPack& pack : packs) {
    collect(pack, name, found);
    inside += fmt::format("\n  {}: {}", pack->name, list_of_kernels(pack->file.contents()));
  }
  if (packs.empty())
    throw Error(ErrorCode::not_found,
                fmt::format("kernel '{}' cannot be loaded, because this process has no packs; add one with "
                            "weir_add_kernels in CMake, or with Pack::load",
                            name));
  if (found.empty())
    throw Error(ErrorCode::not_found,
                fmt::format("no pack of this process has a kernel '{}'; there are:{}", name, inside));
  return only(found, name, "the packs of this process");
} catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir
