// SPDX-License-Identifier: Apache-2.0
// Compiles a kernel's text and calls the machine code directly, without a driver.
#pragma once

#include <gtest/gtest.h>
#include <weir/sdk/cpu_kernel.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>
#include <weir/element.hpp>

#include "codegen/codegen.hpp"
#include "ir/error_record.hpp"
#include "ir/ir.hpp"
#include "ir/task.hpp"

namespace weir::test {

inline codegen::Target host_target() {
  return {"elf-x86_64", "native", "", 1, 1};
}

/// A kernel with at most one loop: its task, or the two tasks of a reduction.
struct Program {
  ir::Kernel kernel;
  std::vector<ir::Task> tasks;
  std::vector<const ir::Task*> pointers() const;
};
Program parse_program(std::string_view text);

class Code {
 public:
  explicit Code(const std::string& text);
  explicit Code(Program program, const codegen::Target& target = host_target());
  ~Code();
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  const Program& program() const { return program_; }
  const codegen::CodeObject& object() const { return object_; }

  /// Arguments by parameter name.
  Code& array(const std::string& name, void* data, std::vector<std::int64_t> extents);
  template <class T>
  Code& array(const std::string& name, std::vector<T>& data) {
    return array(name, data.data(), {std::int64_t(data.size())});
  }
  template <class T>
  Code& scalar(const std::string& name, const T& value) {
    std::vector<std::byte> bytes(sizeof(T));
    std::memcpy(bytes.data(), &value, sizeof(T));
    scalars_[name] = bytes;
    return *this;
  }
  Code& launch_key(std::uint64_t key) {
    launch_key_ = key;
    return *this;
  }

  /// Runs the first task in `grid` blocks, in runs of `blocks_per_run`. For reductions, runs the remaining
  /// tasks too.
  void run(std::uint32_t grid = 1, std::uint32_t blocks_per_run = 0);
  /// One run of the first task, for tests that use several threads.
  void run_blocks(std::uint32_t grid, std::uint64_t first, std::uint64_t end) const;
  template <class T>
  T result() const {
    T value;
    std::memcpy(&value, scratch_.data() + program_.tasks.back().result_offset, sizeof(T));
    return value;
  }

  ir::ErrorRecord error{};
  std::uint32_t site_base = 0;
  void* print_buffer = nullptr;
  std::uint32_t launch = 0;

 private:
  void load();
  std::vector<std::byte> pack(const ir::Task& task) const;
  void call(std::size_t task, const std::vector<std::byte>& arguments, std::uint32_t grid,
            std::uint64_t first, std::uint64_t end) const;

  Program program_;
  codegen::CodeObject object_;
  int file_ = -1;
  void* library_ = nullptr;
  std::vector<weir_cpu_kernel> entries_;
  std::map<std::string, std::pair<void*, std::vector<std::int64_t>>> arrays_;
  std::map<std::string, std::vector<std::byte>> scalars_;
  std::uint64_t launch_key_ = 0;
  mutable std::vector<std::byte> scratch_;
};

/// LLVM's output for a kernel: "llvm", "llvm-opt" or "asm".
std::string emit(const Program& program, const codegen::Target& target, std::string_view what);
std::string emit(const std::string& text, std::string_view what);

}  // namespace weir::test
