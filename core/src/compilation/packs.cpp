// SPDX-License-Identifier: Apache-2.0
#include "compilation/packs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <weir/error.hpp>

#include "cache/files.hpp"
#include "compilation/canonical_request.hpp"
#include "compilation/kept_code.hpp"
#include "descriptor.hpp"
#include "driver/environment.hpp"
#include "driver/trust/trust.hpp"

namespace weir::detail {

LoadedPack::LoadedPack(std::string name_, std::string bytes)
    : name(std::move(name_)), own_bytes(std::move(bytes)), file(own_bytes, name) {}
LoadedPack::LoadedPack(std::string name_, std::string_view bytes)
    : name(std::move(name_)), file(bytes, name) {}

}  // namespace weir::detail

namespace weir::compilation {
namespace {

/// A list that only grows, so that no reader needs a lock, not even in a child that was forked meanwhile.
struct Node {
  LoadedPack pack;
  const Node* next;
};
constinit std::atomic<const Node*> newest{nullptr};

bool is_same_file(const detail::LoadedPack& a, const detail::LoadedPack& b) {
  if (!a.state || !b.state) return false;
  const struct stat &x = *a.state, &y = *b.state;
  return x.st_dev == y.st_dev && x.st_ino == y.st_ino && x.st_size == y.st_size &&
         x.st_mtim.tv_sec == y.st_mtim.tv_sec && x.st_mtim.tv_nsec == y.st_mtim.tv_nsec;
}

/// Calls `take` for each part of "a,b,c".
template <class Take>
void split(std::string_view list, const Take& take) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    take(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
}

bool has_features(std::string_view has, std::string_view needs) {
  bool all = true;
  split(needs, [&](std::string_view needed) {
    bool found = false;
    split(has, [&](std::string_view one) { found = found || one == needed; });
    all = all && found;
  });
  return all;
}

bool fits(const codegen::CodeObject& object, const codegen::Target& device) {
  if (!has_features(device.features, object.needs)) return false;
  return std::ranges::all_of(object.entries, [&](const codegen::CodeObject::Entry& entry) {
    return std::uint64_t{entry.block[0]} * entry.block[1] * entry.block[2] <= device.max_block_threads;
  });
}

/// One target of a pack, for a device whose target is `device`.
struct Candidate {
  const detail::LoadedPack* pack;
  const PackContents::Target* target;
  const codegen::Target* device;
};

/// The targets of all packs that the device may load, the best first.
std::vector<Candidate> candidates(const std::vector<LoadedPack>& all,
                                  std::span<const codegen::Target> loads) {
  std::vector<Candidate> listed, others;
  for (const codegen::Target& device : loads)
    for (const LoadedPack& pack : all) {
      if (!pack->usable()) continue;
      for (const PackContents::Target& target : pack->file.contents().targets)
        if (target.format == device.format && target.cpu == device.cpu)
          listed.push_back({pack.get(), &target, &device});
    }
  for (const LoadedPack& pack : all) {
    if (!pack->usable()) continue;
    for (const PackContents::Target& target : pack->file.contents().targets) {
      const auto same_format = [&](const codegen::Target& device) { return device.format == target.format; };
      const auto same_target = [&](const Candidate& one) { return one.target == &target; };
      const auto device = std::ranges::find_if(loads, same_format);
      if (device != loads.end() && std::ranges::none_of(listed, same_target))
        others.push_back({pack.get(), &target, &*device});
    }
  }
  listed.insert(listed.end(), others.begin(), others.end());
  return listed;
}

std::vector<codegen::CodeObject> read_all(const Candidate& from, const ir::Kernel& kernel,
                                          std::span<const TaskGroup> groups) {
  codegen::Target target{from.target->format, from.target->cpu, from.target->features};
  target.assumptions = from.device->assumptions;
  std::vector<codegen::CodeObject> objects;
  for (const TaskGroup& group : groups) {
    const CanonicalRequest request = canonical_request(kernel, group, target);
    const auto bytes = from.pack->file.find(fmt::format("{}\n{}", pack_identity(), request.input));
    auto object = bytes ? decode_kept(*bytes, request.lines, group.size()) : std::nullopt;
    if (!object || !fits(*object, *from.device)) return {};
    objects.push_back(std::move(*object));
  }
  return objects;
}

/// The targets of the pack for which `choose` is true of some code of the kernel.
template <class Choose>
std::string list_of_targets(const PackContents& contents, const std::string& kernel, const Choose& choose) {
  std::string list;
  for (std::uint32_t t = 0; t < contents.targets.size(); ++t) {
    const PackContents::Target& target = contents.targets[t];
    const auto is_chosen = [&](const PackContents::Code& code) {
      return code.target == t && contents.kernels[code.kernel].name == kernel && choose(target, code);
    };
    if (std::ranges::any_of(contents.codes, is_chosen))
      list += (list.empty() ? "" : ", ") + describe_target(target.format, target.cpu, target.features);
  }
  return list;
}

std::string describe(const detail::LoadedPack& pack, const std::string& kernel,
                     std::span<const codegen::Target> loads) {
  const PackContents& contents = pack.file.contents();
  const std::string targets = list_of_targets(contents, kernel, [](auto&, auto&) { return true; });
  if (targets.empty()) return fmt::format("{} does not contain it", pack.name);
  if (!pack.usable())
    return fmt::format("{} has it, but was made by {}, and this is {}", pack.name, contents.maker,
                       pack_identity());
  // As candidates(): only the driver can decide whether its processor includes another one.
  const auto may_load = [&](const PackContents::Target& target, auto&) {
    return std::ranges::any_of(loads, [&](const auto& device) { return device.format == target.format; });
  };
  const std::string damaged = list_of_targets(contents, kernel, [&](const auto& target, const auto& code) {
    return may_load(target, code) && !pack.file.read(code.place);
  });
  if (!damaged.empty())
    return fmt::format("{} has it for {}, but the code for {} is damaged", pack.name, targets, damaged);
  if (!list_of_targets(contents, kernel, may_load).empty())
    return fmt::format("{} has it for {}, but for other statements, assumptions or processors{}", pack.name,
                       targets,
                       secure_environment("WEIR_FUSION").empty()
                           ? ""
                           : "; WEIR_FUSION, which is set, can ask for tasks that were not packed");
  return fmt::format("{} has it for {}", pack.name, targets);
}

}  // namespace

LoadedPack read_pack(const std::filesystem::path& path, bool trusted) {
  const auto cannot = [&](int error) {
    throw Error(ErrorCode::system, fmt::format("{}: cannot read the pack: {}; check its path and permissions",
                                               path.string(), strerrordesc_np(error)));
  };
  std::string bytes;
  struct stat state {};
  const auto read = [&](int file) {
    if (fstat(file, &state) != 0 || !cache::read_all(file, bytes)) cannot(errno);
  };
  if (trusted) {
    read(open_trusted(path).descriptor());
  } else {
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0) cannot(errno);
    read(file.get());
  }
  auto pack = std::make_shared<detail::LoadedPack>(path.string(), std::move(bytes));
  pack->state = state;
  return pack;
}

