// SPDX-License-Identifier: Apache-2.0
// NumPy's .npz files: zip archives of .npy files.
#include <string_view>

#include "files/contents.hpp"
#include "files/zip.hpp"
#include "foreign_text.hpp"

namespace weir {
namespace {

constexpr std::string_view suffix = ".npy";

}  // namespace

HostArrays read_npz(const std::filesystem::path& path) try {
  const std::string archive = path.string();
  HostArrays arrays;
  for (const files::ZipMember& member :
       files::read_zip(files::read_file(path, "an existing .npz file"), archive)) {
    std::string_view name = member.name;
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
    HostArray array = files::parse_npy(
        member.contents, archive + ": member '" + without_control_characters(member.name) + "'");
    if (!arrays.emplace(name, std::move(array)).second)
      throw Error(ErrorCode::parse, archive + ": expected one array of each name, found '" +
                                        without_control_characters(name) + "' twice; save it again");
  }
  return arrays;
} catch (...) {
  detail::rethrow_as_error();
}

void write_npz(const std::filesystem::path& path, const HostArrays& arrays, Compression compression) try {
  std::vector<files::ZipMember> members;
  for (const auto& [name, array] : arrays) {
    if (name.empty() || name.size() > 1000)
      throw Error(ErrorCode::invalid, path.string() +
                                          ": expected names of 1 to 1000 bytes for arrays, found one of " +
                                          std::to_string(name.size()));
    std::string member = name + std::string(suffix);
    std::vector<std::byte> contents = files::print_npy(array, path.string() + ": array '" + name + "'");
    members.push_back({std::move(member), std::move(contents)});
  }
  files::write_file(path, files::print_zip(members, compression == Compression::deflate));
} catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir
