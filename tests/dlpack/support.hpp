// SPDX-License-Identifier: Apache-2.0
// A fake producer of tensors, and streams that are held back.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <numeric>
#include <vector>
#include <weir/weir.hpp>

#include "dlpack/tensor.hpp"
#include "tested_device.hpp"
#include "thrown_by.hpp"

namespace weir::test {

/// The device under test, open until the program ends.
inline Device tested() {
  static const Device device = open(tested_device());
  return device;
}
/// Whether the device uses ordinary host memory. A software device of Vulkan does not.
inline bool on_cpu() {
  return tested().info().dlpack_type == static_cast<std::uint32_t>(dlpack::host_type);
}

template <class T>
dlpack::DataType data_type_of() {
  const std::uint8_t code = std::same_as<T, bool>    ? dlpack::boolean
                            : std::floating_point<T> ? dlpack::floating
                            : std::is_signed_v<T>    ? dlpack::signed_integer
                                                     : dlpack::unsigned_integer;
  return {code, 8 * sizeof(T), 1};
}

/// Host memory of another library. It outlives the tensors, so that tests read it; the deleter is only
/// counted.
template <class T>
struct Producer {
  explicit Producer(std::vector<std::int64_t> shape_, std::vector<std::int64_t> strides_ = {})
      : shape(std::move(shape_)), strides(std::move(strides_)) {
    const std::int64_t size =
        std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
    for (std::int64_t i = 0; i < size; ++i) values.push_back(static_cast<T>(i + 1));
    tensor.data = values.data();
    tensor.device_type = dlpack::host_type;
    tensor.dimensions = static_cast<std::int32_t>(shape.size());
    tensor.type = data_type_of<T>();
    tensor.shape = shape.data();
    tensor.strides = strides.empty() ? nullptr : strides.data();
  }

  ~Producer() { tested().synchronize(); }  // deleters of the tensors run before

  /// Owned by the importer once that succeeds; until then by this object.
  DLManagedTensor* managed() {
    plain.tensor = tensor;
    plain.context = this;
    plain.deleter = [](dlpack::ManagedTensor* self) { ++static_cast<Producer*>(self->context)->deleted; };
    return reinterpret_cast<DLManagedTensor*>(&plain);
  }
  DLManagedTensorVersioned* versioned(std::uint64_t flags = 0, std::uint32_t major = 1) {
    with_version = {
        major, 3,
        this,  [](dlpack::VersionedTensor* self) {
                      ++static_cast<Producer*>(self->context)->deleted; },
        flags, tensor};
    return reinterpret_cast<DLManagedTensorVersioned*>(&with_version);
  }

  std::vector<T> values;
  std::vector<std::int64_t> shape, strides;
  dlpack::Tensor tensor{};
  dlpack::ManagedTensor plain{};
  dlpack::VersionedTensor with_version{};
  std::atomic<int> deleted = 0;
};

inline dlpack::ManagedTensor& fields(DLManagedTensor* tensor) {
  return *reinterpret_cast<dlpack::ManagedTensor*>(tensor);
}
inline dlpack::VersionedTensor& fields(DLManagedTensorVersioned* tensor) {
  return *reinterpret_cast<dlpack::VersionedTensor*>(tensor);
}
template <class Managed>
void end(Managed* tensor) {
  fields(tensor).deleter(&fields(tensor));
}

/// A stream that is held until release(), so that work submitted to it is certainly not done.
class Held {
 public:
  explicit Held(const StreamRef& stream) {
    stream.call_host([go = go_] { go->wait(false); });
  }
  ~Held() { release(); }
  void release() {
    *go_ = true;
    go_->notify_all();
  }

 private:
  std::shared_ptr<std::atomic<bool>> go_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace weir::test