LoadedPack add_pack(LoadedPack pack) {
  for (const Node* node = newest.load(std::memory_order_acquire); node; node = node->next)
    if (is_same_file(*node->pack, *pack)) return node->pack;
  auto* const node = new Node{std::move(pack), newest.load(std::memory_order_relaxed)};
  while (!newest.compare_exchange_weak(node->next, node, std::memory_order_acq_rel)) {
  }
  return node->pack;
}

std::vector<LoadedPack> packs() {
  std::vector<LoadedPack> all;
  for (const Node* node = newest.load(std::memory_order_acquire); node; node = node->next)
    all.push_back(node->pack);
  return all;
}

bool find_packed(const ir::Kernel& kernel, std::span<const TaskGroup> groups,
                 std::span<const codegen::Target> loads,
                 const std::function<bool(std::vector<codegen::CodeObject>&&)>& accept) {
  if (!newest.load(std::memory_order_acquire)) return false;
  const std::vector<LoadedPack> all = packs();
  return std::ranges::any_of(candidates(all, loads), [&](const Candidate& candidate) {
    std::vector<codegen::CodeObject> objects = read_all(candidate, kernel, groups);
    return !objects.empty() && accept(std::move(objects));
  });
}

std::string describe_packs(const std::string& kernel, std::span<const codegen::Target> loads) {
  std::string words;
  for (const LoadedPack& pack : packs())
    words += (words.empty() ? "" : "; ") + describe(*pack, kernel, loads);
  return words;
}

std::string describe_target(const std::string& format, const std::string& cpu, const std::string& features) {
  return format + (cpu.empty() ? "" : ":" + cpu) + (features.empty() ? "" : ":" + features);
}

}  // namespace weir::compilation
