// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <cstddef>

namespace cpu_test {

/// Answers queries for the processors of this process; null: the system does.
extern int (*made_affinity)(std::size_t bytes, cpu_set_t* set);

}  // namespace cpu_test
