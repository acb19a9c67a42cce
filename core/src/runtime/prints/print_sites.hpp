// SPDX-License-Identifier: Apache-2.0
// The prints of a kernel, and their lines. The interpreter and generated code report a print's values as
// bits; their lines are made here.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/ir.hpp"
#include "ir/print_format.hpp"

namespace weir::detail {

struct PrintSite {
  ir::PrintFormat format;
  std::vector<ScalarType> types;  ///< of the values
  /// In program order: the numbers of the repeats around it, outermost first, and of the loop or statement of
  /// the kernel that contains it.
  std::vector<std::uint32_t> orders;
  std::vector<ir::ValueId> repetitions;  ///< the numbers of the repetitions in the kernel, by repeat
};

/// The prints of a kernel as written, by the number of their format in Kernel::strings, which merging loops
/// does not change.
class PrintSites {
 public:
  /// The kernel must be verified, and is used only by the constructor.
  explicit PrintSites(const ir::Kernel& kernel);
  /// Null if the statement is none of the kernel's prints.
  const PrintSite* find(const ir::Statement& print) const noexcept;
  bool empty() const noexcept { return sites_.empty(); }

 private:
  void gather(const ir::Kernel& kernel, const ir::Block& block, bool becomes_tasks);
  void add(const ir::Kernel& kernel, const ir::Statement& print);

  std::map<std::uint32_t, PrintSite> sites_;
  std::vector<ScalarType> types_;  ///< of the kernel's values
  std::uint32_t order_ = 0;
  std::vector<std::uint32_t> repeats_;  ///< around the current statement, by their orders
  std::vector<ir::ValueId> repetitions_;
};

/// One execution of a print.
struct Printed {
  std::uint64_t launch = 0;
  std::shared_ptr<const PrintSite> site;
  std::array<std::int64_t, max_rank> index{};  ///< of the iteration
  std::vector<std::uint64_t> values;           ///< bits; then the numbers of the repetitions, outermost first
};

/// The line of a print, without a newline.
std::string format_line(const PrintSite& site, std::span<const std::uint64_t> values);
/// The lines in the order of launch, repetition, loop and iteration. The prints of one iteration must be in
/// their order.
std::vector<std::string> lines_in_order(std::vector<Printed> all);

}  // namespace weir::detail
