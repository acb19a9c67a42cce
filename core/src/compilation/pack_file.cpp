// SPDX-License-Identifier: Apache-2.0
#include "compilation/pack_file.hpp"

#include <fmt/format.h>
#include <weir/driver.h>

#include <algorithm>
#include <cstring>
#include <weir/error.hpp>

#include "compilation/archive.hpp"
#include "compilation/fields.hpp"
#include "compilation/protocol.hpp"

namespace weir::compilation {

// Not in an unnamed namespace, where the templates of archive.hpp would not find them.
void fields(auto& archive, Is<PackContents::Place> auto& place) {
  archive(place.offset, place.size);
}
void fields(auto& archive, Is<PackContents::Kernel> auto& kernel) {
  archive(kernel.name, kernel.text);
}
void fields(auto& archive, Is<PackContents::Target> auto& target) {
  archive(target.format, target.cpu, target.features);
}
void fields(auto& archive, Is<PackContents::Code> auto& code) {
  archive(code.kernel, code.target, code.assumptions, code.tasks, code.place, code.key);
}
void fields(auto& archive, Is<PackContents> auto& contents) {
  archive(contents.maker, contents.generator, contents.kernels, contents.targets, contents.codes);
}

namespace {

constexpr std::string_view family = "weir-pack ";
constexpr std::string_view magic = "weir-pack 1\n";

struct Sizes {
  std::uint64_t file, contents;
};
constexpr std::size_t header_bytes = magic.size() + sizeof(Sizes);

[[noreturn]] void refuse(const std::string& name, const std::string& problem) {
  throw Error(ErrorCode::invalid, fmt::format("{} {}; make it again with weir compile", name, problem));
}

bool has_good_references(const PackContents& contents) {
  return std::ranges::all_of(contents.codes, [&](const PackContents::Code& code) {
    return code.kernel < contents.kernels.size() && code.target < contents.targets.size();
  });
}

}  // namespace

std::string pack_identity() {
  return fmt::format("{}, driver ABI {}", greeting(), WEIR_ABI_CURRENT);
}

std::string encode_pack(const PackContents& contents, std::string_view entries) {
  Writer writer;
  writer(contents);
  const std::string list = writer.take();
  const Sizes sizes{header_bytes + list.size() + cache::checksum_bytes + entries.size(), list.size()};
  std::string bytes(magic);
  bytes.append(reinterpret_cast<const char*>(&sizes), sizeof sizes);
  bytes += list;
  bytes += cache::checksum(bytes);
  bytes += entries;
  return bytes;
}

PackFile::PackFile(std::string_view bytes, const std::string& name) {
  if (!bytes.starts_with(family.substr(0, std::min(bytes.size(), family.size()))))
    throw Error(ErrorCode::invalid, name +
                                        " is not a pack; expected a file that weir compile or "
                                        "weir_add_kernels wrote");
  if (bytes.size() < header_bytes) refuse(name, "is truncated");
  if (!bytes.starts_with(magic))
    refuse(name, "is a pack in the format of another version of Weir, or damaged");
  Sizes sizes;
  std::memcpy(&sizes, bytes.data() + magic.size(), sizeof sizes);
  const std::size_t room = bytes.size() - header_bytes;
  if (sizes.contents > room || cache::checksum_bytes > room - sizes.contents)
    refuse(name, "is truncated or damaged");
  const std::size_t end = header_bytes + sizes.contents;
  if (bytes.substr(end, cache::checksum_bytes) != cache::checksum(bytes.substr(0, end)))
    refuse(name, "is damaged: the checksum of its contents is wrong");
  if (sizes.file != bytes.size())
    refuse(name, fmt::format("has {} bytes and should have {}: it is truncated or damaged", bytes.size(),
                             sizes.file));
  try {
    Reader reader(bytes.substr(header_bytes, sizes.contents));
    reader(contents_);
    reader.expect_end();
  } catch (const DamagedBytes&) {
    refuse(name, "is damaged: its contents cannot be read");
  }
  if (!has_good_references(contents_)) refuse(name, "is damaged: its contents contradict each other");
  entries_ = bytes.substr(end + cache::checksum_bytes);
  for (const PackContents::Code& code : contents_.codes) by_key_.emplace_back(code.key, code.place);
  std::ranges::sort(by_key_, {}, [](const auto& row) { return row.first; });
}

std::optional<cache::Entry> PackFile::read(const PackContents::Place& place) const {
  if (place.offset > entries_.size() || place.size > entries_.size() - place.offset) return std::nullopt;
  return cache::decode_entry(entries_.substr(place.offset, place.size));
}

std::optional<std::string> PackFile::find(std::string_view input) const {
  const std::string key = cache::entry_name(input);
  const auto row =
      std::ranges::lower_bound(by_key_, std::string_view(key), {}, [](const auto& one) { return one.first; });
  if (row == by_key_.end() || row->first != key) return std::nullopt;
  std::optional<cache::Entry> entry = read(row->second);
  if (!entry || entry->input != input) return std::nullopt;
  return std::move(entry->code);
}

}  // namespace weir::compilation
