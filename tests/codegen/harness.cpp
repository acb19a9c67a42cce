// SPDX-License-Identifier: Apache-2.0
#include "harness.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>

#include "ir/parser.hpp"
#include "ir/rules.hpp"
#include "ir/verifier.hpp"

namespace weir::test {
namespace {

constexpr std::uint32_t partials_offset = 64;

void add_arguments(const ir::Kernel& kernel, ir::Task& task) {
  using Kind = ir::TaskArgument::Kind;
  const ir::ArgumentNeeds needs = ir::argument_needs(kernel, task);
  std::uint32_t offset = 0;
  const auto add = [&](Kind kind, std::size_t parameter, std::uint8_t index, ScalarType type,
                       std::uint32_t size) {
    offset = (offset + size - 1) / size * size;
    task.arguments.push_back({kind, std::uint16_t(parameter), index, type, offset, size});
    offset += size;
  };
  for (std::size_t p = 0; p < kernel.parameters.size(); ++p)
    if (needs.arrays[p]) add(Kind::array, p, 0, ScalarType::u64, 8);
  if (needs.scratch || task.kind == ir::TaskKind::reduce_partial || task.kind == ir::TaskKind::reduce_final)
    add(Kind::scratch, 0, 0, ScalarType::u64, 8);
  if (needs.error) add(Kind::error, 0, 0, ScalarType::u64, 8);
  for (std::size_t p = 0; p < kernel.parameters.size(); ++p) {
    for (std::uint8_t d : needs.extents[p]) add(Kind::extent, p, d, ScalarType::i64, 8);
    for (std::uint8_t component : needs.components[p]) {
      const ScalarType type = kernel.parameters[p].element.scalar;
      add(Kind::scalar, p, component, type, std::uint32_t(size_of(type)));
    }
  }
  if (needs.launch_key) add(Kind::launch_key, 0, 0, ScalarType::u64, 8);
  if (needs.print) add(Kind::print, 0, 0, ScalarType::u64, 8);
  if (needs.error || needs.print) add(Kind::site_base, 0, 0, ScalarType::u32, 4);
  if (needs.print) add(Kind::launch, 0, 0, ScalarType::u32, 4);
  task.argument_bytes = (offset + 15) / 16 * 16;
}

}  // namespace

std::vector<const ir::Task*> Program::pointers() const {
  std::vector<const ir::Task*> result;
  for (const ir::Task& task : tasks) result.push_back(&task);
  return result;
}

Program parse_program(std::string_view text) {
  Program program;
  program.kernel = ir::parse(text, "test");
  ir::verify_or_throw(program.kernel);
  ir::Task task;
  task.name = "task_0";
  task.body = program.kernel.body;
  task.value_count = program.kernel.value_count;
  task.local_count = program.kernel.local_count;
  task.kind = ir::TaskKind::serial;
  if (!task.body.statements.empty()) {
    const ir::Statement& last = task.body.statements.back();
    if (last.op == ir::Op::parallel) task.kind = ir::TaskKind::parallel;
    if (last.op == ir::Op::reduce) {
      task.kind = ir::TaskKind::reduce_partial;
      task.partials_offset = partials_offset;
      task.reduce_type = last.type;
      task.reduce_kind = static_cast<ir::ReduceKind>(last.index);
    }
  }
  add_arguments(program.kernel, task);
  program.tasks.push_back(task);
  if (task.kind == ir::TaskKind::reduce_partial) {
    ir::Task last;
    last.name = "task_1";
    last.kind = ir::TaskKind::reduce_final;
    last.partials_offset = task.partials_offset;
    last.reduce_type = task.reduce_type;
    last.reduce_kind = task.reduce_kind;
    add_arguments(program.kernel, last);
    program.tasks.push_back(last);
  }
  return program;
}

Code::Code(const std::string& text) : Code(parse_program(text)) {}

Code::Code(Program program, const codegen::Target& target)
    : program_(std::move(program)), scratch_(partials_offset + ir::reduce_bytes) {
  object_ = weir_codegen(weir_codegen_abi)->compile(program_.kernel, program_.pointers(), target);
  load();
}

void Code::load() {
  // dlopen treats a path that is already open as the same library, so this file's descriptor stays open while
  // it is loaded.
  file_ = ::memfd_create("kernel", MFD_CLOEXEC);
  if (file_ < 0 ||
      ::write(file_, object_.bytes.data(), object_.bytes.size()) != ssize_t(object_.bytes.size()))
    throw std::runtime_error("cannot write a memory file");
  library_ = ::dlopen(("/proc/self/fd/" + std::to_string(file_)).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library_) throw std::runtime_error(::dlerror());
  for (const auto& entry : object_.entries) {
    entries_.push_back(reinterpret_cast<weir_cpu_kernel>(::dlsym(library_, entry.symbol.c_str())));
    if (!entries_.back()) throw std::runtime_error(::dlerror());
  }
}

Code::~Code() {
  if (library_) ::dlclose(library_);
  if (file_ >= 0) ::close(file_);
}

Code& Code::array(const std::string& name, void* data, std::vector<std::int64_t> extents) {
  arrays_[name] = {data, std::move(extents)};
  return *this;
}

std::vector<std::byte> Code::pack(const ir::Task& task) const {
  std::vector<std::byte> bytes(task.argument_bytes);
  for (const ir::TaskArgument& a : task.arguments) {
    const auto put = [&](const void* data) { std::memcpy(bytes.data() + a.offset, data, a.size); };
    const std::string name =
        a.parameter < program_.kernel.parameters.size() ? program_.kernel.parameters[a.parameter].name : "";
    using Kind = ir::TaskArgument::Kind;
    const void* address = nullptr;
    switch (a.kind) {
      case Kind::array:
        put(&arrays_.at(name).first);
        break;
      case Kind::scratch:
        address = scratch_.data();
        put(&address);
        break;
      case Kind::error:
        address = &error;
        put(&address);
        break;
      case Kind::extent:
        put(&arrays_.at(name).second.at(a.index));
        break;
      case Kind::scalar:
        put(scalars_.at(name).data() + a.index * a.size);
        break;
      case Kind::launch_key:
        put(&launch_key_);
        break;
      case Kind::site_base:
        put(&site_base);
        break;
      case Kind::print:
        put(&print_buffer);
        break;
      case Kind::launch:
        put(&launch);
        break;
      case Kind::repetition:
        throw std::runtime_error("these tests run tasks once");
      case Kind::barrier:
        throw std::runtime_error("CPUs run no cooperative tasks");
    }
  }
  return bytes;
}

void Code::call(std::size_t task, const std::vector<std::byte>& arguments, std::uint32_t grid,
                std::uint64_t first, std::uint64_t end) const {
  alignas(16) std::byte block[1024];
  if (arguments.size() > sizeof block) throw std::runtime_error("too many arguments for the harness");
  std::memcpy(block, arguments.data(), arguments.size());
  const weir_cpu_run run{sizeof(weir_cpu_run), {grid, 1, 1}, {1, 1, 1}, 0, first, end, nullptr};
  entries_.at(task)(block, &run);
}

void Code::run(std::uint32_t grid, std::uint32_t blocks_per_run) {
  if (blocks_per_run == 0) blocks_per_run = grid;
  const std::vector<std::byte> arguments = pack(program_.tasks[0]);
  for (std::uint32_t first = 0; first < grid; first += blocks_per_run)
    call(0, arguments, grid, first, std::min(grid, first + blocks_per_run));
  for (std::size_t t = 1; t < program_.tasks.size(); ++t) call(t, pack(program_.tasks[t]), 1, 0, 1);
}

void Code::run_blocks(std::uint32_t grid, std::uint64_t first, std::uint64_t end) const {
  call(0, pack(program_.tasks[0]), grid, first, end);
}

std::string emit(const Program& program, const codegen::Target& target, std::string_view what) {
  return weir_codegen(weir_codegen_abi)->emit_text(program.kernel, program.pointers(), target, what);
}

std::string emit(const std::string& text, std::string_view what) {
  return emit(parse_program(text), host_target(), what);
}

}  // namespace weir::test
