// SPDX-License-Identifier: Apache-2.0
// A program whose host memory runs out once: allocation_program PROGRAM. It does its work twice. The first
// time may end with an Error{out_of_memory}; the second time must succeed. Exit status: 0 when it did, 3 for
// another error, 4 for another exception, 5 for a failure of the second time, 6 for a wrong result.
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <numeric>
#include <string_view>
#include <weir/compile.hpp>
#include <weir/on_print.hpp>
#include <weir/pack.hpp>
#include <weir/weir.hpp>

#include "file_calls.hpp"
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

/// Files in a folder of this process.
struct Files {
  std::string folder = make_folder();
  FileInputs inputs{folder + "/table.npy", folder + "/both.npz", folder + "/picture.png", {}, {}, {}};
  std::filesystem::path trace = folder + "/trace.json";
  std::string pack = folder + "/ones.weirpack";

  Files() {
    std::vector<float> numbers(32);
    std::iota(numbers.begin(), numbers.end(), 0.0f);
    inputs.table = HostArray::of<float>({8, 4}, numbers);
    inputs.picture = HostArray::of<std::uint8_t>({30, 10}, std::vector<std::uint8_t>(300, 7));
    inputs.both = {{"table", inputs.table}, {"picture", inputs.picture}};
  }
  ~Files() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  static std::string make_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "weir-allocation-XXXXXX").string();
    if (!mkdtemp(name.data())) throw Wrong{"no folder for files"};
    return name;
  }
};

void algorithms_and_prints(const Device& device) {
  const Stream stream = device.create_stream();
  auto keys = device.array<std::uint32_t>(stream, 3000), values = device.array<std::uint32_t>(stream, 3000);
  const Kernel number{"number", [](View<std::uint32_t> keys, View<std::uint32_t> values) {
                        range_for(keys.size(), [&](Index i) {
                          keys[i] = cast<std::uint32_t>(keys.size() - i);
                          values[i] = cast<std::uint32_t>(i);
                        });
                      }};
  number(stream, keys, values);
  sort_by_key(stream, keys, values);
  if (values.to_host(stream).at(0) != 2999) throw Wrong{"a sort"};
  inclusive_scan(stream, keys, values);
  if (values.to_host(stream).at(2999) != 3000 * 3001 / 2) throw Wrong{"a scan"};

  static std::atomic<int> lines;
  lines = 0;
  on_print([](std::string_view) { ++lines; });
  const Kernel print_two{"print_two", [](View<std::uint32_t> x) {
                           range_for(2, [&](Index i) { print("x[{}] is {}", i, x[i]); });
                         }};
  print_two(stream, keys);
  stream.synchronize();
  // Lines that the previous round could not show for lack of memory may come in this one.
  if (lines < 2) throw Wrong{"lines that a kernel printed"};
}

void files_and_packs(const Device& device) {
  const Stream stream = device.create_stream();
  static const Files files;
  if (const char* wrong = call_files(stream, files.inputs)) throw Wrong{wrong};
  auto x = device.array<float>(stream, 100);
  const Kernel ones{"ones", [](View<float> x) { range_for(x.size(), [&](Index i) { x[i] = 1.0f; }); }};
  const Profile profile(device);
  ones(stream, x);
  stream.synchronize();
  (void)to_string(profile.summary());
  profile.write_trace(files.trace);
  (void)parse_target("elf-x86_64:x86-64-v3:+avx512f,+avx512dq,+avx512vl,+avx512bw");
  PackBuilder builder;
  builder.add_target({"elf-x86_64", "x86-64-v3", "", ""});
  builder.add(ones.program());
  builder.write(files.pack);
  if (!Pack::load(files.pack).code().at(0).sound) throw Wrong{"a pack"};
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
  const char* const times = std::getenv("WEIR_FAIL_TIMES");
  const int most_failures = times ? std::atoi(times) : 1;
  int failures = 0;
  for (int successes = 0; successes < 2;) try {
      const Device device = open("cpu");
      if (name == "copies_and_launches")
        copies_and_launches(device);
      else if (name == "long_blocks")
        long_blocks(device);
      else if (name == "graphs_and_regions")
        graphs_and_regions(device);
      else if (name == "algorithms_and_prints")
        algorithms_and_prints(device);
      else if (name == "files_and_packs")
        files_and_packs(device);
      else
        compile_errors(device);
      ++successes;
    } catch (const Error& error) {
      // A thread for which there is no memory is refused by the system.
      const bool expected = error.code() == ErrorCode::out_of_memory ||
                            (error.code() == ErrorCode::system &&
                             std::string_view(error.what()).find("start the thread") != std::string_view::npos);
      if (expected && ++failures <= most_failures) continue;
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
