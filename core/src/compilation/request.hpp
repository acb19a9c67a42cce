// SPDX-License-Identifier: Apache-2.0
// Requests to the code generator and its replies, encoded as bytes for a process of the same build.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>
#include <weir/error.hpp>

#include "codegen/codegen.hpp"
#include "ir/ir.hpp"
#include "ir/task.hpp"

namespace weir::compilation {

/// One call of codegen::Compiler as a value: all inputs of its result, besides the build of Weir and, for the
/// processor "native", the machine.
struct Request {
  std::optional<std::string> text;  ///< the argument `what` of emit_text(); nothing for compile()
  codegen::Target target;
  ir::Kernel kernel;  ///< without its body, because the tasks contain all code to compile
  std::vector<ir::Task> tasks;
};

/// The code generator is absent or cannot be used, for `reason`.
class MissingGenerator : public Error {
 public:
  explicit MissingGenerator(const std::string& reason);
  const std::string& reason() const noexcept { return reason_; }

 private:
  std::string reason_;
};

/// The result or the exception of a call.
struct Reply {
  std::variant<codegen::CodeObject, std::string, Error, MissingGenerator> value;
  bool last = false;  ///< the process ends after this reply, because its state may be damaged
};

std::string encode_request(const ir::Kernel& kernel, std::span<const ir::Task* const> tasks,
                           const codegen::Target& target, std::optional<std::string_view> text);
std::string encode_reply(const Reply& reply);

/// Both throw Error{compile} for truncated bytes and for surplus bytes at the end.
Request decode_request(std::string_view bytes);
Reply decode_reply(std::string_view bytes);

}  // namespace weir::compilation
