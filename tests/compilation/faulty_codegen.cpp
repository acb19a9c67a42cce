// SPDX-License-Identifier: Apache-2.0
// A libweir-codegen with the fault that the kernel's name selects. "pause" and "nap" create the file that
// WEIR_TEST_BEGUN names when they begin.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <new>
#include <stdexcept>
#include <weir/error.hpp>

#include "codegen/codegen.hpp"

namespace weir::test {
namespace {

void say_begun() {
  if (const char* const path = getenv("WEIR_TEST_BEGUN")) close(open(path, O_CREAT | O_WRONLY, 0600));
}

class FaultyCompiler final : public codegen::Compiler {
 public:
  codegen::CodeObject compile(const ir::Kernel& kernel, std::span<const ir::Task* const>,
                              const codegen::Target& target) override {
    fail(kernel.name);
    return {target.format, target.cpu, {std::byte{1}}, {}};
  }
  std::string emit_text(const ir::Kernel& kernel, std::span<const ir::Task* const>, const codegen::Target&,
                        std::string_view what) override {
    fail(kernel.name);
    return "text as " + std::string(what);
  }

 private:
  static void fail(const std::string& how) {
    if (how == "abort") {
      std::fputs("a note\nLLVM ERROR: no words left\nIn function: f\n", stderr);
      abort();
    }
    if (how == "segv") raise(SIGSEGV);
    if (how == "kill") raise(SIGKILL);
    if (how == "exit") {
      std::fputs("cannot go on\n\n", stderr);
      _exit(3);
    }
    if (how == "memory") throw std::bad_alloc();
    if (how == "other") throw std::runtime_error("another exception");
    if (how == "refuse") throw Error(ErrorCode::unsupported, "not here", "refuse", "file.cpp", 42);
    if (how == "pause") {
      say_begun();
      for (;;) pause();
    }
    if (how == "nap") {
      say_begun();
      usleep(500'000);
    }
  }
};

}  // namespace
}  // namespace weir::test

extern "C" weir::codegen::Compiler* weir_codegen(std::uint32_t abi) {
  static weir::test::FaultyCompiler compiler;
  return abi == weir_codegen_abi ? &compiler : nullptr;
}
