// SPDX-License-Identifier: Apache-2.0
// Level 3: machine code that the vendor's compiler makes of a code object.
#include <algorithm>
#include <cstring>
#include <thread>

#include "kernels/kernels.hpp"

namespace weir::conformance {
namespace {

/// A copy of the code that a receiver got.
struct Compiled {
  int calls = 0;
  std::thread::id thread;
  std::string format, target, name;
  std::vector<std::uint8_t> bytes;

  weir_code_object code_object() const {
    return {
        sizeof(weir_code_object), format.c_str(), target.c_str(), bytes.data(), bytes.size(), name.c_str()};
  }
};

void receive(void* user, const weir_code_object* code) {
  auto& out = *static_cast<Compiled*>(user);
  ++out.calls;
  out.thread = std::this_thread::get_id();
  const auto text = [](const char* given) { return std::string(given ? given : ""); };
  out.format = text(code->format);
  out.target = text(code->target);
  out.name = text(code->name);
  const auto* bytes = static_cast<const std::uint8_t*>(code->data);
  out.bytes.assign(bytes, bytes + code->size);
}

Compiled compiled(const weir_code_object& object) {
  needs(WEIR_CAP_CODE_COMPILE);
  Compiled out;
  call_if_supported(table().code_compile, device(), &object, weir_code_receiver{receive},
                    static_cast<void*>(&out));
  return out;
}

Compiled compiled(std::string_view kernel) {
  return compiled(ready_kernel(kernel).code_object());
}

/// Loads the code and runs its kernel 'iota'.
void expect_runs_iota(const Compiled& code, std::int64_t base) {
  ReadyKernel ready = ready_kernel("iota");
  ready.format = code.format;
  ready.target = code.target;
  ready.bytes = code.bytes;
  const Memory out(8 * 100);
  const Stream stream;
  const Kernel kernel("iota", ready);
  kernel.launch(stream, arguments(out, std::int64_t{100}, base), 2);
  stream.synchronize();
  std::vector<std::int64_t> expected(100);
  for (std::int64_t i = 0; i < 100; ++i) expected[static_cast<std::size_t>(i)] = base + i;
  EXPECT_EQ(out.values<std::int64_t>(), expected);
}

WEIR_REQUIREMENT(3, 70, CompiledCode, RunsInPlaceOfItsObject,
                 "code_compile gives code that module_load loads, with the kernels and results of its code "
                 "object, also after another object was compiled.") {
  const Compiled other = compiled("scale_add"), code = compiled("iota"), again = compiled("iota");
  expect_runs_iota(code, 1000);
  expect_runs_iota(again, 7);
  const weir_code_object object = other.code_object();
  Module module;
  call(table().module_load, device(), &object, module.out());
  const auto parameters = parameters_of(kernel_text("scale_add"));
  const ReadyKernel& ready = ready_kernel("scale_add");
  const weir_kernel_layout layout{sizeof layout, ready.argument_bytes,
                                  static_cast<std::uint32_t>(parameters.size()), parameters.data()};
  weir_kernel kernel = nullptr;
  call(table().module_get_kernel, weir_module(module), ready.symbol.c_str(), &layout, &kernel);
  EXPECT_NE(kernel, nullptr);
}

WEIR_REQUIREMENT(3, 71, CompiledCode, IsGivenOnce,
                 "code_compile calls the receiver exactly once, on the calling thread, before it returns.") {
  const Compiled code = compiled("iota");
  EXPECT_EQ(code.calls, 1);
  EXPECT_EQ(code.thread, std::this_thread::get_id());
}

WEIR_REQUIREMENT(
    3, 72, CompiledCode, IsOfAListedFormat,
    "The code of code_compile has a format that the device lists, bytes, and the object's name.") {
  const Compiled code = compiled("iota");
  bool listed = false;
  for (std::uint32_t i = 0; i < info().code_target_count; ++i)
    listed |= code.format == info().code_targets[i].format;
  EXPECT_TRUE(listed) << "format '" << code.format << "'";
  EXPECT_FALSE(code.bytes.empty());
  EXPECT_EQ(code.name, ready_kernel("iota").symbol);
  EXPECT_NE(code.format, ready_kernel("iota").format) << "the code would have to be compiled again";
}

WEIR_REQUIREMENT(3, 73, CompiledCode, NeedsNoCompilation,
                 "code_compile of compiled code returns WEIR_ERROR_UNSUPPORTED and calls no receiver.") {
  const Compiled code = compiled("iota");
  const weir_code_object object = code.code_object();
  Compiled out;
  refusal(WEIR_ERROR_UNSUPPORTED, table().code_compile, device(), &object, weir_code_receiver{receive},
          static_cast<void*>(&out));
  EXPECT_EQ(out.calls, 0);
}

WEIR_REQUIREMENT(
    3, 74, CompiledCode, IsNotMadeOfGarbage,
    "code_compile of bytes that are no code object, or of a format that the device does not list, "
    "returns WEIR_ERROR_CODE_OBJECT and calls no receiver.") {
  compiled("iota");
  const Bytes garbage = pattern(4096);
  weir_code_object object = ready_kernel("iota").code_object();
  object.data = garbage.data();
  object.size = garbage.size();
  Compiled out;
  const auto refuse = [&] {
    const weir_code_object& refused = object;
    refusal(WEIR_ERROR_CODE_OBJECT, table().code_compile, device(), &refused, weir_code_receiver{receive},
            static_cast<void*>(&out));
    EXPECT_EQ(out.calls, 0);
  };
  refuse();
  object = ready_kernel("iota").code_object();
  object.format = "no-such-format";
  refuse();
}

WEIR_REQUIREMENT(3, 75, CompiledCode, NeedsAReceiver,
                 "code_compile without a receiver returns WEIR_ERROR_INVALID.") {
  compiled("iota");
  const weir_code_object object = ready_kernel("iota").code_object();
  refusal(WEIR_ERROR_INVALID, table().code_compile, device(), &object, weir_code_receiver{},
          static_cast<void*>(nullptr));
}

}  // namespace
}  // namespace weir::conformance
