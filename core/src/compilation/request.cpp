// SPDX-License-Identifier: Apache-2.0
#include "compilation/request.hpp"

#include "compilation/archive.hpp"
#include "compilation/fields.hpp"

namespace weir::compilation {
namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorCode::compile, "a message between Weir and its code generator is damaged; reinstall Weir");
}

enum class ReplyKind : std::uint8_t { object, text, error, missing };

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

MissingGenerator::MissingGenerator(const std::string& reason)
    : Error(ErrorCode::compile,
            "kernels need Weir's code generator, which could not be started; install the package that holds "
            "weir-codegen, of the same version as libweir. Tried:\n  " +
                reason),
      reason_(reason) {}

std::string encode_request(const ir::Kernel& kernel, std::span<const ir::Task* const> tasks,
                           const codegen::Target& target, std::optional<std::string_view> text) {
  Writer out;
  out(text.has_value(), text.value_or(""), target, kernel, std::uint64_t{tasks.size()});
  for (const ir::Task* task : tasks) out(*task);
  return out.take();
}

Request decode_request(std::string_view bytes) try {
  Reader in(bytes);
  Request request;
  bool has_text = false;
  std::string text;
  in(has_text, text, request.target, request.kernel, request.tasks);
  if (has_text) request.text = std::move(text);
  in.expect_end();
  return request;
} catch (const DamagedBytes&) {
  refuse();
}

std::string encode_reply(const Reply& reply) {
  Writer out;
  out(reply.last);
  if (const auto* object = std::get_if<codegen::CodeObject>(&reply.value))
    out(ReplyKind::object, *object);
  else if (const auto* text = std::get_if<std::string>(&reply.value))
    out(ReplyKind::text, *text);
  else if (const auto* missing = std::get_if<MissingGenerator>(&reply.value))
    out(ReplyKind::missing, missing->reason());
  else {
    out(ReplyKind::error);
    write_error(out, std::get<Error>(reply.value));
  }
  return out.take();
}

Reply decode_reply(std::string_view bytes) try {
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
    case ReplyKind::missing: {
      std::string reason;
      in(reason);
      reply.value = MissingGenerator(reason);
      break;
    }
    default:
      throw DamagedBytes();
  }
  in.expect_end();
  return reply;
} catch (const DamagedBytes&) {
  refuse();
}

}  // namespace weir::compilation
