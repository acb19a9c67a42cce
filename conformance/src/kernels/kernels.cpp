// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernels.hpp"

#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>
#include <weir/compile.hpp>
#include <weir/error.hpp>

namespace weir::conformance {
namespace {

constexpr std::uint32_t round_up(std::size_t value, std::size_t multiple) {
  return static_cast<std::uint32_t>((value + multiple - 1) / multiple * multiple);
}

std::uint32_t size_of(Field field) {
  switch (field) {
    case Field::array:
      return info().argument_style == WEIR_ARGUMENT_BUFFER ? sizeof(weir_buffer_argument) : 8;
    case Field::i64:
    case Field::f64:
      return 8;
    case Field::i32:
    case Field::f32:
      return 4;
    case Field::i16:
      return 2;
    case Field::i8:
      return 1;
  }
  return 8;
}

ReadyKernel compiled(const KernelText& kernel, const weir_code_target& target, const char* features) {
  const Program program = Program::parse(kernel.text, kernel.name + ".weir");
  const CompiledProgram object = compile(program, {target.format, target.target, features});
  ReadyKernel ready;
  ready.format = target.format;
  ready.target = target.target;
  if (object.tasks.size() != 1)
    throw std::logic_error("kernel " + kernel.name + " became more than one task");
  const CompiledProgram::Task& task = object.tasks.front();
  ready.symbol = task.symbol;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(object.bytes.data());
  ready.bytes.assign(bytes, bytes + object.bytes.size());
  std::ranges::copy(task.block_threads, ready.block);
  ready.shared_bytes = task.shared_bytes;
  ready.argument_bytes = task.argument_bytes;
  return ready;
}

/// The list of code objects in the folder that --kernels names. Throws if an entry is invalid.
nlohmann::json objects_in(const std::filesystem::path& folder) {
  const std::filesystem::path index = folder / "kernels.json";
  std::ifstream in(index);
  const auto parsed = nlohmann::json::parse(in, nullptr, false);
  if (!parsed.is_object() || !parsed.contains("objects") || !parsed["objects"].is_array())
    throw std::runtime_error(index.string() + " is missing, is not JSON, or has no list of objects");
  const std::vector<std::string> known = kernel_names();
  for (const auto& object : parsed["objects"]) {
    const auto has_text = [&](const char* key) { return object.contains(key) && object[key].is_string(); };
    const auto is_text = [](const nlohmann::json& value) { return value.is_string(); };
    if (!object.is_object() || !has_text("format") || !has_text("file") || !object.contains("kernels") ||
        !object["kernels"].is_array() || !std::ranges::all_of(object["kernels"], is_text))
      throw std::runtime_error(index.string() +
                               ": an object lacks its format, its file or its list of kernels");
    for (const std::string name : object["kernels"])
      if (std::ranges::find(known, name) == known.end())
        throw std::runtime_error(index.string() + " names kernel '" + name +
                                 "', which no requirement launches");
  }
  return parsed["objects"];
}

std::ifstream opened(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path.string() + ", which kernels.json names, cannot be read");
  return file;
}

/// Indices of code_targets.
struct Targets {
  std::uint32_t begin, end;
};

/// The kernel from that folder, in the first format of those targets that the folder has.
ReadyKernel from_folder(const KernelText& kernel, Targets targets, const std::filesystem::path& folder) {
  const nlohmann::json objects = objects_in(folder);
  for (std::uint32_t i = targets.begin; i < targets.end; ++i) {
    for (const auto& object : objects) {
      if (object["format"] != info().code_targets[i].format) continue;
      const auto listed = object["kernels"].get<std::vector<std::string>>();
      if (std::ranges::find(listed, kernel.name) == listed.end()) continue;
      ReadyKernel ready;
      ready.format = object["format"];
      ready.target = object.value("target", std::string(info().code_targets[i].target));
      ready.symbol = kernel.name;
      ready.block[0] = object.value("block", 1u);
      const std::filesystem::path path = folder / object["file"].get<std::string>();
      std::ifstream file = opened(path);
      ready.bytes.assign(std::istreambuf_iterator<char>(file), {});
      return ready;
    }
  }
  throw Unsupported("the folder of ready code objects has no kernel '" + kernel.name +
                    "' in a format of the device");
}

ReadyKernel prepared(const KernelText& kernel, Targets targets) {
  for (std::uint32_t i = targets.begin; i < targets.end; ++i) {
    const weir_code_target& target = info().code_targets[i];
    const std::string_view object = prepared_object(target.format, kernel.name);
    if (object.empty()) continue;
    ReadyKernel ready;
    ready.format = target.format;
    ready.target = target.target;
    ready.symbol = kernel.name;
    ready.bytes.assign(object.begin(), object.end());
    return ready;
  }
  throw Unsupported("the suite has kernel '" + kernel.name +
                    "' in no format of this device (--kernels names a folder of ready ones)");
}

ReadyKernel make_ready(const KernelText& kernel, Targets targets) {
  if (!judged().kernels.empty()) return from_folder(kernel, targets, judged().kernels);
  if (kernel.text.empty()) return prepared(kernel, targets);
  std::string why;
  for (std::uint32_t i = targets.begin; i < targets.end; ++i) {
    const weir_code_target& target = info().code_targets[i];
    try {
      return compiled(kernel, target, i == 0 ? info().target_features : "");
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      why += std::string("; ") + target.format + ": " + error.what();
    }
  }
  throw Unsupported("no kernel can be made for this device (--kernels names a folder of ready ones)" + why);
}

}  // namespace

