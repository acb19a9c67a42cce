// SPDX-License-Identifier: Apache-2.0
// Empty: its target precompiles the headers that all tests share.
