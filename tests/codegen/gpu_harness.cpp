// SPDX-License-Identifier: Apache-2.0
#include "gpu_harness.hpp"

#include <hipsim.h>

#include <memory>
#include <stdexcept>

#include "hip.hpp"

namespace weir::test {
namespace {

using hipsim::test::DeviceArray;
using hipsim::test::LoadedModule;
using Kind = ir::TaskArgument::Kind;

constexpr std::size_t scratch_bytes = 64 + ir::reduce_bytes;

/// Memory of one run on the device.
struct DeviceMemory {
  std::map<std::string, std::unique_ptr<DeviceArray<std::byte>>> arrays;
  DeviceArray<std::byte> scratch{std::vector<std::byte>(scratch_bytes)};
  DeviceArray<std::byte> record{std::vector<std::byte>(sizeof(ir::ErrorRecord))};

  explicit DeviceMemory(const GpuArguments& arguments) {
    for (const auto& [name, array] : arguments.arrays) {
      std::vector<std::byte> bytes = array.bytes;
      bytes.resize(std::max<std::size_t>(bytes.size(), 16));
      arrays[name] = std::make_unique<DeviceArray<std::byte>>(bytes);
    }
  }
};

std::vector<std::byte> pack(const Program& program, const ir::Task& task, const GpuArguments& arguments,
                            const DeviceMemory& memory) {
  std::vector<std::byte> block(task.argument_bytes);
  for (const ir::TaskArgument& a : task.arguments) {
    const auto put = [&](const void* data) { std::memcpy(block.data() + a.offset, data, a.size); };
    const std::string name =
        a.parameter < program.kernel.parameters.size() ? program.kernel.parameters[a.parameter].name : "";
    const void* address = nullptr;
    const std::uint64_t key = 0x123456789abcdefu;
    const std::uint32_t base = 0;
    switch (a.kind) {
      case Kind::array:
        address = memory.arrays.at(name)->pointer();
        put(&address);
        break;
      case Kind::scratch:
        address = memory.scratch.pointer();
        put(&address);
        break;
      case Kind::error:
        address = memory.record.pointer();
        put(&address);
        break;
      case Kind::extent:
        put(&arguments.arrays.at(name).extents.at(a.index));
        break;
      case Kind::scalar:
        put(arguments.scalars.at(name).data() + a.index * a.size);
        break;
      case Kind::launch_key:
        put(&key);
        break;
      case Kind::site_base:
        put(&base);
        break;
      case Kind::print:
      case Kind::launch:
      case Kind::repetition:
      case Kind::barrier:
        throw std::runtime_error("these tests run no prints, no cooperative tasks, and tasks once");
    }
  }
  return block;
}

void launch(const LoadedModule& module, const codegen::CodeObject::Entry& entry, std::uint32_t grid,
            std::vector<std::byte> block) {
  std::size_t size = block.size();
  void* extra[] = {reinterpret_cast<void*>(1), block.data(), reinterpret_cast<void*>(2), &size,
                   reinterpret_cast<void*>(3)};
  HIP(hipModuleLaunchKernel(module.kernel(entry.symbol).handle(), grid, 1, 1, entry.block[0], 1, 1, 0,
                            nullptr, nullptr, extra));
  HIP(hipDeviceSynchronize());
}

HostResults run_on_host(const std::string& text, const GpuArguments& arguments) {
  Code code(text);
  HostResults expected;
  for (const auto& [name, array] : arguments.arrays) {
    auto& bytes = expected.arrays[name] = array.bytes;
    code.array(name, bytes.data(), array.extents);
  }
  for (const auto& [name, bytes] : arguments.scalars) {
    std::array<std::byte, 64> padded{};
    std::memcpy(padded.data(), bytes.data(), bytes.size());
    code.scalar(name, padded);
  }
  code.launch_key(0x123456789abcdefu);
  code.run(1);
  if (code.program().tasks.size() > 1) expected.result = code.result<std::uint64_t>();
  expected.record = code.error;
  return expected;
}

std::string compare(const Program& program, const DeviceMemory& memory, const HostResults& expected) {
  for (const auto& [name, wanted] : expected.arrays) {
    const std::vector<std::byte> found = memory.arrays.at(name)->read();
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (found[i] != wanted[i]) return "byte " + std::to_string(i) + " of @" + name;
  }
  ir::ErrorRecord record;
  const std::vector<std::byte> bytes = memory.record.read();
  std::memcpy(&record, bytes.data(), sizeof record);
  if (record.state != expected.record.state) return "the state of the error record";
  if (program.tasks.size() > 1) {
    const std::vector<std::byte> all = memory.scratch.read();
    const ir::Task& last = program.tasks.back();
    if (std::memcmp(all.data() + last.result_offset, &expected.result, size_of(last.reduce_type)) != 0)
      return "the result of the reduction";
  }
  return "";
}

}  // namespace

const HostResults& on_host(const std::string& text, const GpuArguments& arguments) {
  // The same code computes the same for every architecture and assumption.
  static std::map<std::pair<std::string, GpuArguments>, HostResults> known;
  const auto found = known.find({text, arguments});
  if (found != known.end()) return found->second;
  return known.emplace(std::pair{text, arguments}, run_on_host(text, arguments)).first->second;
}

std::string difference(const std::string& text, const GpuArguments& arguments,
                       const std::string& architecture, const codegen::LaunchAssumptions& assumptions,
                       const std::vector<std::uint32_t>& grids) {
  const Program program = parse_program(text);
  const codegen::CodeObject object =
      weir_codegen(weir_codegen_abi)
          ->compile(program.kernel, program.pointers(), {"hsaco", architecture, "", 0, 1024, assumptions});
  const HostResults& expected = on_host(text, arguments);
  hipsim::test::use_device_of(architecture);
  std::vector<std::uint8_t> image(object.bytes.size());
  std::memcpy(image.data(), object.bytes.data(), image.size());
  const LoadedModule module(image);
  for (const std::uint32_t grid : grids) {
    hipsimClear();
    const DeviceMemory memory(arguments);
    for (std::size_t t = 0; t < program.tasks.size(); ++t) {
      const bool alone = program.tasks[t].kind == ir::TaskKind::reduce_final;
      launch(module, object.entries[t], alone ? 1 : grid, pack(program, program.tasks[t], arguments, memory));
    }
    if (hipsimReportCount() > 0) {
      char words[512];
      hipsimReport(0, words, sizeof words);
      return words;
    }
    const std::string found = compare(program, memory, expected);
    if (!found.empty()) return found + " with " + std::to_string(grid) + " blocks";
  }
  return "";
}

}  // namespace weir::test
