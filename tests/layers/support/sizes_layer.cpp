// SPDX-License-Identifier: Apache-2.0
// The layer `sizes` requests annotations of version 1, which have no ranges, and adds up the sizes that
// launches state.
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <weir/sdk/layer.hpp>

namespace {

constexpr std::size_t size_bytes = sizeof(std::uint64_t);

class Sizes {
 public:
  static constexpr const char* name = "sizes";
  explicit Sizes(const weir::sdk::LayerHost& host) : next(host.next) {}
  const weir_driver_table next;

  weir_result annotate_kernel(weir_module module, const char* symbol, const weir_kernel_layout* layout,
                              const weir_kernel_annotation* annotation, weir_kernel* out, weir_status* e) {
    const weir_result result = next.module_get_kernel(module, symbol, layout, out, e);
    if (result != WEIR_OK) return result;
    const std::lock_guard lock(mutex_);
    for (std::uint32_t i = 0; i < annotation->touched_count; ++i) {
      stated_[*out] += annotation->touched[i].bytes == 0;
      ranges_ += annotation->touched[i].bytes == WEIR_TOUCHED_RANGE;
    }
    return WEIR_OK;
  }
  weir_result kernel_launch(weir_stream stream, const weir_launch* launch, weir_status* e) {
    weir_launch own = *launch;
    {
      const std::lock_guard lock(mutex_);
      const std::size_t count = stated_[launch->kernel];
      own.argument_bytes -= static_cast<std::uint32_t>(count * size_bytes);
      for (std::size_t i = 0; i < count; ++i) {
        std::uint64_t size = 0;
        std::memcpy(&size, static_cast<const std::byte*>(own.arguments) + own.argument_bytes + i * size_bytes,
                    sizeof size);
        sum_ += size;
      }
    }
    return next.kernel_launch(stream, &own, e);
  }
  std::uint64_t get(std::string_view counter) {
    const std::lock_guard lock(mutex_);
    return counter == "bytes" ? sum_ : ranges_;
  }

 private:
  std::mutex mutex_;
  std::map<weir_kernel, std::size_t> stated_;  // parts whose size follows the arguments
  std::uint64_t sum_ = 0, ranges_ = 0;
};

}  // namespace

WEIR_LAYER(Sizes)
