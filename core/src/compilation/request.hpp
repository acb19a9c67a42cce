// SPDX-License-Identifier: Apache-2.0
// Requests to the code generator and its replies, as bytes that travel between two processes of one build.
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

/// One call of codegen::Compiler as a value: everything that its result depends on, besides the build of Weir
/// and, for the processor "native", the machine.
struct Request {
  std::optional<std::string> text;  ///< the argument `what` of emit_text(); nothing for compile()
  codegen::Target target;
  ir::Kernel kernel;  ///< without its body, of which the tasks hold all that is compiled
  std::vector<ir::Task> tasks;
};

/// What a call returned or threw.
struct Reply {
  std::variant<codegen::CodeObject, std::string, Error> value;
  bool last = false;  ///< the process ends after this reply, because its state may be damaged
};

/// Error{compile} for a code generator that is absent or cannot be used, for `reason`.
Error missing_generator(const std::string& reason);

std::string encode_request(const ir::Kernel& kernel, std::span<const ir::Task* const> tasks,
                           const codegen::Target& target, std::optional<std::string_view> text);
std::string encode_reply(const Reply& reply);

/// Both throw Error{compile} for bytes that are cut short or longer than what they hold.
Request decode_request(std::string_view bytes);
Reply decode_reply(std::string_view bytes);

}  // namespace weir::compilation
