// SPDX-License-Identifier: Apache-2.0
// The argument blocks of the test kernels.
#pragma once

#include <cstdint>

struct AddArguments {
  std::uint32_t* data;  // one element per block
  std::uint32_t value;
};

struct AppendArguments {
  std::uint32_t* log;  // log[0] counts, the values follow
  std::uint32_t value;
};

/// Waits until *flag is `expected`. Gives up after 20 seconds, so that a broken driver fails the test instead
/// of hanging.
struct GateArguments {
  std::uint32_t* flag;
  std::uint32_t expected;
  std::uint32_t* result;  // += 1 when passed; += 1000 on timeout; may be null
};

struct MeetArguments {
  std::uint32_t* mine;   // set to 1
  std::uint32_t* other;  // then waited for, like a gate
  std::uint32_t* result;
};

struct SpinArguments {
  std::uint64_t nanoseconds;
};

struct SleepArguments {
  std::uint32_t* begun;  // counts the launches that have begun
  std::int64_t nanoseconds;
};

struct RunArguments {
  std::uint32_t* grid_and_block;  // six numbers, as passed to the kernel
  std::uint32_t* shared_failures;
};

struct LargeArguments {
  std::uint32_t* out;
  std::uint32_t values[200];
};

struct TriadArguments {
  float* a;
  const float* b;
  const float* c;
  std::uint64_t elements_per_block;
};

struct ThreadArguments {
  std::uint32_t* threads;            // set to the system's id of the thread that runs each block
  std::uint32_t* arrived = nullptr;  // counts the blocks that have begun; null: blocks do not wait
  std::uint32_t awaited = 0;         // each block waits until so many have begun
  std::uint64_t nanoseconds = 0;     // or so much time has passed
  float* quotients = nullptr;        // set to 1e-38f / 10 by each block, unless null
};
