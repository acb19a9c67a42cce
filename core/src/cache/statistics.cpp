// SPDX-License-Identifier: Apache-2.0
#include "cache/statistics.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <weir/sdk/file_size_signal.hpp>

#include "cache/files.hpp"
#include "descriptor.hpp"

namespace weir::cache {
namespace {

constexpr std::uint64_t sum_seed = 0x7765697263616368;  // an empty or foreign file must not match

struct StoredStatistics {
  Statistics counts;
  std::uint64_t sum = 0;

  static std::uint64_t sum_of(const Statistics& s) noexcept {
    return sum_seed + s.hits * 3 + s.misses * 5 + s.evictions * 7 + s.saved_microseconds * 11;
  }
};

Statistics read_from(int file) noexcept {
  StoredStatistics stored;
  if (pread(file, &stored, sizeof stored, 0) != sizeof stored ||
      stored.sum != StoredStatistics::sum_of(stored.counts))
    return {};
  return stored.counts;
}

}  // namespace

Statistics& Statistics::operator+=(const Statistics& more) noexcept {
  hits += more.hits;
  misses += more.misses;
  evictions += more.evictions;
  saved_microseconds += more.saved_microseconds;
  return *this;
}

Statistics read_statistics(const std::filesystem::path& folder) noexcept {
  const Descriptor file(open_in(folder, statistics_name, O_RDONLY));
  return file.get() < 0 ? Statistics() : read_from(file.get());
}

bool add_statistics(const std::filesystem::path& folder, const Statistics& more) noexcept {
  const Descriptor file(open_in(folder, statistics_name, O_RDWR | O_CREAT));
  if (file.get() < 0 || flock(file.get(), LOCK_EX | LOCK_NB) != 0) return false;
  StoredStatistics stored{read_from(file.get())};
  stored.counts += more;
  stored.sum = StoredStatistics::sum_of(stored.counts);
  const sdk::FileSizeSignalBlocked blocked;
  return pwrite(file.get(), &stored, sizeof stored, 0) == sizeof stored;
}

}  // namespace weir::cache
