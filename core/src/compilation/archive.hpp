// SPDX-License-Identifier: Apache-2.0
// Values as bytes, for messages between processes of one build and for the contents of packs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace weir::compilation {

/// Types that are copied bytewise, in the machine's byte order.
template <class T>
concept PlainValue = std::is_arithmetic_v<T> || std::is_enum_v<T>;

/// Appends values. Other types than numbers, strings and vectors need a function fields(archive, value).
class Writer {
 public:
  template <class... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  std::string take() { return std::move(bytes_); }

 private:
  void append(const void* data, std::size_t size) { bytes_.append(static_cast<const char*>(data), size); }

  template <class T>
  void put(const T& value) {
    if constexpr (PlainValue<T>)
      append(&value, sizeof value);
    else
      fields(*this, value);
  }
  void put(std::string_view text) {
    put(std::uint64_t{text.size()});
    append(text.data(), text.size());
  }
  void put(const std::string& text) { put(std::string_view(text)); }
  template <class T>
  void put(const std::vector<T>& values) {
    put(std::uint64_t{values.size()});
    if constexpr (PlainValue<T>)
      append(values.data(), values.size() * sizeof(T));
    else
      for (const T& value : values) put(value);
  }

  std::string bytes_;
};

/// Thrown for bytes that Writer did not write.
struct DamagedBytes {};

/// Reads what Writer wrote.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  template <class... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  void expect_end() const {
    if (!rest_.empty()) throw DamagedBytes();
  }

 private:
  void copy(void* to, std::size_t size) {
    if (size > rest_.size()) throw DamagedBytes();
    if (size != 0) std::memcpy(to, rest_.data(), size);
    rest_.remove_prefix(size);
  }

  /// The number of elements that follow, each of at least one byte.
  std::size_t count(std::size_t element_bytes) {
    std::uint64_t number = 0;
    get(number);
    if (number > rest_.size() / element_bytes) throw DamagedBytes();
    return static_cast<std::size_t>(number);
  }

  template <class T>
  void get(T& value) {
    if constexpr (PlainValue<T>)
      copy(&value, sizeof value);
    else
      fields(*this, value);
  }
  void get(std::string& text) {
    text.resize(count(1));
    copy(text.data(), text.size());
  }
  template <class T>
  void get(std::vector<T>& values) {
    if constexpr (PlainValue<T>) {
      values.resize(count(sizeof(T)));
      copy(values.data(), values.size() * sizeof(T));
    } else {
      values.resize(count(1));
      for (T& value : values) get(value);
    }
  }

  std::string_view rest_;
};

}  // namespace weir::compilation
