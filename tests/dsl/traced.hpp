// SPDX-License-Identifier: Apache-2.0
// Traces lambdas for tests, without a device, and compares the text of the recorded kernel.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <weir/error.hpp>
#include <weir/kernel.hpp>

#include "dsl/trace.hpp"
#include "ir/parser.hpp"
#include "ir/printer.hpp"

namespace weir::test {

template <class>
struct Tracer;
template <class... P>
struct Tracer<void(P...)> {
  template <class F>
  static ir::Kernel trace(std::string_view name, F& body, const KernelOptions& options, detail::Where where) {
    return detail::trace_kernel(detail::source_of<F, void, P...>(name, body, options, where));
  }
};

template <class F>
ir::Kernel traced(F body, const KernelOptions& options = {}, std::string_view name = "test",
                  detail::Where where = detail::Where::current()) {
  return Tracer<detail::signature_t<F>>::trace(name, detail::lambda_of(body), options, where);
}

/// The kernel's body as text, one statement per line, without the lines common to all kernels. Checks that
/// parsing and printing the text reproduces it.
template <class F>
std::string body_of(F body, const KernelOptions& options = {},
                    detail::Where where = detail::Where::current()) {
  const ir::Kernel kernel = traced(body, options, "test", where);
  const std::string text = ir::print(kernel);
  EXPECT_EQ(ir::print(ir::parse(text)), text);
  const std::size_t begin = text.find("{\n") + 2;
  return text.substr(begin, text.rfind("}\n") - begin);
}

/// The message of a refused kernel; fails the test if the kernel is accepted.
template <class F>
std::string refusal(F body, const KernelOptions& options = {},
                    detail::Where where = detail::Where::current()) {
  try {
    traced(body, options, "test", where);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kernel);
    EXPECT_NE(error.where().line(), 0u);
    return error.what();
  }
  ADD_FAILURE() << "the kernel was accepted";
  return {};
}

/// "file.cpp:line", `offset` lines after the caller's line.
inline std::string line(int offset, detail::Where where = detail::Where::current()) {
  return std::string(where.file_name()) + ":" + std::to_string(static_cast<int>(where.line()) + offset);
}

}  // namespace weir::test
