// SPDX-License-Identifier: Apache-2.0
// Arrays that pass between Weir and another library in the DLPack format, on the same device, without a copy.
// The other library is a few lines here; with NumPy or PyTorch the pointers travel in Python's capsules
// instead.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>
#include <weir/weir.hpp>

using namespace weir;

// The structs of <dlpack/dlpack.h>, for programs without that header.
struct DLTensor {
  void* data;
  std::int32_t device_type, device_id;
  std::int32_t ndim;
  std::uint8_t code, bits;
  std::uint16_t lanes;
  std::int64_t *shape, *strides;
  std::uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor*);
};

namespace {

/// A tensor until another owner takes it.
struct EndTensor {
  void operator()(DLManagedTensor* tensor) const { tensor->deleter(tensor); }
};
using OwnedTensor = std::unique_ptr<DLManagedTensor, EndTensor>;

/// A library that owns vectors and lends them.
OwnedTensor lend(std::vector<float> values) {
  struct Lent {
    std::vector<float> values;
    std::int64_t size;
    DLManagedTensor tensor;
  };
  auto* const lent = new Lent{std::move(values), 0, {}};
  lent->size = static_cast<std::int64_t>(lent->values.size());
  constexpr std::int32_t host = 1;
  constexpr std::uint8_t floating = 2;
  lent->tensor.dl_tensor = {lent->values.data(), host, 0, 1, floating, 32, 1, &lent->size, nullptr, 0};
  lent->tensor.manager_ctx = lent;
  lent->tensor.deleter = [](DLManagedTensor* tensor) { delete static_cast<Lent*>(tensor->manager_ctx); };
  return OwnedTensor(&lent->tensor);
}

}  // namespace

int main() try {
  Device device = open();
  Stream stream = device.create_stream();
  Kernel square{"square", [](View<float> x) { range_for(x.size(), [&](Index i) { x[i] = x[i] * x[i]; }); }};

  // From the other library. A CPU uses its memory directly; a GPU copies it, since we allow that.
  std::vector<float> numbers(1000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  OwnedTensor lent = lend(std::move(numbers));
  auto x = dlpack::from_tensor<float>(stream, lent.get(), dlpack::Copy::if_needed);
  lent.release();  // the array owns it now
  square(stream, x);

  // To the other library, which works on a stream of its own. It waits for the kernel; the host does not.
  bool correct = true;
  if (device.info().dlpack_type) {
    Stream others = device.create_stream();
    OwnedTensor tensor(dlpack::to_tensor(x, dlpack::Order(others)));
    x = {};  // the tensor keeps the memory

    // As the consumer, borrow it again and look.
    if (device.info().has(Capability::external_memory)) {
      auto y = dlpack::from_tensor<float>(others, tensor.get());
      tensor.release();
      const std::vector<float> result = y.to_host(others);
      for (std::size_t i = 0; i < result.size(); ++i) correct &= result[i] == static_cast<float>(i * i);
    }
  } else {
    std::printf("DLPack has no name for the memory of %s\n", device.name().c_str());
    correct = x.to_host(stream)[999] == 999.0f * 999.0f;
  }
  std::printf("on %s: %s\n", device.name().c_str(), correct ? "correct" : "WRONG");
  return correct ? 0 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
