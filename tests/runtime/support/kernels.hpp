// SPDX-License-Identifier: Apache-2.0
// The test kernels, loaded.
#pragma once

#include <cstddef>
#include <mutex>
#include <stdexcept>
#include <weir/weir.hpp>

#include "support/kernel_arguments.hpp"
#include "support/kernel_code.hpp"
#include "support/watched_driver.hpp"

namespace weir::test {

/// A flag in host memory that the device can read, for gate kernels to wait for. The destructor opens it. The
/// memory is never freed, since kernels may still read it.
class Flag {
 public:
  Flag() : value_(place()) {}
  Flag(const Flag&) = delete;
  Flag& operator=(const Flag&) = delete;
  ~Flag() { open(); }
  void open(std::uint32_t value = 1) { __atomic_store_n(value_, value, __ATOMIC_RELEASE); }
  std::uint32_t read() const { return __atomic_load_n(value_, __ATOMIC_ACQUIRE); }
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(value_); }

 private:
  static std::uint32_t* place() {
    static std::mutex mutex;
    static auto& places = *new PinnedArray<std::uint32_t>(open_real().pinned_array<std::uint32_t>(1 << 16));
    static std::size_t used = 0;
    const std::lock_guard lock(mutex);
    if (used == places.size()) throw std::runtime_error("the tests of one program use too many flags");
    return &places[used++];
  }
  std::uint32_t* value_;
};

/// The kernels of one device.
struct Kernels {
  using P = KernelParameter;
  explicit Kernels(const Device& device) : module(load(device)) {}

  Module module;
  KernelFunction nothing = module.kernel("nothing", {});
  KernelFunction add_value =
      module.kernel("add_value", {P::array(), P::of<std::int64_t>(), P::of<std::int32_t>()});
  KernelFunction multiply =
      module.kernel("multiply", {P::array(), P::of<std::int64_t>(), P::of<std::int32_t>()});
  KernelFunction append = module.kernel("append", {P::array(), P::of<std::uint32_t>()});
  KernelFunction gate = module.kernel("gate", {P::of<std::uint64_t>(), P::of<std::uint32_t>()});
  KernelFunction meet =
      module.kernel("meet", {P::of<std::uint64_t>(), P::of<std::uint32_t>(), P::of<std::uint64_t>()});
  KernelFunction fail_at =
      module.kernel("fail_at", {P::of<std::uint64_t>(), P::of<std::uint32_t>(), P::of<std::int64_t>()});

  void add(const StreamRef& stream, const ArrayView<std::int32_t>& x, std::int32_t value) const {
    add_value.launch(stream, {4, 1}, {x, static_cast<std::int64_t>(x.size()), value});
  }
  void close_gate(const StreamRef& stream, const Flag& flag) const {
    gate.launch(stream, {1, 1}, {flag.address(), std::uint32_t{1}});
  }
  void log(const StreamRef& stream, const ArrayView<std::uint32_t>& log, std::uint32_t value) const {
    append.launch(stream, {1, 1}, {log, value});
  }
};

}  // namespace weir::test
