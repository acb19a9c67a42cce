// SPDX-License-Identifier: Apache-2.0
// What a Python binding of a program with Weir would contain, as C functions for ctypes. Failures return null
// or -1 and leave their message in bridge_message().
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <weir/weir.hpp>

#include "tested_device.hpp"

#define BRIDGE extern "C" __attribute__((visibility("default")))

namespace {

using namespace weir;

std::string message;

/// A simulation with a field of 3 x 4 floats and a stream.
struct Simulation {
  Device device = open(test::tested_device());
  Stream stream = device.create_stream();
  Array<float, 2> field = device.array<float>(stream, 3, 4);
  Array<float, 2> borrowed;
  /// Streams of consumers. They are kept, so that the field's memory is reused after the consumers' work.
  std::map<void*, Stream> consumers;
};

const Kernel<void(View<float, 2>, Value<float>)>& adding() {
  static const Kernel kernel{"adding", [](View<float, 2> x, Value<float> n) {
                               range_for(x.extent(0), x.extent(1),
                                         [&](Index i, Index j) { x(i, j) = x(i, j) + n; });
                             }};
  return kernel;
}

template <class Action>
auto guarded(Action&& action, decltype(action()) failed) noexcept {
  try {
    return action();
  } catch (const Error& error) {
    message = error.what();
    return failed;
  }
}

}  // namespace

BRIDGE const char* bridge_message() {
  return message.c_str();
}

BRIDGE Simulation* bridge_open() {
  return guarded(
      [] {
        auto* const made = new Simulation;
        made->field.fill(made->stream, 1.0f);
        return made;
      },
      nullptr);
}
BRIDGE void bridge_close(Simulation* self) {
  delete self;
}

/// The vendor's handle of the stream that the simulation works on, or null.
BRIDGE void* bridge_stream(Simulation* self) {
  return guarded([&] { return self->stream.native_handle(); }, nullptr);
}

/// The values of __dlpack_device__.
BRIDGE int bridge_device(Simulation* self, int* type, int* id) {
  return guarded(
      [&] {
        const dlpack::DeviceName name = dlpack::name_of(self->device);
        *type = name.type, *id = name.id;
        return 0;
      },
      -1);
}

/// __dlpack__(stream): None (null) and the vendors' default streams, which are small numbers, let the host
/// wait; -1 asks for no order. Other numbers are handles.
BRIDGE DLManagedTensor* bridge_export(Simulation* self, void* consumer) {
  return guarded(
      [&] {
        const auto number = reinterpret_cast<std::intptr_t>(consumer);
        if (number == -1) return dlpack::to_tensor(self->field, dlpack::Order::unordered());
        if (number <= 2) return dlpack::to_tensor(self->field, dlpack::Order::host_waits());
        auto found = self->consumers.find(consumer);
        if (found == self->consumers.end())
          found = self->consumers.emplace(consumer, self->device.wrap_stream(consumer)).first;
        return dlpack::to_tensor(self->field, dlpack::Order(found->second));
      },
      nullptr);
}

/// Borrows a tensor of floats that the producer ordered before the simulation's stream. 0 on success, which
/// takes the tensor over.
BRIDGE int bridge_import(Simulation* self, DLManagedTensor* tensor, int may_copy) {
  return guarded(
      [&] {
        const auto copy = may_copy ? dlpack::Copy::if_needed : dlpack::Copy::never;
        self->borrowed = dlpack::from_tensor<float, 2>(self->stream, tensor, copy);
        return 0;
      },
      -1);
}
BRIDGE void bridge_release(Simulation* self) {
  self->borrowed = {};
  self->stream.synchronize();
}

/// Submits: adds a number to every element.
BRIDGE int bridge_step(Simulation* self, int of_borrowed, float n) {
  return guarded(
      [&] {
        adding()(self->stream, of_borrowed ? self->borrowed : self->field, n);
        return 0;
      },
      -1);
}
BRIDGE void bridge_wait(Simulation* self) {
  self->stream.synchronize();
}
