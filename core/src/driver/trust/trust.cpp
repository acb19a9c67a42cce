// SPDX-License-Identifier: Apache-2.0
#include "driver/trust/trust.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string_view>
#include <vector>

#include "driver/trust/file_rights.hpp"
#include "foreign_text.hpp"

namespace weir {
namespace {

namespace fs = std::filesystem;

constexpr uid_t usual_overflow_user = 65534;

// Reads the first bytes of a file in /proc into `text`. Returns false when the file cannot be read.
template <std::size_t N>
bool read_start(const char* path, char (&text)[N]) {
  const Descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
  const ssize_t size = file.get() < 0 ? -1 : ::read(file.get(), text, N - 1);
  if (size < 0) return false;
  text[size] = '\0';
  return true;
}

/// The id that the kernel reports for every user that the user namespace of this process does not map.
/// Returns nothing when it maps all users, or when /proc is not mounted. A process whose own user is unmapped
/// has this id too.
std::optional<uid_t> unmapped_user() {
  char text[128];
  if (!read_start("/proc/self/uid_map", text)) return std::nullopt;
  std::uint32_t first = 1, outside = 1, count = 0;
  const bool one_range = std::sscanf(text, "%u %u %u", &first, &outside, &count) == 3;
  if (one_range && first == 0 && count == UINT32_MAX) return std::nullopt;
  uid_t overflow = usual_overflow_user;
  if (read_start("/proc/sys/kernel/overflowuid", text)) std::sscanf(text, "%u", &overflow);
  return overflow;
}

// The number of links that Linux follows in one path.
constexpr int max_links = 40;

constexpr std::string_view put_elsewhere = "install the file in a folder that only root and you may write";

[[noreturn]] void cannot(const fs::path& path, std::string_view verb, int error) {
  throw Error(ErrorCode::system,
              fmt::format("{} cannot be {}: {}", path.string(), verb, strerrordesc_np(error)));
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

std::string_view kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return "a folder";
    case S_IFIFO:
      return "a named pipe";
    case S_IFSOCK:
      return "a socket";
    case S_IFCHR:
    case S_IFBLK:
      return "a device";
  }
  return "of an unknown kind";
}

// O_DIRECTORY makes the kernel mount an automounter's folder; O_PATH alone does not.
int open_component(int folder, const char* name) {
  constexpr int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  const int descriptor = openat(folder, name, flags | O_DIRECTORY);
  return descriptor < 0 && errno == ENOTDIR ? openat(folder, name, flags) : descriptor;
}

}  // namespace

/// Walks from the root to a file, one component after the other. Descriptors that do not follow links prevent
/// that a checked component is exchanged for another.
class TrustedWalk {
 public:
  explicit TrustedWalk(const fs::path& file) {
    std::error_code error;
    if (file.empty()) cannot("a file with an empty name", "opened", ENOENT);
    named_ = fs::absolute(file, error);
    if (error) cannot(file, "examined", error.value());
    if (named_.native().find('\0') != std::string::npos) cannot(named_.c_str(), "opened", EINVAL);
    add_to_rest(named_);
    go_to_root();
  }

  TrustedFile to_file() {
    if (std::optional<TrustedFile> file = walk()) return std::move(*file);
    refuse_kind(folders_.back());
  }

  void to_folder() {
    if (walk()) cannot(named_, "searched", ENOTDIR);
    const Component& folder = folders_.back();
    if (folder.shared_with)
      throw UntrustedFile(
          fmt::format("{} may be written by {}", folder.path.string(), folder.shared_with->who),
          "name a folder that only root and you may write; a sticky folder may be above that folder");
  }

 private:
  struct Component {
    fs::path path;
    Descriptor descriptor;
    struct stat info;
    /// The account that may add entries to a folder that is accepted only for its sticky bit.
    std::optional<OtherWriter> shared_with = {};
  };

  // The file at the end of the path, or nothing when a folder is there.
  std::optional<TrustedFile> walk() {
    while (!rest_.empty()) {
      const std::string name = std::move(rest_.back());
      rest_.pop_back();
      if (name == "..") {
        if (folders_.size() > 1) folders_.pop_back();
        continue;
      }
      Component next = open_next(name);
      if (S_ISDIR(next.info.st_mode)) {
        judge_folder(next);
        folders_.push_back(std::move(next));
      } else if (S_ISLNK(next.info.st_mode)) {
        judge_entry(next);
        follow(next);
      } else {
        if (!rest_.empty()) stop(next.path, "searched", ENOTDIR);
        return open_file(name, next);
      }
    }
    return std::nullopt;
  }

