// SPDX-License-Identifier: Apache-2.0
// Linking needs no disk, leaves the process's state unchanged, and keeps source lines out of the code.
#include <elf.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <future>

#include "harness.hpp"

namespace weir::test {
namespace {

const std::string linked_kernel = R"(weir-ir 1
kernel "scale"
param @x: array<f32, 1>
{
  %zero = const 0 : i64
  %n = extent @x, 0 : i64
  parallel (%i) in (%zero to %n) {
    %v = load @x[%i] : f32
    %s = math.sin %v : f32
    %big = gt %s, %v : bool
    if %big {
      store @x[%i], %s
    } else {
      %half = const 0.5 : f32
      %h = mul %v, %half : f32
      store @x[%i], %h
    }
  }
}
)";

/// The bytes of a section; empty if there is no section of that name.
std::vector<std::byte> section(const std::vector<std::byte>& object, std::string_view name) {
  const auto at = [&]<class T>(std::size_t offset, T& out) {
    if (offset + sizeof out > object.size()) throw std::runtime_error("the object is cut short");
    std::memcpy(&out, object.data() + offset, sizeof out);
  };
  Elf64_Ehdr header;
  at(0, header);
  Elf64_Shdr names;
  at(header.e_shoff + header.e_shstrndx * sizeof names, names);
  for (int i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr found;
    at(header.e_shoff + std::size_t(i) * sizeof found, found);
    if (name == reinterpret_cast<const char*>(object.data() + names.sh_offset + found.sh_name))
      return {object.begin() + std::ptrdiff_t(found.sh_offset),
              object.begin() + std::ptrdiff_t(found.sh_offset + found.sh_size)};
  }
  return {};
}

// proves R31
TEST(Lines, AreInTheObjectAndChangeNoInstruction) {
  const Code with(linked_kernel), moved("\n\n" + linked_kernel);
  Program program = parse_program(linked_kernel);
  program.kernel.files.clear();
  const Code without(std::move(program));
  EXPECT_FALSE(section(with.object().bytes, ".debug_line").empty());
  EXPECT_TRUE(section(without.object().bytes, ".debug_line").empty());
  EXPECT_NE(section(with.object().bytes, ".debug_line"), section(moved.object().bytes, ".debug_line"));
  for (const char* code : {".text", ".rodata", ".eh_frame"}) {
    EXPECT_EQ(section(with.object().bytes, code), section(without.object().bytes, code)) << code;
    EXPECT_EQ(section(with.object().bytes, code), section(moved.object().bytes, code)) << code;
  }
  EXPECT_FALSE(section(with.object().bytes, ".text").empty());
}

// proves R40
TEST(Linking, NeedsNoDisk) {
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit none{0, before.rlim_max};
  const char* const folder = std::getenv("TMPDIR");
  const std::string kept = folder ? folder : "";
  setenv("TMPDIR", "/proc/nowhere", 1);
  setrlimit(RLIMIT_FSIZE, &none);
  std::string failure;
  std::size_t bytes = 0;
  try {
    Program program = parse_program(linked_kernel);
    bytes = weir_codegen(weir_codegen_abi)
                ->compile(program.kernel, program.pointers(), host_target())
                .bytes.size();
  } catch (const std::exception& error) {
    failure = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  folder ? setenv("TMPDIR", kept.c_str(), 1) : unsetenv("TMPDIR");
  EXPECT_EQ(failure, "");
  EXPECT_GT(bytes, 1000u);
}

// proves R39
TEST(Linking, LeavesSignalsAndDescriptorsAlone) {
  const auto descriptors = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const auto handlers = [] {
    std::vector<void*> all;
    for (int signal = 1; signal < NSIG; ++signal) {
      struct sigaction action {};
      sigaction(signal, nullptr, &action);
      all.push_back(reinterpret_cast<void*>(action.sa_handler));
    }
    return all;
  };
  // The child process has not compiled before.
  const pid_t child = fork();
  if (child == 0) {
    const auto handlers_before = handlers();
    const auto descriptors_before = descriptors();
    Program program = parse_program(linked_kernel);
    (void)weir_codegen(weir_codegen_abi)->compile(program.kernel, program.pointers(), host_target());
    _exit((handlers() != handlers_before ? 1 : 0) + (descriptors() != descriptors_before ? 2 : 0));
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status) & 1, 0) << "a signal has another handler";
  EXPECT_EQ(WEXITSTATUS(status) & 2, 0) << "descriptors were left open";
}

// A forked child holds copies of all descriptors open at the time of the fork.
TEST(Linking, DoesNotWaitForChildrenThatWereForkedMeanwhile) {
  std::atomic<bool> done = false;
  std::vector<pid_t> children;
  auto compiled = std::async(std::launch::async, [&] {
    for (int i = 0; i < 60; ++i) Code{linked_kernel};
    done = true;
  });
  while (!done && children.size() < 300) {
    const pid_t child = fork();
    if (child == 0) {
      pause();
      _exit(0);
    }
    children.push_back(child);
    if (compiled.wait_for(std::chrono::milliseconds(5)) == std::future_status::ready) break;
  }
  const auto end = compiled.wait_for(std::chrono::seconds(60));
  for (const pid_t child : children) kill(child, SIGKILL);
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  EXPECT_EQ(end, std::future_status::ready) << "linking waits for a child";
}

}  // namespace
}  // namespace weir::test
