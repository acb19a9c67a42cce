// SPDX-License-Identifier: Apache-2.0
// Requests arrive at the other process unchanged, so the generated code is identical in every process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "compilation/remote_compiler.hpp"
#include "ir/printer.hpp"
#include "kernels.hpp"
#include "places.hpp"
#include "thrown_by.hpp"

namespace weir::test {
namespace {

namespace fs = std::filesystem;
using compilation::decode_reply;
using compilation::decode_request;
using compilation::encode_reply;
using compilation::encode_request;

std::vector<std::string> kernel_texts() {
  std::vector<std::string> texts;
  for (const fs::directory_entry& entry : fs::directory_iterator(source("tests/ir/kernels"))) {
    std::ifstream file(entry.path());
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return texts;
}

const codegen::Target targets[] = {{"elf-x86_64", "x86-64-v3", "+avx512f", 1, 1, {.no_alias = true}},
                                   {"ptx", "sm_90", "", 32, 1024, {.index32 = true, .aligned = true}},
                                   {"hsaco", "gfx90a", "", 64, 1024, {.device_local = true}}};

TEST(Agreement, EveryKernelArrivesAsItWasSent) {
  int tasks = 0;
  for (const std::string& text : kernel_texts()) {
    const PlannedKernel sent(text);
    const std::string bytes = encode_request(sent.kernel, sent.tasks, targets[1], "asm");
    const compilation::Request got = decode_request(bytes);
    EXPECT_EQ(got.text, "asm");
    ASSERT_EQ(got.tasks.size(), sent.tasks.size());
    for (std::size_t i = 0; i < got.tasks.size(); ++i) {
      EXPECT_EQ(print(got.kernel, got.tasks[i], true), print(sent.kernel, *sent.tasks[i], true));
      ++tasks;
    }
    std::vector<const ir::Task*> again;
    for (const ir::Task& task : got.tasks) again.push_back(&task);
    EXPECT_EQ(encode_request(got.kernel, again, got.target, got.text), bytes);
  }
  EXPECT_GT(tasks, 10);
}

TEST(Agreement, CodeIsTheSameAsInThisProcess) {
  codegen::Compiler& here = *weir_codegen(weir_codegen_abi);
  codegen::Compiler& there = compilation::compiler();
  for (const std::string& text : kernel_texts()) {
    const PlannedKernel kernel(text);
    if (kernel.tasks.empty()) continue;
    for (const codegen::Target& target : targets) {
      const auto mine = here.compile(kernel.kernel, kernel.tasks, target);
      const auto theirs = there.compile(kernel.kernel, kernel.tasks, target);
      EXPECT_EQ(theirs.bytes, mine.bytes) << kernel.kernel.name;
      EXPECT_EQ(encode_reply({theirs}), encode_reply({mine})) << kernel.kernel.name;
    }
    EXPECT_EQ(there.emit_text(kernel.kernel, kernel.tasks, targets[0], "llvm"),
              here.emit_text(kernel.kernel, kernel.tasks, targets[0], "llvm"));
  }
}

TEST(Agreement, ErrorsAreTheSameAsInThisProcess) {
  codegen::Compiler& there = compilation::compiler();
  const PlannedKernel kernel(chain_text(1));
  const Error format = thrown_by([&] {
    there.compile(kernel.kernel, kernel.tasks, {"spirv", "", "", 1, 1});
  });
  EXPECT_EQ(format.code(), ErrorCode::unsupported);
  EXPECT_THAT(format.what(), testing::HasSubstr("it makes elf-x86_64, ptx, hsaco and spirv-vulkan"));
  const Error what = thrown_by([&] { there.emit_text(kernel.kernel, kernel.tasks, targets[0], ""); });
  EXPECT_EQ(what.code(), ErrorCode::invalid);
}

TEST(Messages, ThatAreCutShortOrTooLongAreRefused) {
  const PlannedKernel kernel(chain_text(2));
  const std::string request = encode_request(kernel.kernel, kernel.tasks, targets[0], std::nullopt);
  const std::string reply = encode_reply({codegen::CodeObject{"f", "t", {std::byte{1}}, {{"s"}}}});
  const std::string error = encode_reply({Error(ErrorCode::compile, "words", "kernel", "file", 7), true});
  for (std::size_t size = 0; size < request.size(); ++size)
    EXPECT_THROW(decode_request(request.substr(0, size)), Error) << size;
  for (const std::string& whole : {reply, error}) {
    for (std::size_t size = 0; size < whole.size(); ++size)
      EXPECT_THROW(decode_reply(whole.substr(0, size)), Error) << size;
    EXPECT_THROW(decode_reply(whole + " "), Error);
    EXPECT_EQ(encode_reply(decode_reply(whole)), whole);
  }
  EXPECT_THROW(decode_request(request + " "), Error);
}

}  // namespace
}  // namespace weir::test
