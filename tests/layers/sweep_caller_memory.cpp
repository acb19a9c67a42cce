// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <chrono>
#include <memory>
#include <numeric>
#include <span>
#include <thread>
#include <weir/dlpack.hpp>
#include <weir/kernel.hpp>

#include "dlpack/tensor.hpp"
#include "sweep_programs.hpp"

namespace weir::test {
namespace {

void expect_right(bool right, const char* what) {
  if (!right) throw Wrong{what};
}

/// Memory that no other object takes over when it is freed: a late access ends the process.
class MappedFloats {
 public:
  explicit MappedFloats(std::size_t count)
      : memory_(mmap(nullptr, count * sizeof(float), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
        span_(static_cast<float*>(memory_), count) {
    std::iota(span_.begin(), span_.end(), 0.0f);
  }
  MappedFloats(const MappedFloats&) = delete;
  MappedFloats& operator=(const MappedFloats&) = delete;
  ~MappedFloats() { munmap(memory_, span_.size_bytes()); }
  std::span<float> get() const { return span_; }

 private:
  void* memory_;
  std::span<float> span_;
};

void occupy(const Stream& stream) {
  stream.call_host([] { std::this_thread::sleep_for(std::chrono::milliseconds(3)); });
}

/// A tensor whose importer owns it, with its memory, once the import has succeeded.
struct HeldTensor {
  static constexpr std::int64_t count = 512;
  MappedFloats values{2 * count};
  std::int64_t shape[2] = {count, 2}, strides[2] = {1, count};
  dlpack::ManagedTensor managed{};

  HeldTensor() {
    managed.tensor = {
        values.get().data(), dlpack::host_type, 0, 2, {dlpack::floating, 32, 1}, shape, strides, 0};
    managed.context = this;
    managed.deleter = [](dlpack::ManagedTensor* tensor) { delete static_cast<HeldTensor*>(tensor->context); };
  }
};

void import_with_components_apart(const Stream& stream) {
  auto tensor = std::make_unique<HeldTensor>();
  const auto imported = dlpack::from_tensor<Vec<float, 2>, 1>(
      stream, reinterpret_cast<DLManagedTensor*>(&tensor->managed), dlpack::Copy::if_needed);
  (void)tensor.release();
  const std::vector<Vec<float, 2>> seen = imported.to_host(stream);
  expect_right(seen[1][0] == 1.0f && seen[1][1] == HeldTensor::count + 1.0f, "an imported tensor");
}

}  // namespace

void memory_of_the_caller(const Device& device) {
  constexpr std::size_t n = 1024;
  const Stream stream = device.create_stream();
  const MappedFloats in(n), out(n);
  auto x = device.array<float>(stream, 2 * n);
  x.fill(stream, 0.0f);
  const auto every_second = x.slice(0, 0, 2 * n, 2);
  occupy(stream);
  every_second.copy_from(stream, std::span<const float>(in.get()));
  {
    Profile profile(device);
    occupy(stream);
    every_second.copy_to(stream, out.get());
    expect_right(!profile.results().empty(), "a profile of copies");
  }
  expect_right(out.get()[n - 1] == static_cast<float>(n - 1), "copies of every second element");
  occupy(stream);
  import_with_components_apart(stream);
  static const auto& debugged = *new Kernel{"debugged", [](View<float> x, View<float> y) {
                                              range_for(y.size(), [&](Index i) { y[i] = x[i] + 1.0f; });
                                              range_for(x.size(), [&](Index i) { x[i] = 0.0f; });
                                            }};
  debugged.program().debug(true);
  auto y = device.array<float>(stream, 2 * n);
  y.fill(stream, 0.0f);
  occupy(stream);
  debugged(stream, x, y);
  expect_right(y.to_host(stream)[2 * n - 2] == static_cast<float>(n), "a debugged launch");
}

}  // namespace weir::test
