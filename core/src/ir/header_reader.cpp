// SPDX-License-Identifier: Apache-2.0
#include "ir/header_reader.hpp"

#include <set>

#include "ir/literals.hpp"
#include "ir/verifier.hpp"

namespace weir::ir {

namespace {

using Kind = Token::Kind;

class HeaderReader {
 public:
  HeaderReader(TokenStream& in, Kernel& kernel) : in_(in), kernel_(kernel) {}

  void read(std::string_view file) {
    version();
    in_.expect_word("kernel", "and the kernel's name");
    kernel_.name = in_.string("the kernel's name");
    options();
    while (in_.accept_word("file")) kernel_.files.push_back(in_.string("a source file's name"));
    in_.declare_files(kernel_.files.size());
    if (kernel_.files.empty()) kernel_.files.emplace_back(file);
    while (in_.at_word("param")) parameter();
    if (!in_.at_mark('{')) in_.fail("'param' or the kernel's body in braces");
  }

 private:
  // "weir-ir" is not one token: the lexer returns "weir" and "-ir", next to each other.
  void version() {
    const Token first = in_.token();
    if (!in_.accept_word("weir") || in_.token().text != "-ir" || in_.token().line != first.line ||
        in_.token().column != first.column + 4) {
      in_.fail_at(first, "expected 'weir-ir 1', which begins every kernel, found " + found(first));
    }
    in_.advance();
    if (!in_.at(Kind::number) || in_.token().text != "1")
      in_.fail("version 1 of the text form after 'weir-ir'");
    in_.advance();
  }

  void options() {
    for (;;) {
      if (in_.accept_word("fast_math")) {
        kernel_.options.fast_math = true;
      } else if (in_.accept_word("check_bounds")) {
        kernel_.options.check_bounds = true;
      } else if (in_.accept_word("no_fusion")) {
        kernel_.options.no_fusion = true;
      } else if (in_.accept_word("no_phases")) {
        kernel_.options.no_phases = true;
      } else if (in_.accept_word("no_concurrency")) {
        kernel_.options.no_concurrency = true;
      } else if (in_.accept_word("deterministic")) {
        kernel_.options.deterministic = true;
      } else if (in_.accept_word("min_resident_threads")) {
        kernel_.options.min_resident_threads =
            static_cast<std::uint32_t>(in_.number(max_resident_threads, "a number of resident threads"));
      } else {
        return;
      }
    }
  }

  void parameter() {
    Parameter parameter;
    const Token start = in_.advance();
    const Token name = in_.expect(Kind::symbol, "the parameter's name, such as @x");
    parameter.name = name.text;
    if (!names_.insert(name.text).second) {
      in_.fail_at(name, "expected a new name, found a second parameter @" + parameter.name);
    }
    if (kernel_.parameters.size() == max_parameters) {
      in_.fail_at(name, "expected at most " + std::to_string(max_parameters) + " parameters, found more");
    }
    in_.expect_mark(':', "and a type after the parameter's name");
    if (in_.accept_word("array")) {
      parameter.kind = Parameter::Kind::array;
      in_.expect_mark('<', "after 'array'");
      parameter.element = element();
      in_.expect_mark(',', "and the rank after the element type");
      parameter.rank = static_cast<std::uint8_t>(in_.number(max_rank, "the array's rank"));
      in_.expect_mark('>', "after the array's rank");
    } else {
      parameter.element = element();
    }
    parameter.location = in_.place(start);
    kernel_.parameters.push_back(std::move(parameter));
  }

  static constexpr std::uint64_t most_components = 16;  // in each dimension; see Verifier::check_parameter

  ElementType element() {
    ElementType element;
    const bool vector = in_.accept_word("vec");
    const bool matrix = !vector && in_.accept_word("mat");
    if (!vector && !matrix) {
      if (!in_.at(Kind::name) || !scalar_type(in_.token().text)) {
        in_.fail("a type: a scalar type, vec<T, N>, mat<T, R, C>, or array<type, rank> for a parameter");
      }
      element.scalar = in_.type();
      return element;
    }
    in_.expect_mark('<', vector ? "after 'vec'" : "after 'mat'");
    element.shape = vector ? ElementType::Shape::vector : ElementType::Shape::matrix;
    element.scalar = in_.type();
    in_.expect_mark(',', "and a number after the scalar type");
    element.rows = static_cast<std::uint8_t>(in_.number(most_components, "a number of components", 1));
    if (matrix) {
      in_.expect_mark(',', "and the number of columns after the number of rows");
      element.cols = static_cast<std::uint8_t>(in_.number(most_components, "a number of columns", 1));
    }
    in_.expect_mark('>', "at the end of the type");
    return element;
  }

  TokenStream& in_;
  Kernel& kernel_;
  std::set<std::string_view> names_;
};

}  // namespace

void read_header(TokenStream& in, std::string_view file, Kernel& kernel) {
  HeaderReader(in, kernel).read(file);
}

}  // namespace weir::ir
