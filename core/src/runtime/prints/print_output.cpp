// SPDX-License-Identifier: Apache-2.0
#include "runtime/prints/print_output.hpp"

#include <cstdio>
#include <memory>
#include <mutex>
#include <weir/error.hpp>
#include <weir/on_print.hpp>

#include "process_tables.hpp"
#include "runtime/devices/device_state.hpp"

namespace weir {
namespace detail {
namespace {

using Receiver = std::function<void(std::string_view)>;

struct Output {
  std::shared_ptr<const Receiver> receiver;
};

Output& print_output() {
  static auto* output = new Output;  // used at process exit too
  return *output;
}

}  // namespace

void output_lines(std::span<const std::string> lines) {
  std::shared_ptr<const Receiver> receiver;
  {
    Output& output = print_output();
    // Not held while lines are passed on, so that a receiver may call on_print.
    const std::lock_guard lock(mutex_of(ProcessTable::print_output));
    receiver = output.receiver;
  }
  if (receiver && process_is_exiting()) return;  // its objects may be gone
  if (receiver) {
    for (const std::string& line : lines) try {
        (*receiver)(line);
      } catch (...) {  // as on_print documents
      }
    return;
  }
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);  // so that the lines are there if the program crashes next
}

}  // namespace detail

void on_print(std::function<void(std::string_view line)> receive) try {
  std::shared_ptr<const detail::Receiver> receiver;
  if (receive) receiver = std::make_shared<const detail::Receiver>(std::move(receive));
  detail::Output& output = detail::print_output();
  const std::lock_guard lock(detail::mutex_of(detail::ProcessTable::print_output));
  output.receiver.swap(receiver);
} catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir
