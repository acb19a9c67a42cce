// SPDX-License-Identifier: Apache-2.0
// The current stream of a thread, for calls that name no stream.
#pragma once

#include <weir/export.hpp>
#include <weir/stream.hpp>

namespace weir {

/// Makes `stream` the current stream of its device for this thread until the scope ends, also by an
/// exception. Then the previous one is current again. Scopes nest; those of different devices are
/// independent. They may end in any order, each on the thread that made it. The stream must outlive the
/// scope: using it later throws Error{invalid}.
class WEIR_API CurrentStream {
 public:
  /// Throws Error{invalid} when the stream is gone.
  explicit CurrentStream(const StreamRef& stream);
  ~CurrentStream();
  CurrentStream(const CurrentStream&) = delete;
  CurrentStream& operator=(const CurrentStream&) = delete;

 private:
  friend WEIR_API StreamRef current_stream(const Device& device);
  StreamRef stream_;
  mutable const CurrentStream* previous_;  // changes when the scope around this one ends first
};

/// The innermost current stream of this thread on `device`, or the device's default stream.
WEIR_API StreamRef current_stream(const Device& device);

}  // namespace weir
