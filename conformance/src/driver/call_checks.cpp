// SPDX-License-Identifier: Apache-2.0
#include "driver/call_checks.hpp"

#include <map>
#include <mutex>
#include <string>
#include <weir/sdk/utf8.hpp>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "driver/recorded_table.hpp"

namespace weir::conformance {
namespace {

/// At most one breach of each call.
struct Breaches {
  std::mutex mutex;
  std::map<std::string, std::string> of_call;

  void add(const std::string& call, const std::string& sentence) {
    const std::lock_guard lock(mutex);
    of_call.try_emplace(call, call + " " + sentence);
  }
};
Breaches& breaches() {
  static Breaches instance;
  return instance;
}

void check_text(const std::string& call, const char* text, std::size_t size, const char* field) {
  const void* end = std::memchr(text, 0, size);
  if (!end) return breaches().add(call, std::string("left status.") + field + " unterminated");
  if (!is_utf8({text, static_cast<std::size_t>(static_cast<const char*>(end) - text)}))
    breaches().add(call, std::string("left status.") + field +
                             " with bytes that are not UTF-8; driver.h demands that a long text is cut at a "
                             "character boundary. Look first at the function that fills statuses");
}

/// The parts of the floating-point state that change results or trap: both control words of x86-64, without
/// the flags of exceptions that have occurred, and which x87 registers are in use.
std::uint64_t floating_mode() noexcept {
#if defined(__x86_64__)
  std::array<std::uint32_t, 7> x87;
  __asm__ volatile("fnstenv %0\n\tfldenv %0" : "+m"(x87));
  return (_mm_getcsr() & 0xffc0u) | std::uint64_t{x87[0] & 0xffff} << 16 |
         std::uint64_t{x87[2] & 0xffff} << 32;
#else
  return static_cast<std::uint64_t>(std::fegetround());
#endif
}

}  // namespace

StatusCheck::StatusCheck(const weir_status* status) : status_(status) {
  if (!status_) return;
  size_ = status->struct_size;
  if (size_ == sizeof before_) before_ = *status;
}

void StatusCheck::after(std::string_view called, weir_result result) const {
  if (!status_) return;
  const std::string call(called);
  if (status_->struct_size != size_)
    return breaches().add(call, "changed status.struct_size from " + std::to_string(size_) + " to " +
                                    std::to_string(status_->struct_size) +
                                    "; driver.h: the caller owns the status and sets struct_size");
  if (size_ != sizeof before_) return;
  const bool untouched = std::memcmp(&before_, status_, sizeof before_) == 0;
  if (result == WEIR_OK || result == WEIR_NOT_READY) {
    if (!untouched)
      breaches().add(call, "returned " + result_name(result) +
                               " and changed *status, which driver.h fills only on failure");
    return;
  }
  if (untouched)
    return breaches().add(call, "returned " + result_name(result) + " and left *status unfilled");
  if (status_->code != result)
    breaches().add(
        call, "returned " + result_name(result) +
                  (status_->code == before_.code ? " and left status.code unfilled"
                                                 : " and set status.code to " + result_name(status_->code)));
  check_text(call, status_->message, sizeof status_->message, "message");
  check_text(call, status_->vendor_name, sizeof status_->vendor_name, "vendor_name");
  if (std::strcmp(status_->vendor_name, before_.vendor_name) == 0 && *before_.vendor_name)
    breaches().add(call, "returned " + result_name(result) + " and left status.vendor_name unfilled");
  if (status_->vendor_code == before_.vendor_code && before_.vendor_code != 0)
    breaches().add(call,
                   "returned " + result_name(result) +
                       " and left status.vendor_code unfilled; driver.h: 0 if the vendor has no number");
  if (!*status_->message)
    breaches().add(call, "returned " + result_name(result) + " and left status.message empty");
}

ThreadCheck::ThreadCheck() noexcept : mode_(floating_mode()) {
  std::fegetenv(&floating_);
  pthread_sigmask(SIG_BLOCK, nullptr, &signals_);
}

void ThreadCheck::after(std::string_view called) const {
  const std::string call(called);
  if (floating_mode() != mode_) {
    std::fesetenv(&floating_);
    breaches().add(call,
                   "changed the rounding mode, the precision, the traps or the treatment of denormals of its "
                   "thread, or left x87 registers in use, as MMX without EMMS does; driver.h: a function "
                   "leaves the thread's floating-point environment as it was. "
                   "Look first at the work that the call runs on the host's thread, and at a reset to the "
                   "default environment");
  }
  sigset_t now;
  pthread_sigmask(SIG_BLOCK, nullptr, &now);
  for (int signal = 1; signal < SIGRTMIN; ++signal) {
    if (sigismember(&now, signal) == sigismember(&signals_, signal)) continue;
    pthread_sigmask(SIG_SETMASK, &signals_, nullptr);
    return breaches().add(call,
                          "changed the signal mask of its thread, for signal " + std::to_string(signal) +
                              "; driver.h: a function leaves it as it was. Look first at where the driver "
                              "starts threads");
  }
}

void report_output(std::string_view called, weir_result result, int breach) {
  if (breach == 0) return;
  breaches().add(std::string(called),
                 breach == 1
                     ? "returned WEIR_OK and did not set its output"
                     : "returned " + result_name(result) +
                           " and changed its output; driver.h: on failure a function leaves its outputs "
                           "untouched. Look first at where the function stores into its output");
}

std::vector<std::string> take_breaches() {
  const std::lock_guard lock(breaches().mutex);
  std::vector<std::string> sentences;
  for (auto& [call, sentence] : breaches().of_call) sentences.push_back(std::move(sentence));
  breaches().of_call.clear();
  return sentences;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = sdk::character_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace weir::conformance
