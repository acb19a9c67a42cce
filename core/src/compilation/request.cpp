// SPDX-License-Identifier: Apache-2.0
#include "compilation/request.hpp"

#include <concepts>
#include <cstring>
#include <type_traits>

namespace weir::compilation {
namespace {

template <class T, class U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

// The fields of each type, for writing and for reading. A structured binding names all fields, so adding a
// field to a type without listing it here is a compile error.

void fields(auto& archive, Is<ElementType> auto& element) {
  auto& [scalar, shape, rows, cols] = element;
  archive(scalar, shape, rows, cols);
}

void fields(auto& archive, Is<ir::Location> auto& location) {
  auto& [file, line, column] = location;
  archive(file, line, column);
}

void fields(auto& archive, Is<ir::Options> auto& options) {
  auto& [fast_math, check_bounds, no_fusion] = options;
  archive(fast_math, check_bounds, no_fusion);
}

void fields(auto& archive, Is<ir::Parameter> auto& parameter) {
  auto& [name, kind, element, rank, location] = parameter;
  archive(name, kind, element, rank, location);
}

void fields(auto& archive, Is<ir::Block> auto& block) {
  auto& [arguments, statements] = block;
  archive(arguments, statements);
}

void fields(auto& archive, Is<ir::Statement> auto& statement) {
  auto& [op, type, lane, result, index, immediate, operands, bodies, location] = statement;
  archive(op, type, lane, result, index, immediate, operands, bodies, location);
}

void fields(auto& archive, Is<ir::Kernel> auto& kernel) {
  auto& [name, options, parameters, body, strings, files, value_count, local_count] = kernel;
  archive(name, options, parameters, strings, files, value_count, local_count);
  (void)body;
}

void fields(auto& archive, Is<ir::TaskArgument> auto& argument) {
  auto& [kind, parameter, index, type, offset, size] = argument;
  archive(kind, parameter, index, type, offset, size);
}

void fields(auto& archive, Is<ir::Task> auto& task) {
  auto& [name, kind, body, arguments, argument_bytes, value_count, local_count, cost, partials_offset,
         result_offset, reduce_type, reduce_kind, location] = task;
  archive(name, kind, body, arguments, argument_bytes, value_count, local_count, cost, partials_offset,
          result_offset, reduce_type, reduce_kind, location);
}

void fields(auto& archive, Is<codegen::LaunchAssumptions> auto& assumptions) {
  auto& [no_alias, index32, aligned, device_local] = assumptions;
  archive(no_alias, index32, aligned, device_local);
}

void fields(auto& archive, Is<codegen::Target> auto& target) {
  auto& [format, cpu, features, lanes, max_block_threads, assumptions] = target;
  archive(format, cpu, features, lanes, max_block_threads, assumptions);
}

void fields(auto& archive, Is<Lowering> auto& lowering) {
  auto& [paths, vector_width, packet_width] = lowering;
  archive(paths, vector_width, packet_width);
}

void fields(auto& archive, Is<codegen::CodeObject::Entry> auto& entry) {
  auto& [symbol, block, dynamic_shared_bytes, block_share, waves, lowering] = entry;
  archive(symbol, block[0], block[1], block[2], dynamic_shared_bytes, block_share, waves, lowering);
}

void fields(auto& archive, Is<codegen::CodeObject> auto& object) {
  auto& [format, target, bytes, entries] = object;
  archive(format, target, bytes, entries);
}

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
