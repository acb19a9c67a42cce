// SPDX-License-Identifier: Apache-2.0
// The argument blocks of the test kernels in kernels.cpp.
#pragma once

#include <cstdint>

struct AddValue {  // add_value: data[i] += value, shared among the blocks; multiply: data[i] *= value, one
                   // block
  std::int32_t* data;
  std::int64_t count;
  std::int32_t value;
};
struct Append {  // log[0] counts; the values follow in the order in which tasks ran
  std::uint32_t* log;
  std::uint32_t value;
};
struct Gate {  // waits until *flag >= at_least
  const std::uint32_t* flag;
  std::uint32_t at_least;
};
struct Meet {  // increments a count, waits until `expected` tasks run at the same time, then increments *met
  std::uint32_t* counter;
  std::uint32_t expected;
  std::uint32_t* met;
};
struct Linger {  // each block sleeps for a millisecond, then increments a count
  std::uint32_t* counter;
};
struct TestRecord {  // the head of ir::ErrorRecord
  std::uint32_t state, site;
  std::int64_t index[4];
};
struct FailAt {  // writes the stream's error record as generated code does
  TestRecord* record;
  std::uint32_t site;
  std::int64_t index;
};
struct SumBytes {
  std::uint32_t* out;
  unsigned char bytes[64];
};