void check_kernels(const std::filesystem::path& folder) {
  const nlohmann::json objects = objects_in(folder);
  if (objects.empty())
    throw std::runtime_error((folder / "kernels.json").string() + " lists no objects, and so no kernels");
  for (const auto& object : objects) opened(folder / object["file"].get<std::string>());
}

const ReadyKernel& ready_kernel(std::string_view name, std::optional<std::uint32_t> target) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, std::optional<std::uint32_t>>, ReadyKernel> made;
  std::lock_guard lock(mutex);
  const std::pair key(std::string(name), target);
  if (const auto found = made.find(key); found != made.end()) return found->second;
  const KernelText& text = kernel_text(name);
  ReadyKernel ready =
      make_ready(text, target ? Targets{*target, *target + 1} : Targets{0, info().code_target_count});
  std::uint32_t packed = 0;
  for (const weir_parameter& parameter : parameters_of(text)) packed = parameter.offset + parameter.size;
  ready.argument_bytes = std::max(ready.argument_bytes, round_up(packed, 16));
  return made.emplace(key, std::move(ready)).first->second;
}

std::vector<weir_parameter> parameters_of(const KernelText& kernel) {
  std::vector<weir_parameter> parameters;
  std::uint32_t end = 0;
  for (const Field field : kernel.fields) {
    const std::uint32_t size = size_of(field);
    const std::uint32_t offset = round_up(end, std::min(size, 8u));
    const auto kind = field == Field::array ? WEIR_PARAMETER_BUFFER : WEIR_PARAMETER_VALUE;
    parameters.push_back({offset, size, static_cast<std::uint32_t>(kind)});
    end = offset + size;
  }
  return parameters;
}

Arguments& Arguments::add(const Memory& memory, std::uint64_t offset) {
  if (info().argument_style == WEIR_ARGUMENT_BUFFER) {
    const weir_buffer_argument buffer{memory, offset};
    put(&buffer, sizeof buffer, 8);
  } else {
    const std::uint64_t address = memory.info().device_address + offset;
    put(&address, sizeof address, 8);
  }
  return *this;
}

Arguments& Arguments::add_null_array() {
  const weir_buffer_argument null{};
  put(&null, size_of(Field::array), 8);
  return *this;
}

void Arguments::put(const void* value, std::size_t size, std::size_t alignment) {
  bytes_.resize(round_up(bytes_.size(), alignment));
  const auto* bytes = static_cast<const std::uint8_t*>(value);
  bytes_.insert(bytes_.end(), bytes, bytes + size);
}

Kernel::Kernel(std::string_view name, weir_device on, std::optional<std::uint32_t> target)
    : Kernel(name, ready_kernel(name, target), on) {}

Kernel::Kernel(std::string_view name, const ReadyKernel& ready, weir_device on)
    : ready_(&ready), parameters_(parameters_of(kernel_text(name))) {
  const weir_code_object object = ready_->code_object();
  call(table().module_load, on, &object, module_.out());
  layout_ = {sizeof layout_, ready_->argument_bytes, static_cast<std::uint32_t>(parameters_.size()),
             parameters_.data()};
  call(table().module_get_kernel, weir_module(module_), ready_->symbol.c_str(),
       static_cast<const weir_kernel_layout*>(&layout_), &kernel_);
}

weir_launch Kernel::launch_of(const Arguments& values, std::uint32_t blocks) const {
  weir_launch launch{};
  launch.struct_size = sizeof launch;
  launch.grid[0] = blocks;
  launch.grid[1] = launch.grid[2] = 1;
  std::ranges::copy(ready_->block, launch.block);
  launch.dynamic_shared_bytes = ready_->shared_bytes;
  launch.argument_bytes = ready_->argument_bytes;
  launch.kernel = kernel_;
  launch.arguments = values.bytes().data();
  return launch;
}

weir_launch Kernel::launch_of(const Arguments& values, const std::uint32_t (&grid)[3],
                              const std::uint32_t (&block)[3], std::uint32_t dynamic_shared_bytes) const {
  weir_launch launch = launch_of(values);
  std::ranges::copy(grid, launch.grid);
  std::ranges::copy(block, launch.block);
  launch.dynamic_shared_bytes = dynamic_shared_bytes;
  return launch;
}

void Kernel::launch(const Stream& stream, Arguments values, std::uint32_t blocks) const {
  values.pad_to(ready_->argument_bytes);
  const weir_launch launch = launch_of(values, blocks);
  call(table().kernel_launch, weir_stream(stream), &launch);
}

}  // namespace weir::conformance
