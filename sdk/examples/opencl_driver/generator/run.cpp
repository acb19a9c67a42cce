// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include <algorithm>
#include <cstdlib>

namespace generator {
namespace {

using namespace weir;

bool takes_opencl_c(const Device& device) {
  return std::ranges::any_of(device.info().code_targets,
                             [](const CodeTarget& target) { return target.format == "opencl-c"; });
}

/// The memory of all variables. Each array skips its first element, so that it begins inside of an
/// allocation.
class Memory {
 public:
  Memory(const Stream& stream, const Program& program) {
    for (const Statement& statement : program.statements) {
      add(stream, statement.name, statement.is_sum ? 1 : program.size);
      if (statement.is_sum) add(stream, statement.name + ".parts", blocks);
    }
  }
  const ArrayView<float>& operator[](const std::string& name) const { return views_.at(name); }

 private:
  void add(const Stream& stream, const std::string& name, long size) {
    storage_.push_back(stream.device().array<float>(stream, size + 1));
    views_[name] = storage_.back().slice(1, size + 1);
  }
  std::vector<Array<float>> storage_;
  std::map<std::string, ArrayView<float>> views_;
};

}  // namespace

Device find_device() {
  if (std::getenv("WEIR_DEVICE")) {
    Device device = open();
    if (takes_opencl_c(device)) return device;
    throw Error(ErrorCode::unsupported, device.name() + " loads no code objects of format opencl-c");
  }
  for (const Device& device : devices())
    if (takes_opencl_c(device)) return device;
  throw Error(ErrorCode::no_device, "no device loads code objects of format opencl-c; `weir info` shows why");
}

std::map<std::string, std::vector<float>> run_on_device(const Device& device, const Program& program,
                                                        const Code& code, int launches) {
  const Module module = device.load_module(
      {.format = "opencl-c", .target = "", .data = std::as_bytes(std::span(code.text)), .name = "generated"});
  const Stream stream = device.create_stream();
  const Memory memory(stream, program);
  TaskList list(device);
  for (const Task& task : code.tasks) {
    std::vector<KernelParameter> parameters(task.arrays.size(), KernelParameter::array());
    parameters.push_back(KernelParameter::of<std::int64_t>());
    std::vector<KernelArgument> arguments;
    for (const std::string& name : task.arrays) arguments.emplace_back(memory[name]);
    arguments.emplace_back(std::int64_t{task.part ? blocks : program.size});
    const LaunchShape shape = task.part ? LaunchShape{1, 1} : LaunchShape{blocks, threads};
    const Statement& statement = *task.statement;
    list.add(module.kernel(task.kernel, parameters), shape, arguments, {statement.region, statement.block});
  }
  for (int launch = 0; launch < launches; ++launch) list.launch(stream);
  std::map<std::string, std::vector<float>> values;
  for (const Statement& statement : program.statements)
    values[statement.name] = memory[statement.name].to_host(stream);
  return values;
}

}  // namespace generator
