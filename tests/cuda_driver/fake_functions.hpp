// SPDX-License-Identifier: Apache-2.0
// Macros and helpers for the functions of the fake library.
#pragma once

#include <api.hpp>

#include "fake_runtime.hpp"

#define EXPORT extern "C" __attribute__((visibility("default"))) int
// Records the call; returns early if an error is to be injected.
#define BEGIN(stream, ...) \
  if (const int code = runtime().begin(__func__, stream, ##__VA_ARGS__)) return code

namespace fake_cuda {

using weir::cuda::Address;
using weir::cuda::CopyNode;
using weir::cuda::FillNode;
using weir::cuda::KernelNode;

inline Runtime& runtime() {
  return Runtime::get();
}
inline Device& now() {
  return *static_cast<Device*>(Runtime::current);
}
inline Stream* as_stream(void* stream) {
  return static_cast<Stream*>(stream);
}
template <class T>
T* pointer(Address address) {
  return reinterpret_cast<T*>(address);
}
template <class T>
std::uint64_t number(T* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

inline void count(int change) {
  std::lock_guard lock(runtime().mutex);
  runtime().objects += change;
}

inline Address new_block(std::size_t size) {
  const Address address = number(std::aligned_alloc(256, (size + 255) / 256 * 256));
  std::lock_guard lock(runtime().mutex);
  runtime().blocks[address] = {size, now().index};
  return address;
}

template <class T, class... Values>
void* make(Values... values) {
  count(1);
  return new T{values...};
}
template <class T>
void end(void* object) {
  count(-1);
  delete static_cast<T*>(object);
}

inline std::vector<std::uint8_t> argument_bytes(void** extra) {
  if (!extra) return {};
  const auto* bytes = static_cast<const std::uint8_t*>(extra[1]);
  return {bytes, bytes + *static_cast<std::size_t*>(extra[3])};
}

/// Where libcuda reads argument `index` of a function.
inline std::size_t argument_offset(const Function& function, std::size_t index) {
  std::size_t offset = 0;
  for (std::size_t i = 0; i < index; ++i) {
    const std::size_t next = function.parameters[i + 1];
    offset = (offset + function.parameters[i] + next - 1) / next * next;
  }
  return offset;
}

/// Of a node that has either a block or the addresses of its arguments.
inline std::vector<std::uint8_t> argument_bytes(const KernelNode& node) {
  if (!node.parameters) return argument_bytes(node.extra);
  const auto& called = *static_cast<const Function*>(node.function);
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i < called.parameters.size(); ++i) {
    bytes.resize(argument_offset(called, i));
    const auto* from = static_cast<const std::uint8_t*>(node.parameters[i]);
    bytes.insert(bytes.end(), from, from + called.parameters[i]);
  }
  return bytes;
}

inline void run_kernel(const Function& function) {
  if (function.name == "trap") runtime().error = 700;
}

inline void run_copy(const CopyNode& n) {
  const void* from = n.from.type == weir::cuda::host_memory ? n.from.host : pointer<void>(n.from.device);
  void* to = n.to.type == weir::cuda::host_memory ? n.to.host : pointer<void>(n.to.device);
  std::memcpy(to, from, n.width_bytes);
}

inline void run_fill(Address to, std::size_t pitch, unsigned value, unsigned element, std::size_t width,
                     std::size_t height) {
  for (std::size_t y = 0; y < height; ++y)
    for (std::size_t x = 0; x < width; ++x)
      std::memcpy(pointer<char>(to) + y * pitch + x * element, &value, element);
}

template <class T>
std::vector<unsigned char> bytes_of(const T& value) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&value);
  return {bytes, bytes + sizeof value};
}
template <class T>
T value_of(const std::vector<unsigned char>& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

}  // namespace fake_cuda