  // Names are kept in reverse order, so that a link's target replaces the link at the end.
  void add_to_rest(const fs::path& path) {
    const fs::path names = path.relative_path();
    const std::size_t before = rest_.size();
    for (const fs::path& name : names)
      if (!name.empty() && name != ".") rest_.push_back(name.string());
    std::reverse(rest_.begin() + static_cast<std::ptrdiff_t>(before), rest_.end());
  }

  void go_to_root() {
    folders_.clear();
    Component root = examine("/", Descriptor(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)));
    root_owner_ = root.info.st_uid;
    judge_folder(root);
    folders_.push_back(std::move(root));
  }

  Component open_next(const std::string& name) {
    const Component& folder = folders_.back();
    return examine(folder.path / name, Descriptor(open_component(folder.descriptor.get(), name.c_str())));
  }

  Component examine(fs::path path, Descriptor descriptor) const {
    if (descriptor.get() < 0) stop(path, "opened", errno);
    Component component{std::move(path), std::move(descriptor), {}};
    if (fstat(component.descriptor.get(), &component.info) != 0) stop(component.path, "examined", errno);
    return component;
  }

  [[noreturn]] void stop(const fs::path& path, std::string_view verb, int error) const {
    if (path == named_) cannot(path, verb, error);
    throw Error(ErrorCode::system, fmt::format("{} leads to {}, which cannot be {}: {}", named_.string(),
                                               path.string(), verb, strerrordesc_np(error)));
  }

  std::string read_link(const Component& link) const {
    std::array<char, PATH_MAX> target;
    const ssize_t size = readlinkat(link.descriptor.get(), "", target.data(), target.size());
    if (size < 0) stop(link.path, "read", errno);
    if (size == 0 || static_cast<std::size_t>(size) == target.size())
      stop(link.path, "followed", size == 0 ? ENOENT : ENAMETOOLONG);
    return std::string(target.data(), static_cast<std::size_t>(size));
  }

  void follow(const Component& link) {
    if (++links_ > max_links)
      throw Error(ErrorCode::system,
                  fmt::format("{} leads through more than {} links, the last of them {}; remove the loop",
                              named_.string(), max_links, link.path.string()));
    const fs::path target = read_link(link);
    add_to_rest(target);
    if (target.is_absolute()) go_to_root();
  }

  // Checks a folder. In a sticky folder only the owner of an entry, the folder's owner and root may rename or
  // remove the entry. Therefore another user cannot exchange a folder of root or of the user.
  void judge_folder(Component& folder) {
    std::optional<OtherWriter> other = find_writer(folder);
    if (!other) return;
    if (other->is_owner || !(folder.info.st_mode & S_ISVTX)) refuse(folder, *other);
    folder.shared_with = std::move(other);
  }

  // Checks a link or a file. Its folder needs more than the sticky bit: another user can create hard links
  // there, under any name, to files and links of root or of the user.
  void judge_entry(const Component& entry) const {
    if (const auto other = find_writer(entry)) refuse(entry, *other);
    const Component& folder = folders_.back();
    if (folder.shared_with)
      throw UntrustedFile(
          fmt::format("{} may be written by {}, and {} is in it", folder.path.string(),
                      folder.shared_with->who, entry.path.string()),
          fmt::format("move {} into a folder that only root and you may write; a sticky folder "
                      "may be above that folder",
                      entry.path.filename().string()));
  }

  // Checks the kind first, because opening a named pipe or a device for reading may block or have effects.
  // Then checks the file that was actually opened: a trusted user may have renamed another file to its name.
  TrustedFile open_file(const std::string& name, const Component& found) const {
    if (!S_ISREG(found.info.st_mode)) refuse_kind(found);
    constexpr int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    Component file =
        examine(found.path, Descriptor(openat(folders_.back().descriptor.get(), name.c_str(), flags)));
    if (!S_ISREG(file.info.st_mode)) refuse_kind(file);
    judge_entry(file);
    return TrustedFile(named_, std::move(file.path), std::move(file.descriptor), file.info);
  }

  std::optional<OtherWriter> find_writer(const Component& component) const {
    FileRights rights{component.info.st_uid, component.info.st_gid, component.info.st_mode};
    if (rights.owner != 0 && is_unmapped(rights.owner)) {
      if (!may_be_roots(component.path))
        return OtherWriter{
            fmt::format("a user whom the user namespace of this process does not map (shown as "
                        "user {}), who owns it",
                        rights.owner),
            "as a user whom it maps, chown root", true};
      rights.owner = 0;
    }
    // A link's mode has no meaning, and a link has no access control list.
    if (S_ISLNK(rights.mode)) rights.mode = 0;
    // The mode's group bits hold the list's mask: without the write bit no entry grants the right to write.
    if (rights.mode & S_IWGRP) rights.acl = read_acl(component);
    return find_other_writer(rights, accounts_);
  }

  bool is_unmapped(uid_t owner) const {
    if (!unmapped_) unmapped_ = unmapped_user().value_or(0);
    return *unmapped_ != 0 && *unmapped_ == owner;
  }

  // When the owner of the root folder is unmapped, the owner does not distinguish root's files from other
  // users' files. Only the path does: on every system `/` and its entries belong to root, and so does
  // everything below /usr.
  bool may_be_roots(const fs::path& path) const {
    if (!is_unmapped(root_owner_)) return false;
    return path == "/" || path.parent_path() == "/" || path.native().starts_with("/usr/");
  }

  std::vector<AclEntry> read_acl(const Component& component) const {
    constexpr const char* attribute = "system.posix_acl_access";
    std::vector<char> value(XATTR_SIZE_MAX);
    const int descriptor = component.descriptor.get();
    ssize_t size = fgetxattr(descriptor, attribute, value.data(), value.size());
    if (size < 0 && errno == EBADF) {  // opened with O_PATH
      const std::string by_number = fmt::format("/proc/self/fd/{}", descriptor);
      size = getxattr(by_number.c_str(), attribute, value.data(), value.size());
    }
    if (size < 0 && errno == ENOENT) {  // /proc is not mounted
      const Descriptor readable(openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      size = readable.get() < 0 ? -1 : fgetxattr(readable.get(), attribute, value.data(), value.size());
    }
    if (size < 0 && (errno == ENODATA || errno == EOPNOTSUPP)) return {};
    if (size < 0)
      throw Error(ErrorCode::system, fmt::format("the access control list of {} cannot be read: {}",
                                                 component.path.string(), strerrordesc_np(errno)));
    std::optional<std::vector<AclEntry>> entries = parse_acl(value.data(), static_cast<std::size_t>(size));
    if (!entries)
      throw Error(ErrorCode::system,
                  fmt::format("the access control list of {} is malformed; remove it with "
                              "setfacl -b {}",
                              component.path.string(), shell_word(component.path.string())));
    return std::move(*entries);
  }

  [[noreturn]] void refuse(const Component& component, const OtherWriter& other) const {
    std::string reason = fmt::format("{} may be written by {}", component.path.string(), other.who);
    if (component.path != named_) reason += fmt::format(", and {} is reached through it", named_.string());
    throw UntrustedFile(std::move(reason), fmt::format("run {} {}, or {}", other.command,
                                                       shell_word(component.path.string()), put_elsewhere));
  }

  [[noreturn]] void refuse_kind(const Component& component) const {
    throw Error(ErrorCode::system, fmt::format("{} is not a regular file but {}", component.path.string(),
                                               kind_of(component.info.st_mode)));
  }

  TrustedAccounts accounts_ = accounts_of_process();
  mutable std::optional<uid_t> unmapped_;  // 0 when every user is mapped; empty until first queried
  uid_t root_owner_ = 0;
  fs::path named_;
  std::vector<std::string> rest_;   // remaining names, the next one last
  std::vector<Component> folders_;  // from the root to the current position
  int links_ = 0;
};

UntrustedFile::UntrustedFile(std::string reason, std::string remedy)
    : Error(ErrorCode::system, reason + "; " + remedy),
      reason_(std::move(reason)),
      remedy_(std::move(remedy)) {}

void TrustedFile::verify() const {
  struct stat now {};
  if (lstat(path_.c_str(), &now) != 0) cannot(path_, "examined", errno);
  if (!same_file(now, info_))
    throw Error(ErrorCode::system,
                fmt::format("{} was replaced while it was loaded; start again", path_.string()));
}

TrustedFile open_trusted(const fs::path& file) {
  return TrustedWalk(file).to_file();
}

void check_trusted_folder(const fs::path& folder) {
  TrustedWalk(folder).to_folder();
}

std::string why_untrusted(const fs::path& file) {
  try {
    open_trusted(file);
  } catch (const UntrustedFile& untrusted) {
    return untrusted.reason();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

bool process_is_elevated() noexcept {
  return getauxval(AT_SECURE) != 0;
}

}  // namespace weir
