// SPDX-License-Identifier: Apache-2.0
#include "driver/trace.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <set>
#include <system_error>
#include <vector>

#include "driver/recorded_table.hpp"

// driver.h, included by prepared_kernels.cpp
extern "C" const char weir_conformance_header[], weir_conformance_header_end[];

namespace weir::conformance {
namespace {

constexpr std::size_t max_threads = 64, max_calls = 128;

/// Everything is atomic: a worker may be killed between any two instructions. Zero is empty.
struct Trace {
  std::array<std::atomic<std::uint32_t>, max_threads> in_flight;  ///< slot + 1 of a thread's call
  std::atomic<std::uint32_t> count;
  std::array<std::atomic<std::uint32_t>, max_calls> last;  ///< (slot + 1) << 8 | result, in a ring
};

Trace*& current() {
  static Trace own{};
  static Trace* used = &own;
  return used;
}

std::size_t this_thread() {
  static std::atomic<std::size_t> threads{0};
  thread_local const std::size_t mine = threads++ % max_threads;
  return mine;
}

std::string name_of(std::uint32_t slot) {
  return slot < slots().size() ? std::string(slots()[slot].name) : "?";
}

std::string in_flight(const Trace& trace) {
  std::string names;
  for (const auto& call : trace.in_flight)
    if (const std::uint32_t slot = call.load(std::memory_order_relaxed))
      names += (names.empty() ? "" : ", ") + name_of(slot - 1);
  return names;
}

std::string text_of(const Trace& trace) {
  const std::string pending = in_flight(trace);
  const std::uint32_t count = trace.count.load(std::memory_order_acquire);
  constexpr std::size_t max_groups = 24;
  std::deque<std::string> groups;
  bool all = count <= max_calls;
  std::string previous;
  std::uint32_t repeats = 0;
  const auto flush = [&] {
    if (previous.empty()) return;
    groups.push_back(previous + (repeats > 1 ? " x" + std::to_string(repeats) : ""));
    if (groups.size() <= max_groups) return;
    groups.pop_front();
    all = false;
  };
  for (std::uint32_t i = count > max_calls ? count - max_calls : 0; i < count; ++i) {
    const std::uint32_t entry = trace.last[i % max_calls].load(std::memory_order_relaxed);
    if (entry == 0) continue;
    std::string call = name_of((entry >> 8) - 1);
    if (const auto result = static_cast<weir_result>(entry & 0xff); result != WEIR_OK)
      call += " (" + result_name(result) + ")";
    if (call == previous) {
      ++repeats;
      continue;
    }
    flush();
    previous = call;
    repeats = 1;
  }
  flush();
  std::string calls;
  for (const std::string& group : groups) calls += (calls.empty() ? "" : ", ") + group;
  std::string text;
  if (!pending.empty()) text += "Calls in flight: " + pending + ".\n";
  if (!calls.empty())
    text += "Calls before it" + std::string(all ? ": " : ", the last ones: ") + calls + ".\n";
  if (!text.empty()) text.pop_back();
  return text;
}

/// The comment in front of a function of the table, in one line, and its line number.
std::string contract(const std::string& slot) {
  const std::string_view header(weir_conformance_header, weir_conformance_header_end);
  const std::size_t declared = header.find("(*" + slot + ")(");
  if (declared == std::string_view::npos) return {};
  const std::size_t begin = header.rfind("/*", declared), end = header.find("*/", begin);
  if (begin == std::string_view::npos || end > declared) return {};
  std::string words;
  for (const char c : header.substr(begin + 2, end - begin - 2)) {
    const char next = c == '\n' ? ' ' : c;
    if ((next == ' ' || (next == '*' && !words.empty() && words.back() == ' ')) && !words.empty() &&
        words.back() == ' ')
      continue;
    words += next;
  }
  while (!words.empty() && words.back() == ' ') words.pop_back();
  words.erase(0, words.find_first_not_of(' '));
  const auto line =
      1 + std::count(header.begin(), header.begin() + static_cast<std::ptrdiff_t>(declared), '\n');
  return "driver.h:" + std::to_string(line) + ", " + slot + ": " + words;
}

}  // namespace

TraceMemory::TraceMemory() : descriptor_(memfd_create("weir-conformance-trace", MFD_CLOEXEC)) {
  if (descriptor_ < 0 || ftruncate(descriptor_, sizeof(Trace)) != 0)
    throw std::system_error(errno, std::generic_category(), "memory for the trace");
  memory_ = mmap(nullptr, sizeof(Trace), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (memory_ == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
}

TraceMemory::~TraceMemory() {
  munmap(memory_, sizeof(Trace));
  close(descriptor_);
}

std::string TraceMemory::text() const {
  return text_of(*static_cast<const Trace*>(memory_));
}

void use_trace(int descriptor) {
  void* const memory = mmap(nullptr, sizeof(Trace), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (memory != MAP_FAILED) current() = static_cast<Trace*>(memory);
}

void begin_trace() {
  Trace& trace = *current();
  for (auto& entry : trace.last) entry.store(0, std::memory_order_relaxed);
  trace.count.store(0, std::memory_order_release);
}

void trace_begin(int slot) {
  current()->in_flight[this_thread()].store(static_cast<std::uint32_t>(slot) + 1, std::memory_order_relaxed);
}

void trace_end(int slot, weir_result result) {
  Trace& trace = *current();
  trace.in_flight[this_thread()].store(0, std::memory_order_relaxed);
  const std::uint32_t place = trace.count.fetch_add(1, std::memory_order_acq_rel);
  trace.last[place % max_calls].store(
      (static_cast<std::uint32_t>(slot) + 1) << 8 | (static_cast<std::uint32_t>(result) & 0xff),
      std::memory_order_relaxed);
}

std::string trace_text() {
  return text_of(*current());
}

std::string calls_in_flight() {
  return in_flight(*current());
}

std::string contract_of(const std::string& text) {
  std::string found;
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  std::set<std::string> named;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_part(text[end])) ++end;
    const std::string word = text.substr(i, end - i);
    const bool slot = std::ranges::any_of(slots(), [&](const Slot& one) { return one.name == word; });
    // "fill" alone is also an English word.
    if (slot && word != "fill" && named.size() < 3 && named.insert(word).second)
      found += (found.empty() ? "" : "\n") + contract(word);
    i = std::max(end, i + 1);
  }
  return found;
}

}  // namespace weir::conformance
