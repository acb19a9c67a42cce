// SPDX-License-Identifier: Apache-2.0
// What is submitted to streams, for mutants that depend on what came before.
#pragma once

#include "mutant.hpp"

namespace mutant {

enum class Submission { none, fill, copy_to_device, copy_to_host, launch, callback, record };

/// Replaces the slots of these submissions: note(stream, kind) is called before each.
template <void (*note)(Stream, Submission)>
void note_submissions(Table& t) {
  t.fill = [](Stream s, Memory m, Size at, Size n, const void* pattern, std::uint32_t width, Status* e) {
    note(s, Submission::fill);
    return real().fill(s, m, at, n, pattern, width, e);
  };
  t.copy_to_device = [](Stream s, Memory m, Size at, const void* from, Size n, Status* e) {
    note(s, Submission::copy_to_device);
    return real().copy_to_device(s, m, at, from, n, e);
  };
  t.copy_to_host = [](Stream s, void* to, Memory m, Size at, Size n, Status* e) {
    note(s, Submission::copy_to_host);
    return real().copy_to_host(s, to, m, at, n, e);
  };
  t.kernel_launch = [](Stream s, const weir_launch* launch, Status* e) {
    note(s, Submission::launch);
    return real().kernel_launch(s, launch, e);
  };
  t.stream_host_callback = [](Stream s, weir_host_callback function, void* user, Status* e) {
    note(s, Submission::callback);
    return real().stream_host_callback(s, function, user, e);
  };
  t.event_record = [](Event event, Stream s, Status* e) {
    note(s, Submission::record);
    return real().event_record(event, s, e);
  };
}

}  // namespace mutant
