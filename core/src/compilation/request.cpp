// SPDX-License-Identifier: Apache-2.0
#include "compilation/request.hpp"

#include <cstring>
#include <type_traits>

#include "compilation/fields.hpp"

namespace weir::compilation {
namespace {

/// Types that are copied bytewise: both processes are of one build and on one machine.
template <class T>
concept Plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

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
    if constexpr (Plain<T>)
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
    if constexpr (Plain<T>)
      append(values.data(), values.size() * sizeof(T));
    else
      for (const T& value : values) put(value);
  }

  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  template <class... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  void expect_end() const {
    if (!rest_.empty()) refuse();
  }
  [[noreturn]] static void refuse() {
    throw Error(ErrorCode::compile,
                "a message between Weir and its code generator is damaged; reinstall Weir");
  }

 private:
  void copy(void* to, std::size_t size) {
    if (size > rest_.size()) refuse();
    if (size != 0) std::memcpy(to, rest_.data(), size);
    rest_.remove_prefix(size);
  }

  /// The number of elements that follow, each of at least one byte.
  std::size_t count(std::size_t element_bytes) {
    std::uint64_t number = 0;
    get(number);
    if (number > rest_.size() / element_bytes) refuse();
    return static_cast<std::size_t>(number);
  }

  template <class T>
  void get(T& value) {
    if constexpr (Plain<T>)
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
    if constexpr (Plain<T>) {
      values.resize(count(sizeof(T)));
      copy(values.data(), values.size() * sizeof(T));
    } else {
      values.resize(count(1));
      for (T& value : values) get(value);
    }
  }

  std::string_view rest_;
};

enum class ReplyKind : std::uint8_t { object, text, error };

void write_error(Writer& out, const Error& error) {
  out(error.code(), std::string_view(error.what()), error.kernel(), error.file(), error.line());
}

Error read_error(Reader& in) {
  ErrorCode code{};
  std::string message, kernel, file;
  std::uint32_t line = 0;
  in(code, message, kernel, file, line);
  return {code, message, std::move(kernel), std::move(file), line};
}

}  // namespace

Error missing_generator(const std::string& reason) {
  return {ErrorCode::compile,
          "kernels need Weir's code generator, which could not be started; install the package that holds "
          "weir-codegen, of the same version as libweir. Tried:\n  " +
              reason};
}

std::string encode_request(const ir::Kernel& kernel, std::span<const ir::Task* const> tasks,
                           const codegen::Target& target, std::optional<std::string_view> text) {
  Writer out;
  out(text.has_value(), text.value_or(""), target, kernel, std::uint64_t{tasks.size()});
  for (const ir::Task* task : tasks) out(*task);
  return out.take();
}

Request decode_request(std::string_view bytes) {
  Reader in(bytes);
  Request request;
  bool has_text = false;
  std::string text;
  in(has_text, text, request.target, request.kernel, request.tasks);
  if (has_text) request.text = std::move(text);
  in.expect_end();
  return request;
}

std::string encode_reply(const Reply& reply) {
  Writer out;
  out(reply.last);
  if (const auto* object = std::get_if<codegen::CodeObject>(&reply.value))
    out(ReplyKind::object, *object);
  else if (const auto* text = std::get_if<std::string>(&reply.value))
    out(ReplyKind::text, *text);
  else {
    out(ReplyKind::error);
    write_error(out, std::get<Error>(reply.value));
  }
  return out.take();
}

Reply decode_reply(std::string_view bytes) {
  Reader in(bytes);
  bool last = false;
  ReplyKind kind{};
  in(last, kind);
  Reply reply{std::string(), last};
  switch (kind) {
    case ReplyKind::object:
      in(reply.value.emplace<codegen::CodeObject>());
      break;
    case ReplyKind::text:
      in(std::get<std::string>(reply.value));
      break;
    case ReplyKind::error:
      reply.value = read_error(in);
      break;
    default:
      Reader::refuse();
  }
  in.expect_end();
  return reply;
}

}  // namespace weir::compilation
