// SPDX-License-Identifier: Apache-2.0
// Maps handles to devices, so that a fault can affect one device only.
#pragma once

#include <weir/driver.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace weir::fault {

/// A number for each type of handle, because drivers may use equal handles for different types; 0 for other
/// types.
template <class T>
constexpr int kind_of = 0;
template <>
inline constexpr int kind_of<weir_device> = 1;
template <>
inline constexpr int kind_of<weir_stream> = 2;
template <>
inline constexpr int kind_of<weir_event> = 3;
template <>
inline constexpr int kind_of<weir_allocation> = 4;
template <>
inline constexpr int kind_of<weir_module> = 5;
template <>
inline constexpr int kind_of<weir_kernel> = 6;
template <>
inline constexpr int kind_of<weir_graph> = 7;

struct Handle {
  int kind = 0;
  const void* value = nullptr;
  friend auto operator<=>(const Handle&, const Handle&) = default;
};

template <class T>
Handle handle(T value) noexcept {
  if constexpr (kind_of<T> != 0)
    return {kind_of<T>, reinterpret_cast<const void*>(value)};
  else
    return {};
}

/// The first argument that is a handle.
template <class... A>
Handle first_handle(A... arguments) noexcept {
  Handle found;
  ((found = found.kind ? found : handle(arguments)), ...);
  return found;
}

/// Handles' devices, by the index that they were opened with. Thread-safe.
class Owners {
 public:
  static constexpr std::int64_t no_device = -1;

  void open(weir_device device, std::uint32_t index);
  void add(Handle made, Handle owner);
  /// A device stays in the table until it has been closed as often as it was opened.
  void remove(Handle gone);
  std::int64_t device_of(Handle handle) const;

 private:
  struct Known {
    std::int64_t device = no_device;
    std::uint64_t openings = 1;
  };
  mutable std::mutex mutex_;
  std::map<Handle, Known> devices_;
};

}  // namespace weir::fault
