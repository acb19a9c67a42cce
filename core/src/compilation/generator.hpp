// SPDX-License-Identifier: Apache-2.0
// The code generator in separate processes: weir-codegen, which loads LLVM once and forks one worker for each
// concurrent compilation.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "compilation/detached_process.hpp"
#include "compilation/protocol.hpp"
#include "descriptor.hpp"

namespace weir::compilation {

struct GeneratorPolicy {
  std::filesystem::path program;             ///< weir-codegen
  std::chrono::milliseconds limit{600'000};  ///< for one compilation
  std::chrono::milliseconds idle{10'000};    ///< a process without work ends after this time
  /// Compile in this process: for tools that end child processes, such as compute-sanitizer.
  bool in_process = false;
};

/// The inputs of the policy; unset environment variables are empty.
struct GeneratorInputs {
  std::string limit;                  ///< WEIR_CODEGEN_LIMIT, in seconds
  std::string idle;                   ///< WEIR_CODEGEN_IDLE, in seconds
  std::filesystem::path own_library;  ///< as in SearchInputs
  std::string where{};                ///< WEIR_CODEGEN
};

/// Throws Error{invalid} for a malformed value.
GeneratorPolicy make_generator_policy(const GeneratorInputs& inputs);
/// The policy of this process.
GeneratorPolicy current_generator_policy();

class Generator;

/// One worker, which compiles one kernel at a time. Closing it ends its process.
class Worker {
 public:
  Worker() = default;
  Worker(std::shared_ptr<const Generator> generator, Descriptor messages, Descriptor end)
      : generator_(std::move(generator)), messages_(std::move(messages)), end_(std::move(end)) {}

  /// Whether its process waits for a request, according to its last state.
  bool usable() const;
  Transfer send(std::string_view request, Clock::time_point until) const;
  Transfer receive(std::string& reply, Clock::time_point until) const;
  /// Called after `ended`. Returns nothing when weir-codegen itself has ended.
  std::optional<WorkerEnd> how_it_ended() const;
  const std::shared_ptr<const Generator>& generator() const { return generator_; }

 private:
  std::shared_ptr<const Generator> generator_;  // ends its workers on destruction
  Descriptor messages_, end_;
};

/// A running weir-codegen.
class Generator : public std::enable_shared_from_this<Generator> {
 public:
  /// Starts it, with a first worker, and waits until it is ready. Throws Error{compile, system}.
  static Worker start(const GeneratorPolicy& policy);
  /// Returns nothing when the process has ended. Throws Error{system}.
  std::optional<Worker> add_worker() const;

 private:
  explicit Generator(const std::filesystem::path& program, std::chrono::milliseconds idle);
  void expect_greeting(const GeneratorPolicy& policy) const;

  DetachedProcess process_;  // destroyed after the socket, whose closing ends it
  Descriptor socket_;
};

}  // namespace weir::compilation
