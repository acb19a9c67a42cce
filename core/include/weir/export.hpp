// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Marks what libweir exports; everything else is hidden.
#define WEIR_API __attribute__((visibility("default")))
