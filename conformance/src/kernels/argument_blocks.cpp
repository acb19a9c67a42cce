// SPDX-License-Identifier: Apache-2.0
#include "kernels/argument_blocks.hpp"

#include <cstring>
#include <optional>
#include <set>

namespace weir::conformance {
namespace {

constexpr std::uint32_t echo_bytes = 16;       // the fields of "echo"
constexpr std::uint32_t max_parameters = 256;  // of a kernel in IR

/// Sizes of argument blocks in which a driver's fixed buffers may end.
std::set<std::uint32_t> sizes_to_try(std::uint32_t max_bytes) {
  std::set<std::uint32_t> sizes;
  const auto add = [&](std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t size = first; size <= last && size <= max_bytes; ++size)
      if (size > echo_bytes) sizes.insert(static_cast<std::uint32_t>(size));
  };
  add(echo_bytes + 1, judged().thorough ? 4096 : 520);
  for (std::uint64_t power = 512; power <= 4096; power *= 2) add(power - 9, power + 9);
  add(max_bytes > 9 ? max_bytes - 9 : 1, max_bytes);
  return sizes;
}

std::vector<BlockKernel> echoes(const std::shared_ptr<const Kernel>& echo) {
  std::vector<BlockKernel> made;
  for (const std::uint32_t bytes : sizes_to_try(info().max_argument_bytes)) {
    std::vector<weir_parameter> parameters = parameters_of(kernel_text("echo"));
    parameters.push_back({echo_bytes, bytes - echo_bytes, WEIR_PARAMETER_VALUE});
    const weir_kernel_layout layout{sizeof layout, bytes, static_cast<std::uint32_t>(parameters.size()),
                                    parameters.data()};
    weir_kernel kernel = nullptr;
    call(table().module_get_kernel, echo->module(), echo->ready().symbol.c_str(), &layout, &kernel);
    made.emplace_back(kernel_text("echo"), echo, kernel, bytes);
  }
  return made;
}

std::vector<BlockKernel> sums() {
  const std::uint32_t array = parameters_of(kernel_text("echo")).front().size;
  std::vector<BlockKernel> made;
  for (std::uint32_t power = 64; power <= 4096; power *= 2)
    for (const std::uint32_t bytes : {power - 16, power, power + 16}) {
      const std::uint32_t values = (bytes - array) / 8;
      if (bytes > info().max_argument_bytes || values >= max_parameters) return made;
      const KernelText& text = kernel_text("sum_" + std::to_string(values));
      auto sum = std::make_shared<const Kernel>(text.name);
      const weir_kernel handle = sum->handle();
      made.emplace_back(text, std::move(sum), handle, bytes);
    }
  return made;
}

}  // namespace

Bytes BlockKernel::block(const Memory& out, std::uint64_t offset, std::uint32_t seed) const {
  Arguments first;
  first.add(out, offset);
  if (echoes()) first.add(std::int64_t{bytes_});
  Bytes block = pattern(bytes_, seed);
  std::ranges::copy(first.bytes(), block.begin());
  return block;
}

weir_launch BlockKernel::launch_of(const Bytes& block) const {
  weir_launch launch = owner_->launch_of(Arguments());
  launch.kernel = kernel_;
  launch.argument_bytes = bytes_;
  launch.arguments = block.data();
  return launch;
}

Bytes BlockKernel::result(const Bytes& block) const {
  if (echoes()) return block;
  std::uint64_t sum = 0;
  // The first field is the array.
  const std::vector<weir_parameter> fields = parameters_of(*text_);
  for (std::size_t i = 1; i < fields.size(); ++i) {
    std::uint64_t value = 0;
    std::memcpy(&value, block.data() + fields[i].offset, sizeof value);
    sum += value;
  }
  Bytes result(sizeof sum);
  std::memcpy(result.data(), &sum, sizeof sum);
  return result;
}

std::vector<BlockKernel> block_kernels() {
  std::optional<Kernel> echo;
  try {
    echo.emplace("echo");
  } catch (const Unsupported&) {  // its format has no such kernel
    return sums();
  }
  return echoes(std::make_shared<const Kernel>(std::move(*echo)));
}

}  // namespace weir::conformance
