// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <stdexcept>

#include "code/code_object.hpp"
#include "execute/launch.hpp"
#include "tool/commands.hpp"

namespace weir::hipsim::tool {
namespace {

struct MemoryBlock {
  std::string type;
  std::shared_ptr<Allocation> memory;
  std::size_t count;
};

template <class F>
auto with_type(const std::string& type, F f) {
  if (type == "i32") return f(std::int32_t());
  if (type == "u32") return f(std::uint32_t());
  if (type == "i64") return f(std::int64_t());
  if (type == "f32") return f(float());
  if (type == "f64") return f(double());
  throw std::runtime_error("\"" + type + "\" is not a type; expected i32, u32, i64, f32 or f64");
}

double number(const std::string& text) {
  std::size_t used = 0;
  double value = 0;
  try {
    value = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used != text.size()) throw std::runtime_error("\"" + text + "\" is not a number");
  return value;
}

template <class T>
void fill(T* values, std::size_t count, const std::string& with) {
  if (with.starts_with('@')) {
    const auto bytes = read_file(with.substr(1));
    std::memcpy(values, bytes.data(), std::min(bytes.size(), count * sizeof(T)));
    return;
  }
  const bool iota = with == "iota";
  const double value = iota || with.empty() ? 0 : number(with);
  for (std::size_t n = 0; n < count; ++n) values[n] = iota ? T(n) : T(value);
}

void put(std::vector<std::uint8_t>& bytes, const void* value, std::size_t size) {
  bytes.resize((bytes.size() + size - 1) / size * size + size);
  std::memcpy(bytes.data() + bytes.size() - size, value, size);
}

/// Appends an argument, and records its block if it has one.
void add_argument(const std::string& text, MemoryTable& memory, std::vector<std::uint8_t>& bytes,
                  std::vector<MemoryBlock>& blocks) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos)
    throw std::runtime_error("\"" + text + "\" has no colon; expected for example f32*:1024 or i32:5");
  std::string type = text.substr(0, colon);
  const std::string value = text.substr(colon + 1);
  if (!type.ends_with('*')) {
    with_type(type, [&](auto zero) {
      const auto x = decltype(zero)(number(value));
      put(bytes, &x, sizeof(x));
    });
    return;
  }
  type.pop_back();
  const std::size_t equals = value.find('=');
  const auto count = std::size_t(number(value.substr(0, equals)));
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    auto block = memory.allocate(count * sizeof(T), 0, MemoryKind::device);
    if (!block) throw std::runtime_error("the simulated device has no memory left for " + text);
    fill(reinterpret_cast<T*>(block->begin), count, equals == value.npos ? "" : value.substr(equals + 1));
    put(bytes, &block->begin, 8);
    blocks.push_back({type, std::move(block), count});
  });
}

void print(const MemoryBlock& block, unsigned shown) {
  fmt::print("{}[{}]:", block.type, block.count);
  with_type(block.type, [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t n = 0; n < block.count && n < shown; ++n)
      fmt::print(" {}", reinterpret_cast<const T*>(block.memory->begin)[n]);
  });
  fmt::print("{}\n", block.count > shown ? " ..." : "");
}

}  // namespace

int run_kernel(const RunRequest& request) {
  const auto image = read_file(request.file);
  const std::string text(image.begin(), image.end());
  MemoryTable memory(0);
  Launch launch;
  launch.code = std::make_shared<CodeObject>(image,
                                             Target{architecture_of(image), text.find(":xnack+") != text.npos,
                                                    text.find(":sramecc-") == text.npos, 0},
                                             memory);
  launch.kernel = launch.code->kernel(request.kernel);
  if (!launch.kernel) throw std::runtime_error(request.file + " has no kernel " + request.kernel);
  for (std::size_t k = 0; k < request.grid.size(); ++k) launch.shape.grid[k] = request.grid[k];
  for (std::size_t k = 0; k < request.block.size(); ++k) launch.shape.block[k] = request.block[k];
  const std::uint64_t items =
      std::uint64_t(launch.shape.block[0]) * launch.shape.block[1] * launch.shape.block[2];
  if (items == 0 || items > launch.kernel->max_threads)
    throw std::runtime_error(
        fmt::format("a block has {} workitems; the kernel takes 1 to {}", items, launch.kernel->max_threads));
  launch.shape.dynamic_lds = request.dynamic_lds;
  launch.memory = &memory;
  launch.stack_bytes = 16384;
  launch.races = request.races == "off"     ? RaceCheck::off
                 : request.races == "error" ? RaceCheck::error
                                            : RaceCheck::report;
  std::vector<MemoryBlock> blocks;
  for (const std::string& argument : request.arguments)
    add_argument(argument, memory, launch.arguments, blocks);
  if (launch.arguments.size() < launch.kernel->explicit_bytes)
    throw std::runtime_error(fmt::format("the arguments have {} bytes; the kernel takes {}",
                                         launch.arguments.size(), launch.kernel->explicit_bytes));
  launch.arguments.resize(launch.kernel->explicit_bytes);
  if (request.threads) set_worker_count(request.threads);
  const auto start = std::chrono::steady_clock::now();
  const LaunchResult result = execute(launch);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (const std::string& report : result.reports) fmt::print("{}\n", report);
  if (result.failed) fmt::print("{}\n", result.message);
  for (const MemoryBlock& block : blocks) print(block, request.shown);
  fmt::print("{} wave instructions in {:.3f} s\n", result.instructions, seconds);
  return result.failed ? 1 : 0;
}

}  // namespace weir::hipsim::tool
