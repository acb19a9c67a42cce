// SPDX-License-Identifier: Apache-2.0
#include "kernels/twins.hpp"

#include <algorithm>
#include <weir/compile.hpp>
#include <weir/error.hpp>

namespace weir::conformance {
namespace {

// As in conformance/kernels/host.c.
constexpr std::size_t shared_letters[] = {15, 16, 31, 32, 63, 64, 127, 128, 255, 256, 511, 1023, 4096, 4999};
// PTX guarantees names of 1,024 letters.
constexpr std::size_t max_shared_letters_of_ptx = 1023;

std::string twin_name(std::size_t shared, bool second) {
  return std::string(shared, 'n') + (second ? 'b' : 'a');
}
std::int64_t twin_value(std::size_t shared, bool second) {
  return static_cast<std::int64_t>(2 * shared + second);
}

/// All pairs, for NVIDIA GPUs.
std::string ptx_text() {
  std::string text = ".version 6.4\n.target sm_70\n.address_size 64\n";
  for (const std::size_t shared : shared_letters)
    for (const bool second : {false, true})
      if (shared <= max_shared_letters_of_ptx)
        text += ".visible .entry " + twin_name(shared, second) +
                "(.param .align 16 .b8 arguments[16])\n"
                "{\n"
                "  .reg .b64 %out, %value;\n"
                "  ld.param.u64 %out, [arguments];\n"
                "  mov.u64 %value, " +
                std::to_string(twin_value(shared, second)) +
                ";\n"
                "  st.global.u64 [%out], %value;\n"
                "  ret;\n"
                "}\n";
  return text;
}

/// The suite's own code object with all pairs; empty for other formats.
std::vector<std::uint8_t> prepared_code(std::string_view format) {
  if (format == "ptx") {
    const std::string text = ptx_text();
    return std::vector<std::uint8_t>(text.c_str(), text.c_str() + text.size() + 1);
  }
  if (format != "elf-x86_64") return {};
  const std::string_view object = prepared_object(format, "echo");
  return std::vector<std::uint8_t>(object.begin(), object.end());
}

std::vector<Twins> prepared_twins() {
  for (std::uint32_t i = 0; i < info().code_target_count; ++i) {
    ReadyKernel code;
    code.format = info().code_targets[i].format;
    code.target = info().code_targets[i].target;
    code.bytes = prepared_code(code.format);
    code.argument_bytes = 16;
    if (code.bytes.empty()) continue;
    std::vector<Twins> made;
    for (const std::size_t shared : shared_letters) {
      if (code.format == "ptx" && shared > max_shared_letters_of_ptx) break;
      Twins pair{shared, {code, 0, twin_value(shared, false)}, {code, 0, twin_value(shared, true)}};
      pair.first.code.symbol = twin_name(shared, false);
      pair.second.code.symbol = twin_name(shared, true);
      made.push_back(std::move(pair));
    }
    return made;
  }
  return {};
}

/// A program of two loops that are not merged, because their ranges differ: each becomes a kernel whose name
/// is the program's, the loop's number, and an ending.
Twins compiled_pair(std::size_t letters, const weir_code_target& target, const char* features) {
  const Program program = Program::parse("weir-ir 1\nkernel \"" + std::string(letters, 'n') + R"("
  param @out : array<i64, 1>
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %two = const 2 : i64
  %first = const 1000 : i64
  %second = const 2000 : i64
  parallel (%i) in (%zero to %one) {
    store @out[%i], %first
  }
  parallel (%j) in (%one to %two) {
    store @out[%j], %second
  }
}
)");
  const CompiledProgram object = compile(program, {target.format, target.target, features});
  if (object.tasks.size() != 2) throw std::logic_error("the twins became one task");
  const auto twin_of = [&](std::size_t task) {
    Twin twin{{}, task, static_cast<std::int64_t>(1000 * (task + 1))};
    twin.code.format = target.format;
    twin.code.target = target.target;
    twin.code.symbol = object.tasks[task].symbol;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(object.bytes.data());
    twin.code.bytes.assign(bytes, bytes + object.bytes.size());
    std::ranges::copy(object.tasks[task].block_threads, twin.code.block);
    twin.code.shared_bytes = object.tasks[task].shared_bytes;
    twin.code.argument_bytes = std::max(object.tasks[task].argument_bytes, 16u);
    return twin;
  };
  Twins pair{0, twin_of(0), twin_of(1)};
  const std::string &first = pair.first.code.symbol, &second = pair.second.code.symbol;
  pair.shared = static_cast<std::size_t>(std::ranges::mismatch(first, second).in1 - first.begin());
  return pair;
}

std::vector<Twins> compiled_twins() {
  std::string why;
  for (std::uint32_t i = 0; i < info().code_target_count; ++i) {
    try {
      std::vector<Twins> made;
      for (const std::size_t letters : {15u, 31u, 48u})
        made.push_back(compiled_pair(letters, info().code_targets[i], i == 0 ? info().target_features : ""));
      return made;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      why += std::string("; ") + info().code_targets[i].format + ": " + error.what();
    }
  }
  throw Unsupported("no module with two kernels of long names can be made for this device" + why);
}

}  // namespace

std::vector<Twins> twins() {
  if (!judged().kernels.empty())
    throw Unsupported("the names of the kernels in the folder of --kernels are short");
  std::vector<Twins> made = prepared_twins();
  return made.empty() ? compiled_twins() : made;
}

}  // namespace weir::conformance
