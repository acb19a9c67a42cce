// SPDX-License-Identifier: Apache-2.0
// Functions of the simulator in addition to HIP; see hipsim.h.
#include <algorithm>
#include <cstring>

#include "hip/entry.hpp"
#include "include/hipsim.h"

namespace weir::hipsim {

HIPSIM_EXPORT std::size_t hipsimReportCount() {
  return Runtime::instance().reports().size();
}

HIPSIM_EXPORT std::size_t hipsimReport(std::size_t index, char* text, std::size_t size) {
  const auto reports = Runtime::instance().reports();
  if (index >= reports.size()) return 0;
  const std::string& report = reports[index];
  if (text && size) {
    const std::size_t kept = std::min(size - 1, report.size());
    std::memcpy(text, report.data(), kept);
    text[kept] = 0;
  }
  return report.size();
}

HIPSIM_EXPORT void hipsimClear() {
  Runtime::instance().clear_reports();
}

HIPSIM_EXPORT void hipsimFail(const char* function, unsigned long long nth, unsigned long long times,
                              int error) {
  if (function) Runtime::instance().schedule_failure({function, nth, times, error, false});
}

HIPSIM_EXPORT void hipsimFailLate(const char* function, unsigned long long nth, int error) {
  if (function) Runtime::instance().schedule_failure({function, nth, 1, error, true});
}

HIPSIM_EXPORT unsigned long long hipsimInstructionCount() {
  return Runtime::instance().instructions;
}

}  // namespace weir::hipsim
