// SPDX-License-Identifier: Apache-2.0
#include "code/cache_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <vector>
#include <weir/sdk/file_size_signal.hpp>

namespace weir::vulkan {
namespace {

constexpr std::size_t max_pipeline_bytes = std::size_t{16} << 20;
constexpr std::uint64_t all_bytes = std::uint64_t{256} << 20;  // of all files
constexpr std::uint64_t writes_per_trim = 64;
constexpr std::uint64_t file_magic = 0x31'6b'76'72'69'65'77ull;  // "weirvk1"
constexpr std::uint64_t max_bytes = std::uint64_t{256} << 20;

struct Header {
  std::uint64_t magic;
  std::uint64_t size;  ///< of the data after the header
  /// Of that data; vendors' drivers check only where it comes from. It detects damage, not manipulation: only
  /// the user can write to the folder.
  std::uint64_t checksum;
};

class File {
 public:
  explicit File(int descriptor) noexcept : descriptor_(descriptor) {}
  File(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  int get() const noexcept { return descriptor_; }
  explicit operator bool() const noexcept { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

/// "" if the cache is off.
std::filesystem::path folder() {
  if (const char* named = secure_getenv("WEIR_CACHE"); named && *named)
    return std::strcmp(named, "off") == 0 ? std::filesystem::path() : std::filesystem::path(named) / "vulkan";
  if (const char* cache = secure_getenv("XDG_CACHE_HOME"); cache && *cache == '/')
    return std::filesystem::path(cache) / "weir" / "vulkan";
  if (const char* home = secure_getenv("HOME"); home && *home == '/')
    return std::filesystem::path(home) / ".cache" / "weir" / "vulkan";
  return {};
}

/// Whether this user owns the file or folder and no other may write it.
bool is_private(int file) noexcept {
  struct stat info {};
  return fstat(file, &info) == 0 && info.st_uid == geteuid() && !(info.st_mode & (S_IWGRP | S_IWOTH));
}

/// Creates the folder and its missing parents, for this user only. The parent must be private, too: where
/// Weir's core keeps no code, this driver keeps none.
int open_folder(bool create) {
  const std::filesystem::path path = folder();
  if (path.empty()) return -1;
  if (create) {
    std::filesystem::path made;
    for (const auto& part : path.parent_path()) {
      made /= part;
      mkdir(made.c_str(), 0700);
    }
  }
  const File parent(open(path.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent || !is_private(parent.get())) return -1;
  if (create) mkdirat(parent.get(), path.filename().c_str(), 0700);
  const int opened =
      openat(parent.get(), path.filename().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (opened >= 0 && !is_private(opened)) {
    close(opened);
    return -1;
  }
  return opened;
}

/// Version numbers alone are not enough: Mesa's software device has the same ones in all versions.
std::string file_name(const PhysicalDevice& device, const char* suffix) {
  std::string name;
  for (const std::uint8_t byte : device.properties.pipelineCacheUUID) name += sdk::format_text("%02x", byte);
  const std::string version = std::string(device.properties.deviceName) + '\n' +
                              device.properties12.driverName + '\n' + device.properties12.driverInfo;
  return name +
         sdk::format_text("-%x-%x-%x-%016llx", device.properties.vendorID, device.properties.deviceID,
                          device.properties.driverVersion,
                          static_cast<unsigned long long>(hash_of(version.data(), version.size()))) +
         suffix;
}

std::string read_all(int file) {
  struct stat info {};
  if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size < 0 ||
      static_cast<std::uint64_t>(info.st_size) > max_bytes)
    return "";
  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t got = read(file, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return "";
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

/// A name that no other process, and no file left by one that was killed, has.
std::string temporary_name(const std::string& name) {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return name + sdk::format_text(".%d-%lld-%ld", getpid(), static_cast<long long>(time.tv_sec), time.tv_nsec);
}

}  // namespace

std::uint64_t hash_of(const void* data, std::size_t size, std::uint64_t earlier) noexcept {
  std::uint64_t hash = earlier;
  for (std::size_t i = 0; i < size; ++i)
    hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3u;
  return hash;
}

std::string read_cache_file(const PhysicalDevice& device, const char* suffix) {
  const File directory(open_folder(false));
  if (!directory) return "";
  const File file(openat(directory.get(), file_name(device, suffix).c_str(),
                         O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file || !is_private(file.get())) return "";
  std::string bytes = read_all(file.get());
  Header header{};
  if (bytes.size() < sizeof header) return "";
  bytes.copy(reinterpret_cast<char*>(&header), sizeof header);
  bytes.erase(0, sizeof header);
  const bool whole = header.magic == file_magic && header.size == bytes.size() &&
                     header.checksum == hash_of(bytes.data(), bytes.size());
  return whole ? bytes : "";
}

void write_cache_file(const PhysicalDevice& device, const char* suffix, const std::string& data) {
  const File directory(open_folder(true));
  if (!directory) return;
  const std::string name = file_name(device, suffix), temporary = temporary_name(name);
  const File file(
      openat(directory.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return;
  const Header header{file_magic, data.size(), hash_of(data.data(), data.size())};
  const bool written = sdk::write_all(file.get(), {reinterpret_cast<const char*>(&header), sizeof header}) &&
                       sdk::write_all(file.get(), data);
  if (!written || renameat(directory.get(), temporary.c_str(), directory.get(), name.c_str()) != 0)
    unlinkat(directory.get(), temporary.c_str(), 0);
}

void trim_cache_files(std::string_view suffix, std::uint64_t bytes) {
  const File directory(open_folder(false));
  if (!directory) return;
  struct Kept {
    std::filesystem::file_time_type written;
    std::uint64_t size;
    std::filesystem::path path;
  };
  std::vector<Kept> all;
  std::uint64_t sum = 0;
  std::error_code gone;  // another process may remove the same files
  for (const auto& entry : std::filesystem::directory_iterator(folder(), gone)) {
    if (!entry.path().native().ends_with(suffix)) continue;
    const Kept one{entry.last_write_time(gone), entry.file_size(gone), entry.path()};
    if (gone) continue;
    sum += one.size;
    all.push_back(one);
  }
  std::ranges::sort(all, {}, &Kept::written);
  for (const Kept& one : all) {
    if (sum <= bytes) break;
    if (unlinkat(directory.get(), one.path.filename().c_str(), 0) == 0) sum -= one.size;
  }
}

PipelineFile::PipelineFile(const PhysicalDevice& physical, VkDevice device, const VolkDeviceTable& vk,
                           std::uint64_t hash) noexcept
    : physical_(physical), device_(device), vk_(vk), hash_(hash) {
  try {
    suffix_ = sdk::format_text(".%016llx.pipeline", static_cast<unsigned long long>(hash));
    read_ = read_cache_file(physical, suffix_.c_str());
    auto create = make<VkPipelineCacheCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO);
    create.initialDataSize = read_.size();
    create.pInitialData = read_.data();
    if (vk.vkCreatePipelineCache(device, &create, nullptr, &cache_) < 0) cache_ = VK_NULL_HANDLE;
  } catch (const std::exception&) {
  } catch (const sdk::Failure&) {
  }
}

PipelineFile::~PipelineFile() {
  vk_.vkDestroyPipelineCache(device_, cache_, nullptr);
}

void PipelineFile::keep() noexcept {
  try {
    std::size_t size = 0;
    if (!cache_ || vk_.vkGetPipelineCacheData(device_, cache_, &size, nullptr) < 0 ||
        size > max_pipeline_bytes)
      return;
    std::string data(size, '\0');
    if (vk_.vkGetPipelineCacheData(device_, cache_, &size, data.data()) != VK_SUCCESS) return;
    data.resize(size);
    if (data == read_) return;
    write_cache_file(physical_, suffix_.c_str(), data);
    if (hash_ % writes_per_trim == 0) trim_cache_files(".pipeline", all_bytes);
  } catch (const std::exception&) {
  } catch (const sdk::Failure&) {
  }
}

}  // namespace weir::vulkan
