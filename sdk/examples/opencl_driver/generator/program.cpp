// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace generator {
namespace {

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r"), end = text.find_last_not_of(" \t\r");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

bool is_name(const std::string& text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) && text != "i" && text != "n" &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

class Reader {
 public:
  Program read(std::string_view text) {
    std::istringstream lines{std::string(text)};
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      try {
        read_line(trimmed(line.substr(0, line.find('#'))));
      } catch (const std::exception& error) {
        throw std::invalid_argument("line " + std::to_string(number) + ": " + error.what());
      }
    }
    if (program_.statements.empty()) throw std::invalid_argument("the program has no statement");
    return std::move(program_);
  }

 private:
  void read_line(const std::string& line) {
    if (line.empty()) return;
    if (line == "{") {
      if (in_braces_) throw std::invalid_argument("'{' inside of braces");
      in_braces_ = true;
      ++region_, block_ = 0;
    } else if (line == "}") {
      if (!in_braces_) throw std::invalid_argument("'}' without '{'");
      in_braces_ = false;
      complete_ = program_.statements.size();
    } else {
      read_statement(line);
    }
  }

  void read_statement(const std::string& line) {
    const std::size_t sign = line.find('=');
    if (sign == std::string::npos) throw std::invalid_argument("expected NAME = VALUE, '{' or '}'");
    const std::string name = trimmed(line.substr(0, sign));
    std::string value = trimmed(line.substr(sign + 1));
    if (program_.size == 0) {
      if (name == "n") program_.size = std::stol(value);
      if (program_.size < 1) throw std::invalid_argument("expected n = NUMBER, at least 1, first");
      return;
    }
    if (!is_name(name)) throw std::invalid_argument("'" + name + "' is not the name of a variable");
    for (const Statement& earlier : program_.statements)
      if (earlier.name == name) throw std::invalid_argument("'" + name + "' has a value already");
    Statement statement;
    statement.name = name;
    statement.is_sum = value.starts_with("sum ");
    statement.value = parse_expression(statement.is_sum ? value.substr(4) : value);
    check_variables(*statement.value);
    if (in_braces_) statement.region = region_, statement.block = block_++;
    program_.statements.push_back(std::move(statement));
    if (!in_braces_) complete_ = program_.statements.size();
  }

  /// Variables must have been computed before these braces.
  void check_variables(const Expression& expression) const {
    std::set<std::string> names;
    add_variables(expression, names);
    for (const std::string& name : names) {
      const auto known = program_.statements.begin() + static_cast<std::ptrdiff_t>(complete_);
      if (std::none_of(program_.statements.begin(), known,
                       [&](const Statement& s) { return s.name == name; }))
        throw std::invalid_argument("'" + name + "' has no value yet");
    }
  }

  Program program_;
  int region_ = -1, block_ = 0;
  bool in_braces_ = false;
  std::size_t complete_ = 0;  // the number of statements that the next one may read
};

}  // namespace

bool Program::is_number(const std::string& name) const {
  return std::ranges::any_of(statements, [&](const Statement& s) { return s.name == name && s.is_sum; });
}

Program parse_program(std::string_view text) {
  return Reader().read(text);
}

std::map<std::string, std::vector<float>> run_on_host(const Program& program) {
  std::map<std::string, std::vector<float>> values;
  for (const Statement& statement : program.statements) {
    std::vector<float> out(static_cast<std::size_t>(program.size));
    for (long i = 0; i < program.size; ++i)
      out[static_cast<std::size_t>(i)] = evaluate(*statement.value, i, [&](const std::string& name) {
        const std::vector<float>& variable = values.at(name);
        return variable[program.is_number(name) ? 0 : static_cast<std::size_t>(i)];
      });
    if (statement.is_sum) {
      double sum = 0;
      for (const float value : out) sum += value;
      out = {static_cast<float>(sum)};
    }
    values[statement.name] = std::move(out);
  }
  return values;
}

}  // namespace generator
