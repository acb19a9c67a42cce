// SPDX-License-Identifier: Apache-2.0
#include "generate.hpp"

#include <sstream>

namespace generator {
namespace {

/// The head of a kernel. Each array has its offset in bytes, so it may begin anywhere.
std::string head(const std::string& name, std::size_t arrays) {
  std::string out = "kernel void " + name + "(";
  for (std::size_t a = 0; a < arrays; ++a) {
    const std::string number = std::to_string(a);
    out += "global float *memory" + number + ", ulong begin" + number + ", ";
  }
  out += "long n) {\n";
  for (std::size_t a = 0; a < arrays; ++a) {
    const std::string number = std::to_string(a);
    out += "  global float *p" + number + " = (global float *)((global char *)memory" + number + " + begin" +
           number + ");\n";
  }
  return out;
}

/// The statement's expression for index i. Array 0 is the result.
std::string value_of(const Program& program, const Statement& statement,
                     const std::vector<std::string>& arrays) {
  return to_opencl_c(*statement.value, [&](const std::string& name) {
    const auto at = std::find(arrays.begin() + 1, arrays.end(), name) - arrays.begin();
    return "p" + std::to_string(at) + (program.is_number(name) ? "[0]" : "[i]");
  });
}

constexpr const char* loop = "for (long i = get_global_id(0); i < n; i += get_global_size(0)) ";

}  // namespace

Code generate(const Program& program) {
  Code code;
  std::ostringstream text;
  text << "#pragma OPENCL FP_CONTRACT OFF\n";
  for (const Statement& statement : program.statements) {
    Task task{statement.name + "_task", &statement, {}};
    task.arrays = {statement.is_sum ? statement.name + ".parts" : statement.name};
    std::set<std::string> read;
    add_variables(*statement.value, read);
    task.arrays.insert(task.arrays.end(), read.begin(), read.end());
    const std::string value = value_of(program, statement, task.arrays);
    text << "\n// " << statement.name << "\n" << head(task.kernel, task.arrays.size());
    if (!statement.is_sum) {
      text << "  " << loop << "p0[i] = " << value << ";\n}\n";
      code.tasks.push_back(task);
      continue;
    }
    // Each thread sums some elements, each block sums its threads, and one thread of a second kernel sums the
    // blocks.
    text << "  local float part[" << threads << "];\n  float sum = 0;\n  " << loop << "sum += " << value
         << ";\n  const uint t = get_local_id(0);\n  part[t] = sum;\n"
         << "  for (uint step = " << threads / 2 << "; step > 0; step /= 2) {\n"
         << "    barrier(CLK_LOCAL_MEM_FENCE);\n    if (t < step) part[t] += part[t + step];\n  }\n"
         << "  if (t == 0) p0[get_group_id(0)] = part[0];\n}\n";
    code.tasks.push_back(task);
    Task end{statement.name + "_end", &statement, {statement.name, statement.name + ".parts"}, 1};
    text << head(end.kernel, end.arrays.size()) << "  if (get_global_id(0) != 0) return;\n  float sum = 0;\n"
         << "  for (long b = 0; b < n; ++b) sum += p1[b];\n  p0[0] = sum;\n}\n";
    code.tasks.push_back(end);
  }
  code.text = text.str();
  return code;
}

}  // namespace generator
