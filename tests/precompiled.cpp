// SPDX-License-Identifier: Apache-2.0
// Empty: the target of this file holds the headers that are parsed once for all tests.
