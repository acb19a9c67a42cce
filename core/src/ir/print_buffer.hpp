// SPDX-License-Identifier: Apache-2.0
// Lines from generated code to the host. A stream whose kernels print has one buffer: a PrintHeader and, from
// print_header_bytes on, `capacity` words of 8 bytes for entries. Generated code claims words by an atomic
// addition to `claimed`, and adds to `lost` where they do not fit. The host reads the entries and clears the
// header in the order of the stream, so neither must check whether an entry is complete.
//
// An entry begins with PrintEntry, followed by one zero-extended word for each operand of the print: its
// values, and in a repeat the numbers of the repetitions, outermost first. `site` is that of error_record.hpp
// and never 0. An entry that crosses the end of the buffer is lost, and its first word is 0. Entries are read
// up to the first such word, or up to `claimed`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <weir/types.hpp>

namespace weir::ir {

struct PrintHeader {
  std::uint32_t claimed;   ///< words, with those of lost entries
  std::uint32_t lost;      ///< entries
  std::uint32_t capacity;  ///< words; at most max_print_words
  std::uint32_t reserved;
};
inline constexpr std::size_t print_header_bytes = 64;

struct PrintEntry {
  std::uint32_t site;
  std::uint32_t words;           ///< of the whole entry
  std::uint64_t launch;          ///< number of the launch, from the task's arguments
  std::int64_t index[max_rank];  ///< the loop indices of the iteration; 0 beyond the loop's rank
};
inline constexpr std::uint32_t print_entry_words = sizeof(PrintEntry) / 8;
static_assert(offsetof(PrintHeader, lost) == 4 && offsetof(PrintHeader, capacity) == 8 &&
                  sizeof(PrintEntry) == 16 + 8 * max_rank && offsetof(PrintEntry, launch) == 8 &&
                  offsetof(PrintEntry, index) == 16,
              "the layout is known to generated code");

/// Operands of one print.
inline constexpr std::size_t max_printed_values = 64;
/// `claimed` cannot wrap around: threads do not add to it if the buffer is full, and fewer than 2^24 threads
/// claim at the same time.
inline constexpr std::uint32_t max_print_words = 1u << 29;

}  // namespace weir::ir
