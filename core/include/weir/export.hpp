// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Exports a symbol of libweir; all others are hidden.
#define WEIR_API __attribute__((visibility("default")))
