// SPDX-License-Identifier: Apache-2.0
// A program whose host memory runs out once: allocation_program PROGRAM. It does its work twice. The first
// time may end with an Error{out_of_memory}; the second time must succeed. Exit status: 0 when it did, 3 for
// another error, 4 for another exception, 5 for a failure of the second time, 6 for a wrong result.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>
#include <weir/compile.hpp>
#include <weir/weir.hpp>

#include "sweep_programs.hpp"

namespace weir::test {
namespace {

// Calls that fail although there is memory.
template <class Call>
void refused(ErrorCode code, const char* what, const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::out_of_memory || error.code() == ErrorCode::system) throw;
    if (error.code() == code && *error.what()) return;
    throw Wrong{std::string(what) + ": " + error.what()};
  }
  throw Wrong{std::string(what) + ": not refused"};
}

void copies_and_launches(const Device& device) {
  arrays(device);
  streams_and_events(device);
  memory_of_many_streams(device);
  ready_kernels(device);
  profiles(device);
}

void graphs_and_regions(const Device& device) {
  task_lists(device);
  recorded_graphs(device);
  kernels_over_streams(device);
  kernels_as_graphs(device);
}

void compile_errors(const Device& device) {
  refused(ErrorCode::parse, "text that is no kernel",
          [] { (void)Program::parse("kernel { } x", "file.weir"); });
  refused(ErrorCode::kernel, "two blocks that write one array", [] {
    const Kernel wrong{"wrong", [](View<float> x) {
                         stream_parallel([&] { range_for(x.size(), [&](Index i) { x[i] = 1.0f; }); });
                         stream_parallel([&] { range_for(x.size(), [&](Index i) { x[i] = 2.0f; }); });
                       }};
  });
  const Kernel right{"right",
                     [](View<float> x) { range_for(x.size(), [&](Index i) { x[i] = x[i] + 1.0f; }); }};
  const Program again = Program::parse(right.program().text(), "again.weir");
  if (again.name() != "right") throw Wrong{"a kernel's text"};
  refused(ErrorCode::unsupported, "a target that does not exist", [&] {
    CompileTarget target;
    target.format = "no-such-format";
    (void)compile(again, target);
  });
  const std::array<std::byte, 64> garbage{};
  refused(ErrorCode::code_object, "a code object that is none", [&] {
    const CodeTarget& own = device.info().code_targets.at(0);
    (void)device.load_module({own.format, own.target, garbage, "garbage"});
  });
  refused(ErrorCode::no_device, "a device that does not exist", [] { (void)open("no_such_driver"); });
  refused(ErrorCode::invalid, "an array of another size", [&] {
    const auto x = device.array<float>(10);
    x.copy_from(device.default_stream(), std::vector<float>(9));
  });
}

int run(std::string_view name) {
  int failures = 0;
  for (int successes = 0; successes < 2;) try {
      const Device device = open("cpu");
      if (name == "copies_and_launches")
        copies_and_launches(device);
      else if (name == "graphs_and_regions")
        graphs_and_regions(device);
      else
        compile_errors(device);
      ++successes;
    } catch (const Error& error) {
      // A thread for which there is no memory is refused by the system.
      const bool expected = error.code() == ErrorCode::out_of_memory ||
                            (error.code() == ErrorCode::system &&
                             std::string_view(error.what()).find("start the thread") != std::string_view::npos);
      if (expected && ++failures == 1) continue;
      std::fprintf(stderr, "Error %d: %s\n", static_cast<int>(error.code()), error.what());
      return expected ? 5 : 3;
    } catch (const Wrong& wrong) {
      std::fprintf(stderr, "wrong: %s\n", wrong.what.c_str());
      return 6;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "not an Error: %s\n", error.what());
      return 4;
    }
  return 0;
}

}  // namespace
}  // namespace weir::test

int main(int count, char** arguments) {
  return count == 2 ? weir::test::run(arguments[1]) : 2;
}
