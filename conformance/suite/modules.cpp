// SPDX-License-Identifier: Apache-2.0
// Level 3: code objects, modules, kernels.
#include <barrier>
#include <cstring>
#include <thread>

#include "kernels/gate.hpp"
#include "kernels/kernels.hpp"
#include "kernels/twins.hpp"
#include "process/interruptions.hpp"

namespace weir::conformance {
namespace {

WEIR_REQUIREMENT(3, 01, Modules, LoadAndRun,
                 "A code object in a format that the device lists is loaded, and a kernel of it runs.") {
  expect_runs(Kernel("iota"), 1000);
}

WEIR_REQUIREMENT(
    3, 02, Modules, ConsumeTheCodeObject,
    "The code object's bytes are consumed before module_load returns: they may be overwritten at once.") {
  const ReadyKernel& ready = ready_kernel("iota");
  std::vector<std::uint8_t> bytes = ready.bytes;
  std::string format = ready.format, target = ready.target, name = "code";
  weir_code_object object = ready.code_object();
  object.data = bytes.data();
  object.format = format.c_str();
  object.target = target.c_str();
  object.name = name.c_str();
  Module module;
  call(table().module_load, device(), static_cast<const weir_code_object*>(&object), module.out());
  std::ranges::fill(bytes, std::uint8_t{0xcc});
  format = target = name = "????";
  const auto parameters = parameters_of(kernel_text("iota"));
  const weir_kernel_layout layout{sizeof layout, ready.argument_bytes, 3, parameters.data()};
  weir_kernel kernel = nullptr;
  call(table().module_get_kernel, weir_module(module), ready.symbol.c_str(), &layout, &kernel);
  EXPECT_NE(kernel, nullptr);
}

WEIR_REQUIREMENT(3, 76, Modules, EachListedTargetRuns,
                 "Code for each target that the device lists is loaded, and a kernel of it runs.") {
  std::uint32_t ran = 0;
  for (std::uint32_t i = 0; i < info().code_target_count; ++i) {
    const weir_code_target& target = info().code_targets[i];
    SCOPED_TRACE(std::string("code_targets[") + std::to_string(i) + "] is " + target.format + " for '" +
                 target.target + "'");
    try {
      (void)ready_kernel("iota", i);
    } catch (const Unsupported&) {  // Weir generates no code for it
      continue;
    }
    expect_runs(Kernel("iota", device(), i), i);
    ++ran;
  }
  if (ran == 0) throw Unsupported("the suite has code for none of the device's targets");
}

WEIR_REQUIREMENT(3, 03, Modules, NameIsOptional, "A code object without a name is loaded.") {
  weir_code_object object = ready_kernel("iota").code_object();
  object.name = nullptr;
  Module module;
  call(table().module_load, device(), static_cast<const weir_code_object*>(&object), module.out());
}

WEIR_REQUIREMENT(3, 04, Modules, UnknownFormatIsRefused,
                 "A code object of a format that the device does not list returns WEIR_ERROR_CODE_OBJECT; "
                 "the message names that format and one that it loads.") {
  const Bytes bytes = pattern(256);
  const weir_code_object object{sizeof object, "no-such-format", "nothing",
                                bytes.data(),  bytes.size(),     "odd"};
  weir_module out = nullptr;
  const std::string message = refusal(WEIR_ERROR_CODE_OBJECT, table().module_load, device(), &object, &out);
  EXPECT_NE(message.find(info().code_targets[0].format), std::string::npos) << message;
}

WEIR_REQUIREMENT(
    3, 05, Modules, GarbageIsRefused,
    "Bytes that are no code object return WEIR_ERROR_CODE_OBJECT, and the device stays usable.") {
  const weir_code_target& target = info().code_targets[0];
  for (const std::size_t size : {1u, 4u, 100u, 5000u}) {
    const Bytes bytes = pattern(size, static_cast<std::uint32_t>(size));
    const weir_code_object object{sizeof object, target.format, target.target,
                                  bytes.data(),  bytes.size(),  "garbage"};
    weir_module out = nullptr;
    refusal(WEIR_ERROR_CODE_OBJECT, table().module_load, device(), &object, &out);
  }
  expect_runs(Kernel("iota"), 5);
}

WEIR_REQUIREMENT(
    3, 06, Modules, CutShortIsRefused,
    "A code object that is cut short in its middle returns WEIR_ERROR_CODE_OBJECT, also when the "
    "bytes that are missing follow it in memory.") {
  const ReadyKernel& ready = ready_kernel("iota");
  for (const std::size_t parts : {2u, 3u}) {
    const std::size_t size = ready.bytes.size() / parts;
    const std::vector<std::uint8_t> cut(ready.bytes.begin(),
                                        ready.bytes.begin() + static_cast<std::ptrdiff_t>(size));
    // A driver that passes only the address to a vendor's loader finds the missing bytes in the second.
    for (const std::uint8_t* data : {cut.data(), ready.bytes.data()}) {
      weir_code_object object = ready.code_object();
      object.data = data;
      object.size = size;
      weir_module out = nullptr;
      refusal(WEIR_ERROR_CODE_OBJECT, table().module_load, device(),
              static_cast<const weir_code_object*>(&object), &out);
    }
  }
}

WEIR_REQUIREMENT(
    3, 88, Modules, UnresolvedSymbolsAreRefused,
    "A code object that needs a symbol which nothing defines returns WEIR_ERROR_CODE_OBJECT and leaves the "
    "output alone, and the device stays usable.") {
  bool refused = false;
  for (std::uint32_t i = 0; i < info().code_target_count; ++i) {
    const weir_code_target& target = info().code_targets[i];
    const std::string_view code = unresolved_object(target.format);
    if (code.empty()) continue;
    const weir_code_object object{sizeof object, target.format, target.target,
                                  code.data(),   code.size(),   "unresolved"};
    // Some loaders look the symbol up when it is used.
    Module module;
    if (result_of(table().module_load, device(), &object, module.out()) == WEIR_OK) continue;
    // Twice, because a refusal may leave something behind.
    for (int round = 0; round < 2; ++round) {
      weir_module out = nullptr;
      refusal(WEIR_ERROR_CODE_OBJECT, table().module_load, device(), &object, &out);
      if (HasFailure()) {
        ADD_FAILURE() << "the code object is a whole one of format '" << target.format
                      << "'; only the vendor's loader finds that its symbol weir_conformance_defined_nowhere "
                         "is missing. Look first at what module_load does after the loader has failed";
        return;
      }
    }
    refused = true;
  }
  if (!refused) throw Unsupported("the device loads no such code object of the suite, or completes it later");
  expect_runs(Kernel("iota"), 6);
}

WEIR_REQUIREMENT(
    3, 07, Modules, MissingKernelIsNotFound,
    "A kernel that the module lacks returns WEIR_ERROR_NOT_FOUND, and the message names it, also "
    "a name of 100 letters.") {
  const Kernel iota("iota");
  weir_kernel out = nullptr;
  for (const std::size_t letters : {10u, 14u, 40u, 100u}) {
    std::string name = "no_such_kernel";
    name.resize(letters, 'x');
    const std::string message = refusal(WEIR_ERROR_NOT_FOUND, table().module_get_kernel, iota.module(),
                                        name.c_str(), &iota.layout(), &out);
    EXPECT_NE(message.find(name), std::string::npos)
        << "driver.h: WEIR_ERROR_NOT_FOUND names the kernel. '" << name << "' is missing in: " << message;
  }
}

WEIR_REQUIREMENT(3, 08, Modules, LookingUpTwiceGivesTheSameKernel,
                 "Looking one kernel up twice with one layout gives the same kernel, also with as many "
                 "parameters as fit.") {
  const Kernel iota("iota");
  const auto look_up = [&](const weir_kernel_layout& layout, weir_kernel& out) {
    return result_of(table().module_get_kernel, iota.module(), iota.ready().symbol.c_str(), &layout, &out);
  };
  weir_kernel again = nullptr;
  call(table().module_get_kernel, iota.module(), iota.ready().symbol.c_str(), &iota.layout(), &again);
  EXPECT_EQ(again, iota.handle());
  for (std::uint32_t count = 32; count <= info().max_argument_bytes / 8; count *= 2) {
    std::vector<weir_parameter> parameters;
    for (std::uint32_t i = 0; i < count; ++i) parameters.push_back({8 * i, 8, WEIR_PARAMETER_VALUE});
    const weir_kernel_layout layout{sizeof layout, 8 * count, count, parameters.data()};
    weir_kernel first = nullptr, second = nullptr;
    // Some drivers accept the block of the kernel's own size only.
    if (look_up(layout, first) != WEIR_OK) break;
    ASSERT_EQ(look_up(layout, second), WEIR_OK) << "with " << count << " parameters, as the first time";
    EXPECT_EQ(first, second) << "the first and the second look-up of one kernel with " << count
                             << " parameters. Look first at how many parameters of the layout are kept";
  }
}

WEIR_REQUIREMENT(3, 09, Modules, LayoutIsCopied,
                 "The layout is copied by module_get_kernel: it may be overwritten at once.") {
  const ReadyKernel& ready = ready_kernel("iota");
  const weir_code_object object = ready.code_object();
  Module module;
  call(table().module_load, device(), &object, module.out());
  weir_kernel kernel = nullptr;
  {
    auto parameters = parameters_of(kernel_text("iota"));
    weir_kernel_layout layout{sizeof layout, ready.argument_bytes, 3, parameters.data()};
    call(table().module_get_kernel, weir_module(module), ready.symbol.c_str(),
         static_cast<const weir_kernel_layout*>(&layout), &kernel);
    for (weir_parameter& parameter : parameters) parameter = {~0u, ~0u, ~0u};
    layout = {};
  }
  const Memory out(8 * 100);
  Arguments values = arguments(out, std::int64_t{100}, std::int64_t{7});
  values.pad_to(ready.argument_bytes);
  weir_launch launch{sizeof launch,
                     {2, 1, 1},
                     {ready.block[0], ready.block[1], ready.block[2]},
                     ready.shared_bytes,
                     ready.argument_bytes,
                     kernel,
                     values.bytes().data(),
                     0,
                     0};
  const Stream stream;
  call(table().kernel_launch, weir_stream(stream), static_cast<const weir_launch*>(&launch));
  stream.synchronize();
  EXPECT_EQ(out.values<std::int64_t>(), iota_values(100, 7));
}

WEIR_REQUIREMENT(
    3, 10, Modules, TwoOfOneCodeObjectAreApart,
    "One code object is loaded twice; when one module is unloaded the other goes on. 100 modules "
    "are loaded at once.") {
  Kernel first("iota");
  const Kernel second("iota");
  EXPECT_NE(first.module(), second.module());
  expect_runs(first, 1);
  first.unload();
  expect_runs(second, 2);
  std::vector<Kernel> many;
  many.reserve(100);
  while (many.size() < 100) many.emplace_back("iota");
  for (const std::size_t i : {0u, 50u, 63u, 64u, 65u, 99u})
    expect_runs(many[i], static_cast<std::int64_t>(i));
}

WEIR_REQUIREMENT(3, 11, Modules, AreLoadedAndUnloadedOften,
                 "A module is loaded, run and unloaded 100 times.") {
  for (std::int64_t i = 0; i < 100; ++i) expect_runs(Kernel("iota"), i);
}

WEIR_REQUIREMENT(3, 20, Modules, NamesAreComparedWhole,
                 "Kernels of one module with names that begin with the same letters are distinct.") {
  const Kernel shape("shape");
  const Memory out = Memory::of(std::vector<std::int64_t>{0, 0});
  const Stream stream;
  weir_kernel shared = nullptr;
  weir_kernel_layout layout = shape.layout();
  const weir_result result = result_of(table().module_get_kernel, shape.module(), "shared",
                                       static_cast<const weir_kernel_layout*>(&layout), &shared);
  if (result == WEIR_ERROR_NOT_FOUND) throw Unsupported("the code object of 'shape' has no kernel 'shared'");
  ASSERT_EQ(result, WEIR_OK);
  EXPECT_NE(shared, shape.handle())
      << "'shape' and 'shared' of one module, with equal layouts, are one kernel. Look "
         "first at how module_get_kernel compares names";
}

WEIR_REQUIREMENT(
    3, 29, Modules, LongNamesAreComparedWhole,
    "Kernels of one module whose names share up to 4,999 letters are distinct, and each runs its own "
    "code; a name that is cut or continued there returns WEIR_ERROR_NOT_FOUND.") {
  const Stream stream;
  for (const Twins& pair : twins()) {
    const std::string both = "of two kernels of one module, whose names share their first " +
                             std::to_string(pair.shared) + " letters, ";
    constexpr const char* advice =
        ". driver.h: names are compared whole, whatever their length. Look first at how module_get_kernel "
        "compares names with those of "
        "earlier calls, and at what it passes to the vendor's look-up";
    const weir_code_object object = pair.first.code.code_object();
    Module module;
    call(table().module_load, device(), &object, module.out());
    const Memory out = Memory::of(std::vector<std::int64_t>(2, -1));
    const weir_parameter array = parameters_of(kernel_text("tally")).front();
    const weir_kernel_layout layout{sizeof layout, pair.first.code.argument_bytes, 1, &array};
    weir_status last_status{};
    const auto look_up = [&](const std::string& name, weir_kernel& kernel) {
      last_status = new_status();
      return table().module_get_kernel(module, name.c_str(), &layout, &kernel, &last_status);
    };
    weir_kernel kernels[2] = {};
    const Twin* const twin[2] = {&pair.first, &pair.second};
    // Both are looked up before one is launched.
    for (int i = 0; i < 2; ++i)
      ASSERT_EQ(result_name(look_up(twin[i]->code.symbol, kernels[i])), "WEIR_OK")
          << both << "number " << i << " was looked up, and the driver said: " << last_status.message
          << advice;
    ASSERT_NE(kernels[0], kernels[1]) << both << "one was looked up after the other" << advice;
    for (int i = 0; i < 2; ++i) {
      fill<std::int64_t>(stream, out, 0, 16, -1);
      Arguments values = arguments(out);
      values.pad_to(twin[i]->code.argument_bytes);
      weir_launch launch{};
      launch.struct_size = sizeof launch;
      std::fill_n(launch.grid, 3, 1u);
      std::ranges::copy(twin[i]->code.block, launch.block);
      launch.dynamic_shared_bytes = twin[i]->code.shared_bytes;
      launch.argument_bytes = twin[i]->code.argument_bytes;
      launch.kernel = kernels[i];
      launch.arguments = values.bytes().data();
      call(table().kernel_launch, weir_stream(stream), &launch);
      stream.synchronize();
      ASSERT_EQ(out.values<std::int64_t>()[twin[i]->index], twin[i]->value)
          << both << "number " << i << " was launched, which stores its own number; another ran" << advice;
    }
    const std::string& name = pair.first.code.symbol;
    for (const std::string& other :
         {name.substr(0, pair.shared), name.substr(0, name.size() - 1), name + "a"}) {
      weir_kernel found = nullptr;
      ASSERT_EQ(result_name(look_up(other, found)), "WEIR_ERROR_NOT_FOUND")
          << both << "the first has a name of " << name.size() << " letters. The first " << other.size()
          << " of these, or these and one more, are no kernel's name" << advice;
    }
  }
}

std::string in_capitals(std::string text) {
  for (char& letter : text)
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  return text;
}

WEIR_REQUIREMENT(
    3, 24, Modules, SimilarNamesAreNotFound,
    "A name that is shorter or longer than a kernel's, in other letters, or that of a function of the C "
    "library, returns WEIR_ERROR_NOT_FOUND, also after that kernel was looked up.") {
  const Kernel iota("iota");
  const std::string& symbol = iota.ready().symbol;
  // The last ones are functions of the program and of the C library, which a process-wide look-up would find.
  for (const std::string& name : {symbol.substr(0, symbol.size() - 1), symbol.substr(1), symbol + "2",
                                  symbol + " ", " " + symbol, in_capitals(symbol), std::string("main"),
                                  std::string("printf"), std::string("malloc"), std::string("memcpy")}) {
    weir_kernel found = nullptr;
    weir_status status = new_status();
    const weir_result result =
        table().module_get_kernel(iota.module(), name.c_str(), &iota.layout(), &found, &status);
    EXPECT_EQ(result_name(result), "WEIR_ERROR_NOT_FOUND")
        << "the module has a kernel '" << symbol << "', which was looked up, and none that is called '"
        << name << "'. Look first at how module_get_kernel compares names with those of earlier calls";
  }
}

WEIR_REQUIREMENT(3, 25, Modules, SimilarFormatsAreRefused,
                 "A format that is shorter or longer than a listed one, or in other letters, returns "
                 "WEIR_ERROR_CODE_OBJECT.") {
  const ReadyKernel& ready = ready_kernel("iota");
  for (const std::string& format :
       {std::string(), ready.format.substr(0, ready.format.size() - 1), ready.format.substr(0, 3),
        ready.format + "2", ready.format + "-2", ready.format.substr(1), in_capitals(ready.format)}) {
    bool listed = false;
    for (std::uint32_t i = 0; i < info().code_target_count; ++i)
      listed |= info().code_targets[i].format == format;
    if (listed) continue;
    weir_code_object object = ready.code_object();
    object.format = format.c_str();
    Module out;
    weir_status status = new_status();
    const weir_result result = table().module_load(device(), &object, out.out(), &status);
    EXPECT_EQ(result_name(result), "WEIR_ERROR_CODE_OBJECT")
        << "a code object of format '" << ready.format << "' was given as one of format '" << format
        << "', which device_get_info does not list. Look first at how module_load compares formats";
  }
}

WEIR_REQUIREMENT(3, 21, Modules, ThreadsLookUpOneKernel,
                 "Threads that look up one kernel at the same time get the same handle.") {
  constexpr std::size_t threads = 3;
  constexpr std::uint32_t layouts = 256;
  const Kernel iota("iota");
  const weir_code_object object = iota.ready().code_object();
  weir_kernel_layout given[layouts];
  std::size_t count = 0;
  // Argument blocks of different sizes make several kernels of one, so that each module allows several tries.
  // Some drivers accept one size only.
  for (weir_kernel_layout& layout : given) {
    layout = iota.layout();
    layout.argument_bytes += static_cast<std::uint32_t>(16 * count);
    if (layout.argument_bytes > info().max_argument_bytes) break;
    weir_kernel kernel = nullptr;
    if (result_of(table().module_get_kernel, iota.module(), iota.ready().symbol.c_str(),
                  static_cast<const weir_kernel_layout*>(&layout), &kernel) != WEIR_OK)
      break;
    ++count;
  }
  ASSERT_GE(count, 1u);
  std::size_t apart = 0, missing = 0, rounds = 0;
  Interruptions interruptions;
  for (const Race race(std::chrono::milliseconds(judged().thorough ? 2000 : 250)); !apart && race.goes_on();
       ++rounds) {
    Module module;
    call(table().module_load, device(), &object, module.out());
    std::vector<weir_kernel> found(threads * count);
    {
      std::barrier begin(threads);
      std::vector<std::jthread> lookers;
      for (std::size_t thread = 0; thread < threads; ++thread)
        lookers.emplace_back([&, thread] {
          const Interruptions::Here here(interruptions);
          weir_status status = new_status();
          begin.arrive_and_wait();
          // The suite's checks of each call would take longer than the call.
          for (std::size_t i = 0; i < count; ++i)
            (void)quick_table().module_get_kernel(module, iota.ready().symbol.c_str(), &given[i],
                                                  &found[thread * count + i], &status);
        });
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      apart += found[i] != found[i % count];
      missing += !found[i];
    }
  }
  EXPECT_EQ(apart, 0u)
      << "of " << rounds * threads * count << " times that " << threads
      << " threads looked up 'iota' of a new module with one layout at the same time, one got "
      << "another handle than the first. driver.h: a second call with the same name and layout "
      << "returns the same kernel, also from another thread at the same time. Look first at the "
      << "lock of module_get_kernel";
  EXPECT_EQ(missing, 0u) << "of these look-ups failed";
}

WEIR_REQUIREMENT(
    3, 22, Modules, ParametersOutsideTheBlockAreInvalid,
    "A layout with a parameter that is not inside the argument block returns WEIR_ERROR_INVALID.") {
  const Kernel iota("iota");
  const std::uint32_t bytes = iota.layout().argument_bytes;
  const weir_parameter wrong[] = {{bytes, 8, WEIR_PARAMETER_VALUE},
                                  {bytes - 8, 16, WEIR_PARAMETER_VALUE},
                                  {~0u - 7, 16, WEIR_PARAMETER_VALUE},
                                  {0, bytes + 8, WEIR_PARAMETER_VALUE}};
  for (const weir_parameter& last : wrong) {
    std::vector<weir_parameter> parameters(iota.layout().parameters,
                                           iota.layout().parameters + iota.layout().parameter_count);
    parameters.back() = last;
    weir_kernel_layout layout = iota.layout();
    layout.parameters = parameters.data();
    weir_kernel out = nullptr;
    refusal(WEIR_ERROR_INVALID, table().module_get_kernel, iota.module(), iota.ready().symbol.c_str(),
            static_cast<const weir_kernel_layout*>(&layout), &out);
  }
  // A wrong one after many that are right.
  for (const std::uint32_t count : {1u, 8u, 16u, 17u, 64u, 65u, 300u}) {
    std::vector<weir_parameter> parameters(count, {0, 8, WEIR_PARAMETER_VALUE});
    parameters.back() = wrong[0];
    weir_kernel_layout layout = iota.layout();
    layout.parameter_count = count;
    layout.parameters = parameters.data();
    weir_kernel out = nullptr;
    const weir_result result =
        result_of(table().module_get_kernel, iota.module(), iota.ready().symbol.c_str(),
                  static_cast<const weir_kernel_layout*>(&layout), &out);
    EXPECT_EQ(result_name(result), "WEIR_ERROR_INVALID")
        << "is the result of module_get_kernel with a layout of " << count
        << " parameters, of which the last is behind the argument block. Look first at how many of them it "
           "checks";
  }
}

}  // namespace
}  // namespace weir::conformance
